"""
Findings and failures as people and tools read them.

Text shows the line of the file with the place underlined; the other forms are for machines:
JSON (ours), GitHub's workflow commands, and SARIF 2.1.0.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import NoReturn, TextIO
from urllib.parse import quote

from kro_gitops import __version__
from kro_gitops.cli.exits import PROBLEMS
from kro_gitops.telemetry.printable import columns, printable, to_json
from kube_objects.positions import SourceText
from kube_objects.problems import Finding, Severity

ERRORS_PAGE = "docs/reference/errors.md"

_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33"}
_BOLD, _BLUE = "1", "34"
_LONGEST_LINE = 160
_BEFORE_PLACE = 60  # how much of a longer line is shown before the place
_LONGEST_MESSAGE = 1000


class Style:
    """Colours on a terminal, and nothing elsewhere or with NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self._on = stream.isatty() and "NO_COLOR" not in os.environ

    def paint(self, text: str, colour: str) -> str:
        """Wrap text in a colour, or leave it."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self._on and text else text


Sources = Mapping[str, SourceText]


def format_text(findings: Iterable[Finding], sources: Sources, style: Style) -> str:
    """Show each finding with its line of the file, the place underlined."""
    return "".join(f"{_text_block(finding, sources, style)}\n" for finding in findings)


def _text_block(finding: Finding, sources: Sources, style: Style) -> str:
    problem, origin = finding.problem, finding.origin
    colour = _COLOURS[problem.severity]
    label = style.paint(f"{problem.severity}[{problem.code}]", f"{_BOLD};{colour}")
    place = style.paint(printable(str(origin)), _BOLD)
    block = [f"{place}: {label}: {_shortened(problem.summary)}"]
    block += _picture(finding, sources.get(origin.file), style, colour)
    if problem.hint:
        block.append(f"  {style.paint('hint:', _BLUE)} {_shortened(problem.hint)}")
    if problem.message != problem.summary:
        block.append(f"  {style.paint('kro:', _BLUE)} {_without_pictures(problem.message)}")
    return "\n".join(block)


def _picture(finding: Finding, source: SourceText | None, style: Style, colour: str) -> list[str]:
    number, column = finding.origin.line, finding.origin.column
    line = printable(source.line(number)) if source is not None else ""
    if not line:
        return []
    width = max(1, min(finding.width, len(line) - column + 1))
    before, marked, after = (
        line[: column - 1],
        line[column - 1 :][:width],
        line[column - 1 + width :],
    )
    if len(line) > _LONGEST_LINE:
        before = _end_of(before, _BEFORE_PLACE)
        marked = _start_of(marked, _LONGEST_LINE - len(before))
        after = _start_of(after, _LONGEST_LINE - len(before) - len(marked))
    gap, marks = " " * columns(before), "^" * max(1, columns(marked))
    return [f"{number:>5} | {before}{marked}{after}", f"      | {gap}{style.paint(marks, colour)}"]


def _start_of(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}…"


def _end_of(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _without_pictures(message: str) -> str:
    """Keep kro's words and leave out cel-go's pictures: ours stands above."""
    kept = [line for line in message.split("\n") if not line.startswith(" | ")]
    return _shortened(" ".join(kept))


def _shortened(text: str) -> str:
    return _start_of(printable(text), _LONGEST_MESSAGE)


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


def format_json(findings: Iterable[Finding], _sources: Sources, _style: Style) -> str:
    """Print a JSON array of findings."""
    return to_json([as_dict(finding) for finding in findings])


def format_github(findings: Iterable[Finding], _sources: Sources, _style: Style) -> str:
    """Print workflow commands that GitHub turns into annotations."""
    return "".join(f"{_github_line(finding)}\n" for finding in findings)


def _github_line(finding: Finding) -> str:
    problem, origin = finding.problem, finding.origin
    lines = [problem.summary, *([f"hint: {problem.hint}"] if problem.hint else [])]
    where = (
        f"file={_github_value(origin.file)},line={origin.line},col={origin.column},"
        f"endColumn={origin.column + finding.width},title={_github_value(problem.code)}"
    )
    return f"::{problem.severity} {where}::{'%0A'.join(map(_github_text, lines))}"


def _github_text(text: str) -> str:
    return printable(text).replace("%", "%25")


def _github_value(text: str) -> str:
    return _github_text(text).replace(":", "%3A").replace(",", "%2C")


def format_sarif(findings: Iterable[Finding], _sources: Sources, _style: Style) -> str:
    """Print a SARIF 2.1.0 log, as code-scanning services import it."""
    listed = list(findings)
    codes = list(dict.fromkeys(finding.problem.code for finding in listed))
    driver = {
        "name": "kro-gitops",
        "version": __version__,
        "rules": [_sarif_rule(code) for code in codes],
    }
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
    return to_json(log)


def _sarif_rule(code: str) -> dict[str, object]:
    # `helpUri` would have to be absolute, and nobody knows where these pages are served.
    return {"id": code, "help": {"text": f"See {ERRORS_PAGE}#{code.lower()}."}}


def _sarif_result(finding: Finding, codes: list[str]) -> dict[str, object]:
    problem, origin = finding.problem, finding.origin
    text = problem.summary + (f". Hint: {problem.hint}" if problem.hint else "")
    region = {
        "startLine": origin.line,
        "startColumn": origin.column,
        "endColumn": origin.column + finding.width,
    }
    location = {"artifactLocation": _sarif_file(origin.file), "region": region}
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": str(problem.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def _sarif_file(name: str) -> dict[str, str]:
    """Name a file by a URI: relative to the root of the repository, or absolute."""
    uri = quote(name, errors="surrogateescape")
    if PurePosixPath(name).is_absolute():
        return {"uri": f"file://{uri}"}
    return {"uri": uri, "uriBaseId": "%SRCROOT%"}


FORMATS: dict[str, Callable[[Iterable[Finding], Sources, Style], str]] = {
    "text": format_text,
    "json": format_json,
    "github": format_github,
    "sarif": format_sarif,
}


def say(text: str) -> None:
    """Tell the person at the terminal something that is not the result."""
    # In a log both streams are one, and the result comes first.
    sys.stdout.flush()
    print(text, file=sys.stderr)


def refuse(text: str) -> NoReturn:
    """Say why there is no result, and give up."""
    say(text)
    sys.exit(PROBLEMS)


def counted(number: int, word: str) -> str:
    """Print `1 error`, `2 errors`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
