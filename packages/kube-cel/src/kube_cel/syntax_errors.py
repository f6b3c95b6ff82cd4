"""
What the grammar allows next, and what to say when something else comes.

The parser names an `Expected` and asks `diagnose`; the answer is cel-go's wording and whether
parsing can go on. cel-go's parser is generated and repairs in this order: leave out one token
too many, make up a token that is missing, give up. Following it keeps the messages people know,
and lets one run find several mistakes.

None of this runs for texts without mistakes.
"""

from dataclasses import dataclass
from enum import Enum, auto

from kube_cel.issues import Issue
from kube_cel.lexer import (
    BYTES,
    DOUBLE,
    END,
    ESCAPED,
    IDENTIFIER,
    INT,
    STRING,
    UINT,
    Tokens,
)

# The grammar's token types in its own order, in which sets are printed: those that are their
# own text, and those that have a name.
_TOKEN_NAMES = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "true", "false", "null")
_NAMED = (DOUBLE, INT, UINT, STRING, BYTES, IDENTIFIER, ESCAPED, END)
_OPERAND_STARTS = (
    *("[", "{", "(", ".", "-", "!", "true", "false", "null"),
    *(DOUBLE, INT, UINT, STRING, BYTES, IDENTIFIER),
)
_CONTINUATIONS = frozenset(
    (".", "[", "*", "/", "%", "+", "-", "<", "<=", ">", ">=", "==", "!=", "in", "&&", "||")
)
_CLOSERS = frozenset((")", "]", "}"))
_OPERAND_ENDS = _CLOSERS | {IDENTIFIER, ESCAPED, STRING, BYTES}

_FOREIGN_WORD_HINTS = {
    "and": "CEL writes && for and",
    "or": "CEL writes || for or",
    "not": "CEL writes ! for not",
    "is": "CEL writes == for is",
    "if": "CEL writes condition ? value : other",
    "else": "CEL writes condition ? value : other",
}


@dataclass(frozen=True, slots=True)
class Expected:
    """The kinds of token allowed at a place."""

    kinds: frozenset[str]

    def __str__(self) -> str:
        shown = [f"'{kind}'" for kind in _TOKEN_NAMES if kind in self.kinds]
        shown += [kind for kind in _NAMED if kind in self.kinds]
        return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"


def _one_of(*kinds: str) -> Expected:
    return Expected(frozenset(kinds))


OPERAND = _one_of(*_OPERAND_STARTS)
ARGUMENT = _one_of(*_OPERAND_STARTS, ")")
INDEX = _one_of(*_OPERAND_STARTS, "?")
ELEMENT = _one_of(*_OPERAND_STARTS, "?", ",", "]")
ENTRY = _one_of(*_OPERAND_STARTS, "?", ",", "}")
AFTER_ELEMENT = _one_of(",", "]")
AFTER_ENTRY = _one_of(",", "}")
FIELD = _one_of(IDENTIFIER, ESCAPED)
MESSAGE_FIELD = _one_of(IDENTIFIER, ESCAPED, "?")
MESSAGE_ENTRY = _one_of(IDENTIFIER, ESCAPED, "?", ",", "}")
PARENTHESIS = _one_of(")")
BRACKET = _one_of("]")
BRACE = _one_of("}")
COLON = _one_of(":")
NOTHING = _one_of(END)


class Repair(Enum):
    """How the parser may go on after a syntax error."""

    SKIP = auto()  # as if the unexpected token were not there
    PRETEND = auto()  # as if the expected token were there
    NONE = auto()


def diagnose(tokens: Tokens, at: int, expected: Expected) -> tuple[Issue, Repair]:
    """Say what is wrong with the token at `at`, and how to go on."""
    shown = _show_token(tokens, at)
    if tokens.kinds[at] != END and tokens.kinds[at + 1] in expected.kinds:
        text, repair = f"extraneous input {shown} expecting {expected}", Repair.SKIP
    elif tokens.kinds[at] in _may_follow(tokens, at, expected):
        text, repair = f"missing {expected} at {shown}", Repair.PRETEND
    else:
        text, repair = f"mismatched input {shown} expecting {expected}", Repair.NONE
    return issue_at(tokens, at, text), repair


def no_alternative(tokens: Tokens, text: str, first: int, at: int) -> Issue:
    """Complain that the tokens from `first` to `at` begin nothing."""
    word = tokens.kinds[at]
    if tokens.kinds[first] == "." and word in ("true", "false", "null"):
        hint = f"a field of this name is written .__{word}__"
        return issue_at(tokens, at, f"mismatched input '{word}' expecting IDENTIFIER", hint)
    hint = "a field of this name is written .__in__" if word == "in" else ""
    read = text[tokens.starts[first] : tokens.starts[at] + len(tokens.texts[at])]
    return issue_at(tokens, at, f"no viable alternative at input '{_escape(read)}'", hint)


def extraneous(tokens: Tokens, at: int, expected: Expected) -> Issue:
    """Complain about a token too many where nothing can be repaired."""
    return issue_at(tokens, at, f"extraneous input {_show_token(tokens, at)} expecting {expected}")


def issue_at(tokens: Tokens, at: int, text: str, hint: str = "") -> Issue:
    """Make a syntax error about the token at `at`."""
    start, word = tokens.starts[at], tokens.texts[at]
    hint = hint or _FOREIGN_WORD_HINTS.get(word, "")
    return Issue(f"Syntax error: {text}", start, start, start + len(word), hint)


def _show_token(tokens: Tokens, at: int) -> str:
    return f"'{_escape(tokens.texts[at] or END)}'"


def _escape(text: str) -> str:
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


@dataclass(slots=True)
class _Frame:
    """A bracket that is open, and how far the parser is inside it."""

    opening: str = ""
    follows_operand: bool = False  # a call's parenthesis, an index's bracket
    questions: int = 0  # of conditionals that still lack their colon
    in_value: bool = False  # of a map entry

    def pass_token(self, kind: str) -> None:
        """Keep count of what is open inside."""
        if kind == "?":
            self.questions += 1
        elif kind == ":" and self.questions:
            self.questions -= 1
        elif kind == ":":
            self.in_value = True
        elif kind == ",":
            self.in_value = False

    def enders(self) -> frozenset[str]:
        """Return the tokens that may end an expression in this bracket."""
        if self.questions:
            return COLON.kinds
        return _ENDERS[self.opening, self.follows_operand, self.in_value and self.opening == "{"]


# By bracket, whether it follows an operand, and whether the value of a map entry is read.
_ENDERS = {
    ("", False, False): frozenset(("?", END)),
    ("(", False, False): frozenset(("?", ")")),
    ("(", True, False): frozenset(("?", ")", ",")),
    ("[", False, False): frozenset(("?", "]", ",")),
    ("[", True, False): frozenset(("?", "]")),
    ("{", False, False): frozenset(("?", ":")),
    ("{", False, True): frozenset(("?", "}", ",")),
}


def _may_follow(tokens: Tokens, at: int, expected: Expected) -> frozenset[str]:
    """Return what may come after the expected token, if that is one the parser can make up."""
    if expected == COLON:
        return OPERAND.kinds
    if len(expected.kinds) > 1 or not expected.kinds <= _CLOSERS:
        return frozenset()
    frames = _open_frames(tokens.kinds[:at])
    return _CONTINUATIONS | (frames[-2] if len(frames) > 1 else frames[0]).enders()


def _open_frames(kinds: list[str]) -> list[_Frame]:
    frames = [_Frame()]
    before = ""
    for kind in kinds:
        if kind in ("(", "[", "{"):
            follows_operand = kind != "{" and before in _OPERAND_ENDS
            frames.append(_Frame(kind, follows_operand))
        elif kind in _CLOSERS:
            if len(frames) > 1:
                frames.pop()
        elif not (kind == "?" and before in (".", "[", "{", ",")):  # that one marks an optional
            frames[-1].pass_token(kind)
        before = kind
    return frames
