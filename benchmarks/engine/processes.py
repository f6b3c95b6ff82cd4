"""
Processes beside the benchmarks: started, asked whether they are ready, ended for certain.

Each is told to the guard, which ends it should we be killed ourselves.
"""

import signal
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.processes import ROOT, NotMeasuredError
from tools.cluster.parts import Guard

_LAST_LINES = 6  # of a log, shown when a process does not do what it should
_LEAVE_LIMIT = 20.0  # seconds after which a process that was asked to leave is killed
_POLL = 0.02


class Process:
    """A command that runs in a session of its own."""

    def __init__(self, name: str, command: Sequence[str], log: Path, guard: Guard) -> None:
        self.name = name
        self._log = log
        self._guard = guard
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        guard.started(self._process.pid)

    @property
    def pid(self) -> int:
        """Return the number the system knows it by."""
        return self._process.pid

    def wait(self, limit: float) -> None:
        """Return when it has ended well."""
        try:
            code = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            raise NotMeasuredError(self._complaint(f"not done within {limit:.0f} s")) from None
        if code:
            raise NotMeasuredError(self._complaint(f"ended with {code}"))

    def wait_until_ready(self, url: str, limit: float) -> float:
        """Return after how many seconds it says that it is ready."""
        begun = time.monotonic()
        while time.monotonic() - begun < limit:
            if self._process.poll() is not None:
                raise NotMeasuredError(self._complaint(f"ended with {self._process.returncode}"))
            if _answers(url):
                return time.monotonic() - begun
            time.sleep(_POLL)
        raise NotMeasuredError(self._complaint(f"not ready within {limit:.0f} s"))

    def stop(self) -> None:
        """Ask it to leave, and see that it does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_LEAVE_LIMIT)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self.kill()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()
        self._guard.ended(self._process.pid)

    def last_words(self) -> str:
        """Return the end of the log, on one line."""
        lines = self._log.read_text(errors="replace").split("\n")
        words = " | ".join(line.strip()[:300] for line in lines[-_LAST_LINES:] if line.strip())
        return words or "it said nothing"

    def _complaint(self, what: str) -> str:
        return f"{self.name} {what}: {self.last_words()}"


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:  # not listening yet, or not ready
        return False
