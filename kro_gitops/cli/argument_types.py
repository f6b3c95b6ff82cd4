"""
Values of arguments: how their text is parsed, and the message when it is wrong.

Imports nothing but the standard library: `--help` and completion load this module.
"""

import re
from argparse import ArgumentTypeError
from dataclasses import dataclass

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*|\*")
_DURATION = re.compile(r"(?:(?:\d{1,6})[dhms])+")


@dataclass(frozen=True, slots=True)
class Target:
    """The object a verb is about: a kind, and a name; without a name, all objects of the kind."""

    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class SourceName:
    """A source as it is named on the command line; without a namespace it is the context's."""

    name: str
    namespace: str = ""

    @classmethod
    def of(cls, first: str, second: str) -> "SourceName":
        """Combine the parts before and after a slash."""
        return cls(second, first) if second else cls(first)


def target(text: str) -> Target:
    """Parse `KIND/NAME`, or `KIND` alone."""
    kind, slash, name = text.partition("/")
    if not kind or (slash and not name) or "/" in name:
        raise ArgumentTypeError(f"'{text}' is not KIND/NAME, as in webapp/front")
    return Target(kind, name)


def full_target(text: str) -> Target:
    """Parse `KIND/NAME`."""
    parsed = target(text)
    if not parsed.name:
        raise ArgumentTypeError(f"'{text}' is not KIND/NAME, as in webapp/front")
    return parsed


def source_name(text: str) -> SourceName:
    """Parse `NAME`, or `NAMESPACE/NAME`."""
    first, slash, second = text.partition("/")
    if not first or (slash and not second) or "/" in second:
        raise ArgumentTypeError(f"'{text}' is not NAME or NAMESPACE/NAME")
    return SourceName.of(first, second)


def duration(text: str) -> float:
    """Parse `90s`, `5m`, `1h30m` or `2d` into seconds."""
    parts = re.findall(r"(\d+)([dhms])", text) if _DURATION.fullmatch(text) else []
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    if not seconds:
        raise ArgumentTypeError(f"'{text}' is not a duration such as 90s, 5m or 1h30m")
    return seconds


def positive(text: str) -> int:
    """Parse a whole number above 0."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError(f"'{text}' is not a whole number above 0")


def whole_number(text: str) -> int:
    """Parse a number of levels: 0 or more."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise ArgumentTypeError(f"'{text}' is not a whole number")


def external_kind(text: str) -> tuple[str, str]:
    """Parse GROUP/KIND; the core group has no name and no slash."""
    group, _, kind = text.rpartition("/")
    if not _KIND.fullmatch(kind) or "/" in group:
        raise ArgumentTypeError(f"'{text}' is not GROUP/KIND, such as example.com/Bucket")
    return group, kind
