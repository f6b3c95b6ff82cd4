"""
Where each character of a string stands in the text it was read from.

The YAML styles write the same string in very different ways: lines are folded, quotes doubled,
characters escaped, indentation removed. `offsets` walks the text of one scalar as a parser would
and notes where every character of the value came from. The walk is checked against the value
that the parser read: where they disagree there is no answer rather than a wrong one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A character of the value, as far as it stands in the text as itself ("" if not), and where.
_Step = tuple[str, int]

_BREAK = re.compile(r"\r\n|[\r\n\x85]")
_BLANKS = re.compile(r"[ \t]*(?:(?:\r\n|[\r\n\x85])[ \t]*)*")
_SPACES = re.compile(r" *")
_ESCAPE_LENGTHS = {"x": 4, "u": 6, "U": 10}
_SURROGATES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")


def offsets(source: str, style: str, value: str) -> list[int] | None:
    """
    Return the index in `source` of each character of `value`, and of its end.

    `source` is the scalar's own text, quotes or block header included; `style` is its first
    character if that is one of `'"|>`, and empty for plain scalars.
    """
    if style in ("|", ">"):
        return _block_offsets(source, value)
    steps = {"'": _single_quoted, '"': _double_quoted}.get(style, _plain)(source)
    return _matched(list(steps), value, len(source) - len(style))


def _matched(steps: list[_Step], value: str, end: int) -> list[int] | None:
    if len(steps) < len(value):
        return None
    for (character, _), wanted in zip(steps, value, strict=False):
        if character not in ("", wanted):
            return None
    found = [index for _, index in steps[: len(value)]]
    found.append(steps[len(value)][1] if len(steps) > len(value) else end)
    return found


def _plain(source: str) -> Iterator[_Step]:
    index = 0
    while index < len(source):
        blanks = _BLANKS.match(source, index)
        if blanks and blanks[0]:
            yield from _folded_blanks(source, blanks.start(), blanks.end())
            index = blanks.end()
        else:
            yield source[index], index
            index += 1


def _single_quoted(source: str) -> Iterator[_Step]:
    index, end = 1, len(source) - 1
    while index < end:
        blanks = _BLANKS.match(source, index, end)
        if blanks and blanks[0]:
            yield from _folded_blanks(source, blanks.start(), blanks.end())
            index = blanks.end()
        else:
            yield source[index], index
            index += 2 if source[index] == "'" else 1


def _double_quoted(source: str) -> Iterator[_Step]:
    index, end = 1, len(source) - 1
    while index < end:
        blanks = _BLANKS.match(source, index, end)
        if blanks and blanks[0]:
            yield from _folded_blanks(source, blanks.start(), blanks.end())
            index = blanks.end()
        elif source[index] != "\\":
            yield source[index], index
            index += 1
        elif _BREAK.match(source, index + 1):
            blanks = _BLANKS.match(source, index + 1, end)
            index = blanks.end() if blanks else end
            yield from _blank_lines(source, blanks) if blanks else ()
        else:
            yield "", index
            index += _escape_length(source, index)


def _escape_length(source: str, index: int) -> int:
    pair = _SURROGATES.match(source, index)
    return len(pair[0]) if pair else _ESCAPE_LENGTHS.get(source[index + 1 : index + 2], 2)


def _folded_blanks(source: str, start: int, end: int) -> Iterator[_Step]:
    """Fold blanks: within a line they stand, one break is a blank, more are one break less."""
    breaks = [match.start() for match in _BREAK.finditer(source, start, end)]
    if not breaks:
        yield from ((source[index], index) for index in range(start, end))
    elif len(breaks) == 1:
        yield " ", breaks[0]
    else:
        yield from (("\n", index) for index in breaks[1:])


def _blank_lines(source: str, blanks: re.Match[str]) -> Iterator[_Step]:
    """Read on after an escaped break: it is gone, but blank lines that follow it count."""
    breaks = [match.start() for match in _BREAK.finditer(source, blanks.start(), blanks.end())]
    yield from (("\n", index) for index in breaks[1:])


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a block scalar: where its text begins and ends, and whether a break follows."""

    start: int
    end: int
    has_break: bool


def _block_offsets(source: str, value: str) -> list[int] | None:
    lines = _lines(source)
    # The indentation is the first line's, unless the header gives a smaller one, relative to a
    # parent that cannot be seen from here. So try: the widest that reproduces the value is it.
    for indent in range(_first_indent(source, lines), -1, -1):
        steps = list(_block_steps(source, lines, indent))
        found = _matched(steps, value, len(source))
        if found is not None:
            return found
    return None


def _lines(source: str) -> list[_Line]:
    breaks = list(_BREAK.finditer(source))
    starts = [match.end() for match in breaks]
    ends = [match.start() for match in breaks[1:]]
    lines = [_Line(start, end, True) for start, end in zip(starts, ends, strict=False)]
    if starts and starts[-1] < len(source):
        lines.append(_Line(starts[-1], len(source), False))
    return lines


def _first_indent(source: str, lines: list[_Line]) -> int:
    for line in lines:
        indent = _indent(source, line)
        if line.start + indent < line.end:
            return indent
    return max((_indent(source, line) for line in lines), default=0)


def _indent(source: str, line: _Line) -> int:
    spaces = _SPACES.match(source, line.start, line.end)
    return len(spaces[0]) if spaces else 0


def _block_steps(source: str, lines: list[_Line], indent: int) -> Iterator[_Step]:
    """Walk a block scalar; all its final breaks are given, chomping is left to the caller."""
    is_folded = source.startswith(">")
    pending: list[int] = []  # breaks that have been read but not yet been given a meaning
    was_indented, has_text = False, False
    for line in lines:
        start = line.start + min(indent, _indent(source, line))
        if start < line.end:
            is_indented = source[start] in " \t"
            joins = is_folded and has_text and not was_indented and not is_indented
            yield from _joint(pending, joins)
            pending = []
            yield from ((source[index], index) for index in range(start, line.end))
            was_indented, has_text = is_indented, True
        if line.has_break:
            pending.append(line.end)
    yield from _joint(pending, joins=False)


def _joint(breaks: list[int], joins: bool) -> Iterator[_Step]:
    """Give the breaks between two lines their meaning: kept, or folded into one another."""
    if joins and len(breaks) == 1:
        yield " ", breaks[0]
    else:
        yield from (("\n", index) for index in breaks[1 if joins else 0 :])
