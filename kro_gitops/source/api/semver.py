"""
Semantic versions and ranges of them, as Masterminds/semver v3 reads them.

Flux and Helm use that Go library, so people's ranges mean what they mean there: `1.x`, `~1.2`,
`^1`, `>=1 <2`, `1.2 - 2.3`, `a || b`. Its grammar is a set of regular expressions in Go's
dialect with a few surprises; they are taken over word for word and run by google-re2, which
speaks the same dialect. Packages for Python follow npm's or PEP 440's rules instead, which
differ for pre-releases, partial versions and blanks.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import re2

from kro_gitops.errors import UserError

_LONGEST_VERSION = 256
_LONGEST_RANGE = 512
_MOST_GROUPS = 32
_UINT64 = 1 << 64
_DIGITS = frozenset("0123456789")

_TAIL = (
    r"(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
    r"(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?"
)
_LOOSE = re2.compile(r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?" + _TAIL)
_PARTIAL = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?" + _TAIL
_OPERATORS = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^"
_ONE = re2.compile(rf"^\s*({_OPERATORS})\s*({_PARTIAL})\s*$")
_EACH = re2.compile(rf"({_OPERATORS})\s*({_PARTIAL})")
_GROUP = re2.compile(
    rf"^(\s*({_OPERATORS})\s*({_PARTIAL})\s*)((?:\s+|,\s*)({_OPERATORS})\s*({_PARTIAL})\s*)*$"
)
_HYPHEN = re2.compile(rf"\s*({_PARTIAL})\s+-\s+({_PARTIAL})\s*")
_UPPER_OF_HYPHEN = 11  # the group that holds the second version

# Of a pre-release, part by part: nothing < numbers < words.
_PreKey = tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A version; compare by `key`, which leaves out build metadata."""

    major: int
    minor: int
    patch: int
    pre: str = ""
    build: str = ""
    text: str = ""

    @property
    def key(self) -> tuple[int, int, int, bool, _PreKey]:
        """Order versions: a pre-release comes before its release."""
        return (self.major, self.minor, self.patch, not self.pre, _pre_key(self.pre))


@dataclass(frozen=True, slots=True)
class _Constraint:
    operator: str
    version: Version
    dirty: bool = False  # some part was left out, or is an x
    minor_dirty: bool = False
    patch_dirty: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """Alternatives, each of them constraints that must all hold."""

    groups: tuple[tuple[_Constraint, ...], ...]

    def holds(self, version: Version) -> bool:
        """Return whether a version is in the range; a pre-release only where it names one."""
        return any(
            all(_CHECKS[each.operator](version, each) for each in group)
            for group in self.groups
            if not version.pre or any(each.version.pre for each in group)
        )


def parse_version(text: str) -> Version | None:
    """Read a strict version, `v` before it allowed (as Flux reads tags); None if it is none."""
    found = _parse(text)
    if found is None:
        return None
    numbers = text.removeprefix("v").split("+")[0].split("-")[0].split(".")
    is_strict = len(numbers) == 3 and not any(_has_leading_zero(each) for each in numbers)
    return found if is_strict else None


def parse_range(text: str) -> Range:
    """Read a range, or raise `UserError`."""
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST_RANGE:
        raise _bad_range(f"the version range is longer than {_LONGEST_RANGE} bytes")
    comparisons = text
    for found in _HYPHEN.finditer(text):  # `a - b` is two comparisons
        bounds = f">= {found[1]}, <= {found[_UPPER_OF_HYPHEN]} "
        comparisons = comparisons.replace(found[0], bounds, 1)
    alternatives = comparisons.split("||")
    if len(alternatives) > _MOST_GROUPS:
        raise _bad_range(f"the version range has more than {_MOST_GROUPS} alternatives")
    groups = []
    for alternative in alternatives:
        constraints: list[_Constraint | None] = []
        if _GROUP.search(alternative):
            constraints = [_parse_constraint(each[0]) for each in _EACH.finditer(alternative)]
        if not constraints or None in constraints:
            raise _bad_range(f"'{text}' is no version range")
        groups.append(tuple(each for each in constraints if each is not None))
    return Range(tuple(groups))


def highest(texts: Iterable[str], wanted: Range) -> str | None:
    """Return the text of the highest version in a range; of equal ones the latest build."""
    versions = (version for text in texts if (version := parse_version(text)) is not None)
    matching = [version for version in versions if wanted.holds(version)]
    best = max(
        matching,
        key=lambda version: (version.key, _pre_key(version.build), version.text),
        default=None,
    )
    return best.text if best is not None else None


def _parse(text: str) -> Version | None:
    """Read a version of which minor and patch may be missing."""
    if len(text) > _LONGEST_VERSION:
        return None
    found = _LOOSE.fullmatch(text)
    if found is None:
        return None
    numbers = [int((found[i] or "0").lstrip(".")) for i in (1, 2, 3)]
    pre = found[5] or ""
    if any(number >= _UINT64 for number in numbers):
        return None
    if any(_has_leading_zero(part) for part in pre.split(".") if _DIGITS.issuperset(part)):
        return None
    major, minor, patch = numbers
    return Version(major, minor, patch, pre, found[8] or "", text)


def _has_leading_zero(number: str) -> bool:
    return len(number) > 1 and number.startswith("0")


def _pre_key(pre: str) -> _PreKey:
    """Return the sort key of a pre-release: numbers before words, as SemVer 2.0 orders them."""
    # A number that does not fit 64 bits is a word to Go.
    return tuple(
        (0, int(part), "") if _DIGITS.issuperset(part) and int(part) < _UINT64 else (1, 0, part)
        for part in (pre.split(".") if pre else ())
    )


def _bad_range(message: str) -> UserError:
    return UserError("bad-semver", message, hint="write it like >=1.2 <2, ~1.4, ^1 or 1.x")


def _parse_constraint(text: str) -> _Constraint | None:
    found = _ONE.search(text)
    if found is None:
        return None
    operator, whole, major, minor, patch, pre = (found[i] or "" for i in range(1, 7))
    marks: dict[str, Any] = {}
    if _is_open(major):
        whole, marks = f"0.0.0{pre}", {"dirty": True}
    elif _is_open(minor):
        whole, marks = f"{major}.0.0{pre}", {"dirty": True, "minor_dirty": True}
    elif _is_open(patch):
        whole, marks = f"{major}{minor}.0{pre}", {"dirty": True, "patch_dirty": True}
    version = _parse(whole)
    return _Constraint(operator, version, **marks) if version is not None else None


def _is_open(part: str) -> bool:
    return part.removeprefix(".") in ("", "x", "X", "*")


def _is_not_equal(version: Version, wanted: _Constraint) -> bool:
    bound = wanted.version
    if not wanted.dirty:
        return version.key != bound.key
    if bound.major != version.major:
        return True
    if wanted.minor_dirty:
        return False
    if bound.minor != version.minor:
        return True
    if wanted.patch_dirty:
        return _pre_key(version.pre) != _pre_key(bound.pre)
    return bound.patch != version.patch or version.key != bound.key


def _is_greater(version: Version, wanted: _Constraint) -> bool:
    bound = wanted.version
    if wanted.dirty and version.major != bound.major:
        return version.major > bound.major
    if wanted.minor_dirty:
        return False
    if wanted.patch_dirty:
        return version.minor > bound.minor
    return version.key > bound.key


def _is_less_or_equal(version: Version, wanted: _Constraint) -> bool:
    bound = wanted.version
    if not wanted.dirty:
        return version.key <= bound.key
    if version.major != bound.major:
        return version.major < bound.major
    return wanted.minor_dirty or version.minor <= bound.minor


def _is_near(version: Version, wanted: _Constraint) -> bool:
    """Evaluate `~`: the same minor, or the same major if no minor was given."""
    bound = wanted.version
    if version.key < bound.key:
        return False
    is_partial = wanted.minor_dirty or wanted.patch_dirty
    if (bound.major, bound.minor, bound.patch) == (0, 0, 0) and not is_partial:
        return True
    if version.major != bound.major:
        return False
    return wanted.minor_dirty or version.minor == bound.minor


def _is_equal(version: Version, wanted: _Constraint) -> bool:
    return _is_near(version, wanted) if wanted.dirty else version.key == wanted.version.key


def _is_compatible(version: Version, wanted: _Constraint) -> bool:
    """Evaluate `^`: the first number that is not zero stays."""
    bound = wanted.version
    if version.key < bound.key:
        return False
    if version.major != bound.major:
        return False
    if bound.major > 0 or wanted.minor_dirty:
        return True
    if bound.minor > 0 or wanted.patch_dirty:
        return version.minor == bound.minor
    return version.minor == 0 and version.patch == bound.patch


_CHECKS: Mapping[str, Callable[[Version, _Constraint], bool]] = {
    "": _is_equal,
    "=": _is_equal,
    "!=": _is_not_equal,
    ">": _is_greater,
    "<": lambda version, wanted: version.key < wanted.version.key,
    ">=": lambda version, wanted: version.key >= wanted.version.key,
    "=>": lambda version, wanted: version.key >= wanted.version.key,
    "<=": _is_less_or_equal,
    "=<": _is_less_or_equal,
    "~": _is_near,
    "~>": _is_near,
    "^": _is_compatible,
}
