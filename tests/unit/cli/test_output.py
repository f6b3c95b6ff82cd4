import io
import json
from typing import Any
from urllib.parse import unquote

import pytest

from kro_gitops.cli.messages import Style, counted
from kro_gitops.cli.output import format_github, format_json, format_sarif, format_text
from kube_objects.positions import SourceText
from kube_objects.problems import Finding, Origin, Problem, Severity

PLAIN = Style(io.StringIO())
WARNING = Problem("KG-E01", "doubtful", severity=Severity.WARNING)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def finding(
    problem: Problem | None = None,
    line: int = 1,
    column: int = 1,
    width: int = 1,
    file: str = "a.yaml",
) -> Finding:
    wrong = problem or Problem("wrong-thing", "this is wrong", hint="do better")
    return Finding(wrong, Origin(file, line, column), width, "WebApp shop/front")


def picture(line: str, column: int, width: int = 1) -> list[str]:
    text = format_text([finding(None, 1, column, width)], {"a.yaml": SourceText(line)}, PLAIN)
    return text.split("\n")[1:3]


def test_text_names_the_place_shows_the_line_and_ends_with_the_hint() -> None:
    source = {"a.yaml": SourceText("spec:\n  replcas: 3\n")}
    assert format_text([finding(None, 2, 3, 7)], source, PLAIN) == (
        "a.yaml:2:3: error[wrong-thing]: this is wrong\n"
        "    2 |   replcas: 3\n"
        "      |   ^^^^^^^\n"
        "  hint: do better\n"
    )


def test_kros_own_words_follow_without_its_pictures() -> None:
    message = "failed: ERROR: <input>:1:1: this is wrong\n | a\n | ^"
    problem = Problem("wrong-thing", "this is wrong", message=message)
    assert format_text([finding(problem)], {}, PLAIN) == (
        "a.yaml:1:1: error[wrong-thing]: this is wrong\n"
        "  kro: failed: ERROR: <input>:1:1: this is wrong\n"
    )


@pytest.mark.parametrize(
    ("line", "column", "width", "marks"),
    [
        pytest.param("a: bcd", 4, 3, "   ^^^", id="letters"),
        pytest.param("\tb: c", 5, 1, "    ^", id="a tab is one blank"),
        pytest.param("日本: bcd", 5, 3, "      ^^^", id="wide letters take two columns"),
        pytest.param("a: 日本", 4, 2, "   ^^^^", id="wide letters are marked whole"),
        pytest.param("e\u0301: b", 5, 1, "   ^", id="combining marks take none"),
        pytest.param("a: b", 5, 1, "    ^", id="behind the end"),
        pytest.param("a: bcd", 4, 99, "   ^^^", id="no further than the line"),
    ],
)
def test_the_marks_stand_below_what_is_wrong(
    line: str, column: int, width: int, marks: str
) -> None:
    assert picture(line, column, width)[1] == f"      | {marks}"


def test_a_line_is_found_whatever_ends_lines() -> None:
    source = {"a.yaml": SourceText("one\rtwo\r\nthree")}
    assert "    3 | three\n" in format_text([finding(None, 3)], source, PLAIN)


@pytest.mark.parametrize("column", [1, 100, 250, 390, 497], ids=lambda c: f"at {c}")
def test_of_a_long_line_the_part_around_the_place_is_shown(column: int) -> None:
    text = "".join(f"{number:<4}" for number in range(125))
    shown, marks = picture(text, column, 4)
    assert len(shown) <= 170
    start = marks.index("^")
    assert shown[start : start + 4] == text[column - 1 : column + 3]
    assert ("…" in shown[:start]) is (column > 61)
    assert shown.endswith("…") is (column < 400)


def test_a_place_without_a_line_has_no_picture() -> None:
    assert picture("", 1) == ["  hint: do better", ""]
    assert format_text([finding(WARNING)], {}, PLAIN) == "a.yaml:1:1: warning[KG-E01]: doubtful\n"


def test_nothing_from_a_file_steers_the_terminal() -> None:
    evil = "\x1b[31m\x9b0m\u202e\x07"
    problem = Problem("code", f"summary {evil}", message=f"message {evil}", hint=f"hint {evil}")
    source = {f"a{evil}.yaml": SourceText(f"line {evil}")}
    for style in (PLAIN, Style(Terminal())):
        text = format_text([finding(problem, file=f"a{evil}.yaml")], source, style)
        painted = ("\x1b[1m", "\x1b[1;31m", "\x1b[31m^", "\x1b[34m", "\x1b[0m")
        for code in painted:
            text = text.replace(code, "")
        assert text.replace("\n", "").isprintable()


def test_a_message_of_a_megabyte_is_cut() -> None:
    problem = Problem("code", "s" * 1_000_000, message="m" * 1_000_000)
    assert len(format_text([finding(problem)], {}, PLAIN)) < 3000


def test_colours_appear_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Style(Terminal()).paint("x", "31") == "\x1b[31mx\x1b[0m"
    assert Style(io.StringIO()).paint("x", "31") == "x"
    monkeypatch.setenv("NO_COLOR", "")
    assert Style(Terminal()).paint("x", "31") == "x"


def test_json_has_every_fact() -> None:
    (found,) = json.loads(format_json([finding(None, 2, 3, 7)], {}, PLAIN))
    assert found == {
        "file": "a.yaml",
        "line": 2,
        "column": 3,
        "endColumn": 10,
        "severity": "error",
        "code": "wrong-thing",
        "summary": "this is wrong",
        "message": "this is wrong",
        "hint": "do better",
        "subject": "WebApp shop/front",
        "docs": "docs/reference/errors.md#wrong-thing",
    }
    assert json.loads(format_json([], {}, PLAIN)) == []


def test_json_keeps_hostile_text_but_escaped() -> None:
    evil = "\x1b[31m\x7f\x9b\u202e\udcff ü"
    printed = format_json([finding(Problem("code", evil))], {}, PLAIN)
    assert json.loads(printed)[0]["summary"] == evil
    assert printed.replace("\n", "").isprintable()
    assert "ü" in printed


def test_github_gets_one_line_each_with_its_signs_escaped() -> None:
    problem = Problem("code", "100% wrong:\na, b", hint="50%")
    assert format_github([finding(problem, 2, 3, 4, "a,b:c.yaml")], {}, PLAIN) == (
        "::error file=a%2Cb%3Ac.yaml,line=2,col=3,endColumn=7,title=code"
        "::100%25 wrong: a, b%0Ahint: 50%25\n"
    )
    assert format_github([finding(WARNING)], {}, PLAIN).startswith("::warning file=a.yaml,line=1")


def test_a_file_cannot_give_github_commands() -> None:
    problem = Problem("code", "x\n::stop-commands::y\r\n::add-mask::z")
    assert format_github([finding(problem)], {}, PLAIN).count("\n") == 1


def sarif(*findings: Finding) -> Any:
    return json.loads(format_sarif(findings, {}, PLAIN))


def test_sarif_has_the_shape_of_its_version() -> None:
    log = sarif(finding(None, 2, 3, 4), finding(WARNING), finding())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "kro-gitops"
    assert [rule["id"] for rule in driver["rules"]] == ["wrong-thing", "KG-E01"]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1, 0]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]
    first = run["results"][0]
    assert first["message"]["text"] == "this is wrong. Hint: do better"
    place = first["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 3, "endColumn": 7}
    assert run["columnKind"] == "unicodeCodePoints"
    assert sarif()["runs"][0]["results"] == []


@pytest.mark.parametrize(
    "name", ["rgds/a b#c.yaml", "ü.yaml", "<stdin>", "a%20b.yaml", "\udcff.yaml"]
)
def test_sarif_names_files_by_relative_uris(name: str) -> None:
    result = sarif(finding(file=name))["runs"][0]["results"][0]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uriBaseId"] == "%SRCROOT%"
    assert artifact["uri"].isascii()
    assert not set(' #<>"') & set(artifact["uri"])
    assert unquote(artifact["uri"], errors="surrogateescape") == name


def test_sarif_names_absolute_paths_by_file_uris() -> None:
    result = sarif(finding(file="/srv/a b.yaml"))["runs"][0]["results"][0]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "file:///srv/a%20b.yaml"}


def test_one_is_not_many() -> None:
    assert [counted(n, "error") for n in (0, 1, 2)] == ["0 errors", "1 error", "2 errors"]
