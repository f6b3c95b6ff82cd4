"""
Data as its schema describes it: how raw JSON becomes values.

A schema is turned into a `Shape`: a function that converts, and the Python type that needs no
conversion at all. Objects and lists become views (`containers`) that convert what is read and
nothing else. Shapes are made when they are first needed, because the schemas of Kubernetes are
large and expressions read little of them.

Mismatches raise errors with the API server's messages. `byte` data may use either alphabet of
base64: with the one for URLs alone, ordinary Secrets could not be read.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kube_cel.containers import Converter, ListView, MapView, ObjectView, PartialMap
from kube_cel.errors import DeferredError, EvaluationError
from kube_cel.escaping import escape, unescape
from kube_cel.scalars import Duration
from kube_cel.time_formats import parse_date, parse_date_time, parse_duration_words
from kube_objects.go_numbers import format_double

Schema = Mapping[str, Any]

_GO_TYPES = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    dict: "map[string]interface {}",
    PartialMap: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
}
NULL = "invalid data, got null for schema with nullable=false"
_NOT_A_MAP = "invalid data, expected a map for the provided schema with type=object"
_NO_TYPE = (
    "invalid type, expected object, array, number, integer, boolean or string, or no type with "
    "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got "
)
_METADATA: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}
_EMBEDDED: Schema = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": _METADATA,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """
    How to convert data of one schema.

    `exact` is the Python type of data that is already a value. Without it everything goes
    through `convert`, and without that everything is handed through.
    """

    convert: Converter | None = None
    exact: type | None = None

    def value(self, raw: Any) -> Any:
        """Convert data that is not null."""
        if self.convert is None or type(raw) is self.exact:
            return raw
        return self.convert(raw)


PLAIN = Shape()
"""Data without a schema: JSON as it is."""


def shape_of(schema: Schema) -> Shape:
    """Work out how data of a schema is seen."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return Shape(_int_or_string, str)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object":
        return _object_shape(schema)
    if kind == "array":
        return _array_shape(schema)
    if kind == "string":
        return _STRINGS.get(schema.get("format") or "", _TEXT)
    known = _SCALARS.get(kind or "")
    if known is not None:
        return known
    if schema.get("x-kubernetes-preserve-unknown-fields") or _is_quantity(schema):
        return PLAIN
    return Shape(_failing(_NO_TYPE + (kind or "")))


def properties_of(schema: Schema) -> Schema:
    """List an object's properties, with those that every embedded resource has."""
    properties: Schema = schema.get("properties") or {}
    if schema.get("x-kubernetes-embedded-resource"):
        metadata = properties.get("metadata") or {}
        known = (metadata.get("properties") or {}).keys()
        if not ({"apiVersion", "kind"} <= properties.keys() and {"name", "generateName"} <= known):
            return {**properties, **_EMBEDDED}
    return properties


class PropertyFields:
    """The properties of one schema, as `ObjectView` asks for them."""

    __slots__ = ("_properties", "_shapes")

    def __init__(self, properties: Schema) -> None:
        self._properties = properties
        self._shapes: dict[str, Shape] = {}

    def key_of(self, name: str) -> str | None:
        """Return the key in the data that expressions call `name`."""
        return unescape(name) if "__" in name else name

    def name_of(self, key: str) -> str:
        """Return what expressions call the data's `key`; unspeakable keys keep their name."""
        return escape(key) or key

    def convert(self, key: str, raw: Any) -> Any:
        """Convert the value of a property; keys the schema does not list stay as they are."""
        return self.shape(key).value(raw)

    def shape(self, key: str) -> Shape:
        """Return how one property is seen."""
        shape = self._shapes.get(key)
        if shape is None:
            schema = self._properties.get(key)
            shape = self._shapes[key] = PLAIN if schema is None else shape_of(schema)
        return shape


def _object_shape(schema: Schema) -> Shape:
    properties = properties_of(schema)
    if properties:
        fields = PropertyFields(properties)

        def view_object(raw: Any) -> Any:
            if type(raw) is dict or type(raw) is PartialMap:
                return ObjectView(raw, fields)
            raise EvaluationError(_NOT_A_MAP)

        return Shape(view_object)
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        convert, exact = _element_converter(values)

        def map_converter(raw: Any) -> Any:
            if type(raw) is dict:
                # Where every value is what the schema says, the data needs no view.
                plain = exact is not None and set(map(type, raw.values())) == {exact}
                return raw if plain else MapView(raw, convert)
            if type(raw) is PartialMap:
                return MapView(raw, convert)
            raise EvaluationError(_NOT_A_MAP)

        return Shape(map_converter)
    return Shape(_untyped_map, dict)


def _array_shape(schema: Schema) -> Shape:
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return Shape(_failing("invalid array type, expected Items with a non-empty Schema"))
    merge = schema.get("x-kubernetes-list-type") or "atomic"
    if merge not in ("atomic", "set", "map"):
        return Shape(
            _failing(
                f"invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got {merge}"
            )
        )
    names = schema.get("x-kubernetes-list-map-keys") or ()
    keys = tuple(escape(name) or name for name in names)
    convert, exact = _element_converter(items)
    special = "" if merge == "atomic" else merge

    def view_list(raw: Any) -> Any:
        if type(raw) is not list:
            raise EvaluationError(
                "invalid data, expected an array for the provided schema with type=array"
            )
        if not special and exact is not None and set(map(type, raw)) == {exact}:
            return raw
        return ListView(raw, convert, special, keys)

    return Shape(view_list)


def _element_converter(schema: Schema) -> tuple[Converter, type | None]:
    """
    Return how to convert elements, null among them, and their exact type if there is one.

    An element that contradicts the schema becomes `DeferredError`.
    """
    nullable = bool(schema.get("nullable"))
    made: list[Shape] = []  # made at the first element: schemas may contain themselves

    def convert(raw: Any) -> Any:
        if raw is None:
            return None if nullable else DeferredError(EvaluationError(NULL))
        if not made:
            made.append(shape_of(schema))
        try:
            return made[0].value(raw)
        except EvaluationError as error:
            return DeferredError(error)

    return convert, shape_of(schema).exact if schema.get("type") in _SCALAR_TYPES else None


def _failing(message: str) -> Converter:
    def fail(_raw: Any) -> Any:
        raise EvaluationError(message)

    return fail


def _is_quantity(schema: Schema) -> bool:
    """Recognise `resource.Quantity`: no type, but one of string and number."""
    variants = schema.get("oneOf") or ()
    return len(variants) == 2 and {v.get("type") for v in variants} == {"string", "number"}


def _mismatch(expected: str) -> Converter:
    """Return a converter for a type that no JSON value fits; it always raises."""

    def fail(raw: Any) -> Any:
        found = _GO_TYPES.get(type(raw)) or type(raw).__name__
        raise EvaluationError(f"invalid data, expected {expected}, got {found}")

    return fail


def _untyped_map(raw: Any) -> Any:
    if type(raw) is PartialMap:
        return raw
    raise EvaluationError(_NOT_A_MAP)


def _int_or_string(raw: Any) -> Any:
    """Convert a value with `x-kubernetes-int-or-string`; it keeps its own type."""
    if type(raw) is str or type(raw) is int:
        return raw
    raise EvaluationError(
        "invalid data, expected XIntOrString value to be either a string or integer"
    )


def _integer(raw: Any) -> int:
    if type(raw) is float:
        if raw.is_integer() and -(2.0**63) <= raw <= 2.0**63:
            return int(raw)
        raise EvaluationError(
            f"invalid data, expected int, got non-integer float {format_double(raw)}"
        )
    found = _GO_TYPES.get(type(raw)) or type(raw).__name__
    raise EvaluationError(f"invalid data, expected int, got {found}")


def _number(raw: Any) -> float:
    if type(raw) is int:
        return float(raw)
    found = _GO_TYPES.get(type(raw)) or type(raw).__name__
    raise EvaluationError(f"invalid data, expected float, got {found}")


def _formatted(parse: Callable[[str], Any], complaint: str) -> Converter:
    """Make a converter for strings in a format."""

    def convert(raw: Any) -> Any:
        if type(raw) is not str:
            return _mismatch("string")(raw)
        try:
            return parse(raw)
        except ValueError:
            raise EvaluationError(f"{complaint} {raw}") from None

    return convert


def _bytes(raw: Any) -> bytes:
    if type(raw) is not str:
        raise EvaluationError(f"invalid data, expected string, got {_GO_TYPES.get(type(raw))}")
    text = raw.replace("-", "+").replace("_", "/").replace("\n", "").replace("\r", "")
    try:
        return base64.b64decode(text.encode(), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        # The text itself stays out of the message: it may well be a secret.
        raise EvaluationError("Invalid byte formatted string: illegal base64 data") from None


_TEXT = Shape(_mismatch("string"), str)
_STRINGS: dict[str, Shape] = {
    "byte": Shape(_bytes),
    "date-time": Shape(_formatted(parse_date_time, "Invalid date-time formatted string")),
    "date": Shape(_formatted(parse_date, "Invalid date formatted string")),
    "duration": Shape(
        _formatted(lambda text: Duration(parse_duration_words(text)), "Invalid duration")
    ),
}
_SCALARS: dict[str, Shape] = {
    "boolean": Shape(_mismatch("bool"), bool),
    "integer": Shape(_integer, int),
    "number": Shape(_number, float),
}
_SCALAR_TYPES = frozenset({"string", *_SCALARS})
