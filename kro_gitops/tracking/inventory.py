"""
The inventory of a source: the objects that it has applied or is about to apply.

An entry is written before its object is created, so that no object is created and forgotten. It
gets the object's uid when that is known, and is dropped when the object is deleted or belongs to
another owner. Nothing in it changes with every commit: a commit that changes one object writes one
entry.

Entries are on several objects (shards), because the size of an object is limited and each write
costs as much as its size. An entry stays on the shard it was first put on.
"""

from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube_objects.refs import Kind, ObjectRef

SHARD_SIZE = 100  # entries: one that changes has all of its shard written

Key = tuple[str, str, str, str]  # group, kind, namespace, name: an object in any version


def key_of(ref: ObjectRef) -> Key:
    """Return the key of an object; its version does not matter."""
    return (ref.kind.group, ref.kind.kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class Entry:
    """An object that a source has applied, or is about to apply (then it has no uid)."""

    ref: ObjectRef
    uid: str = ""
    hash: str = ""  # of the content in git when it was last applied
    stage: str = ""
    path: str = ""
    revision: str = ""  # the commit at which that last changed

    @property
    def key(self) -> Key:
        """Return what the entry is found by."""
        return key_of(self.ref)

    def to_json(self) -> dict[str, str]:
        """Return the form of the entry on a shard."""
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
        found = cls()
        for number, entries in sorted(shards.items()):
            found._sizes.setdefault(number, 0)
            for entry in entries:
                key = entry.key
                if key not in found._entries:
                    found._entries[key] = entry
                    found._shards[key] = number
                    found._sizes[number] += 1
        return found

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
        key = entry.key
        if self._entries.get(key) == entry:
            return
        if key not in self._shards:
            found = (number for number, size in sorted(self._sizes.items()) if size < SHARD_SIZE)
            number = next(found, max(self._sizes, default=-1) + 1)
            self._shards[key] = number
            self._sizes[number] = self._sizes.get(number, 0) + 1
        self._entries[key] = entry
        self._unwritten.setdefault(self._shards[key], {})[key] = None

    def drop(self, key: Key) -> None:
        """Forget an object."""
        if self._entries.pop(key, None) is not None:
            number = self._shards.pop(key)
            self._sizes[number] -= 1
            self._unwritten.setdefault(number, {})[key] = None

    def changes(self) -> dict[int, dict[str, Any]]:
        """Return what must be written, by shard: entries, and `None` for those to remove."""
        found: dict[int, dict[str, Any]] = {}
        for number, keys in sorted(self._unwritten.items()):
            # An entry that was dropped and added again may be on another shard now.
            found[number] = {
                "/".join(key): self._entries[key].to_json()
                if self._shards.get(key) == number
                else None
                for key in keys
            }
        return found

    def on_shard(self, number: int) -> dict[str, Any]:
        """Return all entries of a shard, written or not."""
        keys = [key for key, shard in self._shards.items() if shard == number]
        return {"/".join(key): self._entries[key].to_json() for key in keys}

    def written(self, number: int) -> None:
        """Record that the changes of a shard are written."""
        self._unwritten.pop(number, None)
