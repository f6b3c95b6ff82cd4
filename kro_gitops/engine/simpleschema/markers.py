"""
Markers: `required=true default="a b" enum="x,y"`, what stands after the first bar.

The lexer follows kro's character by character, oddities included: blanks inside a key
are dropped, single quotes mean nothing, and a blank after the last marker begins another marker.
The module `effects` applies markers to a schema; the table here lists the types that a marker is
allowed on.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches

from kro_gitops.engine.simpleschema.go_literals import BLANKS, trim
from kro_gitops.engine.simpleschema.grammar import type_end
from kube_objects.go_text import quote
from kube_objects.problems import Problem, Spot

_ANY = frozenset(("string", "integer", "number", "boolean", "array", "object"))
_STRING = frozenset(("string",))
_ARRAY = frozenset(("array",))

# Every marker, and the OpenAPI types it may stand on.
MARKERS = {
    "required": _ANY,
    "default": _ANY,
    "description": _ANY,
    "minimum": _ANY,
    "maximum": _ANY,
    "validation": _ANY,
    "enum": frozenset(("string", "integer")),
    "immutable": _ANY,
    "pattern": _STRING,
    "uniqueItems": _ARRAY,
    "minLength": _STRING,
    "maxLength": _STRING,
    "minItems": _ARRAY,
    "maxItems": _ARRAY,
    "listType": _ARRAY,
    "listMapKey": _ARRAY,
}
_SWITCHES = frozenset(("required", "immutable", "uniqueItems"))

# What people write who know other schema languages.
_SYNONYMS = {
    "desc": "description",
    "doc": "description",
    "max": "maximum",
    "min": "minimum",
    "regex": "pattern",
    "unique": "uniqueItems",
    "values": "enum",
}

_ESCAPED = re.compile(r'\\(["\\]|\Z)')


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker: its value as kro takes it, and where marker and value stand."""

    name: str
    value: str
    start: int
    end: int
    value_start: int

    @property
    def spot(self) -> Spot:
        """Return where the whole marker stands."""
        return Spot((), self.start, self.end)

    @property
    def value_spot(self) -> Spot:
        """Return where its value stands, with quotes."""
        return Spot((), self.value_start, self.end)


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of a field that can be parsed, and the problems of the others."""

    found: tuple[Marker, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_markers(definition: str) -> Markers:
    """Read the markers of a definition."""
    bar = type_end(definition)
    if bar == len(definition):
        return Markers()
    lexer = _Lexer(definition, bar + 1)
    lexer.run()
    return Markers(tuple(lexer.found), tuple(lexer.problems))


@dataclass(slots=True)
class _Lexer:
    """
    One pass over the text.

    Between markers a key is gathered in `buffer`; `=` opens a marker, and from there on the
    buffer gathers its value. A key that is no marker's name opens one that is not kept.
    """

    text: str
    begin: int
    found: list[Marker] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    buffer: list[str] = field(default_factory=list)
    buffer_start: int = -1
    key: str | None = None
    key_start: int = 0
    value_start: int = 0
    quote_start: int = 0
    in_quotes: bool = False
    escaped: bool = False
    open_brackets: list[int] = field(default_factory=list)

    def run(self) -> None:
        for index in range(self.begin, len(self.text)):
            if not self.step(index, self.text[index]):
                return
        self.finish()

    def step(self, index: int, char: str) -> bool:
        """Take one character; return whether to go on."""
        if self.in_quotes:
            self.quoted(index, char)
        elif char == '"':
            self.in_quotes, self.quote_start = True, index
            self.push(index, char)
        elif char in "{[":
            self.open_brackets.append(index)
            self.push(index, char)
        elif char in "}]":
            self.push(index, char)
            return self.close_bracket(index)
        elif char == "=" and self.key is None and not self.open_brackets:
            self.close_key(index)
        elif char in BLANKS and not self.open_brackets:
            self.close_value(index)
        else:
            self.push(index, char)
        return True

    def quoted(self, index: int, char: str) -> None:
        if self.escaped:
            self.escaped = False
        elif char == '"':
            self.in_quotes = False
        elif char == "\\":
            self.escaped = True
        self.push(index, char)

    def push(self, index: int, char: str) -> None:
        if not self.buffer:
            self.buffer_start = index
        self.buffer.append(char)

    def close_bracket(self, index: int) -> bool:
        if self.open_brackets:
            self.open_brackets.pop()
            return True
        self.problem(
            "unmatched-bracket",
            "unmatched closing bracket/brace",
            Spot((), index, index + 1),
            hint="put the value in double quotes if the bracket belongs to it",
        )
        return False

    def close_key(self, index: int) -> None:
        key = trim("".join(self.buffer))
        start = self.buffer_start if self.buffer else index
        if not key:
            self.problem("empty-marker", "empty marker key", Spot((), index, index + 1))
        elif key not in MARKERS:
            self.problem(
                "unknown-marker",
                f"invalid marker key {quote(key)}: unknown marker: {key}",
                Spot((), start, index),
                summary=f"unknown marker '{key}'",
                hint=self.hint_for_unknown(key, self.text[start:index]),
            )
        self.key, self.key_start, self.value_start = key, start, index + 1
        self.buffer.clear()

    def close_value(self, index: int) -> None:
        if self.key is None:
            return
        if self.key in MARKERS:
            raw = "".join(self.buffer)
            if len(raw) > 1 and raw.startswith('"') and raw.endswith('"'):
                value = _ESCAPED.sub(r"\1", raw[1:-1])
            else:
                value = trim(raw)
            self.found.append(Marker(self.key, value, self.key_start, index, self.value_start))
        self.key = None
        self.buffer.clear()

    def finish(self) -> None:
        end = len(self.text)
        if self.key is None:
            self.dangling("".join(self.buffer))
        elif self.in_quotes:
            spot = Spot((), self.quote_start, end)
            self.problem("unclosed-quote", "unclosed quote", spot, hint='close it with "')
        elif self.open_brackets:
            spot = Spot((), self.open_brackets[-1], end)
            self.problem("unclosed-bracket", "unclosed bracket/brace", spot)
        else:
            self.close_value(end)

    def dangling(self, rest: str) -> None:
        end = len(self.text)
        if rest:
            start = self.buffer_start
            summary = f"'{rest}' is not a marker: write name=value"
        elif self.found:
            start = self.found[-1].end
            summary = "a blank follows the last marker"
        else:
            start = self.begin - 1
            summary = "no marker follows the '|'"
        self.problem(
            "marker-without-value",
            f"marker key '{rest}' without a value",
            Spot((), start, end),
            summary=summary,
            hint=self.hint_for_dangling(rest),
        )

    def problem(
        self, code: str, message: str, spot: Spot, *, summary: str = "", hint: str = ""
    ) -> None:
        self.problems.append(Problem(code, summary or message, spot, message, hint))

    def hint_for_dangling(self, rest: str) -> str:
        if not rest:
            return "remove it" if self.found else "remove the '|', or write a marker after it"
        if rest in _SWITCHES:
            return f"write '{rest}=true'"
        if rest == "optional":
            return "remove it: fields are optional unless marked required=true"
        if rest in MARKERS:
            return f"write '{rest}=…', without a blank before '='"
        return self.hint_to_quote() or "write it as name=value"

    def hint_for_unknown(self, key: str, written: str) -> str:
        if key.startswith("|"):
            return "only the first '|' separates: put blanks between markers"
        if key != trim(written) and (hint := self.hint_to_quote()):
            return hint
        meant = _SYNONYMS.get(key)
        if meant is None:
            lower = {name.lower(): name for name in MARKERS}
            near = get_close_matches(key.lower(), lower, n=1, cutoff=0.7)
            meant = lower[near[0]] if near else None
        return f"did you mean '{meant}'?" if meant else f"the markers are {', '.join(MARKERS)}"

    def hint_to_quote(self) -> str:
        """Blanks end a value that is not quoted; the rest of it is then read as a key."""
        if not self.found:
            return ""
        before = self.found[-1]
        if before.value.startswith("'"):
            return f'single quotes have no meaning here: write {before.name}="…"'
        return f'a value with blanks needs double quotes: {before.name}="…"'
