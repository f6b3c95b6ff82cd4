"""
Findings and failures as people and tools read them.

Text shows the line of the file with the place underlined; the other forms are for machines:
JSON (ours), GitHub's workflow commands, and SARIF 2.1.0.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TextIO

from kro_gitops import __version__
from kro_gitops.errors import Finding, Severity

ERRORS_PAGE = "docs/reference/errors.md"

_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33"}
_BOLD, _BLUE = "1", "34"


class Style:
    """Colours on a terminal, and nothing elsewhere or with NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self._on = stream.isatty() and "NO_COLOR" not in os.environ

    def paint(self, text: str, colour: str) -> str:
        """Wrap text in a colour, or leave it."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self._on and text else text


Lines = Mapping[str, Sequence[str]]


def format_text(findings: Iterable[Finding], lines: Lines, style: Style) -> str:
    """Show each finding with its line of the file, the place underlined."""
    return "".join(f"{_text_block(finding, lines, style)}\n" for finding in findings)


def _text_block(finding: Finding, lines: Lines, style: Style) -> str:
    problem, origin = finding.problem, finding.origin
    colour = _COLOURS[problem.severity]
    label = style.paint(f"{problem.severity}[{problem.code}]", f"{_BOLD};{colour}")
    block = [f"{style.paint(str(origin), _BOLD)}: {label}: {_printable(problem.summary)}"]
    block += _picture(finding, lines.get(origin.file, ()), style, colour)
    if problem.hint:
        block.append(f"  {style.paint('hint:', _BLUE)} {_printable(problem.hint)}")
    if problem.message != problem.summary:
        block.append(f"  {style.paint('kro:', _BLUE)} {_without_pictures(problem.message)}")
    return "\n".join(block)


def _picture(finding: Finding, lines: Sequence[str], style: Style, colour: str) -> list[str]:
    number, column = finding.origin.line, finding.origin.column
    if not 1 <= number <= len(lines):
        return []
    line = _printable(lines[number - 1].rstrip("\r\n"))
    width = max(1, min(finding.width, len(line) - column + 1))
    start = max(0, column - 61) if len(line) > 160 else 0
    shown = line[start : start + 160]
    gutter = f"{number:>5} | "
    below = " " * 6 + "| " + " " * (column - 1 - start) + style.paint("^" * width, colour)
    return [gutter + shown, below]


def _without_pictures(message: str) -> str:
    """Keep kro's words and leave out cel-go's pictures: ours stands above."""
    kept = [line for line in message.split("\n") if not line.startswith(" | ")]
    return _printable(" ".join(kept))


def _printable(text: str) -> str:
    """Keep text from a hostile file from steering the terminal."""
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    return " " if character == "\n" else "\N{REPLACEMENT CHARACTER}"


def as_dict(finding: Finding) -> dict[str, object]:
    """Return one finding as JSON tools get it."""
    problem, origin = finding.problem, finding.origin
    return {
        "file": origin.file,
        "line": origin.line,
        "column": origin.column,
        "endColumn": origin.column + finding.width,
        "severity": str(problem.severity),
        "code": problem.code,
        "summary": problem.summary,
        "message": problem.message,
        "hint": problem.hint,
        "subject": finding.subject,
        "docs": f"{ERRORS_PAGE}#{problem.code.lower()}",
    }


def format_json(findings: Iterable[Finding], _lines: Lines, _style: Style) -> str:
    """Print a JSON array of findings."""
    return (
        json.dumps([as_dict(finding) for finding in findings], indent=2, ensure_ascii=False) + "\n"
    )


def format_github(findings: Iterable[Finding], _lines: Lines, _style: Style) -> str:
    """Print workflow commands that GitHub turns into annotations."""
    return "".join(f"{_github_line(finding)}\n" for finding in findings)


def _github_line(finding: Finding) -> str:
    problem, origin = finding.problem, finding.origin
    text = problem.summary + (f"\nhint: {problem.hint}" if problem.hint else "")
    where = (
        f"file={_github_value(origin.file)},line={origin.line},col={origin.column},"
        f"endColumn={origin.column + finding.width},title={_github_value(problem.code)}"
    )
    return f"::{problem.severity} {where}::{_github_text(text)}"


def _github_text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_value(text: str) -> str:
    return _github_text(text).replace(":", "%3A").replace(",", "%2C")


def format_sarif(findings: Iterable[Finding], _lines: Lines, _style: Style) -> str:
    """Print a SARIF 2.1.0 log, as code-scanning services import it."""
    listed = list(findings)
    codes = list(dict.fromkeys(finding.problem.code for finding in listed))
    rules = [{"id": code, "helpUri": f"{ERRORS_PAGE}#{code.lower()}"} for code in codes]
    driver = {"name": "kro-gitops", "version": __version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, codes) for finding in listed],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _sarif_result(finding: Finding, codes: list[str]) -> dict[str, object]:
    problem, origin = finding.problem, finding.origin
    text = problem.summary + (f" Hint: {problem.hint}." if problem.hint else "")
    region = {
        "startLine": origin.line,
        "startColumn": origin.column,
        "endColumn": origin.column + finding.width,
    }
    location = {"artifactLocation": {"uri": origin.file}, "region": region}
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": str(problem.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


FORMATS: dict[str, Callable[[Iterable[Finding], Lines, Style], str]] = {
    "text": format_text,
    "json": format_json,
    "github": format_github,
    "sarif": format_sarif,
}


def say(text: str) -> None:
    """Tell the person at the terminal something that is not the result."""
    print(text, file=sys.stderr)


def counted(number: int, word: str) -> str:
    """Print `1 error`, `2 errors`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
