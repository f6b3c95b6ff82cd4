"""
Objects as kube-apiserver's internal types, printed as JSON.

Messages about immutable fields show them: with the names of Go's fields, in their order, with
zeros and nulls. The table of types is data made from Go's sources; it is read when the first such
message is written.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/validation/field/errors.go Error.ErrorBody.
"""

import difflib
import json
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

_ZEROS: dict[str, Any] = {"text": "", "number": 0, "flag": False, "quantity": "0"}
_META = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)


@cache
def _types() -> Mapping[str, list[tuple[str, str, str, str]]]:
    data = files(__package__) / "data" / "internal_types.json.zlib"
    found: Mapping[str, list[tuple[str, str, str, str]]]
    found = json.loads(zlib.decompress(data.read_bytes()))
    return found


def internal_form(value: Any, name: str) -> Any:
    """Return a value of the API as the internal type `name`: "core.PodSpec"."""
    return _struct(value or {}, name, {})


def format_internal(value: Any, name: str) -> orjson.Fragment:
    """Return a value for a message, as the internal type `name`."""
    return _fragment(None if value is None else internal_form(value, name))


def format_selector(selector: Mapping[str, Any] | None) -> orjson.Fragment:
    """Return a label selector for a message; its fields have an order of their own."""
    return _fragment(None if selector is None else _selector(selector))


def difference(old: Any, new: Any, name: str) -> str:
    """Return how two values of an internal type differ, line by line."""
    before, after = (
        [
            f"{line}\n"
            for line in json.dumps(internal_form(each, name), indent=1, ensure_ascii=False)
            .replace("<", "\\u003c")
            .replace(">", "\\u003e")
            .replace("&", "\\u0026")
            .split("\n")
        ]
        for each in (old, new)
    )
    # The two lines that name the files are not printed.
    return "".join(list(difflib.unified_diff(before, after))[2:])


def _fragment(value: Any) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value))


def _struct(value: Mapping[str, Any], name: str, parent: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for shown, key, shape, inner in _types()[name]:
        if inner == "meta":
            meta_value = value.get(key) or {}
            meta = {meta_key: meta_value[meta_key] for meta_key in _META if meta_key in meta_value}
            for meta_key in ("labels", "annotations"):
                if meta_key in meta:
                    meta[meta_key] = dict(sorted(meta[meta_key].items()))
            found |= meta
            continue
        # What the internal type keeps one level deeper than the API does.
        given = parent.get(key[1:]) if key[0] == "^" else value.get(key)
        if shape == "[]":
            found[shown] = None if given is None else [_plain(each, inner, value) for each in given]
        elif shape == "{}":
            found[shown] = None if given is None else dict(sorted(given.items()))
        elif shape == "*" and given is None:
            found[shown] = None
        else:
            found[shown] = _plain(given, inner, value)
    return found


def _plain(value: Any, inner: str, parent: Mapping[str, Any]) -> Any:
    """Return a value as Go's internal type prints it: zero values are printed, too."""
    if "." in inner:
        return _struct(value or {}, inner, parent)
    if value is None:
        return _ZEROS.get(inner)
    return _selector(value) if inner == "selector" else value


def _selector(value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if pairs := value.get("matchLabels"):
        found["matchLabels"] = dict(sorted(pairs.items()))
    if expressions := value.get("matchExpressions"):
        found["matchExpressions"] = [
            {key: each[key] for key in ("key", "operator", "values") if key in each}
            for each in expressions
        ]
    return found
