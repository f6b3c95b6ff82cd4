"""
The position of each character of a string in the YAML text it was parsed from.

YAML has several styles for the same string: lines are folded, quotes doubled, characters escaped,
indentation removed. `offsets` walks the text of one scalar as a parser would and records where the
pieces of the value come from. The result is compared with the value the parser returned; if they
differ, there is no answer rather than a wrong one.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_BREAK = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_BLANKS = re.compile(r"[ \t\r\n\x85\u2028\u2029]+")
_SPACES = re.compile(r" *")
_KEPT_BREAKS = ("\u2028", "\u2029")  # breaks that are not made into "\n"


def _run(ends: str = "") -> re.Pattern[str]:
    """Return a pattern of text that stands for itself, with the blanks inside a line."""
    blank = r" \t\r\n\x85\u2028\u2029"
    return re.compile(rf"(?:[^{blank}{ends}]+|[ \t]+(?=[^{blank}]))+")


_PLAIN_RUN = _run()
_SINGLE_QUOTED_RUN = _run("'")
_DOUBLE_QUOTED_RUN = _run(r"\\")

_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}
_SURROGATES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


@dataclass(frozen=True, slots=True)
class _Run:
    """
    A piece of the value and where it is written.

    Without `stands_for` it is written as it is, `length` characters of it; otherwise it is that
    one character, or, if that is `?`, whatever an escape means.
    """

    start: int
    length: int = 1
    stands_for: str = ""


class Offsets:
    """A map from offsets in a value to indices in its source."""

    def __init__(self, runs: list[_Run], end: int) -> None:
        self._runs = [*runs, _Run(end)]
        self._firsts = [0]
        for run in runs:
            self._firsts.append(self._firsts[-1] + run.length)

    def index(self, offset: int) -> int:
        """Return the index of a character; for the offset behind the last one, the end."""
        number = bisect_right(self._firsts, offset) - 1
        return self._runs[number].start + offset - self._firsts[number]


def offsets(source: str, style: str, value: str) -> Offsets | None:
    """
    Find the characters of `value` in `source`.

    `source` is the scalar's own text, quotes or block header included; `style` is its first
    character if that is one of `'"|>`, and empty for plain scalars.
    """
    if style in ("|", ">"):
        breaks = list(_BREAK.finditer(source))
        starts = [match.end() for match in breaks]
        ends = [match.start() for match in breaks[1:]]
        lines = [_Line(start, end, True) for start, end in zip(starts, ends, strict=False)]
        if starts and starts[-1] < len(source):
            lines.append(_Line(starts[-1], len(source), False))
        # The indentation is the first line's, unless the header gives a smaller one, relative to a
        # parent that cannot be seen from here. So try: the widest that reproduces the value is it.
        indents = [_indent(source, line) for line in lines]
        with_text = (
            indent
            for line, indent in zip(lines, indents, strict=True)
            if line.start + indent < line.end
        )
        widest = next(with_text, max(indents, default=0))
        for indent in range(widest, -1, -1):
            found = _matched(source, _block(source, lines, indent), value, len(source))
            if found is not None:
                return found
        return None
    walk = {"'": _single_quoted, '"': _double_quoted}.get(style, _plain)
    return _matched(source, walk(source), value, len(source) - len(style))


def _matched(source: str, runs: Iterator[_Run], value: str, end: int) -> Offsets | None:
    """Keep the runs that make up the value; `None` if they do not."""
    kept: list[_Run] = []
    offset = 0
    for run in runs:
        if offset == len(value):
            return Offsets(kept, run.start)
        wanted = value[offset : offset + run.length]
        written = run.stands_for or source[run.start : run.start + run.length]
        if written not in (wanted, "?"):
            return None
        kept.append(run)
        offset += run.length
    return Offsets(kept, end) if offset == len(value) else None


def _plain(source: str) -> Iterator[_Run]:
    index = 0
    while index < len(source):
        if run := _PLAIN_RUN.match(source, index):
            yield _Run(index, len(run[0]))
            index = run.end()
        elif blanks := _BLANKS.match(source, index):
            yield from _folded(source, blanks)
            index = blanks.end()


def _single_quoted(source: str) -> Iterator[_Run]:
    index, end = 1, len(source) - 1
    while index < end:
        if run := _SINGLE_QUOTED_RUN.match(source, index, end):
            yield _Run(index, len(run[0]))
            index = run.end()
        elif blanks := _BLANKS.match(source, index, end):
            yield from _folded(source, blanks)
            index = blanks.end()
        else:
            yield _Run(index)
            index += 2


def _double_quoted(source: str) -> Iterator[_Run]:
    index, end = 1, len(source) - 1
    while index < end:
        if run := _DOUBLE_QUOTED_RUN.match(source, index, end):
            yield _Run(index, len(run[0]))
            index = run.end()
        elif blanks := _BLANKS.match(source, index, end):
            yield from _folded(source, blanks)
            index = blanks.end()
        elif _BREAK.match(source, index + 1) and (blanks := _BLANKS.match(source, index + 1, end)):
            # An escaped break is gone, but blank lines that follow it count.
            yield from _breaks(source, blanks)[1:]
            index = blanks.end()
        else:
            yield _Run(index, stands_for="?")
            pair = _SURROGATES.match(source, index)
            index += len(pair[0]) if pair else _ESCAPE_LENGTHS.get(source[index + 1 : index + 2], 2)


def _breaks(source: str, blanks: re.Match[str]) -> list[_Run]:
    found = _BREAK.finditer(source, blanks.start(), blanks.end())
    return [_Run(each.start(), stands_for=_meaning(source, each.start())) for each in found]


def _meaning(source: str, index: int) -> str:
    return source[index] if source[index] in _KEPT_BREAKS else "\n"


def _folded(source: str, blanks: re.Match[str]) -> list[_Run]:
    """Fold blanks: within a line they stand, one break is a blank, more are one break less."""
    breaks = _breaks(source, blanks)
    return _joined(breaks) if breaks else [_Run(blanks.start(), len(blanks[0]))]


def _joined(breaks: list[_Run]) -> list[_Run]:
    first, *rest = breaks
    if first.stands_for in _KEPT_BREAKS:
        return breaks
    return rest or [_Run(first.start, stands_for=" ")]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a block scalar: where its text begins and ends, and whether a break follows."""

    start: int
    end: int
    has_break: bool


def _indent(source: str, line: _Line) -> int:
    spaces = _SPACES.match(source, line.start, line.end)
    return len(spaces[0]) if spaces else 0


def _block(source: str, lines: list[_Line], indent: int) -> Iterator[_Run]:
    """Walk a block scalar; all its final breaks are given, as many as there are."""
    is_folded = source.startswith(">")
    pending: list[_Run] = []  # breaks that have been read but not yet been given a meaning
    may_join = False
    for line in lines:
        start = line.start + min(indent, _indent(source, line))
        if start < line.end:
            is_indented = source[start] in " \t"
            yield from _joined(pending) if may_join and pending and not is_indented else pending
            pending = []
            yield _Run(start, line.end - start)
            may_join = is_folded and not is_indented
        if line.has_break:
            pending.append(_Run(line.end, stands_for=_meaning(source, line.end)))
    yield from pending
