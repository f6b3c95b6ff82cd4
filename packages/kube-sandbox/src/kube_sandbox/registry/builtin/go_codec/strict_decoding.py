"""
Strict decoding of a body's text: unknown fields and duplicate fields.

Duplicates are only visible in the text, not in the parsed object. Most bodies have neither, so that
is checked first.

Follows sigs.k8s.io/json 2d320260d730 json.go UnmarshalStrict; kubernetes 1.35
k8s.io/apimachinery/pkg/runtime/serializer/json/json.go Serializer.unmarshal.
"""

import json
from typing import Any

from kube_sandbox.registry.builtin.go_codec.struct_types import node_of
from kube_sandbox.registry.field_errors import quoted

MAX_STRICT_ERRORS = 100


def strict_errors(node: int | None, raw: bytes) -> list[str]:
    """Return all that is minded, in the order of the text; without a type only duplicates."""
    return [f"{sort} field {quoted(path)}" for sort, path in _find_errors(node, raw)]


def _find_errors(node: int | None, raw: bytes) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    _walk(node, json.loads(raw, object_pairs_hook=_Pairs), "", found)
    return list(dict.fromkeys(found))[:MAX_STRICT_ERRORS]


def has_duplicates(raw: bytes) -> bool:
    """Return whether a key stands twice in some object of a JSON text."""

    def reject_duplicates(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len({key for key, _ in pairs}) != len(pairs):
            raise _DuplicateFieldError

    try:
        json.loads(raw, object_pairs_hook=reject_duplicates)
    except _DuplicateFieldError:
        return True
    except ValueError:
        return False
    return False


def duplicate_fields(raw: bytes) -> list[str]:
    """Return the paths of keys that stand twice in a JSON text, whatever its kind."""
    if not has_duplicates(raw):
        return []
    return [path for sort, path in _find_errors(None, raw) if sort == "duplicate"]


class _DuplicateFieldError(Exception):
    """A key stands twice."""


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys, also those that stand twice."""


def _walk(index: int | None, value: Any, path: str, found: list[tuple[str, str]]) -> None:
    kind, inner = _inside(index)
    if isinstance(value, _Pairs):
        fields = inner if kind == "struct" else None
        seen: set[str] = set()
        for key, item in value:
            where = f"{path}.{key}" if path else key
            if fields is not None and key not in fields:
                found.append(("unknown", where))
                continue
            if key in seen:
                found.append(("duplicate", where))
            seen.add(key)
            if kind != "opaque":
                _walk(fields[key] if fields is not None else inner, item, where, found)
    elif isinstance(value, list) and kind in ("list", "any"):
        for place, item in enumerate(value):
            _walk(inner, item, f"{path}[{place}]", found)


def _inside(index: int | None) -> tuple[str, Any]:
    """Return what strict decoding sees of a node: its sort, and its fields or elements."""
    if index is None:
        return "any", None
    node = node_of(index)
    if node[0] == "pointer":
        return _inside(node[2])
    if node[0] == "struct":
        return "struct", {name: inner for name, inner, *_ in node[2]}
    if node[0] in ("list", "map"):
        return node[0], node[2]
    return "opaque", None
