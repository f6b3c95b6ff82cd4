"""A lock that other processes respect, too: two at one mirror would tear it."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Wait for the lock and hold it; the kernel gives it back if we die."""
    descriptor = _acquire(file)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(file: Path) -> int:
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Who deletes a mirror deletes its lock: then we hold one that nobody else will find.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), file.stat()):
                return descriptor
        os.close(descriptor)
