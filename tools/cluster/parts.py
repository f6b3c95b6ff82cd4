"""
The processes of a control plane, and how they are seen to their end.

A `Part` is one process that can be paused, killed and started again, as faults do it. All parts
of a control plane share a `Guard`: a process of its own that holds one end of a pipe. When the
other end closes, because we left or because we were killed, it kills what still runs and removes
the directory. It is told each process as it starts and ends, and nothing else can stop it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

LAST_LINES = 15  # of a log, shown when a part does not start


class ToolError(Exception):
    """Something the person at the keyboard must see to."""


class Guard:
    """Whoever outlives us and clears up."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def started(self, pid: int) -> None:
        """Have a process group killed if we are gone."""
        os.write(self._pipe, f"+{pid}\n".encode())

    def ended(self, pid: int) -> None:
        """Forget a process group: its number may be given to another."""
        os.write(self._pipe, f"-{pid}\n".encode())


@contextmanager
def guard(directory: Path) -> Iterator[Guard]:
    """Watch over processes and a directory for as long as the block lasts, then clear up."""
    reading, writing = os.pipe()  # neither end is inherited unless it is said
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.cluster.guard", str(directory)],
        cwd=Path(__file__).parents[2],
        stdin=reading,
        start_new_session=True,  # what is sent to our group, Ctrl-C say, does not reach it
    )
    os.close(reading)
    try:
        yield Guard(writing)
    finally:
        os.close(writing)
        process.wait()


class Part:
    """One process of the control plane."""

    def __init__(self, name: str, command: Sequence[str], log: Path, guard: Guard) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._guard = guard
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Say whether the process is there, be it paused."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        if self._process is None:
            raise ToolError(f"{self.name} does not run")
        return self._process.pid

    def start(self) -> None:
        """Start the process; its log goes on where it was."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard.started(self._process.pid)

    def kill(self) -> None:
        """End the process as a crash does."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._guard.ended(self._process.pid)
        self._process = None

    def pause(self) -> None:
        """Stop the process in its tracks; its connections stay open and silent."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        self._signal(signal.SIGCONT)

    def last_words(self) -> str:
        """Return the end of the log, for people who wonder why."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        lines = "\n".join(text.splitlines()[-LAST_LINES:])
        return f"{self.name}:\n{lines}"

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            raise ToolError(f"{self.name} does not run")
        self._process.send_signal(number)
