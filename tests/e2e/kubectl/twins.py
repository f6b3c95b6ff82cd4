"""
kubectl on two clusters at once: a real one, and ours. What it says must be the same.
"""

import difflib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.kubectl.said import Said
from tools.cluster.commands import find_binary

LIMIT = 30.0  # seconds for a command
_POLL = 0.2


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl for one cluster, in a namespace, with a cache of its own."""

    kubeconfig: Path
    cache: Path
    namespace: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, stdin: str = "", limit: float = LIMIT) -> Said:
        """Run a command to its end."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, **self.environment},
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def command(self, *arguments: str) -> list[str]:
        """Return a command line."""
        ours = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache}"]
        return [find_binary("kubectl"), *ours, f"--namespace={self.namespace}", *arguments]

    def until(self, is_done: Callable[[Said], bool], *arguments: str) -> Said:
        """Repeat a command until what it says will do."""
        deadline = time.monotonic() + LIMIT
        while not is_done(said := self.run(*arguments)):
            assert time.monotonic() < deadline, f"never as awaited: {said}"
            time.sleep(_POLL)
        return said


@dataclass(frozen=True, slots=True)
class Twins:
    """The same commands on a real cluster and on ours."""

    real: Kubectl
    ours: Kubectl

    @property
    def namespace(self) -> str:
        """Return where both work."""
        return self.ours.namespace

    def __call__(
        self,
        *arguments: str,
        stdin: str = "",
        code: int | None = 0,
        is_sorted: bool = True,
        within: float = 0.0,
    ) -> Said:
        """
        Run a command on both, compare, and return what it said on ours.

        `code` is how it must end, None however the real one does; `within` gives both some time
        to come to the same; `is_sorted` is False where the order of lines is nobody's promise.
        """
        deadline = time.monotonic() + within
        while True:
            real, ours = self._both(lambda each: each.run(*arguments, stdin=stdin))
            difference = compare(real, ours, is_sorted=is_sorted)
            if not difference or time.monotonic() > deadline:
                break
            time.sleep(_POLL)
        assert not difference, f"kubectl {' '.join(arguments)}\n{difference}"
        assert code is None or ours.code == code, f"kubectl {' '.join(arguments)}: {ours}"
        return ours

    def apart(self, *arguments: str, stdin: str = "") -> tuple[Said, Said]:
        """Run a command on both, and compare nothing."""
        return self._both(lambda each: each.run(*arguments, stdin=stdin))

    def until(self, is_done: Callable[[Said], bool], *arguments: str) -> None:
        """Wait until a command says what will do, on both."""
        self._both(lambda each: each.until(is_done, *arguments))

    def _both(self, run: Callable[[Kubectl], Said]) -> tuple[Said, Said]:
        with ThreadPoolExecutor(2) as pool:
            real, ours = pool.map(run, (self.real, self.ours))
        return real, ours


def compare(real: Said, ours: Said, *, is_sorted: bool = True) -> str:
    """Return how two differ, as a diff; empty if they do not."""
    wanted, found = real.normal(), ours.normal()
    if not is_sorted:
        wanted, found = wanted.sorted(), found.sorted()
    lines = difflib.unified_diff(
        str(wanted).splitlines(), str(found).splitlines(), "real", "ours", lineterm=""
    )
    return "\n".join(lines)
