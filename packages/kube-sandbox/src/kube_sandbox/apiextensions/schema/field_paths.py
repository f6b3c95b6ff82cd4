"""
Paths in a CustomResourceDefinition that point into its own schema: `.spec.parts['a.b']`.

Validation rules name the field they blame with one, selectable fields are named by them.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go
ValidFieldPath.
"""

import re
from dataclasses import dataclass

from kube_objects.schemas import Schema
from kube_objects.structural_schema import fields, has_other_fields, other_fields

_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "'": "'",
    "\\": "\\",
}
_TOKEN = re.compile(r"'(?:\\.|[^'])*'|[.\[\]]|[^.\[\]]+|.", re.DOTALL)
_NO_FIELD = "does not refer to a valid field"


class BadPath(Exception):  # noqa: N818 - what the path is
    """A path that leads nowhere; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path leads: as the API server prints it, its first step, what stands there."""

    path: str
    root: str
    schema: Schema | None


def follow(path: str, schema: Schema, *, with_brackets: bool = True) -> Target:
    """Follow a path through a schema; raise `BadPath` where it cannot be followed."""
    tokens = _TOKEN.findall(path)
    printed, root = "", ""
    here: Schema | None = schema
    position = 0
    while position < len(tokens):
        name, position = _step(tokens, position, with_brackets)
        if here is None:
            raise BadPath(_NO_FIELD)
        if fields(here):
            if name not in fields(here):
                raise BadPath(_NO_FIELD)
            here = fields(here)[name]
            printed = f"{printed}.{name}" if printed else name
        elif has_other_fields(here) or "additionalProperties" in here:
            here = other_fields(here)
            printed = f"{printed}[{name}]"
        else:
            raise BadPath(_NO_FIELD)
        root = root or name
    return Target(printed, root, here)


def _step(tokens: list[str], position: int, with_brackets: bool) -> tuple[str, int]:
    """Read one step; return its name and where the next begins."""
    opening = tokens[position]
    if opening == "[" and not with_brackets:
        raise BadPath("array notation is not allowed")
    if opening not in (".", "["):
        raise BadPath(f"expected [ or . but got: {opening}")
    if position + 1 >= len(tokens):
        raise BadPath("unexpected end of JSON path")
    name = tokens[position + 1]
    if opening == ".":
        return name, position + 2
    if len(name) < 2 or name[0] != "'" or name[-1] != "'":
        raise BadPath(f"expected single quoted string but got {name}")
    if position + 2 >= len(tokens):
        raise BadPath("unexpected end of JSON path")
    if tokens[position + 2] != "]":
        raise BadPath(f"expected ] but got {tokens[position + 2]}")
    text = name[1:-1]

    def replaced(match: re.Match[str]) -> str:
        found = _ESCAPES.get(match[0][1])
        if found is None:
            raise BadPath(f"invalid string literal: invalid escape char {match[0]}")
        return found

    unescaped = re.sub(r"\\.", replaced, text)
    return unescaped, position + 3
