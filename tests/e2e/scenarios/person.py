"""A person who changes children by hand, with the real kubectl."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

from tests.e2e.kubectl.said import Said
from tests.e2e.kubectl.twins import Kubectl
from tests.e2e.scenarios.world import World


class Person:
    """Runs kubectl in the namespace of a world."""

    def __init__(self, world: World, kubeconfig: Path, home: Path) -> None:
        self._home = home
        self._kubectl = Kubectl(kubeconfig, home / "cache", world.namespace)

    async def kubectl(self, *arguments: str, stdin: str = "") -> Said:
        """Run a command that must succeed."""
        said = await asyncio.to_thread(self._kubectl.run, *arguments, stdin=stdin)
        assert said.code == 0, f"kubectl {shlex.join(arguments)}: {said}"
        return said

    async def edit(self, what: str, before: str, after: str) -> None:
        """Replace a text in the editor that `kubectl edit` opens."""
        script = self._home / "editor.py"
        script.write_text(
            "import sys, pathlib\n"
            "file = pathlib.Path(sys.argv[1])\n"
            "text = file.read_text()\n"
            f"assert {before!r} in text, text\n"
            f"file.write_text(text.replace({before!r}, {after!r}, 1))\n"
        )
        editor = {"KUBE_EDITOR": f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"}
        kubectl = Kubectl(
            self._kubectl.kubeconfig,
            self._kubectl.cache,
            self._kubectl.namespace,
            {**os.environ, **editor},
        )
        said = await asyncio.to_thread(kubectl.run, "edit", what)
        assert said.code == 0, f"kubectl edit {what}: {said}"
