"""
Ranges mean what they mean to Flux and Helm.

`semver_golden.jsonl` was made with the Go library itself (github.com/Masterminds/semver/v3
v3.5.0): a program of forty lines reads `{"range": …, "versions": […]}` a line, calls
`NewConstraint`, for each version `StrictNewVersion` (one leading `v` cut off, as Flux does) and
`Check`, and prints which versions are strict, which of them the range holds, and the first of
the highest. The first rows are ranges from that library's documentation and its edges, the rest
is random, one in four of the ranges that it refuses.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.errors import UserError
from kro_gitops.source.api.semver import Range, Version, highest, parse_range, parse_version

GOLDEN = Path(__file__).with_name("semver_golden.jsonl")


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def parsed(text: str) -> Range | None:
    try:
        return parse_range(text)
    except UserError:
        return None


def version(text: str) -> Version:
    found = parse_version(text)
    assert found is not None
    return found


def test_ranges_hold_what_the_go_library_says() -> None:
    for row in rows():
        wanted = parsed(row["range"])
        strict = [text for text in row["versions"] if parse_version(text)]
        held = [text for text in strict if wanted is not None and wanted.holds(version(text))]
        found = {"valid": wanted is not None, "strict": strict, "holds": held}
        assert found == {key: row[key] for key in found}, row["range"]


def test_the_highest_is_what_the_go_library_says() -> None:
    compared = 0
    for row in rows():
        wanted = parsed(row["range"])
        if wanted is not None:
            found = highest(row["versions"], wanted)
            assert (found is None) == (row["highest"] == ""), row["range"]
            if found is not None:
                assert version(found).key == version(row["highest"]).key, row["range"]
                compared += 1
    assert compared > 100


def test_of_equal_versions_the_latest_build_is_taken_whatever_their_order() -> None:
    tags = ["1.0.0+9", "1.0.0+10", "1.0.0+2", "1.0.0"]
    assert highest(tags, parse_range("1.x")) == "1.0.0+10"
    assert highest(tags[::-1], parse_range("1.x")) == "1.0.0+10"


def test_a_pre_release_is_taken_only_if_the_range_names_one() -> None:
    tags = ["v1.0.0", "v1.1.0-rc.1"]
    assert highest(tags, parse_range(">=1.0")) == "v1.0.0"
    assert highest(tags, parse_range(">=1.0-0")) == "v1.1.0-rc.1"


def test_a_range_that_means_nothing_is_refused_with_examples() -> None:
    with pytest.raises(UserError, match="'newest' is no version range") as refused:
        parse_range("newest")
    assert refused.value.code == "bad-semver"
    assert "~1.4" in refused.value.hint


@given(st.text(alphabet="0123456789.xX*-+~^<>=!|, vabc\n", max_size=60))
def test_any_text_is_a_range_or_refused(text: str) -> None:
    wanted = parsed(text)
    assert wanted is None or wanted.holds(version("1.2.3")) in (True, False)
