"""
Well-typed CEL expressions, made from the table in ``cel_grammar.txt``.

A production is CEL text with holes: ``<int>`` is filled with an expression of that type,
``<int e:string>`` likewise, with a variable ``e`` of type string in scope. The type names
are this module's own (``ints`` is a list of int): they only say what fits where. Results
may still fail when evaluated; that is wanted. Randomness is handed in.
"""

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]
Scope = Mapping[str, Sequence[str]]
"""Type name → the variables and field paths that have this type."""

_HEADING = re.compile(r"\[([a-z]+)( leaf)?\]")
_HOLE = re.compile(r"<(\w+)((?: \w+:\w+)*)>")


def _read_table(text: str) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Read leaves and productions by type from the lines below each heading."""
    tables: dict[bool, dict[str, tuple[str, ...]]] = {True: {}, False: {}}
    table, name = tables[False], ""
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            table, name = tables[heading[2] is not None], heading[1]
        elif line and not line.startswith("#"):
            table[name] = (*table.get(name, ()), line)
    return tables[True], tables[False]


LEAVES, PRODUCTIONS = _read_table(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))

_OPENAPI_TYPES = {"integer": "int", "number": "double", "boolean": "bool", "string": "string"}
_FORMATS = {"byte": "bytes", "date-time": "timestamp", "date": "timestamp", "duration": "duration"}
_LISTS = {"int": "ints", "double": "doubles", "string": "strings"}
_MAPS = {"int": "intmap", "string": "stringmap"}


def scope_of(schemas: Mapping[str, Schema]) -> dict[str, list[str]]:
    """List the paths of typed variables by the grammar's type names."""
    scope: dict[str, list[str]] = {}
    for name, schema in schemas.items():
        _collect(name, schema, scope)
    return scope


def _collect(path: str, schema: Schema, scope: dict[str, list[str]]) -> None:
    name = _type_name(schema)
    if name is not None:
        scope.setdefault(name, []).append(path)
    for field, child in schema.get("properties", {}).items():
        if field.isidentifier():
            _collect(f"{path}.{field}", child, scope)


def _type_name(schema: Schema) -> str | None:
    if schema.get("type") == "array":
        return _LISTS.get(_type_name(schema.get("items", {})) or "")
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        return _MAPS.get(_type_name(values) or "")
    if schema.get("x-kubernetes-preserve-unknown-fields") or "anyOf" in schema:
        return "dyn"
    return _FORMATS.get(schema.get("format", "")) or _OPENAPI_TYPES.get(schema.get("type", ""))


class Grammar:
    """Expressions over one scope; the same random source gives the same texts."""

    def __init__(self, rng: random.Random, scope: Scope) -> None:
        self._rng = rng
        self._scope = scope

    def expression(self, depth: int) -> str:
        """Make an expression of any type, with at most ``depth`` nested productions."""
        weights = [len(productions) for productions in PRODUCTIONS.values()]
        return self._of_type(self._rng.choices(list(PRODUCTIONS), weights)[0], depth, {})

    def _of_type(self, name: str, depth: int, local: Mapping[str, str]) -> str:
        productions = PRODUCTIONS.get(name, ())
        if depth <= 0 or not productions or self._rng.random() < 0.2:
            return self._leaf(name, local)
        production = self._rng.choice(productions)
        text = _HOLE.sub(lambda hole: self._fill(hole, depth - 1, local), production)
        return f"({text})" if " " in text and self._rng.random() < 0.9 else text

    def _fill(self, hole: re.Match[str], depth: int, local: Mapping[str, str]) -> str:
        named = dict(pair.split(":") for pair in hole[2].split())
        return self._of_type(hole[1], depth, {**local, **named})

    def _leaf(self, name: str, local: Mapping[str, str]) -> str:
        bound = [variable for variable, type_name in local.items() if type_name == name]
        if bound and self._rng.random() < 0.7:
            return self._rng.choice(bound)
        paths = self._scope.get(name, ())
        if paths and self._rng.random() < 0.5:
            return self._rng.choice(paths)
        return _HOLE.sub(lambda hole: self._leaf(hole[1], local), self._rng.choice(LEAVES[name]))
