"""
Strings with expressions in them: where `${…}` begins and ends.

The rules decide which part of a value is an expression at all: only double quotes hide braces, a
backslash counts only inside double quotes, and an opening that is never closed is plain text. This
module knows nothing of CEL.

A value that is more than one expression becomes one CEL expression, the concatenation of its
pieces. `locate` maps offsets in that expression back to the value.

Offsets count code points of the scanned value.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kube_cel.errors import ExpressionError

_OPENING = "${"
_JOINT = " + "

_MARK = re.compile(r'\$\{|["\\{}]')

_UNCLOSED = -1

_GO_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; `start` is its offset in the value."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Expression:
    """The text between `${` and `}`; `start` is its offset in the value, after the `${`."""

    text: str
    start: int


Piece = Text | Expression


@dataclass(frozen=True, slots=True)
class Template:
    """A scanned value: its pieces in order, without gaps. The empty value has none."""

    pieces: tuple[Piece, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """List the expressions in the order they are written."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Expression))

    @property
    def is_literal(self) -> bool:
        """Return whether there is no expression at all."""
        return not any(isinstance(piece, Expression) for piece in self.pieces)

    @property
    def is_standalone(self) -> bool:
        """Return whether the value is one expression, first to last character."""
        return len(self.pieces) == 1 and isinstance(self.pieces[0], Expression)


class NestedExpression(ExpressionError):  # noqa: N818 - named for what was found
    """A `${` inside an expression; `offset` is its place in the value."""

    def __init__(self, offset: int) -> None:
        super().__init__(
            "nested-expression",
            "nested expressions are not allowed unless inside string literals",
            hint='inside an expression names need no ${}; for the text ${x} write "${x}"',
        )
        self.offset = offset


def scan(text: str) -> Template:
    """Split a value into text and expressions; raises `NestedExpression`."""
    if _OPENING not in text:
        return Template((Text(text, 0),) if text else ())
    marks = list(_MARK.finditer(text))
    ends = _expression_ends(text, marks)
    pieces: list[Piece] = []
    done = 0
    for index, mark in enumerate(marks):
        if mark.start() < done or mark[0] != _OPENING:
            continue
        end = ends[index + 1]
        if end == _UNCLOSED:
            continue
        if end < _UNCLOSED:
            raise NestedExpression(marks[_nested(end)].start())
        if mark.start() > done:
            pieces.append(Text(text[done : mark.start()], done))
        closing = marks[end].start()
        pieces.append(Expression(text[mark.end() : closing], mark.end()))
        done = closing + 1
    if done < len(text):
        pieces.append(Text(text[done:], done))
    return Template(tuple(pieces))


def _expression_ends(text: str, marks: list[re.Match[str]]) -> list[int]:
    """
    Return for every mark where an expression would end that begins after it.

    An end is the index of the closing brace's mark, or `_UNCLOSED`, or a nested opening (see
    `_nested`). Computed from the last mark to the first, each from those behind it: trying every
    opening on its own would take quadratic time.
    """
    outside = [_UNCLOSED] * (len(marks) + 2)
    quoted = [_UNCLOSED] * (len(marks) + 2)  # the same, were the place inside a string
    for index in range(len(marks) - 1, -1, -1):
        mark, place = marks[index][0], marks[index].start()
        outside[index] = outside[index + 1]
        quoted[index] = quoted[index + 1]
        if mark == '"':
            outside[index], quoted[index] = quoted[index + 1], outside[index + 1]
        elif mark == "\\":
            # A mark right behind the backslash is escaped, and skipped with it.
            is_escape = index + 1 < len(marks) and marks[index + 1].start() == place + 1
            quoted[index] = quoted[index + 1 + is_escape]
        elif mark == "}":
            outside[index] = index
        elif mark == _OPENING and text[place - 1 : place] != '"':
            outside[index] = _nested(index)
        else:
            inner = outside[index + 1]
            outside[index] = outside[inner + 1] if inner > _UNCLOSED else inner
    return outside


def _nested(index: int) -> int:
    """Turn the index of a nested opening into an end below `_UNCLOSED`, and back."""
    return -2 - index


def concatenation(template: Template) -> str:
    """
    Return one CEL expression with the value of the whole template.

    `img-${a}:${b}` becomes `"img-" + (a) + ":" + (b)`; a standalone expression is its own text.
    """
    return _JOINT.join(built for _, built in _built_pieces(template))


def locate(template: Template, offset: int) -> int:
    """
    Return the place in the value for an offset in its concatenation.

    What was added while building belongs to the piece it introduces: a `+` and an opening
    parenthesis lead to the `${` (or the text) after them, a closing one to the `}`.
    """
    built_start = place = 0
    for piece, built in _built_pieces(template):
        inside = offset - built_start
        if inside < len(built):
            if isinstance(piece, Text):
                built_length = 1  # the opening quote
                for index, character in enumerate(piece.text):
                    built_length += len(_quote_character(character))
                    if inside < built_length:
                        return piece.start + index
                return piece.start + len(piece.text)
            if template.is_standalone:
                return piece.start + max(inside, 0)
            return piece.start + inside - 1 if inside > 0 else piece.start - len(_OPENING)
        built_start += len(built) + len(_JOINT)
        place = piece.start + len(piece.text)
    return place


def _built_pieces(template: Template) -> Iterator[tuple[Piece, str]]:
    for piece in template.pieces:
        if isinstance(piece, Text):
            yield piece, go_quote(piece.text)
        elif template.is_standalone:
            yield piece, piece.text
        else:
            yield piece, f"({piece.text})"


def go_quote(text: str) -> str:
    """Quote text as Go's `strconv.Quote` does; CEL reads it back unchanged."""
    return f'"{"".join(map(_quote_character, text))}"'


def _quote_character(character: str) -> str:
    if character in _GO_ESCAPES:
        return _GO_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:  # half a surrogate pair is no character: Go's replacement
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
