"""
The store on disk: every change is a row in an SQLite file before it is visible.

What an answer has acknowledged survives the end of the process, however it ends: the row is in the
operating system's hands by then, if not yet on the platter. SQLite's write-ahead log with
`synchronous = NORMAL` syncs when the log is folded into the file, not with every change, which
would take a hundred times as long. If the power fails, the last changes may be missing, but what
is there is a state that was, whole and in order.

A change that cannot be written, because the disk is full or gone, does not happen: its request gets
a 500, the store stays as it is, and the next one is tried afresh.

One process at a time: the lock beside the file is the kernel's and goes with its holder, and the
number in it is only for the message.
"""

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kube_objects.errors import InvalidError
from kube_sandbox.api_errors import internal_error
from kube_sandbox.storage.store import Change, ChangeType, History, Store
from kube_sandbox.storage.store_file import INSERT, connect, load, row, store_error

log = logging.getLogger(__name__)

_PRAGMAS = (
    # Others may read the file meanwhile, to take a snapshot of it; they see it as of one moment.
    "journal_mode = WAL",
    "synchronous = NORMAL",
    # Fold the log into the file every 16 MB: that syncs, and a sync may take its time.
    "wal_autocheckpoint = 2048",
    "journal_size_limit = 33554432",
)


class Lock:
    """The right to use a file, held until it is released or its holder ends."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}.lock")
        with store_error(path):
            self._file = self._taken(path)
            try:
                os.ftruncate(self._file, 0)
                os.write(self._file, f"{os.getpid()}\n".encode())
            except OSError:
                self.release()
                raise

    def _taken(self, path: Path) -> int:
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(file, 32).decode(errors="replace").strip()
                os.close(file)
                who = f"process {holder}" if holder else "another process"
                locked_error = InvalidError(
                    "store-in-use",
                    f"the store '{path}' is in use by {who}",
                    hint="end that process, or name another file",
                )
                raise locked_error from None
            if self._is(file):
                return file
            # Its holder removed it between the two calls: that lock is worth nothing.
            os.close(file)

    def _is(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Let others use the file."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


class Journal:
    """A file that follows a store."""

    def __init__(self, path: Path, lock: Lock, connection: sqlite3.Connection) -> None:
        self.path = path
        self._lock = lock
        self._connection = connection
        self._superseded: list[int] = []

    @classmethod
    def open(
        cls, path: Path, history: History | None = None, *, may_be_empty: bool = True
    ) -> tuple["Journal", Store]:
        """Open or create a file, locked until it is closed; return it with what it holds."""
        path = path.resolve()
        with store_error(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        lock = Lock(path)
        try:
            connection = connect(path, *_PRAGMAS, may_be_empty=may_be_empty)
            try:
                store = load(connection, path, history)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise
        return cls(path, lock, connection), store

    def follow(self, store: Store) -> None:
        """Keep every change of a store from now on; it must be the one that was opened."""
        store.record(self)

    def append(self, change: Change) -> None:
        """Write a change, or raise 500."""
        deleted = change.type is ChangeType.DELETED
        record = change.record
        try:
            self._connection.execute(
                INSERT, row(change.bucket, record, record.value, deleted=deleted)
            )
        except sqlite3.Error as error:
            self._undo()
            log.error("could not write a change", extra={"file": str(self.path), "error": error})
            raise internal_error(f"the change could not be written: {error}") from error

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write many changes in one transaction, before any response about them is sent."""
        with store_error(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with store_error(self.path):
                self._connection.execute("COMMIT")
        except BaseException:
            self._undo()
            raise

    def forget(self, version: int, superseded: Sequence[int]) -> None:
        """Drop rows that no state after a version has; if that fails, with the next ones."""
        self._superseded += superseded
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            gone = ((each,) for each in self._superseded)
            self._connection.executemany("DELETE FROM changes WHERE version = ?", gone)
            self._connection.execute("UPDATE floor SET version = ?", (version,))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo()
            # The file is longer than necessary, which does no harm.
            log.warning("could not compact", extra={"file": str(self.path), "error": error})
        else:
            self._superseded.clear()

    def close(self) -> None:
        """Fold the log into the file and let others use it; later changes are rejected."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            # All is in the log, which is read with the file.
            log.warning("could not checkpoint", extra={"file": str(self.path), "error": error})
        self._connection.close()
        self._lock.release()

    def _undo(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            # SQLite has rolled back by itself.
            log.debug("could not roll back", extra={"file": str(self.path), "error": error})
