"""
JSON as an API server reads it.

Python's reader is more lenient: it takes `NaN`, numbers beyond every float, and halves of
surrogate pairs. Here those are what they are to Go: errors, errors, and U+FFFD.
"""

import json
import math
from typing import Any, NoReturn

from kube_objects import go_text

MAX_DEPTH = 100  # levels; ours, far below what a server takes and above what people write


class NotJsonError(ValueError):
    """A text that is not JSON; the message says why."""


def parse(text: str) -> Any:
    """Read a JSON text."""
    try:
        value = json.loads(text, parse_constant=_constant, parse_int=_integer, parse_float=_float)
    except RecursionError:
        raise NotJsonError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        reason = error.msg.lower().removesuffix(" at")
        raise NotJsonError(f"{reason} at character {error.pos + 1}") from None
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
    if depth > MAX_DEPTH:
        raise NotJsonError(f"it is nested deeper than {MAX_DEPTH} levels")
    return _clean(value)


def _constant(text: str) -> NoReturn:
    raise NotJsonError(f"{text} is not a JSON number")


def _integer(text: str) -> int:
    _float(text)
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotJsonError(f"{text[:20]} is out of range")
    return value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return go_text.decode(go_text.encode(value))
    if isinstance(value, list):
        return [_clean(child) for child in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(child) for key, child in value.items()}
    return value
