"""
What the API server makes of a custom object before it looks at it.

Fields nobody described are pruned, nulls that mean nothing are dropped, the metadata of objects
inside the object is brought into form, absent fields get their defaults. All of it in one walk over
the object, which is changed, along a schema that is compiled once.

What is known at a place decides what happens to the rest of it: below an object that keeps unknown
fields the known ones are still pruned, but its lists keep what is in their items; below a map of
which nothing is said, every object is emptied.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go
PruneWithOptions; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go
Default; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prunenulls.go
PruneNonNullableNullsWithoutDefaults;
k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/algorithm.go CoerceWithOptions.
"""

from copy import deepcopy
from enum import Enum
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.schema.go_structs import MalformedError
from kube_sandbox.apiextensions.schema.object_meta import read_metadata
from kube_sandbox.registry.field_errors import invalid

_META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))
_SCALARS = frozenset((str, int, float, bool))
# A path grows only where something contains something: its last step, and the path before.
_PathSegments = tuple["_PathSegments", "str | int"] | None


class _Mode(Enum):
    """What becomes of fields that are not described."""

    PRUNE = "prune"
    KEEP = "keep"  # those of this object and of items of this list; not those further below
    FREE = "free"  # nothing is pruned from here on


class Reader:
    """One part of a schema, compiled."""

    __slots__ = (
        "defaults",
        "embedded",
        "has_others",
        "items",
        "keeps",
        "nullable",
        "others",
        "properties",
    )

    def __init__(self, schema: Schema, *, root: bool = False) -> None:
        properties: dict[str, Schema] = schema.get("properties") or {}
        self.properties = {name: Reader(part) for name, part in properties.items()}
        others = schema.get("additionalProperties")
        self.has_others = others is not None
        self.others = Reader(others) if isinstance(others, dict) else None
        items = schema.get("items")
        self.items = Reader(items) if isinstance(items, dict) else None
        self.keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded = root or schema.get("x-kubernetes-embedded-resource") is True
        self.nullable = schema.get("nullable") is True
        self.defaults = {
            name: part["default"]
            for name, part in properties.items()
            if part.get("default") is not None and not (root and name in _META_FIELDS)
        }


def normalize_object(obj: KubeObject, reader: Reader | None, *, defaults: bool = True) -> list[str]:
    """
    Bring a whole object into form; return the paths of fields that were not known, in order.

    Its own metadata is not touched. Raises `MalformedError` for a part whose metadata cannot be
    read.
    """
    walk = _SchemaWalk(coerces=True, defaults=defaults)
    walk.through(obj, reader or _NOTHING, _Mode.PRUNE, None)
    return [*sorted(walk.unknown), *sorted(walk.unknown_metadata)]


def apply_defaults(obj: KubeObject, reader: Reader | None) -> None:
    """Fill in defaults, as after an apply: a null that means nothing is left to be refused."""
    walk = _SchemaWalk(coerces=False, defaults=True)
    walk.through(obj, reader or _NOTHING, _Mode.PRUNE, None)


def prune_unknown_fields(value: Any, reader: Reader) -> None:
    """Drop what is not described from a part of an object, and nothing else."""
    _SchemaWalk(coerces=False, defaults=False).through(value, reader, _Mode.PRUNE, None)


class _SchemaWalk:
    __slots__ = ("coerces", "defaults", "unknown", "unknown_metadata")

    def __init__(self, *, coerces: bool, defaults: bool) -> None:
        self.coerces = coerces
        self.defaults = defaults
        self.unknown: list[str] = []
        self.unknown_metadata: list[str] = []

    def through(self, value: Any, reader: Reader | None, mode: _Mode, trail: _PathSegments) -> None:
        """Walk through a value; `reader` is None where the schema says nothing."""
        if isinstance(value, dict):
            self._object(value, reader, mode, trail)
        elif isinstance(value, list):
            self._list(value, reader, mode, trail)

    def _list(
        self, value: list[Any], reader: Reader | None, mode: _Mode, trail: _PathSegments
    ) -> None:
        if mode is _Mode.PRUNE and reader is not None and reader.keeps:
            mode = _Mode.KEEP
        items = reader.items if reader is not None else None
        if items is None and mode is not _Mode.PRUNE:
            return
        for index, part in enumerate(value):
            if type(part) not in _SCALARS:
                self.through(part, items, mode, (trail, index))

    def _object(
        self, value: KubeObject, reader: Reader | None, mode: _Mode, trail: _PathSegments
    ) -> None:
        if reader is None:
            if mode is _Mode.PRUNE:
                self.unknown += [_path((trail, key)) for key in value]
                value.clear()
            return
        if mode is _Mode.PRUNE:
            if reader.keeps:
                mode = _Mode.KEEP
            elif not reader.has_others and not reader.properties.keys() >= value.keys():
                for key in [key for key in value if key not in reader.properties]:
                    if not (reader.embedded and key in _META_FIELDS):
                        self.unknown.append(_path((trail, key)))
                        del value[key]
        if self.coerces:
            for key in [key for key, part in value.items() if part is None]:
                known = reader.properties.get(key, reader.others)
                if known is not None and not known.nullable and key not in reader.defaults:
                    del value[key]
            if reader.embedded and trail is not None and mode is not _Mode.FREE:
                self._read_metadata(value, trail)
        if self.defaults and reader.defaults:
            for name, default in reader.defaults.items():
                if name not in value or (
                    value[name] is None and not reader.properties[name].nullable
                ):
                    value[name] = default if type(default) in _SCALARS else deepcopy(default)
        self._below(value, reader, mode, trail)

    def _below(self, value: KubeObject, reader: Reader, mode: _Mode, trail: _PathSegments) -> None:
        inner = _Mode.FREE if mode is _Mode.FREE else _Mode.PRUNE
        properties, others, has_others = reader.properties, reader.others, reader.has_others
        for key, part in value.items():
            if type(part) in _SCALARS or part is None:
                continue
            if reader.embedded and key in _META_FIELDS:
                known = properties.get(key)
                if known is not None and trail is not None:
                    self.through(part, known, _Mode.FREE, (trail, key))
            elif key in properties:
                self.through(part, properties[key], inner, (trail, key))
            elif has_others:
                self.through(part, others, inner, (trail, key))

    def _read_metadata(self, value: KubeObject, trail: _PathSegments) -> None:
        for key in ("apiVersion", "kind"):
            if key in value and not isinstance(value[key], str):
                raise MalformedError(
                    str(invalid(_path((trail, key)), value[key], "must be a string"))
                )
        if "metadata" not in value:
            return
        where = _path((trail, "metadata"))
        try:
            value["metadata"], unknown = read_metadata(value["metadata"])
        except MalformedError as error:
            raise MalformedError(str(invalid(where, value["metadata"], str(error)))) from None
        self.unknown_metadata += [f"{where}.{each}" for each in unknown]


def _path(trail: _PathSegments) -> str:
    steps = []
    while trail is not None:
        trail, step = trail
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


_NOTHING = Reader({}, root=True)
