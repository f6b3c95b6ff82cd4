"""
JSONPath as kubectl has it, for the columns of custom kinds and for selectable fields.

A path is compiled once into steps; a step takes the values found so far to those it leads to. Keys
that are missing lead nowhere; a step that cannot be taken (an index beyond the end, a filter over
no list) makes the whole path find nothing.

Follows kubernetes 1.35 k8s.io/client-go/util/jsonpath/jsonpath.go JSONPath.FindResults;
k8s.io/client-go/util/jsonpath/parser.go Parse.
"""

import re
from collections.abc import Callable
from typing import Any

import orjson

from kube_objects.go_format import format_value

Step = Callable[[list[Any]], list[Any]]

_TERMINATORS = frozenset(" \t\r\n.,[]$@{}")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_FILTER = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class BadPathError(ValueError):
    """A path cannot be read."""


class _PathNotFoundError(Exception):
    """A step cannot be taken."""


class JSONPath:
    """A compiled path: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._steps = _Parser(text).steps()

    def find(self, value: Any) -> list[Any]:
        """Return what the path leads to; nothing if it cannot be followed."""
        found = [value]
        try:
            for step in self._steps:
                found = step(found)
        except _PathNotFoundError:
            return []
        return found


def as_text(value: Any) -> str:
    """Print a found value as a column of texts shows it."""
    if isinstance(value, dict | list):
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return "<no value>" if value is None else format_value(value)


class _Parser:
    """Reads one path from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def steps(self) -> list[Step]:
        found: list[Step] = []
        last_recursive = False
        while self._at < len(self._text):
            if self._text.startswith("..", self._at):
                if last_recursive:
                    raise BadPathError("invalid multiple recursive descent")
                self._at += 2
                found.append(_recursive)
                last_recursive = True
                if self._text[self._at : self._at + 1].replace("_", "a").isalnum():
                    found.append(self._field())
                    last_recursive = False
                continue
            step = self._step()
            found += step
            last_recursive = last_recursive and not step
        return found

    def _step(self) -> list[Step]:
        char = self._text[self._at]
        if self._text.startswith("[?(", self._at):
            return [self._filter()]
        if char in " @$":
            self._at += 1
            return []
        if char == "[":
            return self._brackets()
        if char in "\"'":
            for at in range(self._at + 1, len(self._text)):
                if self._text[at] == char and self._text[at - 1] != "\\":
                    found, self._at = self._text[self._at + 1 : at], at + 1
                    text = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), found)
                    return [_constant(text)]
            raise BadPathError("unterminated quoted string")
        if char == ".":
            self._at += 1
            return [self._field()]
        if char in "+-" or char.isdigit():
            written = _NUMBER.match(self._text, self._at)
            text = written.group() if written else ""
            self._at += len(text)
            try:
                number: int | float = float(text) if "." in text else int(text)
            except ValueError:
                raise BadPathError(f"cannot parse number {text}") from None
            return [_constant(number)]
        if char == "_" or char.isalpha():
            name = self._name()
            return [_constant(name == "true") if name in ("true", "false") else _path_not_found]
        raise BadPathError(f"unrecognized character in action: {char!r}")

    def _name(self) -> str:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in _TERMINATORS:
            self._at += 2 if self._text[self._at] == "\\" else 1
        return self._text[start : self._at].replace("\\", "")

    def _field(self) -> Step:
        name = self._name()
        if name == "*":
            return lambda values: [each for value in values for each in _inside(value)]
        return _field(name)

    def _brackets(self) -> list[Step]:
        end = self._text.find("]", self._at)
        if end < 0:
            raise BadPathError("unterminated array")
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        parts = inside.split(",")
        if len(parts) > 1:
            choices = [_Parser(f"[{each.strip(' ')}]").steps() for each in parts]

            def union(values: list[Any]) -> list[Any]:
                found: list[Any] = []
                for steps in choices:
                    here = values
                    for each in steps:
                        here = each(here)
                    found += here
                return found

            return [union]
        if key := _KEY.fullmatch(inside):
            return _Parser(f".{key[1]}").steps()
        return [_slice(":" if inside == "*" else inside)]

    def _filter(self) -> Step:
        start = self._at = self._at + 3
        quote = ""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in "\"'" and self._text[self._at - 1] != "\\":
                quote = char if not quote else "" if char == quote else quote
            elif char == ")" and not quote:
                break
            self._at += 1
        inside = self._text[start : self._at]
        if not self._text.startswith(")]", self._at):
            raise BadPathError("unterminated filter")
        self._at += 2
        if written := _FILTER.fullmatch(inside):
            left, operator, right = written.groups()
            return _filter(_Parser(left).steps(), operator, _Parser(right).steps())
        steps = _Parser(inside).steps()

        def has(item: Any) -> bool:
            try:
                return bool(_follow(steps, item))
            except _PathNotFoundError:
                return True

        return lambda values: [each for each in _items(values) if has(each)]


def _path_not_found(values: list[Any]) -> list[Any]:
    raise _PathNotFoundError


def _constant(value: Any) -> Step:
    return lambda values: [value] * len(values)


def _follow(steps: list[Step], value: Any) -> list[Any]:
    found = [value]
    for step in steps:
        found = step(found)
    return found


def _field(name: str) -> Step:
    return lambda values: [v[name] for v in values if isinstance(v, dict) and name in v]


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, list | str) else []


def _recursive(values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        inside = _inside(value) if not isinstance(value, str) else []
        if inside:
            found += [value, *_recursive(inside)]
    return found


def _slice(written: str) -> Step:
    parsed = _SLICE.fullmatch(written)
    if parsed is None:
        raise BadPathError(f"invalid array index {written}")
    if parsed[1] == "-":
        raise BadPathError("array index - is not a number")
    first = int(parsed[1] or 0)
    is_index = parsed[2] is None
    second = first + 1 if is_index else int(parsed[2][1:]) if parsed[2][1:] else None
    stride = int(parsed[3][1:]) if parsed[3] and parsed[3][1:] else 1

    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise _PathNotFoundError
            start = first + len(value) if first < 0 else first
            end = len(value) if second is None else second
            if end < 0 or (end == 0 and is_index):
                end += len(value)
            if start == end:
                return found
            if not (0 <= start < len(value) and start < end <= len(value)) or stride <= 0:
                raise _PathNotFoundError
            found += value[start:end:stride]
        return found

    return step


def _items(values: list[Any]) -> list[Any]:
    for value in values:
        if not isinstance(value, list):
            raise _PathNotFoundError
    return [each for value in values for each in value]


def _filter(left: list[Step], operator: str, right: list[Step]) -> Step:
    compare = _COMPARISONS.get(operator)

    def passes(item: Any) -> bool:
        sides = []
        for steps in (left, right):
            found = _follow(steps, item)
            if not found:
                return False
            if len(found) > 1 or compare is None:
                raise _PathNotFoundError
            sides.append(found[0])
        one, other = sides
        # Values of different types cannot be compared, nor can booleans be ordered.
        if type(one) is not type(other) or compare is None or one is None:
            raise _PathNotFoundError
        if isinstance(one, dict | list) or (isinstance(one, bool) and operator not in ("==", "!=")):
            raise _PathNotFoundError
        return compare(one, other)

    return lambda values: [each for each in _items(values) if passes(each)]


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda one, other: one < other,
    ">": lambda one, other: one > other,
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<=": lambda one, other: one <= other,
    ">=": lambda one, other: one >= other,
}
