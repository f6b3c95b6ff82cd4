"""
Text → documents' texts → parser events.

A file is cut at its `---` lines before anything is parsed, as kubectl cuts it: a mistake then
costs one document and not the rest of the file, and a document's places can be found later by
reading that document alone. Parsing is libyaml's; JSON gets the same events from a scan of its
own, because the two languages differ in what a `\\u` escape may say.

Marks of events count in code points from the beginning of the document's text.
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
        """Say whether there is more than blanks and comments."""
        return _CONTENT.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class BadSeparator:
    """A line that begins with `---` and says something else as well."""

    start: int
    text: str


def split(text: str) -> Iterator[Part | BadSeparator]:
    """Cut a file at its separators."""
    start = 0
    for match in _SEPARATOR.finditer(text):
        yield Part(start, text[start : match.start()])
        rest = match["rest"].strip()
        if rest and not rest.startswith("#"):
            yield BadSeparator(match.start(), match[0].rstrip())
        start = match.end()
    yield Part(start, text[start:])


def events(text: str) -> Iterator[Event]:
    """Parse one document; raise `yaml.YAMLError` where it is not YAML."""
    return _json_events(text) if _is_json(text) else _yaml_events(text)


def start_of(event: Event) -> int:
    """Return where an event's text begins."""
    return event.start_mark.index if event.start_mark else 0


def end_of(event: Event) -> int:
    """Return where an event's text ends."""
    return event.end_mark.index if event.end_mark else 0


def _yaml_events(text: str) -> Iterator[Event]:
    parser = _Parser(text)
    while (event := parser.get_event()) is not None:
        yield event


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text, parse_constant=_refuse_constant)
    # Nested beyond Python's stack: the YAML parser has none, and its events are counted.
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity are Python's, not JSON's


def _json_events(text: str) -> Iterator[Event]:
    """Tell apart the tokens of a text that is known to be JSON."""
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
                text_value = _json_string(token)
                yield ScalarEvent(None, None, (False, True), text_value, start, end, style='"')
            case token:
                yield ScalarEvent(None, None, (True, False), token, start, end)
    yield DocumentEndEvent()


def _json_string(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    text: str = json.loads(token)
    # Half of a surrogate pair is no character; Go's JSON reads it as this one.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _mark(index: int) -> Mark:
    return Mark("", index, 0, 0, None, 0)
