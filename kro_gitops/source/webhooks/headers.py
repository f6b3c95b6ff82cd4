"""
HTTP headers, as this package reads them: names in lower case, one value each.

A header that was sent twice becomes one with both values, as HTTP has it. No signature has that
form, so a second one cannot be smuggled in.
"""

from collections.abc import Iterable, Mapping

Headers = Mapping[str, str]

_LONGEST = 128  # characters of a word that is shown
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.:/{}")


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers by their names in lower case."""
    found: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def first(headers: Headers, names: Iterable[str]) -> str:
    """Return the first of these headers that is there, or nothing."""
    return next((headers[name] for name in names if headers.get(name)), "")


def plain(text: str) -> str:
    """Return a word that may be shown and logged, whatever the caller sent."""
    return "".join(each if each in _PLAIN else "?" for each in text[:_LONGEST])
