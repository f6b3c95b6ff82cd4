"""
Spots in a value → positions in the text it was parsed from.

The tree of positions is built on the first request, by parsing the document once more: most
documents have no problems, and loading them should not pay for it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kube_objects.problems import Spot
from kube_objects.scalar_positions import offsets
from kube_objects.yaml_parser import end_of, events, start_of
from kube_objects.yaml_values import MERGE_KEY

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_PROPERTIES = re.compile(r"(?:[!&]\S*\s+(?:#[^\r\n]*\s+)*)*")


class SourceText:
    """A file's text, by line and column. Both count from 1, columns in code points."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _lines(self) -> tuple[list[int], list[int]]:
        """Return where lines begin, and where they end without their break."""
        breaks = list(_LINE_BREAK.finditer(self.text))
        starts = [0, *(match.end() for match in breaks)]
        ends = [*(match.start() for match in breaks), len(self.text)]
        return starts, ends

    def position(self, index: int) -> tuple[int, int]:
        """Return line and column of a character."""
        starts, _ = self._lines
        line = bisect_right(starts, index)
        return line, index - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return a line without its break; empty if there is no such line."""
        starts, ends = self._lines
        if not 1 <= number <= len(starts):
            return ""
        return self.text[starts[number - 1] : ends[number - 1]]

    def lines(self) -> list[str]:
        """Return all lines without their breaks."""
        return [self.text[start:end] for start, end in zip(*self._lines, strict=True)]

    def width(self, start: int, end: int) -> int:
        """Return the number of characters from `start` to `end` on the first line, at least 1."""
        starts, ends = self._lines
        line_end = ends[bisect_right(starts, start) - 1]
        return max(1, len(self.text[start : min(end, line_end)].rstrip()))


@dataclass(frozen=True, slots=True)
class Span:
    """From one index of a text to another, the latter not included."""

    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is written here."""
        return self.start >= self.end


@dataclass(slots=True)
class Place:
    """Where a value is written, and where its key and its parts are."""

    span: Span
    key: Span | None = None
    scalar: ScalarEvent | None = None
    parts: dict[str | int, "Place"] = field(default_factory=dict)


class Places:
    """The places of one document's text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = _Reader(text).read()

    def span(self, spot: Spot) -> Span:
        """
        Return the span of a spot, or of its nearest existing parent.

        A spot without offsets is a whole value, with its quotes; one with offsets is inside it.
        """
        place, is_exact = self._root, True
        for step in spot.path:
            part = place.parts.get(step)
            if part is None:
                is_exact = False
                break
            place = part
        if not is_exact and place.parts:
            return place.key or place.span
        if spot.on_key and is_exact:
            return place.key or place.span
        if place.span.is_empty and place.key is not None:
            return place.key
        if is_exact and place.scalar is not None and (spot.start or spot.end is not None):
            scalar = place.scalar
            source = self._text[place.span.start : place.span.end]
            style = scalar.style if scalar.style and scalar.style in "'\"|>" else ""
            found = offsets(source, style, scalar.value)
            if found is None:
                return place.span
            last = len(scalar.value)
            start = min(max(spot.start, 0), last)
            end = min(start + 1 if spot.end is None else max(spot.end, start), last)
            base = place.span.start
            return Span(base + found.index(start), base + found.index(end))
        return place.span


@dataclass(slots=True)
class _Frame:
    """A collection that is being read; `key` is the one that waits for its value."""

    place: Place
    is_mapping: bool = False
    key: tuple[str, Span, bool] | None = None  # its text, where it is, and whether it merges


class _Reader:
    """Builds the tree of places from the events of a document that has been read before."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stack = [_Frame(Place(Span(0, 0)))]
        self._anchors: dict[str, Place] = {}

    def read(self) -> Place:
        for event in events(self._text):
            handler = _HANDLERS.get(type(event))
            if handler is not None:
                handler(self, event)
        root = self._stack[0].place
        return root.parts.get(0, root)

    def scalar(self, event: ScalarEvent) -> None:
        span = self._span(event, end_of(event))
        top = self._stack[-1]
        if top.is_mapping and top.key is None:
            top.key = (event.value, span, event.value == MERGE_KEY and event.implicit[0])
            return
        self._add(Place(span, scalar=event), event.anchor)

    def open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        place = Place(self._span(event, end_of(event)))
        if event.anchor is not None:
            self._anchors[event.anchor] = place
        self._stack.append(_Frame(place, isinstance(event, MappingStartEvent)))

    def close(self, event: MappingEndEvent | SequenceEndEvent) -> None:
        place = self._stack.pop().place
        place.span = Span(place.span.start, end_of(event))
        top = self._stack[-1]
        if top.is_mapping and top.key is None:
            top.key = ("", place.span, False)  # a collection as a key, complained about elsewhere
        else:
            self._add(place)

    def alias(self, event: AliasEvent) -> None:
        self._add(replace(self._anchors[event.anchor or ""]))

    def _add(self, place: Place, anchor: str | None = None) -> None:
        if anchor is not None:
            self._anchors[anchor] = place
        top = self._stack[-1]
        if top.key is None:
            top.place.parts[len(top.place.parts)] = place
            return
        (name, span, merges), top.key = top.key, None
        if merges:
            # Of a list of mappings, the first one wins.
            is_list = all(isinstance(step, int) for step in place.parts)
            for part in reversed(place.parts.values()) if is_list else (place,):
                top.place.parts.update(part.parts)
        else:
            place.key = span
            top.place.parts[name] = place

    def _span(self, event: Event, end: int) -> Span:
        """Leave out the tag and the anchor, which libyaml counts in."""
        properties = _PROPERTIES.match(self._text, start_of(event), end)
        return Span(properties.end() if properties else start_of(event), end)


_HANDLERS: dict[type[Event], Callable[[_Reader, Any], None]] = {
    ScalarEvent: _Reader.scalar,
    MappingStartEvent: _Reader.open,
    SequenceStartEvent: _Reader.open,
    MappingEndEvent: _Reader.close,
    SequenceEndEvent: _Reader.close,
    AliasEvent: _Reader.alias,
}
