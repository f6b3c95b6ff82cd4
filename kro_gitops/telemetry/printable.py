"""
Untrusted text, printed safely.

A file of a hostile repository must not control the terminal that shows it, nor forge lines in a log
or in YAML: characters that are not printable (control characters, direction overrides, halves of
surrogate pairs) are replaced, and a text of several lines becomes one.
"""

import json
import re
from typing import Any
from unicodedata import combining, east_asian_width

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BLANKS = frozenset("\t\n\r")
_NOT_PLAIN_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str) -> str:
    """Return a text on one line with only printable characters, one for one."""
    if text.isprintable():
        return text
    shown = [c if c.isprintable() else " " if c in _BLANKS else _REPLACEMENT for c in text]
    return "".join(shown)


def printable_lines(text: str) -> str:
    """Make every line of a text printable, and keep the lines."""
    return "\n".join(map(printable, text.split("\n")))


def columns(text: str) -> int:
    """Count the columns of a terminal that a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def to_json(value: Any) -> str:
    """Format JSON for users: letters as they are, everything else escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return _NOT_PLAIN_ASCII.sub(_escaped, text) + "\n"


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]
