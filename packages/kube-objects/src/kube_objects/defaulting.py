"""
What an API server makes of a custom object before it looks at it.

Fields that the schema does not describe are pruned, nulls that mean nothing are dropped, absent
fields get their defaults, and those inside them. All of it is one walk over the object, along a
schema that is compiled once. An API server changes the object that it received; `apply_defaults`
works on a copy, and `unknown_fields` only names what would be pruned.

What is known at a place decides what happens to the rest of it: below an object that keeps unknown
fields the known ones are still pruned, but its lists keep what is in their items; below a map whose
values are not described, every object is emptied.

For kinds of the API server itself there are no defaults in schemas, and an object whose schema has
neither properties nor additional properties (a raw extension, managed fields) keeps any fields. In
manifests of all kinds `metadata` follows these rules.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go
PruneWithOptions; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go
Default; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prunenulls.go
PruneNonNullableNullsWithoutDefaults.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from kube_objects.problems import Path
from kube_objects.refs import KubeObject
from kube_objects.schema_validator import Trail, path_of
from kube_objects.schemas import Schema
from kube_objects.structural_schema import OBJECT_FIELDS

_SCALARS = frozenset((str, int, float, bool))
_MAX_READERS = 256
# By the identity of the schema, which the reader holds. Schemas are shared and never changed.
_readers: "dict[tuple[int, bool, bool], SchemaReader]" = {}


def apply_defaults(value: Any, schema: Schema, *, whole: bool = True) -> Any:
    """
    Return a copy of the value without its meaningless nulls and with its defaults.

    `whole` says that the value is a Kubernetes object, not a part of one; then `apiVersion`, `kind`
    and `metadata` are left alone, and those of embedded objects always are.
    """
    copied = copy_json(value)
    reader = reader_of(schema, is_object=whole)
    walk = ObjectWalk(prunes=False, drops_nulls=True, defaults=True)
    walk.through(copied, reader, Unknown.FREE)
    return copied


def unknown_fields(
    value: Any, schema: Schema, *, whole: bool = True, built_in: bool = False
) -> list[Path]:
    """
    Return the paths of unknown fields, in the order they are written.

    `whole` means that the value is a whole object and not a part of one, `built_in` that its kind
    is one of the API server's own.
    """
    walk = ObjectWalk(prunes=False, drops_nulls=False, defaults=False)
    walk.through(value, reader_of(schema, is_object=whole, built_in=built_in))
    return list(map(path_of, walk.unknown))


def reader_of(schema: Schema, *, is_object: bool, built_in: bool = False) -> "SchemaReader":
    """Return the compiled schema of a manifest; the same object for the same schema."""
    key = (id(schema), is_object, built_in)
    found = _readers.get(key)
    if found is None:
        if len(_readers) >= _MAX_READERS:
            _readers.clear()
        found = SchemaReader(schema, is_object=is_object, is_manifest=True, built_in=built_in)
        _readers[key] = found
    return found


def copy_json(value: Any) -> Any:
    """Return JSON data that shares no object and no list with the argument."""
    if isinstance(value, dict):
        return {
            key: part if type(part) in _SCALARS else copy_json(part) for key, part in value.items()
        }
    if isinstance(value, list):
        return [part if type(part) in _SCALARS else copy_json(part) for part in value]
    return value


class Unknown(Enum):
    """What becomes of fields that are not described."""

    PRUNE = "prune"
    KEEP = "keep"  # those of this object and of items of this list; not those further below
    FREE = "free"  # nothing is pruned from here on


class SchemaReader:
    """
    One part of a schema, compiled for an `ObjectWalk`; its parts when a value first has them.

    `is_object` says that it describes a whole object. In a manifest (`is_manifest`) the metadata of
    objects is searched for unknown fields, but not changed.
    """

    __slots__ = (
        *("_built_in", "_compiled", "_schema", "default", "defaults", "has_others", "is_manifest"),
        *("is_object", "items", "keeps", "nullable", "others", "properties"),
    )

    def __init__(
        self,
        schema: Schema,
        *,
        is_object: bool = False,
        is_manifest: bool = False,
        built_in: bool = False,
    ) -> None:
        self._schema = schema
        self.properties: dict[str, Schema] = schema.get("properties") or {}
        self.is_manifest = is_manifest
        self._built_in = built_in
        self._compiled: dict[str, SchemaReader] = {}
        items, others = schema.get("items"), schema.get("additionalProperties")
        self.has_others = others is not None  # a field that is forbidden is not unknown
        self.others = self._part(others) if isinstance(others, dict) else None
        self.items = self._part(items) if isinstance(items, dict) else None
        self.keeps = schema.get("x-kubernetes-preserve-unknown-fields") is True or (
            built_in and not self.properties and not self.has_others
        )
        self.is_object = is_object or schema.get("x-kubernetes-embedded-resource") is True
        self.nullable = built_in or schema.get("nullable") is True
        self.default = schema.get("default")
        self.defaults = {
            name: part["default"]
            for name, part in self.properties.items()
            if part.get("default") is not None
            and not built_in
            and not (is_object and name in OBJECT_FIELDS)
        }

    def field(self, name: str) -> "SchemaReader | None":
        """Return the part that describes a property."""
        found = self._compiled.get(name)
        if found is None and name in self.properties:
            found = self._compiled[name] = self._part(self.properties[name])
        return found

    def metadata(self) -> "SchemaReader | None":
        """Return what describes the metadata of an object in a manifest, if that is described."""
        described = self.properties.get("metadata")
        # A CRD may describe metadata.name alone; the other fields are known, too.
        if described is None or "labels" not in (described.get("properties") or {}):
            return None
        found = self._compiled.get("metadata")
        if found is None:
            found = SchemaReader(described, is_manifest=True, built_in=True)
            self._compiled["metadata"] = found
        return found

    def _part(self, schema: Schema) -> "SchemaReader":
        return SchemaReader(schema, is_manifest=self.is_manifest, built_in=self._built_in)


class ObjectWalk:
    """
    One walk over a value, which is changed unless nothing is pruned, dropped or filled in.

    `unknown` is where unknown fields are or were. `read_metadata` is called with each object inside
    the value and its path.
    """

    __slots__ = ("_defaults", "_drops_nulls", "_prunes", "_read_metadata", "unknown")

    def __init__(
        self,
        *,
        prunes: bool,
        drops_nulls: bool,
        defaults: bool,
        read_metadata: Callable[[KubeObject, Trail], None] | None = None,
    ) -> None:
        self.unknown: list[Trail] = []
        self._prunes = prunes
        self._drops_nulls = drops_nulls
        self._defaults = defaults
        self._read_metadata = read_metadata

    def through(
        self,
        value: Any,
        reader: SchemaReader | None,
        mode: Unknown = Unknown.PRUNE,
        trail: Trail = None,
    ) -> None:
        """Walk through a value; `reader` is None where the schema says nothing."""
        if isinstance(value, dict):
            if reader is not None:
                self._object(value, reader, mode, trail)
            elif mode is Unknown.PRUNE:
                self.unknown += [(trail, key) for key in value]
                if self._prunes:
                    value.clear()
        elif isinstance(value, list):
            if mode is Unknown.PRUNE and reader is not None and reader.keeps:
                mode = Unknown.KEEP
            items = reader.items if reader is not None else None
            if items is None and mode is not Unknown.PRUNE:
                return
            for index, part in enumerate(value):
                if part is None and items is not None and self._fills_null(items):
                    part = value[index] = copy_json(items.default)
                if type(part) not in _SCALARS:
                    self.through(part, items, mode, (trail, index))

    def _object(self, value: KubeObject, reader: SchemaReader, mode: Unknown, trail: Trail) -> None:
        if mode is Unknown.PRUNE and reader.keeps:
            mode = Unknown.KEEP
        if self._drops_nulls and None in value.values():
            for key in [key for key, part in value.items() if part is None]:
                known = reader.field(key) or reader.others
                if reader.is_manifest and reader.is_object and key in OBJECT_FIELDS:
                    continue
                if known is not None and not known.nullable and known.default is None:
                    del value[key]
        is_inner_object = reader.is_object and trail is not None
        if self._read_metadata is not None and is_inner_object and mode is not Unknown.FREE:
            self._read_metadata(value, trail)
        if self._defaults and reader.defaults:
            for name, default in reader.defaults.items():
                if name not in value or (
                    value[name] is None and reader.properties[name].get("nullable") is not True
                ):
                    value[name] = copy_json(default)
        self._below(value, reader, mode, trail)

    def _below(self, value: KubeObject, reader: SchemaReader, mode: Unknown, trail: Trail) -> None:
        inner = Unknown.FREE if mode is Unknown.FREE else Unknown.PRUNE
        properties, others, is_object = reader.properties, reader.others, reader.is_object
        has_unknown = (
            mode is Unknown.PRUNE
            and not reader.has_others
            and not properties.keys() >= value.keys()
        )
        unknown = []
        for key, part in value.items():
            is_own = is_object and key in OBJECT_FIELDS
            if has_unknown and key not in properties and not is_own:
                unknown.append(key)
                self.unknown.append((trail, key))
            elif type(part) in _SCALARS:
                continue
            elif is_own:
                # Walk through `metadata` of an object, or what else it has by being one.
                if not reader.is_manifest:
                    known = reader.field(key)
                    if known is not None and trail is not None:
                        self.through(part, known, Unknown.FREE, (trail, key))
                elif key == "metadata" and mode is not Unknown.FREE:
                    described = reader.metadata()
                    if described is not None:
                        self.through(part, described, Unknown.PRUNE, (trail, key))
            elif key in properties:
                self.through(part, reader.field(key), inner, (trail, key))
            elif reader.has_others:
                if part is None and others is not None and self._fills_null(others):
                    part = value[key] = copy_json(others.default)
                self.through(part, others, inner, (trail, key))
        if self._prunes:
            for key in unknown:
                del value[key]

    def _fills_null(self, reader: SchemaReader) -> bool:
        return self._defaults and not reader.nullable and reader.default is not None
