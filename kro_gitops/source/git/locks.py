"""
Locks between processes: two of them in one mirror would corrupt it.

The kernel releases a lock when its holder dies. So an unlocked folder was left by a killed
process, and the next caller removes it with what it holds, a key perhaps.
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
    Hold the lock; the kernel releases it if we die.

    If another process holds it, wait, or raise `BlockingIOError` unless `waits`.
    """
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise
        # Deleting a mirror deletes its lock file: then we hold one that no one else will find.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                break
        os.close(descriptor)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """Yield a temporary folder that only we can read; those of killed processes are removed."""
    latest = time.time() - _YOUNG
    with os.scandir(tempfile.gettempdir()) as entries:
        named = [each for each in entries if each.name.startswith(prefix)]
    for each in named:
        with contextlib.suppress(OSError):
            found = each.stat(follow_symlinks=False)
            is_ours = found.st_uid == os.getuid() and each.is_dir(follow_symlinks=False)
            if is_ours and found.st_mtime < latest:
                _remove_unless_locked(each.path)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(descriptor)


def _remove_unless_locked(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
