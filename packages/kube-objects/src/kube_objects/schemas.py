"""
What is known about a kind, and where to ask.

A `KindSchema` is a kind as an API server serves it: its plural, its scope, its schema. Whoever
needs one asks a `Schemas` and does not care whether the answer comes from the built-in
catalogue, from manifests in a repository or from a cluster.

Schemas are plain OpenAPI v3 dicts without `$ref`. Equal parts are the same dict wherever they
are used, so a schema is read, never changed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kube_objects.refs import Kind

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KindSchema:
    """A kind as it is served."""

    kind: Kind
    plural: str
    namespaced: bool
    schema: Schema = field(repr=False, hash=False)  # thousands of lines for a Pod


class Schemas(Protocol):
    """Anything that can be asked for a kind."""

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return what is known about `kind`, or `None`."""

    def kinds(self) -> Iterable[Kind]:
        """List the kinds that are known, for suggestions."""


class SchemaSet:
    """Kinds held in memory; one added again replaces the former."""

    def __init__(self, known: Iterable[KindSchema] = ()) -> None:
        self._known = {each.kind: each for each in known}

    def add(self, known: KindSchema) -> None:
        """Remember a kind."""
        self._known[known.kind] = known

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return what was added for `kind`, or `None`."""
        return self._known.get(kind)

    def kinds(self) -> Iterable[Kind]:
        """List the kinds, in the order they were first added."""
        return tuple(self._known)


class LayeredSchemas:
    """Several sources as one; the first that knows a kind answers."""

    def __init__(self, *sources: Schemas) -> None:
        self._sources = sources

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return the first source's answer, or `None` if no source has one."""
        for source in self._sources:
            found = source.schema_of(kind)
            if found is not None:
                return found
        return None

    def kinds(self) -> Iterable[Kind]:
        """List what any source knows, the first source's kinds first."""
        return tuple(dict.fromkeys(kind for source in self._sources for kind in source.kinds()))
