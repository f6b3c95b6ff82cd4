"""
A store as a file: an SQLite database with one table of changes, and the floor below which
nothing but the live objects is kept.

A change is a row, and its key is its version; nothing is ever rewritten. The objects at the floor
are the rows up to it, and every row above it is a change to repeat, in order and without a gap: so
a file says by itself whether something is missing from it.
"""

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import orjson

from kube_objects.errors import InvalidError
from kube_sandbox.storage.store import FIRST_VERSION, History, Record, Store

NAME = "store.db"  # in the folder of a cluster

# How a file is known as one of ours ("kgst"), and how it is laid out.
_APPLICATION = 0x6B677374
LAYOUT = 1

_CREATE = f"""
BEGIN IMMEDIATE;
CREATE TABLE changes (
    version INTEGER PRIMARY KEY,
    bucket TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    labels TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE floor (version INTEGER NOT NULL);
INSERT INTO floor VALUES ({FIRST_VERSION});
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {LAYOUT};
COMMIT;
"""
# Objects have one to four kilobytes: of the usual page, of four, half would be left empty.
_PAGES = "page_size = 8192"
INSERT = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SELECT = "SELECT version, bucket, namespace, name, uid, labels, deleted, value FROM changes"
# Who only reads may be at it while we begin: that is over soon.
_BUSY_TIMEOUT = 5.0  # seconds
_NO_LABELS: MappingProxyType[str, str] = MappingProxyType({})

Row = tuple[int, str, str, str, str, str, bool, bytes]


class StoreError(InvalidError):
    """A file that cannot be used, and why."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            "store-unusable",
            f"the store '{path}' cannot be used: {why}",
            hint="name another file, or put a snapshot in its place",
        )
        self.why = why


def row(bucket: str, record: Record, value: bytes, *, deleted: bool = False) -> Row:
    """Return a change as a row; `value` is what was written, which may be shown otherwise."""
    labels = orjson.dumps(dict(record.labels)).decode() if record.labels else ""
    name = record.namespace, record.name, record.uid
    return (record.version, bucket, *name, labels, deleted, value)


def connect(path: Path, *pragmas: str, may_be_empty: bool = True) -> sqlite3.Connection:
    """
    Open a file that only its owner may read, and make it a store if it is empty and may be so.

    It is rejected if it is something else, of another layout, or damaged.
    """
    with store_error(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
        connection = sqlite3.connect(
            path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        try:
            is_new = _is_new(connection, path)
            if is_new and not may_be_empty:
                why = "it is empty, but the keys of its cluster are there"
                remedy = "put a snapshot in its place, or remove it to begin with an empty cluster"
                raise StoreError(path, f"{why}; {remedy}")
            for pragma in (_PAGES, *pragmas):
                connection.execute(f"PRAGMA {pragma}")
            if is_new:
                connection.executescript(_CREATE)
        except BaseException:
            connection.close()
            raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open an existing file for reading; another process may be writing to it."""
    with store_error(path):
        uri = f"{path.resolve().as_uri()}?mode=ro"
        if not path.exists():
            raise StoreError(path, "there is no such file")
        if not path.is_file():  # a pipe would be waited for, and folders say strange things
            raise StoreError(path, "it is no regular file")
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT, isolation_level=None)
        try:
            if _is_new(connection, path):
                raise StoreError(path, "it is empty")
        except BaseException:
            connection.close()
            raise
    return connection


def is_used(connection: sqlite3.Connection) -> bool:
    """Return whether a server has used a file as its store; a saved snapshot is not one."""
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


def _is_new(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether a file is yet to be made a store; raise if it is anything else but one."""
    application = _pragma(connection, "application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not tables and not application:
        return True
    if application != _APPLICATION:
        raise StoreError(path, "it is a database of another program")
    layout = _pragma(connection, "user_version")
    if layout != LAYOUT:
        raise StoreError(path, f"its layout is {layout}, and this version reads {LAYOUT}")
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StoreError(path, f"it is damaged: {found}")
    return False


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def store_error(path: Path) -> Iterator[None]:
    """Return the validation errors of a file where SQLite cannot read or write it."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(path, str(error)) from error
    except OSError as error:
        place = f": '{error.filename}'" if error.filename else ""
        raise StoreError(path, f"{error.strerror or error}{place}") from error


def load(connection: sqlite3.Connection, path: Path, history: History | None = None) -> Store:
    """Return what a file holds."""
    with store_error(path):
        floor = int(connection.execute("SELECT max(version) FROM floor").fetchone()[0])
        objects: dict[str, list[Record]] = {}
        for bucket, record, _ in _rows(connection, f"WHERE version <= {floor}"):
            objects.setdefault(bucket, []).append(record)
        store = Store.of(objects, floor, history)
        for bucket, record, deleted in _rows(connection, f"WHERE version > {floor}"):
            if record.version != store.version + 1:
                raise StoreError(path, f"version {store.version + 1} is missing from it")
            store.replay(bucket, record, deleted=deleted)
    return store


def _rows(connection: sqlite3.Connection, where: str) -> Iterator[tuple[str, Record, bool]]:
    cursor = connection.execute(f"{_SELECT} {where} ORDER BY version")
    intern = sys.intern  # thousands of objects share a few namespaces
    for version, bucket, namespace, name, uid, labels, deleted, value in cursor:
        found = orjson.loads(labels) if labels else _NO_LABELS
        record = Record(intern(namespace), name, uid, version, value, found)
        yield intern(bucket), record, bool(deleted)


def write_rows(connection: sqlite3.Connection, rows: Iterable[Row], floor: int) -> None:
    """Write live objects into an empty file, as they are at a version."""
    connection.execute("BEGIN")
    connection.executemany(INSERT, rows)
    connection.execute("UPDATE floor SET version = ?", (floor,))
    connection.execute("COMMIT")
