"""
Runs git with limits on time, output, disk and memory.

A command gets its own session, so that everything it started (ssh, the HTTP transport, index-pack)
ends with it. Time, output and what a fetch writes are watched while it runs; the kernel limits the
size of a file and memory, in case watching comes too late. GitPython's own way to run commands is
not used: it inherits our environment, kills by looking for child processes, and has no limits but
time.
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
from kro_gitops.source.git.memory import git_memory

_TICK = 0.05
_CHUNK = 1 << 16
_ERROR_BYTES = 1 << 16  # of stderr; the end matters
_ADDRESSES = 1 << 30  # of libraries and mapped packs, which are not memory of the process


class Stopped(StrEnum):
    """Why we ended a command."""

    NOT = ""
    TIME = "time"
    OUTPUT = "output"
    GROWTH = "growth"


@dataclass(frozen=True, slots=True)
class Limits:
    """
    How long, how much to stdout, how much more in the watched folder, and how much memory.

    `memory_bytes` is of each process; 0: the share of a command, see `memory`.
    """

    seconds: float
    output_bytes: int = 64 << 20
    growth_bytes: int = 0
    watched: Path | None = None
    memory_bytes: int = 0

    @property
    def memory(self) -> int:
        """Return the bytes of memory that each process of the command may use."""
        return self.memory_bytes or git_memory().command


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended; `complaint` is its raw stderr and must be redacted before use."""

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
    """Return the folders in which git may find its own programs and ssh: fixed, and git's own."""
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

    Without limits it is a process that stays; the stderr of such a one is dropped.

    Limits that are set from outside come too late: within a millisecond git has started its
    transport, which reads what the server sends. util-linux's `prlimit` sets them and becomes git.
    """
    setter = shutil.which("prlimit", path=search_path()) if limits else None
    prefix = []
    if limits and setter:
        prefix = [setter, *(f"--{kind}={most}" for kind, most in _ceilings(limits).items())]
    return subprocess.Popen(
        [*prefix, program(), *arguments],
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
            confine(process.pid, limits)  # again, in case there is no `prlimit`
            watch = _Watch(process, limits)
            stopped = watch.until_end()
        finally:
            # Also when git itself has ended: a child may still hold its end of a pipe.
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


def _ceilings(limits: Limits) -> dict[str, int]:
    """Return the kernel's limits by name; a process cannot raise a hard limit."""
    # Packs are mapped: they count as addresses, but not as data.
    mapped = 2 * (limits.growth_bytes or limits.output_bytes)
    found = {"core": 0, "data": limits.memory, "as": limits.memory + _ADDRESSES + mapped}
    if limits.growth_bytes:
        found["fsize"] = limits.growth_bytes + _CHUNK
    for kind, ceiling in found.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{kind.upper()}"))[1]
        found[kind] = ceiling if hard == resource.RLIM_INFINITY else min(ceiling, hard)
    return found


class _Watch:
    """Reads the output of a command until it ends, or exceeds a limit."""

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
                left = max(0.0, self.deadline - time.monotonic())
                interval = min(left, _TICK) if self.limits.growth_bytes else left
                for key, _ in selector.select(interval):
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        selector.unregister(key.fd)
                    elif key.fileobj is self.process.stdout:
                        self.chunks.append(chunk)
                        self.length += len(chunk)
                    else:
                        self.complaint = (self.complaint + chunk)[-_ERROR_BYTES:]
                stopped = self._broken()
                if stopped:
                    return stopped
        try:
            self.process.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return Stopped.TIME
        # A transport that was killed by the kernel's limit ends git soon after: look once more.
        return self._broken()

    def _broken(self) -> Stopped:
        if self.length > self.limits.output_bytes:
            return Stopped.OUTPUT
        if time.monotonic() >= self.deadline:
            return Stopped.TIME
        if self.limits.watched is None or not self.limits.growth_bytes:
            return Stopped.NOT
        growth = folder_size(self.limits.watched) - self.before
        return Stopped.GROWTH if growth > self.limits.growth_bytes else Stopped.NOT
