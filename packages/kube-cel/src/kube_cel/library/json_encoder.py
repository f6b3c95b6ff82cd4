"""
Values → JSON text, exactly as Go's `encoding/json` writes it.

Keys are sorted, there is no whitespace, `<`, `>` and `&` are escaped, whole doubles have no decimal
point: such text is compared when an object is applied, so every character counts. For values
without a JSON form, the caller passes a table from Python type to a substitute.
"""

import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

from kube_cel.values import LISTS, MAPS, MAX_PARTS, check_size
from kube_objects.go_numbers import format_json_double

Substitutes = Mapping[type, Callable[[Any], Any]]

_UNSAFE: Final = re.compile('["\\\\\x00-\x1f<>&\u2028\u2029\ud800-\udfff]')
_ESCAPES = {
    **{ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"},
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    **dict.fromkeys(range(0xD800, 0xE000), "\\ufffd"),
    **{ord(char): f"\\{char}" for char in '"\\'},
    **{ord(char): f"\\{letter}" for char, letter in zip("\b\f\n\r\t", "bfnrt", strict=True)},
}


class NotEncodable(Exception):  # noqa: N818 - describes `value`
    """A value that JSON has no form for."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class _Written(str):
    """Text that is JSON already."""

    __slots__ = ()


_OPEN_LIST, _CLOSE_LIST = _Written("["), _Written("]")
_OPEN_MAP, _CLOSE_MAP = _Written("{"), _Written("}")
_COMMA = _Written(",")


def encode_json(value: Any, substitutes: Substitutes) -> str:
    """
    Write a value as JSON.

    What a substitute returns is written in its place and not substituted again. A value that
    is neither JSON's nor substituted raises `NotEncodable`.
    """
    # Walks without calling itself: data may be nested deeper than Python may call.
    parts: list[str] = []
    total = 0
    waiting = [value]
    while waiting:
        current = waiting.pop()
        substitute = substitutes.get(type(current))
        if substitute is not None:
            current = substitute(current)
        kind = type(current)
        written = _SCALARS.get(kind)
        if written is not None:
            parts.append(written(current))
            total += len(parts[-1])
            check_size(total)
        elif kind in LISTS or kind in MAPS:
            check_size(len(parts) + len(current), MAX_PARTS)
            pieces: list[Any]
            if kind in LISTS:
                pieces = [_OPEN_LIST]
                for element in current:
                    pieces += (element, _COMMA)
                closing = _CLOSE_LIST
            else:
                pieces = [_OPEN_MAP]
                for key, part in sorted(current.items(), key=itemgetter(0)):
                    pieces += (_Written(f"{quote_json(key)}:"), part, _COMMA)
                closing = _CLOSE_MAP
            if len(pieces) > 1:
                pieces.pop()  # the last comma
            waiting += (closing, *reversed(pieces))
        else:
            raise NotEncodable(current)
    return "".join(parts)


def quote_json(text: str) -> str:
    """Write a string as JSON."""
    return f'"{text.translate(_ESCAPES) if _UNSAFE.search(text) else text}"'


_SCALARS: dict[type, Callable[[Any], str]] = {
    _Written: str,
    str: quote_json,
    int: str,
    float: format_json_double,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}
