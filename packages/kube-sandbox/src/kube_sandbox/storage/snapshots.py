"""
Snapshots: a store's objects in a file of their own, and back.

A snapshot is a file like a journal's, without history: a watch from an earlier version gets the
error that the version is too old. It can be taken while a process uses the store: the file is read
in the state of one moment, whatever is written meanwhile. A fork in memory is enough for changes
that are discarded afterwards.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from kube_objects.errors import InvalidError
from kube_sandbox.storage.journal import Journal, Lock
from kube_sandbox.storage.store import History, Store
from kube_sandbox.storage.store_file import (
    StoreError,
    connect,
    connect_to_read,
    is_used,
    load,
    row,
    store_error,
    write_rows,
)

_NOT_READABLE = "name a file that `snapshot save` has made, with this version"
_NOT_WRITABLE = "name another file, in a folder that is there and that you may write"
# The file is worth nothing until it is whole, so nothing of it need survive a crash half done.
_FAST = ("journal_mode = OFF", "synchronous = OFF")


def write(store: Store, path: Path) -> None:
    """Write a store's objects to a file, which is replaced and must not be open elsewhere."""
    path = path.resolve()
    with _locked(path):
        _replace(store, path)


def read(path: Path, history: History | None = None) -> Store:
    """Return what a snapshot holds; changes to it stay in memory."""
    with _named(path, _NOT_READABLE):
        return _read(path, history)


def save(store: Path, path: Path) -> Store:
    """Write what a store on disk holds to a snapshot, and return it; others may use the store."""
    found = _read(store)
    # Overwrite snapshots only: a name is easily mistyped.
    try:
        _check_is_snapshot(path)
    except StoreError as error:
        raise InvalidError(
            "snapshot-unusable",
            f"'{path}' is there already, and is no snapshot: {error.why}",
            hint="name another file",
        ) from error
    with _named(path, _NOT_WRITABLE):
        write(found, path)
    return found


def restore(snapshot: Path, path: Path, *, replace: bool = False) -> Store:
    """
    Replace a store that no process has open with a snapshot, and return it.

    A store that has something in it is rejected, unless it is to be replaced.
    """
    found = read(snapshot)
    path = path.resolve()
    with store_error(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path):
        if not replace and _has_content(path):
            text = f"the store '{path}' is not empty"
            raise InvalidError("store-not-empty", text, hint="say that it is to be replaced")
        _replace(found, path)
    return found


def branch(store: Store, path: Path) -> tuple[Journal, Store]:
    """Return a copy of a store that has a file of its own, already followed."""
    write(store, path)
    journal, copy = Journal.open(path)
    journal.follow(copy)
    return journal, copy


def _read(path: Path, history: History | None = None) -> Store:
    connection = connect_to_read(path)
    try:
        # All that is read is of the same moment.
        with store_error(path):
            connection.execute("BEGIN")
        return load(connection, path, history)
    finally:
        connection.close()


@contextmanager
def _named(path: Path, hint: str) -> Iterator[None]:
    """Say of a snapshot, in its own words, why it cannot be used."""
    try:
        yield
    except StoreError as error:
        raise InvalidError(
            "snapshot-unusable",
            f"the snapshot '{path}' cannot be used: {error.why}",
            hint=hint,
        ) from error


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _check_is_snapshot(path: Path) -> None:
    """Reject a file that is something else; one that is empty or not there is nothing."""
    with store_error(path):
        if not path.exists() or (path.is_file() and not _has_content(path)):
            return
    connection = connect_to_read(path)
    try:
        # The store of a server is not overwritten with a snapshot.
        if is_used(connection):
            raise StoreError(path, "it is the store of a folder")
    finally:
        connection.close()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a store, so that no server writes to it meanwhile."""
    lock = Lock(path)
    try:
        yield
    finally:
        lock.release()


def _replace(store: Store, path: Path) -> None:
    with store_error(path):
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            draft = Path(file.name)
        try:
            connection = connect(draft, *_FAST)
            try:
                found = [
                    (record, bucket) for bucket in store.buckets() for record in store.list(bucket)
                ]
                # In the order of keys, so that pages are filled one after the other.
                found.sort(key=lambda each: each[0].version)
                rows = (row(bucket, each, store.stored(bucket, each)) for each, bucket in found)
                write_rows(connection, rows, store.version)
            finally:
                connection.close()
            _sync(draft)
        except BaseException:
            draft.unlink()
            raise
        # The log of an older file must not be taken for this one's.
        for beside in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        draft.replace(path)
        _sync(path.parent)


def _sync(path: Path) -> None:
    """Flush a file or directory to disk; a rename is durable only with its directory."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
