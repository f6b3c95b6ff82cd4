"""
Values of JSON as Go prints them: in JSON, and with the verbs %v, %#v and %T of its messages.

The keys of list items in managed fields, parts of error messages and cells of tables are made of
these texts, so they must be the same to the letter. Values are those that `encoding/json` decodes
into an `interface{}`: whole numbers that fit are int64, all others float64.

Follows structured-merge-diff 6.3 value/value.go ToString; go 1.25 encoding/json/encode.go
appendString, floatEncoder.encode; fmt/print.go pp.printValue, pp.fmtFloat.
"""

import re
from typing import Any

import orjson

from kube_objects.go_numbers import format_double, format_json_double
from kube_objects.go_text import quote

# Texts in which nothing is escaped, as most names are.
_PLAIN = re.compile(r"[\w./:-]*", re.ASCII)
# What Go escapes in a JSON text and others do not, or otherwise.
_ESCAPED = re.compile("[<>&\u2028\u2029\x08\x0c]")
_IN_JSON = re.compile("[<>&\u2028\u2029]|\\\\.")
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
    "\\b": "\\u0008",
    "\\f": "\\u000c",
}
_TYPES = {
    type(None): "<nil>",
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def json_text(value: Any) -> str:
    """Return a value as Go's `encoding/json` writes it: compact, with sorted keys."""
    kind = type(value)
    if kind is str:
        if _PLAIN.fullmatch(value):
            return f'"{value}"'
        text = orjson.dumps(value).decode()
        if _ESCAPED.search(value) is None:
            return text
        return _IN_JSON.sub(lambda found: _ESCAPES.get(found[0], found[0]), text)
    if kind is int:
        return str(value)
    if kind is float:
        return format_json_double(value)
    if kind is list:
        return f"[{','.join(map(json_text, value))}]"
    if kind is dict:
        fields = (f"{json_text(key)}:{json_text(value[key])}" for key in sorted(value))
        return f"{{{','.join(fields)}}}"
    return orjson.dumps(value).decode()


def format_value(value: Any) -> str:
    """Print a value as Go's %v does."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return format_double(value)
        case int() if not -(2**63) <= value < 2**63:
            return format_double(float(value))  # too large for an int64: Go has read a float64
        case list():
            return f"[{' '.join(map(format_value, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{format_value(value[key])}' for key in sorted(value))}]"
        case _:
            return str(value)


def format_literal(value: Any) -> str:
    """Print a value as Go's %#v does."""
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return quote(value)
        case list():
            return f"[]interface {{}}{{{', '.join(map(format_literal, value))}}}"
        case dict():
            fields = (f"{quote(key)}:{format_literal(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(fields)}}}"
        case _:
            return format_value(value)


def type_name(value: Any) -> str:
    """Name the type of a value as Go's %T does."""
    return _TYPES[type(value)]


def whole_floats_as_integers(value: Any) -> Any:
    """Return a value as Go reads it from YAML, where `1e7` is a whole number: an int64."""
    match value:
        case float() if value.is_integer() and abs(value) < 2.0**63:
            return int(value)
        case list():
            return [whole_floats_as_integers(item) for item in value]
        case dict():
            return {key: whole_floats_as_integers(item) for key, item in value.items()}
        case _:
            return value
