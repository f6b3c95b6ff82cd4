"""
The types of SimpleSchema: `string`, `[]integer`, `map[string]Port`.

A definition is `TYPE` or `TYPE | MARKERS`; this file reads what stands before the first
bar. Any text that is neither built in nor a collection is the name of a custom type, right
or wrong: only who knows the declared types can tell. Offsets count from the start of the
definition, so that an editor can underline what they point at.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from kro_gitops.engine.simpleschema.go_literals import BLANKS
from kube_objects.errors import SchemaError
from kube_objects.go_text import quote
from kube_objects.problems import Spot

# The built-in names, and the OpenAPI type each stands for.
BUILT_IN = {
    "string": "string",
    "integer": "integer",
    "boolean": "boolean",
    "float": "number",
    "object": "object",
}

MAX_NESTING = 16

# What people write who come from other schema languages: the name to use instead.
_SYNONYMS = {
    "any": "object",
    "bool": "boolean",
    "double": "float",
    "float32": "float",
    "float64": "float",
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "json": "object",
    "long": "integer",
    "number": "float",
    "str": "string",
    "text": "string",
    "uint": "integer",
}
_COLLECTIONS = {
    "array": "[]string",
    "dict": "map[string]string",
    "list": "[]string",
    "map": "map[string]string",
}

_LIST = "[]"
_MAP_START, _MAP = "map[", "map[string]"


@dataclass(frozen=True, slots=True)
class Atomic:
    """A built-in type, by its SimpleSchema name."""

    name: str

    @property
    def openapi(self) -> str:
        """Return the OpenAPI type."""
        return BUILT_IN[self.name]


@dataclass(frozen=True, slots=True)
class ListType:
    """`[]T`."""

    items: "TypeExpression"


@dataclass(frozen=True, slots=True)
class MapType:
    """`map[string]T`."""

    values: "TypeExpression"


@dataclass(frozen=True, slots=True)
class Named:
    """A custom type by name, and where the name stands."""

    name: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


TypeExpression = Atomic | ListType | MapType | Named


def parse_type(definition: str) -> TypeExpression:
    """Read the type of a definition; raise `SchemaError` with kro's words."""
    start, end = _trim(definition, 0, type_end(definition))
    if start == end:
        raise _error("empty-type", "empty type", 0, type_end(definition))
    return _parse(definition, start, end, 0)


def type_end(definition: str) -> int:
    """Return where the type part ends: at the first bar, or with the text."""
    bar = definition.find("|")
    return len(definition) if bar < 0 else bar


def named_types(expression: TypeExpression) -> Iterator[Named]:
    """Yield the custom types an expression refers to."""
    match expression:
        case Named():
            yield expression
        case ListType(inner) | MapType(inner):
            yield from named_types(inner)
        case Atomic():
            pass


def hint_for_unknown(name: str, declared: Collection[str]) -> str:
    """Return the hint for a type name that is not declared."""
    lower = name.lower()
    if lower in _COLLECTIONS:
        return f"write '{_COLLECTIONS[lower]}'"
    meant = _SYNONYMS.get(lower)
    if meant is None:
        names = {known.lower(): known for known in (*declared, *BUILT_IN)}
        near = get_close_matches(lower, names, n=1, cutoff=0.7)
        meant = names[near[0]] if near else None
    if meant is not None:
        return f"did you mean '{meant}'?"
    return f"declare it under 'types', or use one of {', '.join(BUILT_IN)}"


def _parse(text: str, start: int, end: int, depth: int) -> TypeExpression:
    if depth > MAX_NESTING:
        rest = quote(text[start:end])
        raise _error(
            "type-too-deep",
            f"type nesting too deep (max {MAX_NESTING}): {rest}",
            start,
            end,
            "give the inner part a name under 'types'",
        )
    start, end = _trim(text, start, end)
    name = text[start:end]
    if name in BUILT_IN:
        return Atomic(name)
    if name.startswith(_LIST):
        if name == _LIST:
            hint = "name the type of its items: '[]string'"
            raise _error("empty-item-type", "empty slice element type", start, end, hint)
        return ListType(_parse(text, start + len(_LIST), end, depth + 1))
    if name.startswith(_MAP_START):
        if not text.startswith(_MAP, start, end):
            key_start = start + len(_MAP_START)
            key_end = text.find("]", key_start, end)
            hint = "JSON objects have no other keys: write 'map[string]…'"
            stop = key_end if key_end >= 0 else end
            raise _error("map-key-not-string", "map key must be string", key_start, stop, hint)
        values_start, _ = _trim(text, start + len(_MAP), end)
        if values_start == end:
            hint = "name the type of its values: 'map[string]string'"
            raise _error("empty-value-type", "map value type is required", start, end, hint)
        return MapType(_parse(text, values_start, end, depth + 1))
    return Named(name, start, end)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a text without blanks around it; offsets stay those of the text."""
    while start < end and text[start] in BLANKS:
        start += 1
    while start < end and text[end - 1] in BLANKS:
        end -= 1
    return start, end


def _error(code: str, message: str, start: int, end: int, hint: str = "") -> SchemaError:
    return SchemaError(code, message, spot=Spot((), start, end), hint=hint)
