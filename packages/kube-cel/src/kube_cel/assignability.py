"""
Whether an expression fits the field it fills, and the schema of a field that an expression fills.

`explain_mismatch` compares an expression's type with the type of its target by structure, because
object types are nominal and the two sides never share one. A scalar is accepted for an object: the
API server reports that mismatch, and existing expressions rely on it.

`schema_of_type` goes the other way: from the type of a status expression to the schema of the
status field.
"""

from typing import Any

from kube_cel.environment import (
    PRESERVE_UNKNOWN,
    TYPE_NAME_PREFIX,
    Environment,
    ObjectDeclaration,
    Schema,
    SchemaTypes,
)
from kube_cel.types import DYN, OPAQUE_NAMES, Type, format_type
from kube_objects.errors import SchemaError
from kube_objects.problems import Path


def expected_type(schema: Schema, path: Path, name: str, env: Environment) -> Type:
    """
    Return the type of the field at `path` of resource `name`; dyn where the schema ends.

    Below a map the types get names no declaration has; an object type there is
    unknown to `explain_mismatch`, which then accepts every object.
    """
    type_name = f"{TYPE_NAME_PREFIX}{name}"
    found: Any = schema
    for step in path:
        if isinstance(step, int):
            found = found.get("items")
            type_name = f"{type_name}.@idx"
        elif step:
            found = _schema_at(found, step)
            type_name = f"{type_name}.{step}"
        if not isinstance(found, dict):
            return DYN
    declared = env.find_type(type_name)
    if declared is not None:
        return declared
    return SchemaTypes(type_name, found).root or DYN


def _schema_at(schema: Schema, name: str) -> Schema | None:
    """Look a name up in the properties, then below additionalProperties, then in the items."""
    properties = schema.get("properties") or {}
    if name in properties:
        found: Schema = properties[name]
        return found
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return additional
    if additional is True:
        return {}
    items = schema.get("items")
    return _schema_at(items, name) if isinstance(items, dict) else None


def explain_mismatch(output: Type, expected: Type, env: Environment) -> str | None:
    """Return why a type does not fit its field, or None if it fits."""
    if expected.kind == "dyn" or output.kind == "dyn" or output == expected:
        return None
    if output.kind == "optional_type":
        return explain_mismatch(output.parameters[0], expected, env)
    match expected.kind, output.kind:
        case "object", "map":
            return _explain_map_for_object(output, expected, env)
        case "map", "object" if output.name not in OPAQUE_NAMES:
            declaration = _declaration(output, env)
            if declaration is None:
                return None
            for name, field in declaration.fields.items():
                reason = explain_mismatch(field, expected.parameters[1], env)
                if reason:
                    return f'struct field "{name}" incompatible with map value type: {reason}'
            return None
        case "list", _:
            # A map has parameters as well: its keys are compared with the list's elements.
            if not output.parameters:
                return "list parameter count mismatch: got 0, expected 1"
            reason = explain_mismatch(output.parameters[0], expected.parameters[0], env)
            return reason and f"list element type incompatible: {reason}"
        case "map", _:
            return _explain_map(output, expected, env)
        case "object", _:
            return _explain_object(output, expected, env)
        case wanted, given if wanted != given:
            shown = format_type(output), format_type(expected)
            return 'type kind mismatch: got "{}", expected "{}"'.format(*shown)
        case _:
            return None


def _explain_map(output: Type, expected: Type, env: Environment) -> str | None:
    if len(output.parameters) < 2:
        return f"map parameter count mismatch: got {len(output.parameters)}, expected 2"
    for part, given, wanted in zip(
        ("key", "value"), output.parameters, expected.parameters, strict=True
    ):
        reason = explain_mismatch(given, wanted, env)
        if reason:
            return f"map {part} type incompatible: {reason}"
    return None


def _explain_map_for_object(output: Type, expected: Type, env: Environment) -> str | None:
    declaration = _declaration(expected, env)
    if declaration is None:
        return None
    key, value = output.parameters
    if key.kind != "string":
        return "map keys must be strings to assign to struct"
    for name, field in declaration.fields.items():
        reason = explain_mismatch(value, field, env)
        if reason:
            return f'map value incompatible with struct field "{name}": {reason}'
    return None


def _explain_object(output: Type, expected: Type, env: Environment) -> str | None:
    """An object must not have more than its target; what is no object passes."""
    given, wanted = _declaration(output, env), _declaration(expected, env)
    if given is None or wanted is None or wanted.preserves_unknown:
        return None
    for name, field in given.fields.items():
        target = wanted.declared(name)
        if target is None:
            return f'field "{name}" exists in output but not in expected type'
        reason = explain_mismatch(field, target, env)
        if reason:
            return f'field "{name}" has incompatible type: {reason}'
    return None


def _declaration(examined: Type, env: Environment) -> ObjectDeclaration | None:
    """Find an object type that was derived from a schema; None for others."""
    return env.fields(examined) if examined.name.startswith(TYPE_NAME_PREFIX) else None


_ANYTHING: Schema = {PRESERVE_UNKNOWN: True}
_SCALAR_SCHEMAS: dict[str, Schema] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "uint": {"type": "integer"},
    "double": {"type": "number"},
    "string": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
}
_NULL_SCHEMA: Schema = {"description": "null type - any value allowed", **_ANYTHING}
_TIMESTAMP_SCHEMA: Schema = {
    "description": "Timestamp representing a creation time",
    "type": "string",
    "format": "date-time",
}


def schema_of_type(shown: Type, env: Environment) -> Schema:
    """
    Make the schema of a field that holds values of a type.

    Inside an object type from a schema, times and durations lose their type, and property names
    stay escaped. Both are visible in the objects that use the schema, so they cannot change.
    """
    match shown.kind:
        case "list":
            return {"type": "array", "items": schema_of_type(shown.parameters[0], env)}
        case "map":
            values = schema_of_type(shown.parameters[1], env)
            return {"type": "object", "additionalProperties": values}
        case "object" if shown.name not in OPAQUE_NAMES:
            return _schema_of_object(shown, env, ())
        case "dyn":
            return {**_ANYTHING}
        case "null_type":
            return {**_NULL_SCHEMA}
        case "google.protobuf.Timestamp":
            return {**_TIMESTAMP_SCHEMA}
        case kind if kind in _SCALAR_SCHEMAS:
            return {**_SCALAR_SCHEMAS[kind]}
        case _:
            return {"description": f"unknown CEL type: {format_type(shown)}", **_ANYTHING}


def _schema_of_object(shown: Type, env: Environment, above: tuple[Schema, ...]) -> Schema:
    declaration = _declaration(shown, env)
    if declaration is None:
        return {"type": "object", "additionalProperties": True}
    if any(schema is declaration.schema for schema in above):
        raise SchemaError("cyclic-type", f"cyclic type reference detected: {format_type(shown)}")
    properties = {
        name: _schema_of_part(field, env, (*above, declaration.schema))
        for name, field in declaration.fields.items()
    }
    return {"type": "object", "properties": properties} if properties else {"type": "object"}


def _schema_of_part(shown: Type, env: Environment, above: tuple[Schema, ...]) -> Schema:
    """Make the schema of something inside a declared object."""
    match shown.kind:
        case "list":
            return {"type": "array", "items": _schema_of_part(shown.parameters[0], env, above)}
        case "map":
            values = _schema_of_part(shown.parameters[1], env, above)
            return {"type": "object", "additionalProperties": values}
        case "object":
            return _schema_of_object(shown, env, above)
        case kind:
            return {**_SCALAR_SCHEMAS.get(kind, _ANYTHING)}
