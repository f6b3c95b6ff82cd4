"""
The objects last seen of one selection, and what changed.

Written by an informer, read by everyone. Objects in the cache are shared: copy before changing one.
The informer decides which fields are kept; `drop_fields` returns such a rule.

A writer may put in the response of the server, and so sees its own writes at once. The watch
reports that version, too, and perhaps older ones before it: an older version never replaces a newer
one, and a version seen twice is no change.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from sys import intern
from typing import Any

from kube_objects.problems import Path
from kube_objects.refs import KubeObject

Key = tuple[str, str]  # namespace and name
_MAX_INTERNED_LENGTH = 200  # characters: longer texts are seldom equal
MIN_VERSION = "0"  # a version before all others

Index = Callable[[KubeObject], Iterable[Hashable]]


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it was and as it is; `None` where it was not there."""

    before: KubeObject | None
    after: KubeObject | None

    @property
    def object(self) -> KubeObject:
        """Return the object as it is or, if it is gone, as it was last seen."""
        found = self.before if self.after is None else self.after
        assert found is not None, "a change is of something"
        return found


class Cache:
    """Objects by namespace and name, and by whatever an index finds in them."""

    def __init__(self, indexes: Mapping[str, Index] | None = None) -> None:
        self._objects: dict[Key, KubeObject] = {}
        self._version = ""  # of everything, when it was last taken in
        self._indexes = dict(indexes or {})
        # name of the index → value → the keys of those that have it, in the order they came
        self._keys: dict[str, dict[Hashable, dict[Key, None]]] = {
            name: {} for name in self._indexes
        }

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[KubeObject]:
        return iter(tuple(self._objects.values()))

    def find(self, namespace: str, name: str) -> KubeObject | None:
        """Return an object, or `None` if there is none."""
        return self._objects.get((namespace, name))

    def by(self, index: str, value: Hashable) -> list[KubeObject]:
        """Return the objects in which an index finds `value`."""
        return [self._objects[key] for key in self._keys[index].get(value, ())]

    def put(self, obj: KubeObject) -> Change | None:
        """Store an object; return what changed, or `None` if this version is not newer."""
        key = key_of(obj)
        before = self._objects.get(key)
        if before is not None and not is_newer(version_of(obj), version_of(before)):
            return None
        self._forget_values(key, before)
        self._objects[key] = obj
        for name, index in self._indexes.items():
            for value in index(obj):
                self._keys[name].setdefault(value, {})[key] = None
        return Change(before, obj)

    def remove(self, key: Key, last: KubeObject | None = None) -> Change | None:
        """Drop an object, of which `last` is the last state if that is known; `None`: not there."""
        before = self._objects.get(key)
        if before is None or (last is not None and is_newer(version_of(before), version_of(last))):
            # There is none, or one that was created after this one was deleted.
            return None
        del self._objects[key]
        self._forget_values(key, before)
        return Change(last or before, None)

    def replace(
        self, objects: Iterable[KubeObject], version: str = "", *, has_new_schema: bool = False
    ) -> list[Change]:
        """
        Store all objects of a list at a version; return what changed since the last time.

        Objects that were put in after that version are kept. With `has_new_schema`, an object of a
        known version counts as changed if it differs: another schema shows it.
        """
        present = {key_of(obj): obj for obj in objects}
        if version and self._version and is_newer(self._version, version):
            # The server was restored from a backup: cached versions mean nothing any more.
            self._objects = {key: _timeless(obj) for key, obj in self._objects.items()}
        self._version = version
        if has_new_schema:
            for key, obj in present.items():
                known = self._objects.get(key)
                if known is not None and version_of(known) == version_of(obj) and known != obj:
                    self._objects[key] = _timeless(known)
        gone = [
            key
            for key, obj in self._objects.items()
            if key not in present and not (version and is_newer(version_of(obj), version))
        ]
        changes = [*map(self.remove, gone), *map(self.put, present.values())]
        return [change for change in changes if change is not None]

    def _forget_values(self, key: Key, obj: KubeObject | None) -> None:
        if obj is None:
            return
        for name, index in self._indexes.items():
            keys = self._keys[name]
            for value in index(obj):
                holders = keys.get(value)
                if holders is not None:
                    holders.pop(key, None)
                    if not holders:
                        del keys[value]


def key_of(obj: KubeObject) -> Key:
    """Return the name of an object among those of its kind."""
    metadata = obj["metadata"]
    return (metadata.get("namespace", ""), metadata["name"])


def drop_fields(*paths: Path) -> Callable[[KubeObject], KubeObject]:
    """Return a function that drops fields from an object in place."""

    def trim(obj: KubeObject) -> KubeObject:
        for *parents, last in paths:
            holder: Any = obj
            for name in parents:
                holder = holder.get(name) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                holder.pop(last, None)
        return obj

    return trim


def intern_strings(value: Any) -> Any:
    """
    Replace equal strings in an object by one string, at any depth, in place.

    Labels, kinds and conditions repeat thousands of times, and are most of what a cache holds.
    """
    if isinstance(value, dict):
        for key, child in value.items():
            if type(child) is str:
                value[key] = intern(child) if len(child) <= _MAX_INTERNED_LENGTH else child
            elif child:
                intern_strings(child)
    elif isinstance(value, list):
        for child in value:
            if type(child) is not str:
                intern_strings(child)
    return value


# Managed fields are often the larger half of an object, and not needed once they are parsed.
DROP_MANAGED_FIELDS = drop_fields(("metadata", "managedFields"))


def is_newer(version: str, than: str) -> bool:
    """
    Return whether a version comes after another.

    Versions are numbers that grow, as the API server guarantees; if one is not a number, every
    other version counts as newer.
    """
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return version != than


def _timeless(obj: KubeObject) -> KubeObject:
    """Return an object that any version is newer than."""
    copied = copy(obj)
    copied["metadata"] = {**obj["metadata"], "resourceVersion": MIN_VERSION}
    return copied


def version_of(obj: KubeObject) -> str:
    """Return the version of an object."""
    version: str = obj["metadata"]["resourceVersion"]
    return version
