"""
What a source made: intended, recorded, dropped.

An entry is written before its object is made, so that nothing is ever made and forgotten. It gets
the object's uid when that is known, and is dropped when the object is gone or another owner's.
Nothing in it changes with every commit: a commit that changes one object writes one entry.

Entries live on several objects (shards), because an object has a largest size, and because writing
one costs as much as all it holds. An entry stays on the shard it was first put on.
"""

from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube_objects.refs import Kind, ObjectRef

SHARD_SIZE = 100  # entries: one that changes has all of its shard written

Key = tuple[str, str, str, str]  # group, kind, namespace, name: an object in whatever version


def key_of(ref: ObjectRef) -> Key:
    """Name an object whatever the version it is written in."""
    return (ref.kind.group, ref.kind.kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class Entry:
    """An object that a source made, or is about to make (then it has no uid)."""

    ref: ObjectRef
    uid: str = ""
    hash: str = ""  # of what git said when it was last applied
    stage: str = ""
    path: str = ""
    revision: str = ""  # the commit at which that last changed

    @property
    def key(self) -> Key:
        """Return what the entry is found by."""
        return key_of(self.ref)

    def to_json(self) -> dict[str, str]:
        """Write it as it stands on a shard."""
        written = {
            "version": self.ref.kind.version,
            "uid": self.uid,
            "hash": self.hash,
            "stage": self.stage,
            "path": self.path,
            "revision": self.revision,
        }
        return {name: value for name, value in written.items() if value}


def parse_entries(raw: object) -> Iterator[Entry]:
    """Read the entries of a shard; what is none is left out."""
    kinds: dict[Kind, Kind] = {}  # thousands of entries are of a few
    for text, value in raw.items() if isinstance(raw, dict) else ():
        parts = text.split("/", 3)
        if len(parts) != 4 or not isinstance(value, dict):
            continue
        group, kind, namespace, name = parts
        fields = {key: each for key, each in value.items() if isinstance(each, str)}
        of_kind = Kind(group, fields.get("version", ""), kind)
        ref = ObjectRef(kinds.setdefault(of_kind, of_kind), namespace, name)
        names = ("uid", "hash", "stage", "path", "revision")
        yield Entry(ref, *(fields.get(each, "") for each in names))


@dataclass(slots=True)
class Inventory:
    """All entries of one source, and what of them is not written yet."""

    _entries: dict[Key, Entry] = field(default_factory=dict)
    _shards: dict[Key, int] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)
    _unwritten: dict[int, dict[Key, None]] = field(default_factory=dict)

    @classmethod
    def of(cls, shards: Mapping[int, Iterable[Entry]]) -> "Inventory":
        """Store what stands on the shards."""
        made = cls()
        for number, entries in sorted(shards.items()):
            made._sizes.setdefault(number, 0)
            for entry in entries:
                if entry.key not in made._entries:
                    made._entries[entry.key] = entry
                    made._shards[entry.key] = number
                    made._sizes[number] += 1
        return made

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def keys(self) -> KeysView[Key]:
        """Return what the entries are found by."""
        return self._entries.keys()

    @property
    def shards(self) -> tuple[int, ...]:
        """Return the numbers of the shards that hold something, or did."""
        return tuple(self._sizes)

    def find(self, key: Key) -> Entry | None:
        """Return an entry, or `None`."""
        return self._entries.get(key)

    def put(self, entry: Entry) -> None:
        """Add an entry, or change it."""
        if self._entries.get(entry.key) == entry:
            return
        if entry.key not in self._shards:
            found = (number for number, size in sorted(self._sizes.items()) if size < SHARD_SIZE)
            number = next(found, max(self._sizes, default=-1) + 1)
            self._shards[entry.key] = number
            self._sizes[number] = self._sizes.get(number, 0) + 1
        self._entries[entry.key] = entry
        self._unwritten.setdefault(self._shards[entry.key], {})[entry.key] = None

    def drop(self, key: Key) -> None:
        """Forget an object."""
        if self._entries.pop(key, None) is not None:
            number = self._shards.pop(key)
            self._sizes[number] -= 1
            self._unwritten.setdefault(number, {})[key] = None

    def changes(self) -> dict[int, dict[str, Any]]:
        """Return what must be written, by shard: entries, and `None` for those that are gone."""
        return {
            number: {"/".join(key): self._written(number, key) for key in keys}
            for number, keys in sorted(self._unwritten.items())
        }

    def on_shard(self, number: int) -> dict[str, Any]:
        """Return all that stands on a shard, or should."""
        keys = [key for key, shard in self._shards.items() if shard == number]
        return {"/".join(key): self._entries[key].to_json() for key in keys}

    def written(self, number: int) -> None:
        """Take note that the changes of a shard were written."""
        self._unwritten.pop(number, None)

    def _written(self, number: int, key: Key) -> dict[str, str] | None:
        # One that was dropped and came back may stand on another shard now.
        is_here = self._shards.get(key) == number
        return self._entries[key].to_json() if is_here else None
