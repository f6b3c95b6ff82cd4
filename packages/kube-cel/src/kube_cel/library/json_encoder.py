"""
Values → JSON text, to the letter as Go's `encoding/json` writes it.

Keys are sorted, there are no blanks, `<`, `>` and `&` are escaped, whole doubles have no point:
such text is compared when an object is applied, so every character counts. What JSON has no
form for is the caller's to decide: a table says, by Python type, what to write instead.
"""

import re
from collections.abc import Callable, Mapping
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


class NotEncodable(Exception):  # noqa: N818 - it says what `value` is
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
            pieces = _list_pieces(current) if kind in LISTS else _map_pieces(current)
            waiting.extend(reversed(pieces))
        else:
            raise NotEncodable(current)
    return "".join(parts)


def quote_json(text: str) -> str:
    """Write a string as JSON."""
    return f'"{text.translate(_ESCAPES) if _UNSAFE.search(text) else text}"'


def _list_pieces(elements: Any) -> list[Any]:
    pieces: list[Any] = [_OPEN_LIST]
    for element in elements:
        pieces += (element, _COMMA)
    _close(pieces, _CLOSE_LIST)
    return pieces


def _map_pieces(entries: Any) -> list[Any]:
    pieces: list[Any] = [_OPEN_MAP]
    for key, value in sorted(entries.items(), key=_key):
        pieces += (_Written(f"{quote_json(key)}:"), value, _COMMA)
    _close(pieces, _CLOSE_MAP)
    return pieces


def _close(pieces: list[Any], bracket: str) -> None:
    """Put the closing bracket in place of the last comma."""
    if len(pieces) > 1:
        pieces.pop()
    pieces.append(bracket)


def _key(entry: tuple[str, Any]) -> str:
    return entry[0]


_SCALARS: dict[type, Callable[[Any], str]] = {
    _Written: str,
    str: quote_json,
    int: str,
    float: format_json_double,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}
