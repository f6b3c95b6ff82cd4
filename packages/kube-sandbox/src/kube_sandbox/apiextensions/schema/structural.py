"""
Whether a schema is structural: whether it says of every value what it is, in one place.

What only restricts values (below `anyOf`, `allOf`, `oneOf`, `not`) may not say what they are, and
every field it speaks of must be described outside of it. The errors are sorted, as the API server
sorts them.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go
ValidateStructural; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/complete.go
validateStructuralCompleteness.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import re2

from kube_objects.schemas import Schema
from kube_sandbox.registry.field_errors import FieldError, forbidden, invalid, required
from kube_sandbox.registry.strategy import Errors

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies")
_UNSUPPORTED_AFTER = ("additionalItems", "definitions")
_KEYWORD_NAMES = {"$schema": "schema"}
_EMPTY = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
# What may not be said where values are only restricted.
_NOT_BELOW: tuple[tuple[str, str], ...] = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_BOTH = "x-kubernetes-int-or-string"


def unsupported(schema: Schema | None) -> str:
    """Return what no structural schema can have, if a schema has it; an empty text if not."""
    if schema is None:
        return ""
    for key in (*_UNSUPPORTED, *_UNSUPPORTED_AFTER):
        if schema.get(key) is not None:
            return f"OpenAPIV3Schema '{_KEYWORD_NAMES.get(key, key)}' is not supported"
    if schema.get(_PRESERVE_UNKNOWN) is False:
        return f"internal error: '{_PRESERVE_UNKNOWN}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((why for part in _all_parts(schema) if (why := unsupported(part))), "")


def _all_parts(schema: Schema) -> Iterator[Schema]:
    for key in ("not", "items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]
    for key in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(key) or ()
    yield from (schema.get("properties") or {}).values()


def is_int_or_string_union(alternatives: list[Schema] | None) -> bool:
    """Return whether alternatives are nothing but the two types of an int-or-string."""
    bare = [
        {key: part for key, part in each.items() if key not in ("example", "externalDocs")}
        for each in alternatives or ()
    ]
    return bare == _INT_OR_STRING


def structural_errors(schema: Schema, path: str) -> Errors:
    """Return why a schema is not structural."""
    found = [*_check(schema, "root", path), *_complete(schema, schema, path, path)]
    return sorted(found, key=str)


def _fields(schema: Mapping[str, Any]) -> dict[str, Schema]:
    return schema.get("properties") or {}


def _check(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    kind, items = schema.get("type", ""), schema.get("items")
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if items is not None:
        yield from _check(items, "item", f"{path}.items")
    for name, part in _fields(schema).items():
        yield from _check(part, "field", f"{path}.properties[{name}]")
    others = schema.get("additionalProperties")
    if others is not None and level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(others, dict):
        yield from _check(others, "field", f"{path}.additionalProperties")
    if schema.get(_BOTH):
        for key in (_PRESERVE_UNKNOWN, _EMBEDDED):
            if schema.get(key):
                message = "must be false if x-kubernetes-int-or-string is true"
                yield invalid(f"{path}.{key}", True, message)
    first = (schema.get("allOf") or [{}])[0]
    yield from _check_values(
        schema,
        path,
        level,
        skip_any=is_int_or_string_union(schema.get("anyOf")),
        skip_first=is_int_or_string_union(first.get("anyOf")),
    )
    embedded = schema.get(_EMBEDDED)
    if embedded and kind != "object":
        message = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", kind, message) if kind else required(f"{path}.type", message)
    elif not kind and not schema.get(_BOTH) and not schema.get(_PRESERVE_UNKNOWN):
        yield required(f"{path}.type", _EMPTY[level])
    if embedded and schema.get("additionalProperties") is not None:
        message = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", message)
    if level == "root" and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if embedded and not schema.get(_PRESERVE_UNKNOWN) and not _fields(schema):
        message = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{path}.properties", message)
    yield from _check_metadata(schema, level, path)


def _check_metadata(schema: Schema, level: str, path: str) -> Iterator[FieldError]:
    is_whole = level == "root" or bool(schema.get(_EMBEDDED))
    known = _fields(schema)
    for name in ("kind", "apiVersion"):
        if is_whole and name in known and known[name].get("type", "") != "string":
            where = f"{path}.properties[{name}].type"
            yield invalid(where, known[name].get("type", ""), "must be string")
    metadata = known.get("metadata")
    if metadata is None:
        return
    where = f"{path}.properties[metadata]"
    if is_whole and metadata.get("type", "") != "object":
        yield invalid(f"{where}.type", metadata.get("type", ""), "must be object")
    names_only = _fields(metadata).keys() <= {"name", "generateName"} and metadata.keys() <= {
        *("type", "default", "properties", "externalDocs", "example")
    }
    if level == "root" and not names_only:
        message = (
            "must not specify anything other than name and generateName, "
            "but metadata is implicitly specified"
        )
        yield forbidden(where, message)


def _check_values(
    schema: Schema, path: str, level: str, *, skip_any: bool = False, skip_first: bool = False
) -> Iterator[FieldError]:
    """Check what restricts values; two ways of saying int-or-string are let through."""
    if not skip_any:
        for index, part in enumerate(schema.get("anyOf") or ()):
            yield from _check_below(part, f"{path}.anyOf[{index}]", level)
    for index, part in enumerate(schema.get("allOf") or ()):
        skip = skip_first and index == 0
        yield from _check_below(part, f"{path}.allOf[{index}]", level, skip_any=skip)
    for index, part in enumerate(schema.get("oneOf") or ()):
        yield from _check_below(part, f"{path}.oneOf[{index}]", level)
    if schema.get("not") is not None:
        yield from _check_below(schema["not"], f"{path}.not", level)
    if schema.get("pattern"):
        pattern = schema["pattern"]
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(pattern, options=options)
        except re2.error as error:
            # Tell an error of the library for regular expressions as Go's sister library does.
            pattern_told = str(
                error.args[0].decode() if isinstance(error.args[0], bytes) else error
            )
            what, _, where = pattern_told.partition(": ")
            for theirs, ours in _GO_ERRORS:
                if what == theirs:
                    what = ours
            wrong = f"error parsing regexp: {what}: `{where}`"
        else:
            wrong = ""
        if wrong:
            message = f"must be a valid regular expression, but isn't: {wrong}"
            yield invalid(f"{path}.pattern", schema["pattern"], message)


def _check_below(
    schema: Schema, path: str, level: str, *, skip_any: bool = False
) -> Iterator[FieldError]:
    yield from _check_values(schema, path, level, skip_any=skip_any)
    if schema.get("items") is not None:
        yield from _check_below(schema["items"], f"{path}.items", level)
    for name, part in _fields(schema).items():
        yield from _check_below(part, f"{path}.properties[{name}]", "field")
    for key, message in _NOT_BELOW:
        value = schema.get(key)
        if value is not None and not (key == "additionalProperties" and value is False):
            yield forbidden(f"{path}.{key}", message)
    if "metadata" in _fields(schema):
        message = "must not be specified in a nested context"
        yield forbidden(f"{path}.properties[metadata]", message)


_GO_ERRORS = (
    ("missing ]", "missing closing ]"),
    ("missing )", "missing closing )"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("trailing \\", "trailing backslash at end of expression"),
    ("unexpected )", "unexpected )"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid named capture group", "invalid named capture"),
)


def _complete(
    values: Schema, schema: Schema | None, path: str, value_path: str
) -> Iterator[FieldError]:
    """Check that all that is restricted is described."""
    if values.get("not") is not None:
        yield from _check_described(values["not"], schema, path, f"{value_path}.not")
    for key in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(values.get(key) or ()):
            yield from _check_described(part, schema, path, f"{value_path}.{key}[{index}]")


def _check_described(
    values: Schema, schema: Schema | None, path: str, value_path: str
) -> Iterator[FieldError]:
    if schema is None:
        yield required(path, f"because it is defined in {value_path}")
        return
    yield from _complete(values, schema, path, value_path)
    if values.get("items") is not None:
        here, there = f"{path}.items", f"{value_path}.items"
        yield from _check_described(values["items"], schema.get("items"), here, there)
    for name, part in _fields(values).items():
        there = f"{value_path}.properties[{name}]"
        where = f"{path}.properties[{name}]"
        if name not in _fields(schema):
            yield required(where, f"because it is defined in {there}")
        else:
            yield from _check_described(part, _fields(schema)[name], where, there)
