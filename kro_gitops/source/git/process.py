"""
Running git: for so long, so much, and no further.

A command gets its own session, so that all it started (ssh, the HTTP transport, index-pack) ends
with it. Time, output and what a fetch writes are watched while it runs; the kernel holds the last
two lines (size of a file, memory), should watching come too late. GitPython's own way to run
commands is not used: it inherits our environment, kills by looking for child processes, and
knows no limits but time.
"""

import contextlib
import os
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from kro_gitops.errors import Unavailable
from kro_gitops.source.git.commands import Command

_TICK = 0.05
_CHUNK = 1 << 16
_ERROR_BYTES = 1 << 16  # of what git complains; the end matters
_MEMORY = 1 << 30  # beside twice the largest pack


class Stopped(StrEnum):
    """Why we ended a command."""

    NOT = ""
    TIME = "time"
    OUTPUT = "output"
    GROWTH = "growth"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long, how much to stdout, and how much more in the folder that is watched."""

    seconds: float
    output_bytes: int = 64 << 20
    growth_bytes: int = 0
    watched: Path | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended; `complaint` is raw and must be redacted before it goes anywhere."""

    code: int
    output: bytes
    complaint: bytes
    stopped: Stopped = Stopped.NOT


def program() -> str:
    """Find git."""
    found = shutil.which("git")
    if found is None:
        raise Unavailable(
            "git-not-installed", "there is no 'git' program", hint="install git 2.39 or later"
        )
    return found


def search_path() -> str:
    """Give the folders in which git may find its own programs and ssh: fixed, and git's own."""
    own = str(Path(program()).parent)
    return ":".join(dict.fromkeys((own, "/usr/local/bin", "/usr/bin", "/bin")))


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    *,
    limits: Limits | None = None,
) -> subprocess.Popen[bytes]:
    """
    Start git with exactly this environment, in a session of its own.

    Without limits it is one that runs on; nobody reads what such a one complains of.
    """
    return subprocess.Popen(
        [*(_walls(limits) if limits else ()), program(), *arguments],
        env=dict(environment),
        cwd=folder,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if limits else subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,
    )


def run(command: Command, environment: Mapping[str, str], folder: Path, limits: Limits) -> Outcome:
    """Run a command to its end, or to one of its limits."""
    with contextlib.ExitStack() as stack:
        stdin: int | IO[bytes] = subprocess.DEVNULL
        if command.text:
            stdin = stack.enter_context(tempfile.TemporaryFile())
            stdin.write(command.text)
            stdin.seek(0)
        process = stack.enter_context(
            start(command.arguments, environment, folder, stdin, limits=limits)
        )
        stopped: Stopped | None = None
        try:
            confine(process.pid, limits)  # again, for want of `prlimit`
            watch = _Watch(process, limits)
            stopped = watch.until_end()
        finally:
            # Also when git itself is gone: what it started may still hold its end of a pipe.
            if stopped != Stopped.NOT or process.poll() is None:
                kill(process)
        return Outcome(process.wait(), watch.output, watch.complaint, stopped)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and all it started; its session is its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def folder_size(folder: Path) -> int:
    """Add up the files of a folder; some may vanish while we look."""
    total = 0
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                total += entry.stat(follow_symlinks=False).st_size
    return total


def remove_leftovers(packs: Path) -> None:
    """Remove what a killed fetch left half-written."""
    for leftover in packs.glob("tmp_*"):
        with contextlib.suppress(FileNotFoundError):
            leftover.unlink()


def confine(pid: int, limits: Limits) -> None:
    """Set limits from outside; what the command has started by then does not inherit them."""
    if not hasattr(resource, "prlimit"):
        return  # Linux alone lets us set them from outside
    with contextlib.suppress(ProcessLookupError, PermissionError):
        for kind, most in _ceilings(limits).items():
            resource.prlimit(pid, getattr(resource, f"RLIMIT_{kind.upper()}"), (most, most))


def _walls(limits: Limits) -> list[str]:
    """
    Give the words that set limits before git begins.

    Set from outside they come too late: within a millisecond git has started its transport,
    which reads what the server sends. util-linux's `prlimit` sets them and becomes git.
    """
    setter = shutil.which("prlimit", path=search_path())
    if setter is None:
        return []
    return [setter, *(f"--{kind}={most}" for kind, most in _ceilings(limits).items())]


def _ceilings(limits: Limits) -> dict[str, int]:
    """Give the kernel's limits by name; nobody may raise what is lower already."""
    most = limits.growth_bytes or limits.output_bytes
    wanted = {"core": 0, "as": _MEMORY + 2 * most}
    if limits.growth_bytes:
        wanted["fsize"] = most + _CHUNK
    return {kind: _not_raised(kind, ceiling) for kind, ceiling in wanted.items()}


def _not_raised(kind: str, wanted: int) -> int:
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{kind.upper()}"))[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


class _Watch:
    """Reads what a command says until it ends, or breaks a limit."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self.process = process
        self.limits = limits
        self.deadline = time.monotonic() + limits.seconds
        self.before = folder_size(limits.watched) if limits.watched else 0
        self.chunks: list[bytes] = []
        self.length = 0
        self.complaint = b""

    @property
    def output(self) -> bytes:
        """Return all that came on stdout."""
        return b"".join(self.chunks)

    def until_end(self) -> Stopped:
        """Read until both streams end, then wait for the process."""
        with selectors.DefaultSelector() as selector:
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    os.set_blocking(stream.fileno(), False)
                    selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(self._patience()):
                    self._read(key.fd, selector)
                stopped = self._broken()
                if stopped:
                    return stopped
        try:
            self.process.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return Stopped.TIME
        # A transport that was killed by the kernel's limit ends git soon after: look once more.
        return self._broken()

    def _patience(self) -> float:
        left = max(0.0, self.deadline - time.monotonic())
        return min(left, _TICK) if self.limits.growth_bytes else left

    def _read(self, descriptor: int, selector: selectors.BaseSelector) -> None:
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            selector.unregister(descriptor)
        elif self.process.stdout is not None and descriptor == self.process.stdout.fileno():
            self.chunks.append(chunk)
            self.length += len(chunk)
        else:
            self.complaint = (self.complaint + chunk)[-_ERROR_BYTES:]

    def _broken(self) -> Stopped:
        if self.length > self.limits.output_bytes:
            return Stopped.OUTPUT
        if time.monotonic() >= self.deadline:
            return Stopped.TIME
        if self.limits.watched is None or not self.limits.growth_bytes:
            return Stopped.NOT
        growth = folder_size(self.limits.watched) - self.before
        return Stopped.GROWTH if growth > self.limits.growth_bytes else Stopped.NOT
