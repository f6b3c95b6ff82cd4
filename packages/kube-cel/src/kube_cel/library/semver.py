"""
Semantic versions: strict `X.Y.Z[-pre][+build]`, compared by semver.org's precedence.

Build metadata is ignored in comparisons. With normalisation, a leading `v`, leading
zeros and missing parts are forgiven.
"""

import re
from dataclasses import dataclass
from typing import Final

from kube_cel.library.dispatch import accepts, global_functions, member_functions
from kube_cel.values import EvaluationError, Opaque, check_size
from kube_objects.go_text import quote

_DIGITS: Final = re.compile(r"[0-9]*")
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]*")
_MAX_LENGTH = 10_000
_MAX_UINT = 2**64 - 1

# Numbers sort before other identifiers.
_Identifier = tuple[int, int, str]


@dataclass(frozen=True, slots=True, order=True)
class Semver(Opaque):
    """
    A version, ordered by precedence.

    `is_release` is part of the order: a release follows all its pre-releases.
    """

    KIND = "kubernetes.Semver"

    major: int
    minor: int
    patch: int
    is_release: bool
    pre: tuple[_Identifier, ...]


def parse_semver(text: str, normalize: bool = False) -> Semver:
    """Read a version."""
    check_size(len(text), _MAX_LENGTH)
    if normalize:
        given = text.removeprefix("v").split(".", 2)
        given = [_without_zeros(part) if len(part) > 1 else part for part in given]
        if len(given) < 3 and ("+" in given[-1] or "-" in given[-1]):
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        text = ".".join(given + ["0"] * (3 - len(given)))
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major = _number("major", parts[0])
    minor = _number("minor", parts[1])
    rest, has_build, build = parts[2].partition("+")
    last, has_pre, pre = rest.partition("-")
    patch = _number("patch", last)
    identifiers = tuple(map(_identifier, pre.split("."))) if has_pre else ()
    if has_build:
        for part in build.split("."):
            if not part:
                raise EvaluationError("Build meta data is empty")
            if not _IDENTIFIER.fullmatch(part):
                found = f"Invalid character(s) found in build meta data {quote(part)}"
                raise EvaluationError(found)
    return Semver(major, minor, patch, not has_pre, identifiers)


def compare(left: Semver, right: Semver) -> int:
    """Return -1, 0 or 1."""
    return (left > right) - (left < right)


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0")
    return stripped if "0" <= stripped[:1] <= "9" else "0" + stripped


def _number(which: str, digits: str) -> int:
    if not _DIGITS.fullmatch(digits):
        raise EvaluationError(f"Invalid character(s) found in {which} number {quote(digits)}")
    if _has_leading_zero(digits):
        shown = f"{which.capitalize()} number must not contain leading zeroes {quote(digits)}"
        raise EvaluationError(shown)
    return _uint(digits)


def _uint(digits: str) -> int:
    """Parse a number of a version; the message is that of Go's `strconv`."""
    if not digits:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(digits) > 20 or int(digits) > _MAX_UINT:
        raise EvaluationError(f'strconv.ParseUint: parsing "{digits}": value out of range')
    return int(digits)


def _identifier(text: str) -> _Identifier:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if _has_leading_zero(text):
            raise EvaluationError(
                f"Numeric PreRelease version must not contain leading zeroes {quote(text)}"
            )
        return (0, _uint(text), "")
    if not _IDENTIFIER.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quote(text)}")
    return (1, 0, text)


def _has_leading_zero(digits: str) -> bool:
    return len(digits) > 1 and digits[0] == "0"


def _signed(number: int) -> int:
    """Return what is left of an unsigned 64-bit number that is read as a signed one."""
    return number - 2**64 if number > 2**63 - 1 else number


GLOBALS = global_functions(
    {
        "semver(string)": parse_semver,
        "semver(string, bool)": parse_semver,
        "isSemver(string)": accepts(parse_semver),
        "isSemver(string, bool)": accepts(parse_semver),
    }
)

_PAIR = "(kubernetes.Semver, kubernetes.Semver)"

MEMBERS = member_functions(
    {
        "major(kubernetes.Semver)": lambda version: _signed(version.major),
        "minor(kubernetes.Semver)": lambda version: _signed(version.minor),
        "patch(kubernetes.Semver)": lambda version: _signed(version.patch),
        f"isLessThan{_PAIR}": lambda left, right: left < right,
        f"isGreaterThan{_PAIR}": lambda left, right: left > right,
        f"compareTo{_PAIR}": compare,
    }
)
