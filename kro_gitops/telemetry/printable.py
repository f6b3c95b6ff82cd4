"""
Text from strangers, made fit to be shown.

A file of a hostile repository must not steer the terminal that shows it, nor pass for something
else in a log or in YAML: what is not printable (control characters, those that turn the direction
of writing, halves of surrogate pairs) is replaced, and a text of several lines becomes one.
"""

import json
import re
from typing import Any
from unicodedata import combining, east_asian_width

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BLANKS = frozenset("\t\n\r")
_NOT_PLAIN_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str) -> str:
    """Return a text on one line that holds nothing but printable characters, one for one."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def printable_lines(text: str) -> str:
    """Make every line of a text printable, and keep the lines."""
    return "\n".join(map(printable, text.split("\n")))


def _visible(character: str) -> str:
    return " " if character in _BLANKS else _REPLACEMENT


def columns(text: str) -> int:
    """Count how many columns of a terminal a printable text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def to_json(value: Any) -> str:
    """Print JSON as people read it: letters as they are, all else escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return _NOT_PLAIN_ASCII.sub(_escaped, text) + "\n"


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]
