"""
The parts that schemas consist of.

Texts and lists are bounded: the API server estimates the cost of a rule before it accepts a CRD.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

Schema = dict[str, Any]

# As Kubernetes and Flux write them: `1m30s`.
DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"

TIME: Schema = {"type": "string", "format": "date-time"}
COUNT: Schema = {"type": "integer", "format": "int32", "minimum": 0}
GENERATION: Schema = {"type": "integer", "format": "int64", "minimum": 0}


def text(most: int = 0, **rules: Any) -> Schema:
    """Describe a text; one with a bound must not be empty, unless `minLength` says otherwise."""
    bounds = {"minLength": 1, "maxLength": most} if most else {}
    return {"type": "string", **bounds, **rules}


def word(kind: type[StrEnum], default: StrEnum | None = None) -> Schema:
    """Describe one of the words of an enumeration."""
    value = {} if default is None else {"default": default.value}
    return {"type": "string", "enum": [each.value for each in kind], **value}


def record(properties: Schema, *required: str, **rules: Any) -> Schema:
    """Describe an object; the names after its fields are those it must have."""
    needs = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needs, **rules}


def sequence(items: Schema, most: int = 0, **rules: Any) -> Schema:
    """Describe a list."""
    bound = {"maxItems": most} if most else {}
    return {"type": "array", "items": items, **bound, **rules}


def unique(items: Schema, most: int, **rules: Any) -> Schema:
    """Describe a list in which nothing stands twice."""
    return sequence(items, most, **{"x-kubernetes-list-type": "set"}, **rules)


def ruled(schema: Schema, *rules: tuple[str, str]) -> Schema:
    """Add rules: what must hold, and what to say where it does not."""
    stated = [{"rule": rule, "message": message} for rule, message in rules]
    return {**schema, "x-kubernetes-validations": stated}


def flag(*, default: bool) -> Schema:
    """Describe a yes or no."""
    return {"type": "boolean", "default": default}


def duration(default: str) -> Schema:
    """Describe a length of time."""
    return text(32, pattern=DURATION, default=default)


def texts(names: Iterable[str]) -> Schema:
    """Describe several texts without a bound."""
    return {name: text() for name in names}
