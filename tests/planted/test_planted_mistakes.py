"""
A repository with thirty planted mistakes: each is found once, at its place, and nothing else is.

`expected.json` lists them: where, the words that are wrong there, and the code.
"""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.cli.main import main

HERE = Path(__file__).parent
REPO = HERE / "repo"
EXPECTED: list[dict[str, Any]] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def findings() -> list[dict[str, Any]]:
    printed, said = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(REPO),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
    ):
        assert main(["validate", ".", "-o", "json"]) == 1
    found: list[dict[str, Any]] = json.loads(printed.getvalue())
    return found


def line_of(place: dict[str, Any]) -> str:
    lines = Path(REPO, place["file"]).read_text(encoding="utf-8").split("\n")
    number: int = place["line"]
    return lines[number - 1]


def test_there_are_thirty_mistakes_of_thirty_kinds() -> None:
    assert len(EXPECTED) == 30
    assert len({place["code"] for place in EXPECTED}) == 30


@pytest.mark.parametrize("place", [pytest.param(place, id=place["code"]) for place in EXPECTED])
def test_a_place_is_where_the_wrong_words_stand(place: dict[str, Any]) -> None:
    start = place["column"] - 1
    assert line_of(place)[start:].startswith(place["text"])


def test_exactly_the_planted_mistakes_are_found(findings: list[dict[str, Any]]) -> None:
    def place_of(finding: dict[str, Any]) -> tuple[str, int, int, str]:
        return finding["file"], finding["line"], finding["column"], finding["code"]

    assert list(map(place_of, findings)) == list(map(place_of, EXPECTED))


def test_all_are_errors_and_mark_the_wrong_words(findings: list[dict[str, Any]]) -> None:
    assert {finding["severity"] for finding in findings} == {"error"}
    widths = [finding["endColumn"] - finding["column"] for finding in findings]
    assert widths == [len(place["text"]) for place in EXPECTED]
