"""
Lists and maps as expressions see them.

A plain `list` or `dict` is a value of its own. Data with a schema is seen through a view: it keeps
the raw JSON and converts an element when it is read, so that unread data costs nothing, and a map
that is a result is still the author's own data. `schema_views` knows schemas; here a converter is
just a function. Data that contradicts its schema becomes a `DeferredError`, raised when it is read.

`MixedMap` is a map that a `dict` cannot represent, because its keys are not all strings or a value
is a `DeferredError`. A `dict` holds neither, so that reading one is fast.

`PartialMap` is a map of which only some keys are known. Reading another key, or the map as a whole,
raises `UnknownValue`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from kube_cel.errors import (
    DeferredError,
    EvaluationError,
    UnknownValue,
    defer_error,
    raise_if_deferred,
)
from kube_cel.scalars import Duration, Timestamp, TypeValue, UInt

Converter = Callable[[Any], Any]

ABSENT: Any = object()
"""What lookups return for a key that is not there; never a value."""


class ListView:
    """An array with its schema's converter; `keys` and `merge` control `==` and `+`."""

    __slots__ = ("convert", "keys", "merge", "raw")

    def __init__(
        self, raw: list[Any], convert: Converter, merge: str = "", keys: Sequence[str] = ()
    ) -> None:
        self.raw = raw
        self.convert = convert
        self.merge = merge  # "set", "map", or "" for an ordinary (atomic) list
        self.keys = keys

    def __getitem__(self, index: int) -> Any:
        return raise_if_deferred(self.convert(self.raw[index]))

    def __iter__(self) -> Iterator[Any]:
        """Walk the elements, unreadable ones among them."""
        return map(self.convert, self.raw)

    def __len__(self) -> int:
        return len(self.raw)


class MapView:
    """An object with `additionalProperties`: raw keys, values by that schema."""

    __slots__ = ("convert", "raw")

    def __init__(self, raw: dict[str, Any], convert: Converter) -> None:
        self.raw = raw
        self.convert = convert

    def find(self, key: str) -> Any:
        """Return the value of `key`, or `ABSENT`."""
        value = self.raw.get(key, ABSENT)
        return value if value is ABSENT else raise_if_deferred(self.convert(value))

    def keys(self) -> list[str]:
        """List the keys."""
        return list(self.raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Walk keys and converted values, unreadable ones among them."""
        return ((key, self.convert(value)) for key, value in self.raw.items())

    def __len__(self) -> int:
        return len(self.raw)


class Fields(Protocol):
    """
    What a view of an object must know of its properties.

    Names differ from keys where CEL could not write them: `a-b` is read as `a__dash__b`.
    """

    def key_of(self, name: str) -> str | None:
        """Return the key in the data that expressions call `name`."""

    def name_of(self, key: str) -> str:
        """Return what expressions call the data's `key`."""

    def convert(self, key: str, raw: Any) -> Any:
        """Convert the value of the property `key`, which is not null."""


class ObjectView:
    """An object with `properties`: names are escaped, and a null property counts as absent."""

    __slots__ = ("fields", "raw")

    def __init__(self, raw: dict[str, Any], fields: Fields) -> None:
        self.raw = raw
        self.fields = fields

    def find(self, name: str) -> Any:
        """Return the value of the field `name`, or `ABSENT`."""
        key = self.fields.key_of(name)
        value = None if key is None else self.raw.get(key)
        if key is None or value is None:
            return ABSENT
        return self.fields.convert(key, value)

    def keys(self) -> list[str]:
        """List the names of all properties in the data, null ones too."""
        return [self.fields.name_of(key) for key in self.raw]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def items(self) -> Iterator[tuple[str, Any]]:
        """Walk names and converted values, unreadable ones too, leaving null properties out."""
        for name in self.keys():
            value = defer_error(self.find, name)
            if value is not ABSENT:
                yield name, value

    def __len__(self) -> int:
        return len(self.raw)


class MixedMap:
    """
    A map with keys of any kind but bytes.

    Python takes 1, 1.0 and True for one key. CEL distinguishes them, and yet an integer finds the
    entry of an equal one of another type, and a double that of an equal integer.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[tuple[Any, Any]] = ()) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {}
        for key, value in entries:
            self[key] = value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[exact_key(key)] = (key, value)

    def __contains__(self, key: Any) -> bool:
        return any(twin in self._entries for twin in _twins(key))

    def find(self, key: Any) -> Any:
        """Return the value of `key`, or of its twin, or `ABSENT`."""
        for twin in _twins(key):
            entry = self._entries.get(twin)
            if entry is not None:
                return raise_if_deferred(entry[1])
        return ABSENT

    def keys(self) -> list[Any]:
        """List the keys."""
        return [key for key, _ in self._entries.values()]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Walk keys and values, unreadable ones among them."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


def new_map(entries: Sequence[tuple[Any, Any]]) -> dict[str, Any] | MixedMap:
    """Make a map of entries, a plain one if it can be; of equal keys the last counts."""
    if all(type(key) is str and type(value) is not DeferredError for key, value in entries):
        return dict(entries)
    return MixedMap(entries)


def exact_key(key: Any) -> Any:
    """Return something hashable that only the same key, of the same type, has."""
    kind = type(key)
    if kind is str:
        return key
    if kind in _KEYS_BY_VALUE:
        return (kind, key)
    if kind is Timestamp:
        return (kind, key.nanos, key.offset)
    if kind is bytes:  # cel-go panics here; the message is what callers of it print
        raise EvaluationError(
            "internal error: runtime error: hash of unhashable type types.Bytes",
            hint="bytes cannot be a key; base64.encode(…) makes a text of them",
        )
    return (kind, id(key))  # lists, maps and others are no key but to themselves


def _twins(key: Any) -> tuple[Any, ...]:
    """List which exact keys a key finds, in this order."""
    kind = type(key)
    if kind is int:
        return (int, key), (UInt, key)
    if kind is UInt:
        return (UInt, key), (int, key)
    if kind is float and key.is_integer():
        return (float, key), (int, int(key)), (UInt, int(key))
    return (exact_key(key),)


_KEYS_BY_VALUE = frozenset({int, UInt, float, bool, type(None), Duration, TypeValue})


class PartialMap(dict[str, Any]):
    """
    A map of which only the keys it holds are known.

    `path` is where it sits in the data (`deployment.metadata`). `is_open` returns which absent
    keys may exist in the cluster; by default all of them. An absent key that is not open is
    absent as in any map.
    """

    __slots__ = ("is_open", "path")

    def __init__(
        self,
        data: Mapping[str, Any],
        path: str = "",
        is_open: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(data)
        self.path = path
        self.is_open = is_open

    def __missing__(self, key: str) -> Any:
        self._refuse(key)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        self._refuse(key)
        return False

    def get(self, key: str, default: Any = None) -> Any:
        """Return what is known of `key`."""
        known = super().get(key, ABSENT)
        if known is not ABSENT:
            return known
        self._refuse(key)
        return default

    def __len__(self) -> int:
        raise self.unknown()

    def __iter__(self) -> Iterator[str]:
        raise self.unknown()

    def keys(self) -> Any:
        """Raise `UnknownValue`: there may be more."""
        raise self.unknown()

    def values(self) -> Any:
        """Raise `UnknownValue`: there may be more."""
        raise self.unknown()

    def items(self) -> Any:
        """Raise `UnknownValue`: there may be more."""
        raise self.unknown()

    def __eq__(self, other: object) -> bool:
        raise self.unknown()

    __hash__ = None  # as for any dict

    def known(self) -> dict[str, Any]:
        """Return a plain dict of the known keys."""
        return {key: dict.__getitem__(self, key) for key in dict.__iter__(self)}

    def unknown(self) -> UnknownValue:
        """Return the error for reading the map as a whole."""
        return UnknownValue((self.path,))

    def _refuse(self, key: object) -> None:
        if isinstance(key, str) and (self.is_open is None or self.is_open(key)):
            raise UnknownValue((_below(self.path, key),))


def partial(value: Any, path: str, is_open: Callable[[str], bool] | None = None) -> Any:
    """Return a copy of `value` in which every map, at any depth, is partial."""
    root: list[Any] = [value]
    waiting: list[tuple[Any, Any, str]] = [(root, 0, path)]
    while waiting:  # not recursive: data may be nested deeper than Python's stack
        holder, key, place = waiting.pop()
        child = holder[key]
        if type(child) is dict:
            wrapped = PartialMap(child, place, is_open)
            holder[key] = wrapped
            waiting.extend((wrapped, name, _below(place, name)) for name in child)
        elif type(child) is list:
            holder[key] = copied = list(child)
            waiting.extend((copied, index, f"{place}[{index}]") for index in range(len(copied)))
    return root[0]


def _below(path: str, key: str) -> str:
    if key == "" or "." in key:
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


LISTS = (list, ListView)
MAPS = (dict, ObjectView, MapView, PartialMap, MixedMap)


def is_list(value: object) -> bool:
    """Return whether `value` is a CEL list."""
    return type(value) in LISTS


def is_map(value: object) -> bool:
    """Return whether `value` is a CEL map (typed objects are maps at run time)."""
    return type(value) in MAPS


def find_key(mapping: Any, key: Any) -> Any:
    """Look `key` up in a CEL map; return the value or `ABSENT`."""
    if type(key) is str:
        if type(mapping) is dict or type(mapping) is PartialMap:
            return mapping.get(key, ABSENT)
        return mapping.find(key)
    if type(mapping) is MixedMap:
        return mapping.find(key)
    if type(mapping) is PartialMap:
        raise mapping.unknown()
    return ABSENT  # all other maps have texts as keys
