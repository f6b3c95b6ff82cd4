"""
Parser events of one document → its value as JSON data, or why it is rejected.

Input is untrusted: nesting, aliases and tags are checked event by event, before anything is built
from them. What makes a document meaningless ends it (`_Rejected`). What only makes it doubtful,
such as a duplicate key, is reported and parsing goes on, so that one run finds everything.

A few hundred bytes of aliases to aliases expand to billions of nodes. So the size of an anchored
value is counted when it is complete, and charged to the limits before each copy.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kube_objects.problems import Path, Problem, Spot
from kube_objects.yaml_parser import ParseError, end_of, events, explain, start_of
from kube_objects.yaml_scalars import NotFiniteError, Scalar, resolve, resolve_as


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Bounds for one file.

    `aliases` is how many may be repeated in one document (above zero, merge keys are read too),
    `expanded_nodes` what they may add to it.
    """

    file_bytes: int = 1 << 20
    documents: int = 20_000
    depth: int = 64
    aliases: int = 0
    expanded_nodes: int = 100_000


DEFAULT_LIMITS = Limits()


class AliasError(Exception):
    """An alias that is rejected, and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.summary)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Anchor:
    value: Any
    nodes: int
    depth: int


class Aliases:
    """The anchored values of one document."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._named: dict[str, _Anchor] = {}
        self._repeated = 0
        self._nodes = 0

    def name(self, name: str, value: Any) -> None:
        """Record an anchored value, once it is complete."""
        if self._limits.aliases:
            self._named[name] = _Anchor(value, *_size(value))

    def repeat(self, name: str, depth: int) -> Any:
        """
        Return a copy of the anchored value `name`, which will be nested `depth` levels deep.

        Raises `AliasError` if the limits forbid it or there is no such anchor.
        """
        limits = self._limits
        if not limits.aliases:
            raise _alias_error("alias", f"'*{name}' is an alias, and aliases are not supported")
        self._repeated += 1
        if self._repeated > limits.aliases:
            raise _alias_error(
                "alias", f"'*{name}' is one alias more than the {limits.aliases} allowed"
            )
        named = self._named.get(name)
        if named is None:
            raise _alias_error(
                "alias", f"'*{name}' refers to an anchor that is incomplete or undefined"
            )
        self._nodes += named.nodes
        if self._nodes > limits.expanded_nodes:
            most = f"{limits.expanded_nodes:,}"
            raise _alias_error("alias-bomb", f"'*{name}' brings the document beyond {most} nodes")
        if depth + named.depth > limits.depth:
            raise _alias_error("too-deep", f"'*{name}' nests deeper than {limits.depth} levels")
        return deepcopy(named.value)


def _alias_error(code: str, summary: str) -> AliasError:
    return AliasError(Problem(code, summary, hint="write the value out"))


def _size(value: Any) -> tuple[int, int]:
    """Count the nodes of a value and its levels of nesting."""
    if isinstance(value, dict):
        parts = [_size(part) for part in value.values()]
    elif isinstance(value, list):
        parts = [_size(part) for part in value]
    else:
        return 1, 0
    nodes = 1 + sum(nodes for nodes, _ in parts)
    return nodes, 1 + max((depth for _, depth in parts), default=0)


MERGE_KEY = "<<"

_STANDARD_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(("str", "int", "float", "bool", "null"))
_COLLECTION_TAGS = frozenset(("map", "seq"))
_KEY_TAGS = frozenset(("str",))


@dataclass(frozen=True, slots=True)
class ConstructedValue:
    """
    The value of a document and its problems; without `usable` there is no value.

    `syntax_error` is the parser's own error, if that is why there is none.
    """

    value: Any
    usable: bool
    complaints: tuple[ParseError, ...]
    syntax_error: yaml.YAMLError | None = None


def build(text: str, limits: Limits) -> ConstructedValue:
    """Parse one document within the limits; never raises for its content."""
    builder = _Builder(limits)
    try:
        for event in events(text):
            handler = _HANDLERS.get(type(event))
            if handler is not None:
                handler(builder, event)
    except _Rejected as refused:
        return ConstructedValue(None, False, (*builder.complaints, refused.complaint))
    except yaml.YAMLError as error:
        complaints = (*builder.complaints, explain(error, text))
        return ConstructedValue(None, False, complaints, error)
    return ConstructedValue(builder.value, True, tuple(builder.complaints))


class _Rejected(Exception):  # noqa: N818 - the end of a document, not of the program
    def __init__(self, complaint: ParseError) -> None:
        super().__init__(complaint.problem.summary)
        self.complaint = complaint


class _Key(Enum):
    """The state of a mapping that has no pending key."""

    AWAITED = "the next node is a key"
    MERGE = "the next node is merged into the mapping"


class _Frame:
    """A collection that is being read."""

    __slots__ = ("anchor", "container", "is_mapping", "key", "opening", "seen")

    def __init__(self, opening: Event, is_mapping: bool, anchor: str | None) -> None:
        self.container: Any = {} if is_mapping else []
        self.is_mapping = is_mapping
        self.key: str | _Key = _Key.AWAITED
        self.opening = opening
        self.anchor = anchor
        self.seen: dict[str, int] = {}  # keys written here (not merged in), and where


class _Builder:
    def __init__(self, limits: Limits) -> None:
        self.complaints: list[ParseError] = []
        self._depth = limits.depth
        self._may_merge = limits.aliases > 0
        self._aliases = Aliases(limits)
        self._top = _Frame(Event(), False, None)
        self._stack = [self._top]

    @property
    def value(self) -> Any:
        root = self._stack[0].container
        return root[0] if root else None

    def scalar(self, event: ScalarEvent) -> None:
        top = self._top
        if top.is_mapping and top.key is _Key.AWAITED:
            self._begin_entry(top, event)
            return
        value: Scalar
        if event.tag is not None:
            tag = event.tag or ""
            # A lone "!" is the non-specific tag: the scalar is a string.
            if tag == "!" or not self._check_tag(event, tag, _SCALAR_TAGS):
                value = event.value
            else:
                kind = tag.removeprefix(_STANDARD_TAG)
                try:
                    value = resolve_as(kind, event.value)
                except NotFiniteError:
                    value = self._not_finite(event)
                except ValueError:
                    self._report(event, "tag", f"'{event.value}' is not what '!!{kind}' says")
                    value = event.value
        elif event.implicit[0]:
            try:
                value = resolve(event.value)
            except NotFiniteError:
                value = self._not_finite(event)
        else:
            value = event.value
        if event.anchor is not None:
            self._aliases.name(event.anchor, value)
        self._put(value, event)

    def open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if len(self._stack) > self._depth:
            text = f"nested deeper than {self._depth} levels"
            raise self._rejection(event, "too-deep", text, "is this meant to be a manifest?")
        if event.tag is not None:
            self._check_tag(event, event.tag, _COLLECTION_TAGS)
        frame = _Frame(event, isinstance(event, MappingStartEvent), event.anchor)
        self._stack.append(frame)
        self._top = frame

    def close(self, event: MappingEndEvent | SequenceEndEvent) -> None:
        frame = self._stack.pop()
        self._top = top = self._stack[-1]
        if frame.anchor is not None:
            self._aliases.name(frame.anchor, frame.container)
        if top.is_mapping and top.key is _Key.AWAITED:
            what = "mapping" if frame.is_mapping else "list"
            problem = Problem(
                "non-string-key",
                f"a {what} is used as a key",
                Spot(self._path()),
                hint="put template text such as '{{ … }}' in quotes",
            )
            self.complaints.append(ParseError(problem, start_of(frame.opening), end_of(event)))
            self._top.key = f"({what})"
        else:
            self._put(frame.container, frame.opening)

    def alias(self, event: AliasEvent) -> None:
        name = event.anchor or ""
        if self._top.is_mapping and self._top.key is _Key.AWAITED:
            raise self._rejection(event, "non-string-key", f"the alias '*{name}' is used as a key")
        try:
            value = self._aliases.repeat(name, len(self._stack) - 1)
        except AliasError as error:
            problem = replace(error.problem, spot=Spot(self._path()))
            raise _Rejected(ParseError(problem, start_of(event), end_of(event))) from None
        self._put(value, event)

    def _put(self, value: Any, event: Event) -> None:
        top = self._top
        if not top.is_mapping:
            top.container.append(value)
            return
        if top.key is _Key.MERGE:
            for part in reversed(value) if isinstance(value, list) else [value]:
                if not isinstance(part, dict):
                    raise self._rejection(
                        event, "merge-key", "'<<' merges a value that is not a mapping"
                    )
                # In Kubernetes' parser a merge overrides keys before it.
                self._top.container.update(part)
        else:
            top.container[top.key] = value
        top.key = _Key.AWAITED

    def _begin_entry(self, top: _Frame, event: ScalarEvent) -> None:
        key = event.value
        if event.tag is not None:
            self._check_tag(event, event.tag, _KEY_TAGS)
        elif event.implicit[0]:
            if key == MERGE_KEY:
                if not self._may_merge:
                    text = "'<<' merges another mapping, which is not supported"
                    raise self._rejection(event, "merge-key", text, "write its fields out")
                self._top.key = _Key.MERGE
                return
            self._check_plain_key(event)
        if key in top.seen:
            problem = Problem(
                "duplicate-key",
                f"the key '{key}' is given twice in one mapping",
                Spot((*self._path(), key), on_key=True),
            )
            first = self._top.seen[key]
            self.complaints.append(ParseError(problem, start_of(event), end_of(event), first))
        top.seen[key] = start_of(event)
        top.key = key

    def _check_plain_key(self, event: ScalarEvent) -> None:
        try:
            meaning = resolve(event.value)
        except NotFiniteError:
            meaning = math.inf
        if isinstance(meaning, str):
            return
        if not event.value:
            text, hint = "a ':' has no key before it", "quote text that begins with ':'"
            self._report(event, "non-string-key", text, hint)
            return
        match meaning:
            case bool():
                described = f"the boolean {'true' if meaning else 'false'}"
            case None:
                described = "null"
            case _:
                described = "a number"
        text = f"the key '{event.value}' is read as {described}, not as text"
        self._report(event, "non-string-key", text, f'put the key in quotes: "{event.value}"')

    def _not_finite(self, event: ScalarEvent) -> str:
        text = f"'{event.value}' is not a number that JSON can represent"
        self._report(event, "not-finite", text, "put it in quotes if you mean text")
        return event.value

    def _check_tag(self, event: NodeEvent, tag: str, known: frozenset[str]) -> bool:
        """Return True for a tag of YAML itself that fits the node; report any other."""
        if tag == "!" or (tag.startswith(_STANDARD_TAG) and tag[len(_STANDARD_TAG) :] in known):
            return True
        shown = tag.replace(_STANDARD_TAG, "!!", 1)
        self._report(event, "tag", f"the tag '{shown}' has no meaning in a manifest", "remove it")
        return False

    def _path(self) -> Path:
        """Return the path of what is being read; the frame of the root has no part in it."""
        steps: list[str | int] = []
        for frame in self._stack[1:]:
            if not frame.is_mapping:
                steps.append(len(frame.container))
            elif isinstance(frame.key, str):
                steps.append(frame.key)
        return tuple(steps)

    def _report(self, event: Event, code: str, text: str, hint: str = "") -> None:
        problem = Problem(code, text, Spot(self._path()), hint=hint)
        self.complaints.append(ParseError(problem, start_of(event), end_of(event)))

    def _rejection(self, event: Event, code: str, text: str, hint: str = "") -> _Rejected:
        problem = Problem(code, text, Spot(self._path()), hint=hint)
        return _Rejected(ParseError(problem, start_of(event), end_of(event)))


_HANDLERS: dict[type[Event], Callable[[_Builder, Any], None]] = {
    ScalarEvent: _Builder.scalar,
    MappingStartEvent: _Builder.open,
    SequenceStartEvent: _Builder.open,
    MappingEndEvent: _Builder.close,
    SequenceEndEvent: _Builder.close,
    AliasEvent: _Builder.alias,
}
