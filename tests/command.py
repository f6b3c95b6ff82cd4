"""The command line as tests use it: in this process, or as the installed program."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kro_gitops.cli.main import main

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "repo"
PROGRAM = Path(sys.executable).parent / "kro-gitops"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*words: str | Path, stdin: bytes = b"") -> Outcome:
    """Call the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
    return Outcome(code, out.getvalue(), err.getvalue())


def start(
    *words: str | Path, stdin: bytes = b"", environment: Mapping[str, str] | None = None
) -> Outcome:
    """Call the installed program; what it costs is mostly starting Python."""
    done = subprocess.run(
        [PROGRAM, *words],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=30,
        env={**os.environ, **(environment or {})},
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
