"""
Formats of findings: text with the line of the file and the place underlined, JSON, GitHub's
workflow commands, and SARIF 2.1.0.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from kro_gitops import __version__
from kro_gitops.cli.messages import Style
from kro_gitops.telemetry.printable import columns, printable, to_json
from kube_objects.positions import SourceText
from kube_objects.problems import Finding, Severity

ERRORS_PAGE = "docs/reference/errors.md"

_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33"}
_BOLD, _BLUE = "1", "34"
_MAX_LINE = 160  # characters
_BEFORE_PLACE = 60  # how much of a longer line is shown before the place
_MAX_MESSAGE = 1000


Sources = Mapping[str, SourceText]


def format_text(findings: Iterable[Finding], sources: Sources, style: Style) -> str:
    """Format each finding with its line of the file, the place underlined."""
    lines: list[str] = []
    for finding in findings:
        problem, origin = finding.problem, finding.origin
        colour = _COLOURS[problem.severity]
        label = style.paint(f"{problem.severity}[{problem.code}]", f"{_BOLD};{colour}")
        place = style.paint(printable(str(origin)), _BOLD)
        lines.append(f"{place}: {label}: {_shortened(problem.summary)}")
        lines += source_lines(finding, sources.get(origin.file), style, colour)
        if problem.hint:
            lines.append(f"  {style.paint('hint:', _BLUE)} {_shortened(problem.hint)}")
        if problem.message != problem.summary:
            # kro's words, without cel-go's drawing of the place: ours is above.
            words = [line for line in problem.message.split("\n") if not line.startswith(" | ")]
            lines.append(f"  {style.paint('kro:', _BLUE)} {_shortened(' '.join(words))}")
    return "".join(f"{line}\n" for line in lines)


def source_lines(
    finding: Finding, source: SourceText | None, style: Style, colour: str
) -> list[str]:
    """Return the line of a finding and the marks below it; a long line is cut around the place."""
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
    if len(line) > _MAX_LINE:
        before = before if len(before) <= _BEFORE_PLACE else f"…{before[1 - _BEFORE_PLACE :]}"
        marked = _start_of(marked, _MAX_LINE - len(before))
        after = _start_of(after, _MAX_LINE - len(before) - len(marked))
    gap, marks = " " * columns(before), "^" * max(1, columns(marked))
    return [f"{number:>5} | {before}{marked}{after}", f"      | {gap}{style.paint(marks, colour)}"]


def _start_of(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}…"


def _shortened(text: str) -> str:
    return _start_of(printable(text), _MAX_MESSAGE)


def format_json(findings: Iterable[Finding], _sources: Sources, _style: Style) -> str:
    """Format findings as a JSON array."""
    return to_json(
        [
            {
                "file": finding.origin.file,
                "line": finding.origin.line,
                "column": finding.origin.column,
                "endColumn": finding.origin.column + finding.width,
                "severity": str(finding.problem.severity),
                "code": finding.problem.code,
                "summary": finding.problem.summary,
                "message": finding.problem.message,
                "hint": finding.problem.hint,
                "subject": finding.subject,
                "docs": f"{ERRORS_PAGE}#{finding.problem.code.lower()}",
            }
            for finding in findings
        ]
    )


def format_github(findings: Iterable[Finding], _sources: Sources, _style: Style) -> str:
    """Format findings as workflow commands, which GitHub turns into annotations."""
    commands = []
    for finding in findings:
        problem, origin = finding.problem, finding.origin
        lines = [problem.summary, *([f"hint: {problem.hint}"] if problem.hint else [])]
        where = (
            f"file={_github_value(origin.file)},line={origin.line},col={origin.column},"
            f"endColumn={origin.column + finding.width},title={_github_value(problem.code)}"
        )
        text = "%0A".join(map(_github_text, lines))
        commands.append(f"::{problem.severity} {where}::{text}\n")
    return "".join(commands)


def _github_text(text: str) -> str:
    return printable(text).replace("%", "%25")


def _github_value(text: str) -> str:
    return _github_text(text).replace(":", "%3A").replace(",", "%2C")


def format_sarif(findings: Iterable[Finding], _sources: Sources, _style: Style) -> str:
    """Format findings as a SARIF 2.1.0 log, as code-scanning services import it."""
    listed = list(findings)
    codes = list(dict.fromkeys(finding.problem.code for finding in listed))
    # `helpUri` would have to be absolute, and where these pages are served is not known.
    rules = [{"id": code, "help": {"text": f"See {ERRORS_PAGE}#{code.lower()}."}} for code in codes]
    driver = {"name": "kro-gitops", "version": __version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [sarif_result(finding, codes) for finding in listed],
            }
        ],
    }
    return to_json(log)


def sarif_result(finding: Finding, codes: list[str]) -> dict[str, object]:
    """Return a finding as a result of SARIF; `codes` are the rules of the log."""
    problem, origin = finding.problem, finding.origin
    text = problem.summary + (f". Hint: {problem.hint}" if problem.hint else "")
    region = {
        "startLine": origin.line,
        "startColumn": origin.column,
        "endColumn": origin.column + finding.width,
    }
    # A URI is relative to the root of the repository, or absolute.
    uri = quote(origin.file, errors="surrogateescape")
    file = {"uri": uri, "uriBaseId": "%SRCROOT%"}
    if PurePosixPath(origin.file).is_absolute():
        file = {"uri": f"file://{uri}"}
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": str(problem.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": file, "region": region}}],
    }


FORMATS: dict[str, Callable[[Iterable[Finding], Sources, Style], str]] = {
    "text": format_text,
    "json": format_json,
    "github": format_github,
    "sarif": format_sarif,
}
