"""
Values as Go prints them: in JSON, and in messages.

The keys of list items in managed fields are JSON as Go writes it, and what is wrong with an
applied value is told with the value in Go's own notation; both must be the same to the letter.

Follows structured-merge-diff 6.3 value/value.go ToString; go 1.25 encoding/json/encode.go
appendString, floatEncoder.encode.
"""

import re
from decimal import Decimal
from typing import Any

import orjson

from kube_sandbox.registry.field_errors import quoted

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
_LARGE = 21  # from 10 to this power on Go writes numbers in JSON with an exponent …
_SMALL = -6  # … and below this one
_MESSAGE_LARGE = 6  # the same in messages
_MESSAGE_SMALL = -4
_INTEGERS = 2.0**63


def json_text(value: Any) -> str:
    """Return a value as JSON, compact, with sorted keys."""
    kind = type(value)
    if kind is str:
        if _PLAIN.fullmatch(value):
            return f'"{value}"'
        text = orjson.dumps(value).decode()
        return text if _ESCAPED.search(value) is None else _IN_JSON.sub(_escape, text)
    if kind is int:
        return str(value)
    if kind is float:
        return _json_number(value)
    if kind is list:
        return f"[{','.join(map(json_text, value))}]"
    if kind is dict:
        fields = (f"{json_text(key)}:{json_text(value[key])}" for key in sorted(value))
        return f"{{{','.join(fields)}}}"
    return orjson.dumps(value).decode()


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0], found[0])


def _scientific(value: float) -> tuple[str, int]:
    """Return the fewest digits that tell a number from all others, and its power of ten."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    mantissa = f"{'-' if sign else ''}{text[0]}{'.' if text[1:] else ''}{text[1:]}"
    return mantissa, int(exponent) + len(digits) - 1


def _json_number(value: float) -> str:
    mantissa, power = _scientific(value)
    if value and not _SMALL <= power < _LARGE:
        return f"{mantissa}e{power:+d}"
    return f"{Decimal(repr(value)).normalize():f}"


def number(value: float) -> str:
    """Return a number as Go prints a float in messages."""
    value = float(value)
    mantissa, power = _scientific(value)
    if value and not _MESSAGE_SMALL <= power < _MESSAGE_LARGE:
        return f"{mantissa}e{power:+03d}"
    return f"{Decimal(repr(value)).normalize():f}"


def format_value(value: Any) -> str:
    """Print a value as Go's %v does."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # What is applied comes as YAML, in which a whole number is an integer however written.
        whole = value.is_integer() and abs(value) < _INTEGERS
        return str(int(value)) if whole else number(value)
    if isinstance(value, list):
        return f"[{' '.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{format_value(value[key])}' for key in sorted(value))}]"
    return str(value)


def format_literal(value: Any) -> str:
    """Print a value as Go's %#v does."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(format_literal, value))}}}"
    if isinstance(value, dict):
        fields = (f"{quoted(key)}:{format_literal(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(fields)}}}"
    return format_value(value)


def type_name(value: Any) -> str:
    """Name the type of a value as Go's %T does."""
    return _TYPES[type(value)]
