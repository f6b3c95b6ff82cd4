"""
Snapshots: a store's objects in a file of their own, and back.

A snapshot is a file like a journal's, with no past: whoever watches from before it is told that
this is too old. It can be taken of a store that is in use: fork the store, which takes no time,
and write the fork, in a thread if need be. A fork alone is enough to try something out and throw
it away, as the preview of a pull request does.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

from kro_gitops.apiserver.journal import Journal, Lock
from kro_gitops.apiserver.storage import History, Store
from kro_gitops.apiserver.store_file import (
    Row,
    connect,
    connect_to_read,
    fill,
    load,
    row,
    trouble,
)

# The file is worth nothing until it is whole, so nothing of it need survive a crash half done.
_FAST = ("journal_mode = OFF", "synchronous = OFF")


def write(store: Store, path: Path) -> None:
    """Write a store's objects to a file, which is replaced as a whole; nobody may have it open."""
    path = path.resolve()
    lock = Lock(path)
    try:
        with trouble(path):
            draft = _draft(store, path)
            # The log of an older file must not be taken for this one's.
            for beside in ("-wal", "-shm", "-journal"):
                path.with_name(path.name + beside).unlink(missing_ok=True)
            draft.replace(path)
            _sync(path.parent)
    finally:
        lock.release()


def read(path: Path, history: History | None = None) -> Store:
    """Return what a snapshot holds; changes to it stay in memory."""
    connection = connect_to_read(path)
    try:
        return load(connection, path, history)
    finally:
        connection.close()


def restore(snapshot: Path, path: Path) -> None:
    """Put what a snapshot holds in the place of a store that nobody has open."""
    write(read(snapshot), path)


def branch(store: Store, path: Path) -> tuple[Journal, Store]:
    """Return a copy of a store that has a file of its own, already followed."""
    write(store, path)
    journal, copy = Journal.open(path)
    journal.follow(copy)
    return journal, copy


def _rows(store: Store) -> Iterator[Row]:
    found = [(record, bucket) for bucket in store.buckets() for record in store.list(bucket)]
    # In the order of keys, so that pages are filled one after the other.
    for record, bucket in sorted(found, key=lambda each: each[0].version):
        yield row(bucket, record, store.stored(bucket, record))


def _draft(store: Store, path: Path) -> Path:
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        draft = Path(file.name)
    try:
        connection = connect(draft, *_FAST)
        try:
            fill(connection, _rows(store), store.version)
        finally:
            connection.close()
        _sync(draft)
    except BaseException:
        draft.unlink()
        raise
    return draft


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
