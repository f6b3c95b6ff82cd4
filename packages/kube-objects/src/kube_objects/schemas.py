"""
What is known about a kind, and the protocol to look it up.

A `KindSchema` is a kind as an API server serves it: its plural, its scope, its schema. Callers look
one up in a `Schemas`, whether it comes from the built-in catalogue, from manifests or from a
cluster.

Schemas are plain OpenAPI v3 dicts without `$ref`. Equal parts are the same dict wherever they are
used, so a schema must never be modified.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kube_objects.refs import Kind

Schema = dict[str, Any]


class SchemaKey:
    """A schema part as a key of a cache: by identity, and kept alive while it is one."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaKey) and other.schema is self.schema

    def __hash__(self) -> int:
        return id(self.schema)


@dataclass(frozen=True, slots=True)
class KindSchema:
    """A kind as it is served."""

    kind: Kind
    plural: str
    namespaced: bool
    schema: Schema = field(repr=False, hash=False)  # thousands of lines for a Pod


class Schemas(Protocol):
    """A source of schemas."""

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return what is known about `kind`, or `None`."""

    def kinds(self) -> Iterable[Kind]:
        """List the kinds that are known, for suggestions."""


class SchemaSet:
    """Kinds held in memory; one added again replaces the former."""

    def __init__(self, known: Iterable[KindSchema] = ()) -> None:
        self._known = {each.kind: each for each in known}

    def add(self, known: KindSchema) -> None:
        """Add or replace a kind."""
        self._known[known.kind] = known

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return what was added for `kind`, or `None`."""
        return self._known.get(kind)

    def kinds(self) -> Iterable[Kind]:
        """List the kinds, in the order they were first added."""
        return tuple(self._known)


class LayeredSchemas:
    """Several sources as one; the first that knows a kind wins."""

    def __init__(self, *sources: Schemas) -> None:
        self._sources = sources

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return what the first source knows about `kind`, or `None`."""
        for source in self._sources:
            found = source.schema_of(kind)
            if found is not None:
                return found
        return None

    def kinds(self) -> Iterable[Kind]:
        """Return the kinds of all sources, the first source's first."""
        return tuple(dict.fromkeys(kind for source in self._sources for kind in source.kinds()))
