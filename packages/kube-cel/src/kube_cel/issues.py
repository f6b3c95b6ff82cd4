"""
Issues: mistakes in the text of an expression, and how they are printed.

An `Issue` is one mistake at one position. Parser and checker collect as many as they can and raise
them together. The layout is cel-go's, which users know from the API server:

    ERROR: <input>:1:12: undefined field 'replcas'
     | schema.spec.replcas
     | ...........^

Offsets count code points in the expression's own text. The position of that text in a file is the
caller's to add.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kube_cel.errors import ExpressionError

NO_OFFSET = -1
"""The offset of an issue about the text as a whole, such as its size."""

MAX_ISSUES = 100
"""How many issues are printed; looking for more of them is a waste."""

_MAX_SNIPPET_BYTES = 16384  # bytes; a longer line is not shown, only its position
_NARROW, _WIDE = (".", "^"), ("\N{FULLWIDTH FULL STOP}", "\N{FULLWIDTH CIRCUMFLEX ACCENT}")


@dataclass(frozen=True, slots=True)
class Issue:
    """
    One mistake.

    `offset` is where cel-go's caret points, or `NO_OFFSET`; `start` and `end` span what a
    person would underline. Both lie inside the text (the end of the text included). `hint`
    says what to do where that is known; the message stays cel-go's own. `code` is set
    where a mistake deserves a name of its own; otherwise that of the error it is raised in counts.
    """

    message: str
    offset: int
    start: int
    end: int
    hint: str = ""
    code: str = ""


class _TextError(ExpressionError):
    """An expression's text with everything found wrong in it, in the order of the text."""

    code_of_kind = ""

    def __init__(self, text: str, issues: Iterable[Issue], *, hint: str = "") -> None:
        self.text = text
        self.issues = tuple(sorted(issues, key=lambda issue: issue.offset))
        hint = hint or next((issue.hint for issue in self.issues if issue.hint), "")
        super().__init__(self.code_of_kind, format_issues(text, self.issues), hint=hint)


class ParseError(_TextError):
    """The text is not an expression."""

    code_of_kind = "expression-syntax"


class CheckError(_TextError):
    """The expression has no type in its environment."""

    code_of_kind = "expression-type"


def format_issues(text: str, issues: Iterable[Issue]) -> str:
    """Print issues in cel-go's layout, first position first, the hundred first only."""
    ordered = sorted(issues, key=lambda issue: issue.offset)
    shown: list[str] = []
    for issue in ordered[:MAX_ISSUES]:
        if issue.offset == NO_OFFSET:
            shown.append(f"ERROR: <input>:-1:0: {issue.message}")
            continue
        if not text:  # the one text without a first column
            shown.append(f"ERROR: <input>:1:0: {issue.message}")
            continue
        line_start = text.rfind("\n", 0, issue.offset) + 1
        line_number = text.count("\n", 0, issue.offset) + 1
        column = issue.offset - line_start
        shown.append(f"ERROR: <input>:{line_number}:{column + 1}: {issue.message}")
        line = text[line_start:].partition("\n")[0].replace("\t", " ")
        if len(line.encode(errors="replace")) <= _MAX_SNIPPET_BYTES:
            dots = "".join(_width_of(character)[0] for character in line[:column])
            caret = _width_of(line[column : column + 1])[1]
            shown += (f" | {line}", f" | {dots}{caret}")
    if len(ordered) > MAX_ISSUES:
        shown.append(f"{len(ordered) - MAX_ISSUES} more errors were truncated")
    return "\n".join(shown)


def _width_of(character: str) -> tuple[str, str]:
    # cel-go takes every character of more than one byte for a wide one.
    return _NARROW if character.isascii() else _WIDE
