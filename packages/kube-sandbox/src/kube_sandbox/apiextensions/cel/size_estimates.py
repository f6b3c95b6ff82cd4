"""
How large values of a schema may be, as far as validation rules can see them.

What the schema does not bound is bounded by the largest request, 3 MiB: a list cannot have more
items than the smallest of them fit in there. Lengths are in bytes, of which a character may take
four.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/cel/common/schemas.go SchemaDeclType,
estimateMaxStringLengthPerRequest, estimateMaxArrayItemsFromMinSize.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube_cel.escaping import escape
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.cel.compilation import rule_schema

_REQUEST = 3 * 1024 * 1024
_QUOTES = _BRACKETS = 2
_KEY = 6  # of an entry: two quotes, a letter or two, colon and comma
_FIELD = 4  # of a field besides its name: quotes, colon, comma
_PER_CHARACTER = 4
_NAME: Schema = {"type": "string"}
_NAMES = {"name": _NAME, "generateName": _NAME}
_OF_OBJECTS = {
    "kind": _NAME,
    "apiVersion": _NAME,
    "metadata": {"type": "object", "properties": _NAMES},
}
_EMBEDDED = "x-kubernetes-embedded-resource"


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """
    How large a value may be, and what is in it.

    `most` counts characters or elements, `least` the bytes of the shortest JSON there is of it.
    """

    most: int
    least: int
    fields: Mapping[str, "SizeEstimate"] = field(default_factory=dict)
    elements: "SizeEstimate | None" = None
    keys: "SizeEstimate | None" = None

    @property
    def repetitions(self) -> int:
        """How often such values can stand in one request."""
        return _REQUEST // (self.least + 1)

    def at(self, path: Sequence[str]) -> int | None:
        """Return how large the value at a path may be; the first step names a variable."""
        found: SizeEstimate | None = self
        for step in path[1:]:
            if found is None:
                return None
            match step:
                case "@items" | "@values":
                    found = found.elements
                case "@keys":
                    found = found.keys
                case _:
                    found = found.fields.get(step)
        return found.most if found is not None else None


# How long times can be, and how short; a length of theirs in the schema means nothing.
_FORMATS = {
    "duration": SizeEstimate(32, 3),
    "date": SizeEstimate(12, 12),
    "date-time": SizeEstimate(32, 21),
}
_SCALARS = {
    "boolean": SizeEstimate(0, 4),
    "number": SizeEstimate(0, 1),
    "integer": SizeEstimate(0, 1),
}
_KEYS = SizeEstimate(0, 2)


def estimate_size(schema: Schema, *, is_root: bool) -> SizeEstimate | None:
    """Return how large values of a schema may be; None if rules cannot see them."""
    return _estimate(rule_schema(schema, is_root=is_root))


def _estimate(schema: Schema) -> SizeEstimate | None:
    if schema.get("x-kubernetes-int-or-string") is True:
        return SizeEstimate(_length(schema, _PER_CHARACTER), 1)
    match schema.get("type"):
        case "array":
            items = schema.get("items")
            elements = _estimate(items) if isinstance(items, dict) else None
            if elements is None:
                return None
            most = schema.get("maxItems")
            fitting = (_REQUEST - _BRACKETS) // (elements.least + 1)
            return SizeEstimate(
                fitting if most is None else max(most, 0), _BRACKETS, elements=elements
            )
        case "object":
            values = schema.get("additionalProperties")
            if isinstance(values, dict):
                elements = _estimate(values)
                if elements is None:
                    return None
                most = schema.get("maxProperties")
                fitting = (_REQUEST - _BRACKETS) // (elements.least + _KEY)
                count = fitting if most is None else max(most, 0)
                return SizeEstimate(count, _BRACKETS, elements=elements, keys=_KEYS)
            properties = _properties(schema)
            needed = set(schema.get("required") or ())
            fields, least = {}, _BRACKETS
            for name, part in properties.items():
                found, escaped = _estimate(part), escape(name)
                if found is None:
                    continue
                if escaped is not None:
                    fields[escaped] = found
                if name in needed and part.get("default") is None:
                    least += len(name.encode()) + found.least + _FIELD
            return SizeEstimate(0, least, fields)
        case "string":
            form = schema.get("format", "")
            if form in _FORMATS:
                return _FORMATS[form]
            if form == "byte":
                return SizeEstimate(_length(schema, 1), _QUOTES)
            choices: list[Any] = schema.get("enum") or []
            if choices and schema.get("maxLength") is None:
                longest = max(
                    (len(each.encode()) for each in choices if isinstance(each, str)), default=0
                )
                return SizeEstimate(longest, _QUOTES)
            return SizeEstimate(_length(schema, _PER_CHARACTER), _QUOTES)
        case kind:
            return _SCALARS.get(kind or "")


def _length(schema: Schema, per_character: int) -> int:
    longest = schema.get("maxLength")
    return _REQUEST - _QUOTES if longest is None else max(longest, 0) * per_character


def _properties(schema: Schema) -> Mapping[str, Schema]:
    """Return the fields of an object; a whole one has names, and nothing else of metadata."""
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if schema.get(_EMBEDDED) is not True:
        return properties
    metadata = properties.get("metadata") or {}
    has_names = all(_is_text(metadata, name) for name in _NAMES)
    has_kind = all(_is_text(schema, name) for name in ("kind", "apiVersion"))
    if has_names and has_kind and metadata.get("type") == "object":
        return properties
    return {**properties, **_OF_OBJECTS}


def _is_text(schema: Schema, name: str) -> bool:
    part = (schema.get("properties") or {}).get(name) or {}
    return part.get("type") == "string"
