from itertools import pairwise
from typing import Any

import pytest

from kube_cel.library.semver import GLOBALS, MEMBERS, Semver
from kube_cel.values import EvaluationError, equals

KIND = "kubernetes.Semver"

# Each follows the one before, by semver.org's own example and some more.
ASCENDING = [
    "0.0.0",
    "0.0.1",
    "0.1.0",
    "1.0.0-0",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0--",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.10",
    "1.10.0",
    "2.0.0",
]


def semver(*arguments: Any) -> Semver:
    version = GLOBALS["semver"](*arguments)
    assert isinstance(version, Semver)
    return version


def call(name: str, *arguments: Any) -> Any:
    return MEMBERS[name, KIND](*arguments)


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(ASCENDING)))
def test_versions_are_ordered_by_precedence(lower: str, higher: str) -> None:
    one, other = semver(lower), semver(higher)
    assert call("isLessThan", one, other) is True
    assert call("isGreaterThan", one, other) is False
    assert call("compareTo", one, other) == -1
    assert call("compareTo", other, one) == 1
    assert not equals(one, other)


def test_build_metadata_does_not_count() -> None:
    assert equals(semver("1.2.3+build.7"), semver("1.2.3"))
    assert call("compareTo", semver("1.2.3-a+x"), semver("1.2.3-a")) == 0


def test_the_parts_of_a_version() -> None:
    version = semver("1.22.333-rc.1")
    assert [call(name, version) for name in ("major", "minor", "patch")] == [1, 22, 333]


def test_parts_beyond_int64_wrap_around() -> None:
    assert call("major", semver("18446744073709551615.0.0")) == -1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.x.3", 'Invalid character(s) found in minor number "x"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        (".2.3", 'strconv.ParseUint: parsing "": invalid syntax'),
        (
            "18446744073709551616.0.0",
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
        ),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-ü", 'Invalid character(s) found in prerelease "ü"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ],
)
def test_what_is_no_version_is_refused(text: str, message: str) -> None:
    assert GLOBALS["isSemver"](text) is False
    with pytest.raises(EvaluationError) as caught:
        semver(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "normal"),
    [("v1.2.3", "1.2.3"), ("1.2", "1.2.0"), ("v1", "1.0.0"), ("01.02.000", "1.2.0")],
)
def test_normalised_versions_may_be_written_carelessly(text: str, normal: str) -> None:
    assert GLOBALS["isSemver"](text, True) is True
    assert GLOBALS["isSemver"](text, False) is False
    assert equals(semver(text, True), semver(normal))


def test_a_short_version_has_no_prerelease() -> None:
    with pytest.raises(EvaluationError, match="short version cannot contain PreRelease/Build"):
        semver("1.2-rc", True)


def test_versions_compare_with_versions_only() -> None:
    with pytest.raises(EvaluationError, match=r"no such overload: compareTo\(.*Semver, string\)"):
        call("compareTo", semver("1.0.0"), "1.0.0")
