"""
Peers as the benchmarks see them: a name, and a process that answers, or the reason why not.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cel_testing.cpp_engine import NotAvailableError, interpreter

ROOT = Path(__file__).parents[2]

CPP = "cel-expr-python"
PYTHON = "cel-python"
PYTHON_COMPILED = "cel-python (compiled)"


class NotMeasuredError(Exception):
    """A peer has nothing to compare with."""


class Peer:
    """An engine in a process; `missing` says why there is none."""

    def __init__(self, name: str, command: Sequence[str] = (), missing: str = "") -> None:
        self.name = name
        self.missing = missing
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def ask(self, what: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        if self.missing:
            raise NotMeasuredError(self.missing)
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"do": what, **request}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.missing = f"the process of {self.name} ended with {process.wait()}"
            raise NotMeasuredError(self.missing)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


@contextmanager
def open_peers() -> Iterator[list[Peer]]:
    """Find the peers; end their processes afterwards."""
    peers = [_cpp(), _python(PYTHON, "interpreted"), _python(PYTHON_COMPILED, "compiled")]
    with ExitStack() as stack:
        for peer in peers:
            stack.callback(peer.close)
        yield peers


def _cpp() -> Peer:
    try:
        python = interpreter()
    except (NotAvailableError, OSError) as error:
        return Peer(CPP, missing=str(error))
    return Peer(CPP, (str(python), "-m", "benchmarks.peers.cel_expr_python"))


def _python(name: str, runner: str) -> Peer:
    if find_spec("celpy") is None:
        return Peer(name, missing="cel-python is not installed: run 'make dev'")
    return Peer(name, (sys.executable, "-m", "benchmarks.peers.cel_python", runner))
