"""
Fields of an object that its schema does not describe.

An API server prunes such fields from custom objects and rejects them with strict field validation.
For built-in kinds there is one more rule: an object whose schema has neither properties nor
additional properties (a raw extension, managed fields) may have any fields. `metadata` follows that
rule in all kinds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kube_objects.problems import Path
from kube_objects.schemas import Schema
from kube_objects.structural_schema import (
    OBJECT_FIELDS,
    fields,
    has_other_fields,
    is_embedded,
    items,
    other_fields,
    preserves_unknown,
)


def unknown_fields(
    value: Any, schema: Schema, *, whole: bool = True, built_in: bool = False
) -> list[Path]:
    """
    Return the paths of unknown fields, in the order they are written.

    `whole` means that the value is a whole object and not a part of one, `built_in` that its kind
    is one of the API server's own.
    """
    root = {**schema, "x-kubernetes-embedded-resource": True} if whole else schema
    return list(_Walk(built_in).unknown(value, root, (), kept=False))


@dataclass(frozen=True, slots=True)
class _Walk:
    built_in: bool

    def unknown(self, value: Any, schema: Schema | None, path: Path, kept: bool) -> Iterator[Path]:
        """Walk a value; `kept` means that a list around it preserves unknown fields."""
        if isinstance(value, list):
            item = None if schema is None else items(schema)
            kept = kept or self._keeps(schema)
            for index, part in enumerate(value):
                yield from self.unknown(part, item, (*path, index), kept)
        elif isinstance(value, dict):
            kept = kept or self._keeps(schema)
            described = schema or {}
            known = fields(described)
            for key, part in value.items():
                below = (*path, key)
                if key in OBJECT_FIELDS and is_embedded(described):
                    metadata = known.get(key) if key == "metadata" else None
                    # A CRD may describe metadata.name alone; the other fields are known, too.
                    if metadata is not None and "labels" in fields(metadata):
                        yield from _Walk(built_in=True).unknown(part, metadata, below, kept=False)
                elif key in known:
                    yield from self.unknown(part, known[key], below, kept=False)
                elif has_other_fields(described):
                    yield from self.unknown(part, other_fields(described), below, kept=False)
                elif not kept:
                    yield below

    def _keeps(self, schema: Schema | None) -> bool:
        if schema is None:
            return False
        is_bare = not fields(schema) and not has_other_fields(schema)
        return preserves_unknown(schema) or (self.built_in and is_bare)
