"""
A schema as it matters to managed fields: what is merged field by field, and what as a whole.

Of an OpenAPI schema this keeps which values may stand where, how lists tell their items apart, and
what is atomic. A part is worked out when the first value is met there, since most of a large schema
is never used. What an object's own fields (`metadata` and such) look like is known for every kind.

Follows kube-openapi 589584f1c912 pkg/schemaconv/openapi.go ToSchemaFromOpenAPI; kubernetes 1.35
k8s.io/apimachinery/pkg/util/managedfields/internal/typeconverter.go NewTypeConverter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kube_objects import structural_schema as schemas
from kube_objects.builtins.catalog import catalog
from kube_objects.go_format import json_text
from kube_objects.schemas import Schema, SchemaKey

_NUMERIC = frozenset((int, float))
_STRING = frozenset((str,))
_BOOLEAN = frozenset((bool,))
_ANY = frozenset((str, int, float, bool))
_NONE: frozenset[type] = frozenset()

# What is kept of a schema that was compiled; more kinds than that are rarely served.
_KEPT = 1024


@dataclass(slots=True, eq=False)
class MapType:
    """Objects: the fields that are named, and what stands under other keys."""

    fields: Mapping[str, "Atom"]
    element: "Atom | None"
    is_atomic: bool = False
    # Free of any description, so there is nothing with which a set could have got out of step.
    is_free: bool = False


@dataclass(slots=True, eq=False)
class ListType:
    """Lists: atomic, or with items that are identified by their value or by key fields."""

    element: "Atom"
    is_atomic: bool = True
    keys: tuple[str, ...] = ()  # as the schema lists them; empty if the values tell items apart
    # The same, sorted: each with how a step begins that it is in, and what is there if the key is
    # left out; empty if it may not be left out.
    parts: tuple[tuple[str, str, str], ...] = ()


class Atom:
    """What may stand at one place: scalars, an object, a list; several if nothing is said."""

    __slots__ = ("_source", "accepts", "list", "map", "scalar")

    scalar: str  # numeric, string, boolean, untyped; empty if no scalar may stand here
    accepts: frozenset[type]  # the types of those scalars
    map: MapType | None
    list: ListType | None

    def __init__(self, source: "_Source") -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        """Work out what is asked for the first time."""
        if name not in Atom.__slots__:
            raise AttributeError(name)
        self._source.fill(self)
        return getattr(self, name)


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """A part of a schema that is yet to be read."""

    schema: Schema
    preserves: bool = False  # unknown fields are kept, here or at a parent
    is_custom: bool = True
    is_root: bool = False

    def fill(self, atom: Atom) -> None:
        """Work out what may stand here."""
        found = self.schema
        kind = found.get("type", "")
        preserves = self.preserves or schemas.preserves_unknown(found)
        here = _Source(found, preserves, self.is_custom, self.is_root)
        if kind == "string":
            plain = found.get("format", "") in ("", "byte")
            atom.scalar, atom.accepts = ("string", _STRING) if plain else ("untyped", _ANY)
        elif kind in ("integer", "number"):
            atom.scalar, atom.accepts = "numeric", _NUMERIC
        elif kind == "boolean":
            atom.scalar, atom.accepts = "boolean", _BOOLEAN
        else:
            atom.scalar, atom.accepts = ("untyped", _ANY) if not kind else ("", _NONE)
        atom.map = here.map_type() if kind in ("object", "") and not _is_quantity(found) else None
        atom.list = here.list_type() if kind in ("array", "") and not _is_quantity(found) else None

    def part(self, schema: Schema) -> Atom:
        """Return what may stand at a place below."""
        return Atom(_Source(schema, self.preserves, self.is_custom))

    def map_type(self) -> MapType:
        """Return what an object here looks like."""
        named = {name: self.part(each) for name, each in schemas.fields(self.schema).items()}
        if self.is_root or schemas.is_embedded(self.schema):
            named |= {"apiVersion": _text(), "kind": _text(), "metadata": _object_meta()}
        other = self.schema.get("additionalProperties")
        if isinstance(other, dict):
            element: Atom | None = self.part(other)
        elif other is None:
            element = _FREE if self.preserves or not named else None
        else:
            element = _FREE if other else None
        is_free = not named and element is not None and element.scalar == "untyped"
        return MapType(
            named, element, self.schema.get("x-kubernetes-map-type") == "atomic", is_free
        )

    def list_type(self) -> ListType:
        """Return what a list here looks like."""
        items = schemas.items(self.schema)
        if items is None:
            return ListType(_WHOLE)
        # The fields that tell items apart: none for a set, `None` for an atomic list.
        schema = self.schema
        kind = schema.get("x-kubernetes-list-type")
        if kind == "map":
            keys: tuple[str, ...] | None = schemas.list_map_keys(schema)
        elif kind is not None:
            keys = () if kind == "set" else None
        else:
            # Some built-in lists only say how a strategic merge treats them.
            if "merge" not in str(schema.get("x-kubernetes-patch-strategy", "")).split(","):
                keys = None
            else:
                key = schema.get("x-kubernetes-patch-merge-key")
                keys = (key,) if key else ()
        if keys is None:
            return ListType(self.part(items))
        parts, fields = [], schemas.fields(items)
        for key in sorted(keys):
            # What a key that is left out is taken for; Go has zeros where a field must be.
            found = fields.get(key, {})
            # A reference that is nothing but a name may have none, and then has an empty one.
            has_zero = key in schemas.required(items) or len(fields) == 1
            if "default" in found or self.is_custom or not has_zero:
                default = found.get("default")
            else:
                zeros = {"integer": 0, "number": 0, "boolean": False}
                default = zeros.get(found.get("type", ""), "")
            head = f"{json_text(key)}:"
            parts.append((key, head, "" if default is None else head + json_text(default)))
        return ListType(self.part(items), False, keys, tuple(parts))


def _is_quantity(schema: Schema) -> bool:
    """Tell the type of quantities, which is published as a text or a number."""
    return {"type": "number"} in schema.get("oneOf", ())


def _text() -> Atom:
    return Atom(_Source({"type": "string"}))


@lru_cache(maxsize=1)
def _object_meta() -> Atom:
    return Atom(_Source(catalog.object_meta(), is_custom=False))


def _untyped(*, is_atomic: bool) -> Atom:
    """Return the type of a value without a schema; objects are merged unless it is atomic."""
    atom = Atom(_Source({}))
    atom.scalar, atom.accepts = "untyped", _ANY
    whole = atom if is_atomic else _WHOLE
    atom.list = ListType(whole)
    atom.map = MapType({}, atom, is_atomic, is_free=not is_atomic)
    return atom


_WHOLE = _untyped(is_atomic=True)
_FREE = _untyped(is_atomic=False)


@dataclass(frozen=True, slots=True, eq=False)
class Types:
    """A kind's schema, ready for use."""

    root: Atom
    is_custom: bool = False

    @staticmethod
    def of(schema: Schema, *, custom: bool = False) -> "Types":
        """
        Return what a schema says, the same answer for the same dict.

        The schema of a custom kind is taken by the letter. In those of built-in kinds it is not
        said that Go has zeros where a field must be.
        """
        return _compiled(SchemaKey(schema), custom)


@lru_cache(maxsize=_KEPT)
def _compiled(key: SchemaKey, is_custom: bool) -> Types:
    schema = key.schema if key.schema.get("type") else {**key.schema, "type": "object"}
    return Types(Atom(_Source(schema, is_custom=is_custom, is_root=True)), is_custom)
