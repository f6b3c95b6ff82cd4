"""
Locks that other processes respect, too: two at one mirror would tear it.

The kernel gives a lock back when its holder dies. So a folder that nobody holds is one that a
killed process left, and what it left there, a key perhaps, is removed by the next who comes.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_YOUNG = 5.0  # seconds in which a folder may not be locked yet


@contextlib.contextmanager
def locked(file: Path, *, waits: bool = True) -> Iterator[None]:
    """
    Hold the lock; the kernel gives it back if we die.

    Somebody else's is waited for, or, if nobody `waits`, answered with `BlockingIOError`.
    """
    descriptor = _acquire(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """Have a temporary folder that only we can read; those of killed processes are removed."""
    _sweep(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(descriptor)


def _sweep(prefix: str) -> None:
    latest = time.time() - _YOUNG
    with os.scandir(tempfile.gettempdir()) as entries:
        named = [each for each in entries if each.name.startswith(prefix)]
    for each in named:
        with contextlib.suppress(OSError):
            found = each.stat(follow_symlinks=False)
            is_ours = found.st_uid == os.getuid() and each.is_dir(follow_symlinks=False)
            if is_ours and found.st_mtime < latest:
                _remove_unless_held(each.path)


def _remove_unless_held(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _acquire(file: Path, operation: int) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, operation)
        except BlockingIOError:
            os.close(descriptor)
            raise
        # Who deletes a mirror deletes its lock: then we hold one that nobody else will find.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                return descriptor
        os.close(descriptor)
