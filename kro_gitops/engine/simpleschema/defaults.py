"""
Checks defaults against their schema.

The rules are exactly those of the API server when a CRD is written: it accepts a default that
breaks none of them and rejects one that breaks any.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.simpleschema.go_literals import compile_pattern
from kro_gitops.engine.simpleschema.schema_nodes import PRESERVE_UNKNOWN, Draft
from kube_objects.paths import format_path
from kube_objects.problems import Path

_INT64 = 2**63
_SAFE_FLOAT = 2**53 - 1  # up to here a float is taken for an integer if it is whole
_MAX_SHOWN = 60
_BOUNDS = (("minimum", -1, "less than the minimum"), ("maximum", 1, "greater than the maximum"))


@dataclass(frozen=True, slots=True)
class Violation:
    """How a default breaks its schema; `keyword` is what it breaks."""

    code: str
    summary: str
    keyword: str


def find_violation(value: Any, draft: Draft) -> Violation | None:
    """Return the first rule of a schema that a default breaks."""
    return next(_violations(value, draft, ()), None)


def _violations(value: Any, draft: Draft, path: Path) -> Iterator[Violation]:
    if draft.type is None:
        return
    if not _has_type(value, draft.type):
        yield _violation("wrong-type", "type", value, path, f"is not of type {draft.type}")
        return
    allowed = draft.keywords.get("enum")
    if allowed and value not in allowed:
        choice = ", ".join(map(str, allowed))
        yield _violation("not-in-enum", "enum", value, path, f"is not one of {choice}")
    match value:
        case bool():
            pass
        case int() | float():
            yield from _number(value, draft, path)
        case str():
            yield from _text(value, draft, path)
        case list():
            fewest, most = draft.keywords.get("minItems"), draft.keywords.get("maxItems")
            if fewest is not None and len(value) < fewest:
                reason = f"has fewer than {fewest} items"
                yield _violation("out-of-bounds", "minItems", value, path, reason)
            if most is not None and len(value) > most:
                yield _violation(
                    "out-of-bounds", "maxItems", value, path, f"has more than {most} items"
                )
            if draft.items is not None:
                for index, item in enumerate(value):
                    yield from _violations(item, draft.items, (*path, index))
        case dict():
            yield from _object(value, draft, path)
        case _:
            pass


def _number(value: float, draft: Draft, path: Path) -> Iterator[Violation]:
    for keyword, sign, words in _BOUNDS:
        bound = draft.keywords.get(keyword)
        if bound is None or abs(bound) >= _INT64:
            continue  # servers disagree with each other on bounds no integer reaches
        # Compared with an integer, a bound loses its fraction.
        bound = int(bound) if isinstance(value, int) else bound
        if sign * value > sign * bound:
            yield _violation("out-of-bounds", keyword, value, path, f"is {words} {bound}")


def _text(value: str, draft: Draft, path: Path) -> Iterator[Violation]:
    shortest, longest = draft.keywords.get("minLength"), draft.keywords.get("maxLength")
    if shortest is not None and len(value) < shortest:
        yield _violation(
            "out-of-bounds", "minLength", value, path, f"is shorter than minLength {shortest}"
        )
    if longest is not None and len(value) > longest:
        yield _violation(
            "out-of-bounds", "maxLength", value, path, f"is longer than maxLength {longest}"
        )
    pattern = draft.keywords.get("pattern")
    compiled = compile_pattern(pattern) if pattern is not None else None
    if compiled is not None and not compiled.search(value):
        reason = f"does not match the pattern {pattern}"
        yield _violation("pattern-mismatch", "pattern", value, path, reason)


def _object(value: dict[str, Any], draft: Draft, path: Path) -> Iterator[Violation]:
    for name in draft.keywords.get("required", ()):
        if name not in value:
            reason = f"lacks the required field '{name}'"
            yield _violation("missing-field", "required", value, path, reason)
    fields = draft.properties or {}
    for name, child in value.items():
        schema = fields.get(name, draft.values)
        if schema is not None:
            yield from _violations(child, schema, (*path, name))
        elif not draft.keywords.get(PRESERVE_UNKNOWN):
            reason = f"has the unknown field '{name}'"
            yield _violation("unknown-field", "properties", value, path, reason)


def _has_type(value: Any, openapi_type: str) -> bool:
    match openapi_type:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return False
            if isinstance(value, int) and -_INT64 <= value < _INT64:
                return True
            # Anything else is a float there, and whole if it is so within a billionth.
            number = float(value)
            whole = abs(number - round(number)) <= 1e-9 * max(1.0, abs(number))
            return whole and abs(number) <= _SAFE_FLOAT
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _violation(code: str, keyword: str, value: Any, path: Path, reason: str) -> Violation:
    """Return the problem of a default; a long value is cut."""
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(shown) > _MAX_SHOWN:
        shown = shown[:_MAX_SHOWN] + "…"
    where = f" at {format_path(path)}" if path else ""
    return Violation(f"default-{code}", f"default {shown}{where} {reason}", keyword)
