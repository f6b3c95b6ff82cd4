"""
Text → the texts of its documents → parser events, or a `ParseError` the author understands.

A file is split at its `---` lines before anything is parsed, as kubectl splits it: a mistake then
costs one document and not the rest of the file, and positions in a document can be found later by
parsing that document alone. Parsing is libyaml's. JSON gets the same events from a tokenizer of our
own, because the two languages differ in which `\\u` escapes are valid.

Marks of events count code points from the beginning of the document's text.

libyaml's messages name what the parser was doing. `explain` replaces those that everyday mistakes
cause with a statement about the text and a hint; the others are passed on unchanged.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import yaml
from yaml.error import Mark
from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kube_objects.problems import Problem


@dataclass(frozen=True, slots=True)
class ParseError:
    """
    A problem, and its position in the document's text.

    `first` is the position of the first occurrence, if the problem is a repetition.
    """

    problem: Problem
    start: int
    end: int
    first: int | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """Replaces libyaml's message `problem` (raised in `context`) by `summary` and `hint`."""

    problem: str
    summary: str
    hint: str = ""
    context: str = ""
    from_context: bool = False  # the mistake is where the parser began, not where it gave up


_QUOTE = "put the value in quotes"
_INDENT = "check the indentation against the lines above"

_RULES = (
    _Rule(
        "found a tab character that violates indentation",
        "tabs are not allowed for indentation",
        "indent with spaces",
    ),
    _Rule(
        "did not find expected alphabetic or numeric character",
        "'*' begins an alias, and no name follows it",
        "put values such as '*.example.org' in quotes",
        context="while scanning an alias",
        from_context=True,
    ),
    _Rule(
        "did not find expected alphabetic or numeric character",
        "'&' begins an anchor, and no name follows it",
        _QUOTE,
        context="while scanning an anchor",
        from_context=True,
    ),
    _Rule(
        "mapping values are not allowed in this context",
        "a mapping is not allowed here: unexpected ': '",
        "quote a value that contains ': ', or check the indentation",
    ),
    _Rule(
        "block sequence entries are not allowed in this context",
        "a list item '- ' is not allowed here",
        "begin the list on the line after the key, or check the indentation",
    ),
    _Rule(
        "could not find expected ':'",
        "a ':' is missing: this line is neither 'key: value' nor a list item",
        "write 'key: value' with a space after the colon",
        from_context=True,
    ),
    _Rule(
        "did not find expected key",
        "this line does not fit the mapping around it",
        _INDENT,
    ),
    _Rule(
        "did not find expected '-' indicator",
        "this line does not fit the list around it",
        _INDENT,
    ),
    _Rule(
        "found unexpected end of stream",
        "the quoted text that begins here is not closed",
        "add the closing quote",
        context="while scanning a quoted scalar",
        from_context=True,
    ),
    _Rule(
        "did not find expected ',' or ']'",
        "expected ',' or ']' in the list in brackets",
        "separate items with ',', close with ']', and quote items with special characters",
    ),
    _Rule(
        "did not find expected ',' or '}'",
        "expected ',' or '}' in the mapping in braces",
        "separate fields with ',', close with '}'; quote a value that begins with '{'",
    ),
    _Rule(
        "did not find expected node content",
        "a value is expected here",
        "close every '[' and '{'; put a value that begins with ']', '}' or ',' in quotes",
    ),
    _Rule(
        "found unknown escape character",
        "unknown escape sequence in double quotes",
        "write '\\\\' for a backslash, or use single quotes",
    ),
    _Rule(
        "found invalid Unicode character escape code",
        "invalid Unicode escape in double quotes",
        "write the character itself",
    ),
    _Rule("found undefined tag handle", "a tag uses an undefined prefix", _QUOTE),
    _Rule(
        "did not find expected <document start>",
        "the document ended before this line, but something follows",
        "separate documents with a line '---'",
    ),
)


def explain(error: yaml.YAMLError, text: str) -> ParseError:
    """Return the problem that an exception of the parser means for `text`."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return ParseError(Problem("yaml-syntax", f"this is not YAML: {error}"), 0, 1)
    # What is missing at the very end is reported after the last character that is not blank.
    where = min(error.problem_mark.index, max(0, len(text.rstrip()) - 1))
    begun = error.context_mark.index if error.context_mark else where
    if text.lstrip().startswith("%"):
        summary = "a line that begins with '%' is a directive, which kubectl does not support"
        return _parse_error(summary, text.index("%"), "remove the line")
    if "cannot start any token" in (error.problem or ""):
        character = text[where : where + 1]
        if character == "\t":
            return _parse_error("tabs are not allowed for indentation", where, "indent with spaces")
        return _parse_error(f"a value cannot begin with '{character}'", where, _QUOTE)
    if text[begun : begun + 1] in ("[", "{") and where < error.problem_mark.index:
        return _parse_error(f"the '{text[begun]}' here is not closed", begun)
    for rule in _RULES:
        if rule.problem in (error.problem or "") and rule.context in (error.context or ""):
            return _parse_error(rule.summary, begun if rule.from_context else where, rule.hint)
    context = f"{error.context}: " if error.context else ""
    return _parse_error(f"{context}{error.problem}", where)


def _parse_error(summary: str, where: int, hint: str = "") -> ParseError:
    return ParseError(Problem("yaml-syntax", summary, hint=hint), where, where + 1)


try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML built without libyaml: the same answers, seven times slower
    _Parser = yaml.SafeLoader  # type: ignore[assignment,misc] # both have get_event()

_SEPARATOR = re.compile(r"^---(?P<rest>[^\n]*)(?:\n|\Z)", re.MULTILINE)
_CONTENT = re.compile(r"^[ \t]*[^\s#]", re.MULTILINE)
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\],:"]+')


@dataclass(frozen=True, slots=True)
class Part:
    """One document's text, and where it begins in its file."""

    start: int
    text: str

    @property
    def has_content(self) -> bool:
        """Return whether there is anything but whitespace and comments."""
        return _CONTENT.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class BadSeparator:
    """A line that begins with `---` and has more text than a comment."""

    start: int
    text: str


def split(text: str) -> Iterator[Part | BadSeparator]:
    """Yield the documents of a file, blank ones included, and its malformed separators."""
    start = 0
    for match in _SEPARATOR.finditer(text):
        yield Part(start, text[start : match.start()])
        rest = match["rest"].strip()
        if rest and not rest.startswith("#"):
            yield BadSeparator(match.start(), match[0].rstrip())
        start = match.end()
    yield Part(start, text[start:])


def events(text: str) -> Iterator[Event]:
    """Return the parser events of one document; iterating raises `yaml.YAMLError`."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            # Not JSON, or nested beyond Python's stack: the YAML parser has none, and its events
            # are counted.
            pass
        else:
            return _json_events(text)
    return iter(_Parser(text).get_event, None)


def start_of(event: Event) -> int:
    """Return where an event's text begins."""
    return event.start_mark.index if event.start_mark else 0


def end_of(event: Event) -> int:
    """Return where an event's text ends."""
    return event.end_mark.index if event.end_mark else 0


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity are Python's, not JSON's


def _json_events(text: str) -> Iterator[Event]:
    """Yield the events of a text that is valid JSON."""
    yield DocumentStartEvent()
    for match in _JSON_TOKEN.finditer(text):
        start, end = _mark(match.start()), _mark(match.end())
        match match[0]:
            case "{":
                yield MappingStartEvent(None, None, True, start, end, flow_style=True)
            case "[":
                yield SequenceStartEvent(None, None, True, start, end, flow_style=True)
            case "}":
                yield MappingEndEvent(start, end)
            case "]":
                yield SequenceEndEvent(start, end)
            case token if token.startswith('"'):
                if "\\" not in token:
                    text_value = token[1:-1]
                else:
                    json_text: str = json.loads(token)
                    # Half of a surrogate pair is no character; Go's JSON reads it as this one.
                    text_value = json_text.encode("utf-16", "surrogatepass").decode(
                        "utf-16", "replace"
                    )
                yield ScalarEvent(None, None, (False, True), text_value, start, end, style='"')
            case token:
                yield ScalarEvent(None, None, (True, False), token, start, end)
    yield DocumentEndEvent()


def _mark(index: int) -> Mark:
    return Mark("", index, 0, 0, None, 0)
