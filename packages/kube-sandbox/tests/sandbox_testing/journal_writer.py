"""
A process that writes to a store until it is killed, and says what was acknowledged.

What it writes follows from the version alone, so that whoever killed it knows what must be there.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from kube_sandbox.storage.journal import Journal
from kube_sandbox.storage.store import History, Record, Store

BUCKET = "configmaps"
HISTORY = History(changes=64)


def step(version: int, there: Mapping[str, int]) -> tuple[str, bool]:
    """Return the name that is written at a version, and whether it is deleted."""
    name = f"o{version * 7 % 23}"
    return name, name in there and version % 3 == 0


def record_of(name: str, version: int) -> Record:
    value = b'{"n":"%d","filler":"%b"}' % (version, b"x" * (version * 37 % 5000))
    return Record("shop", name, f"uid-{version}", version, value, {"n": str(version)})


def write(store: Store) -> int:
    there = {each.name: each.version for each in store.list(BUCKET)}
    version = store.version + 1
    name, is_deleted = step(version, there)
    change = store.delete if is_deleted else store.put
    change(BUCKET, record_of(name, version))
    return version


def main(path: Path) -> None:
    os.write(1, b"0\n")
    journal, store = Journal.open(path, HISTORY)
    journal.follow(store)
    while True:
        os.write(1, b"%d\n" % write(store))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
