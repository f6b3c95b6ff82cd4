"""
Whether two answers are the same but for what every server chooses itself.

Uids, names it made up and addresses are numbered in the order in which they are first seen;
times are replaced by their form; versions are numbered too, and their order is compared at the end
of a sequence.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.apiserver.sides import Reply

_UID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"20(?:2[5-9]|3\d)-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
_MADE = r"(?<=-g-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"
_ADDRESS = r"\b10\.0\.\d+\.\d+\b"
_CHOSEN = re.compile(f"(?P<uid>{_UID})|(?P<time>{_TIME})|(?P<made>{_MADE})|(?P<address>{_ADDRESS})")
_AGE = re.compile(r"^(\d+[smhd])+$|^<invalid>$")
_VERSION_WORDS = re.compile(
    r"(?i)((?:resource ?version|record|precondition)[^0-9\"]{1,40}|current: )(\d+)"
)
_EMBEDDED = re.compile(r'"\{(?:[^"\\]|\\.)*\}"')
_PORT = re.compile(
    r"(?<=:)3\d{4}(?=/)|(?<=nodePort: Duplicate value: )3\d{4}|(?<=^Duplicate value: )3\d{4}$"
)
_FIRST_PORT = 30000
_ENTRY_ORDER = ("operation", "manager", "subresource", "apiVersion")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two answers differ."""

    place: str
    real: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.place}\n        real: {_short(self.real)}\n        ours: {_short(self.ours)}"


def _short(value: Any) -> str:
    text = json.dumps(value) if value is not ABSENT else "(absent)"
    return text if len(text) < 1500 else f"{text[:1500]}…"


ABSENT: Any = object()


@dataclass(slots=True)
class Naming:
    """The names of one side's own choices, in the order in which they are seen."""

    seen: dict[tuple[str, str], str] = field(default_factory=dict)

    def comparable(self, reply: Reply) -> dict[str, Any]:
        """Return an answer in a form that can be compared."""
        return {
            "code": reply.code,
            "type": reply.content_type,
            "warnings": [self._text(each) for each in reply.warnings],
            "body": self.value(reply.body),
        }

    def value(self, value: Any, key: str = "") -> Any:
        """Return a value with all own choices replaced."""
        if isinstance(value, dict):
            if ("items" in value or "rows" in value) and isinstance(value.get("metadata"), dict):
                # A list is as new as the store, in which others write too.
                value = {**value, "metadata": {**value["metadata"], "resourceVersion": ""}}
            return {each: self.value(held, each) for each, held in sorted(value.items())}
        if isinstance(value, list):
            return self._items(value, key)
        if isinstance(value, str):
            return self._string(value, key)
        if (
            key in ("nodePort", "healthCheckNodePort")
            and isinstance(value, int)
            and value >= _FIRST_PORT
        ):
            return "PORT"
        return value

    def _items(self, items: list[Any], key: str) -> list[Any]:
        if key == "managedFields":
            items = sorted(items, key=_entry_key)
        elif key == "cells":
            return [
                "AGE" if isinstance(each, str) and _AGE.match(each) else self.value(each)
                for each in items
            ]
        return [self.value(each, key) for each in items]

    def _string(self, text: str, key: str) -> Any:
        if key == "resourceVersion" and text.isdecimal() and text != "0":
            return self._numbered("version", text)
        if key == "continue" and text:
            return "TOKEN"
        return self._text(text)

    def _text(self, text: str) -> str:
        named = _CHOSEN.sub(self._chosen, _EMBEDDED.sub(_without_order, text))
        named = _PORT.sub("PORT", named)
        return _VERSION_WORDS.sub(lambda found: f"{found[1]}VERSION", named)

    def _chosen(self, found: re.Match[str]) -> str:
        sort = found.lastgroup or ""
        if sort == "address":
            return "ADDRESS"
        if sort == "time":
            return "TIME.micro" if "." in found[0] else "TIME"
        return self._numbered(sort, found[0])

    def _numbered(self, sort: str, text: str) -> str:
        key = (sort, text)
        if key not in self.seen:
            count = sum(each == sort for each, _ in self.seen)
            self.seen[key] = f"{sort}-{count + 1}"
        return self.seen[key]

    def order(self) -> list[str]:
        """Return the versions seen, as they are numbered, from the oldest to the newest."""
        numbers = [
            (int(text), name) for (sort, text), name in self.seen.items() if sort == "version"
        ]
        return [name for _, name in sorted(numbers)]


def _without_order(found: re.Match[str]) -> str:
    """Sort the keys of an object that is quoted in a message."""
    try:
        inner = json.loads(json.loads(found[0]))
    except ValueError:
        return found[0]
    metadata = inner.get("metadata") or {}
    if metadata.get("managedFields"):
        metadata["managedFields"].sort(key=_entry_key)
    text = json.dumps(inner, sort_keys=True)
    return re.sub(r'"resourceVersion": "\d+"', '"resourceVersion": "VERSION"', text)


def _entry_key(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return [str(entry)]
    return [str(entry.get(part, "")) for part in _ENTRY_ORDER]


def differences(real: Any, ours: Any, place: str = "") -> Iterator[Difference]:
    """Find the places where two comparable answers differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted({*real, *ours}):
            held, other = real.get(key, ABSENT), ours.get(key, ABSENT)
            yield from differences(held, other, f"{place}/{key}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for index, (held, other) in enumerate(zip(real, ours, strict=True)):
            yield from differences(held, other, f"{place}/{index}")
    elif real is not ours and not _same(real, ours):
        yield Difference(place, real, ours)


def _same(real: Any, ours: Any) -> bool:
    return type(real) is type(ours) and bool(real == ours)


def without_order(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a refusal whose errors stand in no order."""
    body = answer["body"]
    if not isinstance(body, dict) or body.get("kind") != "Status":
        return answer
    changed = {**body, "message": sorted(re.split(r"[\[\], ]+", body.get("message", "")))}
    details = body.get("details")
    if isinstance(details, dict) and isinstance(details.get("causes"), list):
        causes = sorted(details["causes"], key=lambda each: json.dumps(each, sort_keys=True))
        changed["details"] = {**details, "causes": causes}
    return {**answer, "body": changed}
