"""
Values of options: how a text is parsed, and the phrase for what is allowed.

The text may come from a flag or a variable. Parsers raise `ValueError`; the caller knows the name
of the option and formats the message.

`--help` loads this module, so it imports nothing heavy: durations are parsed here and not by the
CEL library, which has the same rules.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from kro_gitops.settings.address import parse_address

# The words of Go's flag package.
_BOOLEANS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
_NAMESPACE = r"([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?"
_HOST = r"[A-Za-z0-9.:%_-]+"
_LABEL_KEY = r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_LABEL_PATTERN = r"[A-Za-z0-9./_*?!\[\]-]+"
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_PART = r"([0-9]{1,15}\.?[0-9]{0,15}|\.[0-9]{1,15})(ns|us|µs|μs|ms|s|m|h)"
_DURATION_PART, _DURATION = re.compile(_PART), re.compile(rf"(?:{_PART})+")
_MAX_SECONDS = 2**63 / 10**9  # what Go's Duration holds
_QUANTITY = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(?:([EPTGMk])|([EPTGMK])i)?")
_POWERS = "KMGTPE"
# kro itself is `devel` when it was built without a version.
_VERSION = r"devel|v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"

# What the sandbox can simulate for the Pods of an image; its `--outcome` takes the same words.
OUTCOMES = (
    "Running",
    "Succeeded",
    "Failed",
    "Pending",
    "Unschedulable",
    "CrashLoopBackOff",
    "ImagePullBackOff",
)


@dataclass(frozen=True, slots=True)
class Values:
    """How a text is parsed, and the phrase for what is allowed; `repeats`: may be given again."""

    parse: Callable[[str], Any]
    allowed: str
    metavar: str
    choices: tuple[str, ...] = ()
    repeats: bool = False


def one_of(kind: type[StrEnum], also: Mapping[str, StrEnum] | None = None) -> Values:
    """Allow the values of an enumeration, and aliases of them."""
    choices = tuple(each.value for each in kind)
    known: dict[str, StrEnum] = {**(also or {}), **{each.value: each for each in kind}}

    def parse(text: str) -> StrEnum:
        if text not in known:
            raise ValueError(text)
        return known[text]

    # With aliases the choices are not complete.
    return Values(parse, f"one of {', '.join(choices)}", "|".join(choices), () if also else choices)


def gates(names: Iterable[str]) -> Values:
    """Allow a list of feature gates; the value is the set of those that are enabled."""
    alpha = tuple(names)
    known = ("AllAlpha", "AllBeta", *alpha)

    def parse(text: str) -> frozenset[str]:
        written = {}
        for part in filter(None, (each.strip() for each in text.split(","))):
            name, _, value = (each.strip() for each in part.partition("="))
            if name not in known:
                raise ValueError(text)
            written[name] = parse_boolean(value)
        # A single gate takes precedence over AllAlpha. No gate is beta so far.
        all_alpha = written.get("AllAlpha", False)
        return frozenset(name for name in alpha if written.get(name, all_alpha))

    return Values(
        parse,
        f"a list such as {alpha[0]}=true; the gates are {', '.join(known)}, "
        "and each can be true or false",
        "GATE=true,…",
    )


def parse_boolean(text: str) -> bool:
    """Parse what Go's flags accept: `true`, `T`, `1` …"""
    if text.lower() not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS[text.lower()]


def _whole(text: str, least: int | None = None, most: int | None = None) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise ValueError(text)
    number = int(text)
    if (least is not None and number < least) or (most is not None and number > most):
        raise ValueError(text)
    return number


def _rate(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(text)
    return number


def _seconds(text: str, *, may_be_zero: bool) -> float:
    """Parse a duration as Go's time.ParseDuration does, but none below 0: `1h2m`, `1.5s`, `0`."""
    text, seconds = text.removeprefix("+"), 0.0
    if text != "0":
        if not _DURATION.fullmatch(text):
            raise ValueError(text)
        for number, unit in _DURATION_PART.findall(text):
            seconds += float(number) * _UNITS[unit]
    if seconds > _MAX_SECONDS or (seconds == 0 and not may_be_zero):
        raise ValueError(text)
    return seconds


def _bytes(text: str) -> int:
    """Parse a quantity of Kubernetes: `2Gi`, `1.5G`, `500000`."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    number, decimal, binary = found.groups()
    base = 1024 if binary else 1000
    power = _POWERS.index((decimal or binary).upper()) + 1 if decimal or binary else 0
    return int(float(number) * base**power)


def _matching(pattern: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(text)
        return text

    return parse


def _patterns(text: str) -> tuple[str, ...]:
    if text == "none":
        return ()
    return tuple(map(_matching(_LABEL_PATTERN), (part.strip() for part in text.split(","))))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for each in text.split(",") if (part := each.strip()))


def _outcomes(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for pair in _listed(text):
        image, _, outcome = pair.strip().rpartition("=")
        if outcome not in OUTCOMES or not image or any(char.isspace() for char in image):
            raise ValueError(pair)
        found[image] = outcome
    return tuple(found.items())


BOOLEAN = Values(parse_boolean, "true or false", "true|false")
TEXT = Values(str, "text", "TEXT")
NAME = Values(str, "a name", "NAME")
FILE = Values(lambda text: PurePath(text) if text else None, "a file", "FILE")
FOLDER = Values(lambda text: PurePath(text) if text else None, "a folder", "FOLDER")
HOST = Values(
    _matching(_HOST), "an address such as 127.0.0.1 or ::1, or the name of a host", "HOST"
)
COUNT = Values(lambda text: _whole(text, 1), "a whole number above 0", "N")
NATURAL = Values(lambda text: _whole(text, 0), "a whole number, 0 or more", "N")
BYTES = Values(_bytes, "a number of bytes such as 500Mi, 2Gi or 0", "BYTES")
PORT = Values(lambda text: _whole(text, 0, 65535), "a port from 0 to 65535", "N")
INTEGER = Values(_whole, "a whole number", "N")
RATE = Values(_rate, "a number, 0 or more", "N")
DURATION = Values(
    lambda text: _seconds(text, may_be_zero=True),
    "a duration such as 3s, 500ms, 1m30s or 0",
    "DURATION",
)
POSITIVE_DURATION = Values(
    lambda text: _seconds(text, may_be_zero=False),
    "a duration above 0, such as 3s, 500ms or 1m30s",
    "DURATION",
)
ADDRESS = Values(
    parse_address,
    "an address such as :8078, 127.0.0.1:8078 or [::1]:8078, or 0 for none",
    "ADDRESS",
)
NAMESPACE = Values(_matching(_NAMESPACE), "the name of a namespace", "NAMESPACE")
LABEL_KEY = Values(_matching(_LABEL_KEY), "the key of a label", "KEY")
VERSION = Values(_matching(_VERSION), "a version such as v0.9.4", "VERSION")
LIST = Values(_listed, "a list with commas", "A,B,…")
PATTERNS = Values(
    _patterns, "'none', or patterns of label keys such as team,example.com/*", "PATTERNS"
)
OUTCOMES_BY_IMAGE = Values(
    _outcomes,
    f"IMAGE=OUTCOME, where OUTCOME is one of {', '.join(OUTCOMES)}",
    "IMAGE=OUTCOME",
    repeats=True,
)
