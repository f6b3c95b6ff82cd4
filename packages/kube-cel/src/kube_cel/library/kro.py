"""
The kro library: hashes, seeded random values, JSON, maps, lists by index, omit, conditions.

Names and annotations of objects in clusters depend on these functions, so the results equal those
of the original library bit for bit.
"""

import hashlib
import math
from collections.abc import Callable
from typing import Any

from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.library.encoders import base64_encode
from kube_cel.library.json_decoder import JsonError, decode_json
from kube_cel.library.json_encoder import encode_json
from kube_cel.library.standard import ANY
from kube_cel.values import (
    ABSENT,
    MAPS,
    MAX_PARTS,
    OMIT,
    Condition,
    ConversionError,
    EvaluationError,
    MixedMap,
    check_size,
    exact_key,
    find_key,
    is_list,
    is_map,
    kind_of,
    new_map,
    no_such_overload,
    to_json,
)
from kube_objects import go_text
from kube_objects.go_numbers import format_double

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
_UINT = 2**64
_MAX_FNV_BYTES = 2**20  # its bytes are taken one by one
_MAX_VALUES = 500_000
_STATUSES = ("True", "False", "Unknown")


def fnv64a(text: str) -> bytes:
    """Return the FNV-1a hash of a text, 8 bytes."""
    data = go_text.encode(text)
    check_size(len(data), _MAX_FNV_BYTES)
    digest = _FNV_OFFSET
    for byte in data:
        digest = (digest ^ byte) * _FNV_PRIME % _UINT
    return digest.to_bytes(8, "big")


def sha256(text: str) -> bytes:
    """Return the SHA-256 hash of a text, 32 bytes."""
    return hashlib.sha256(go_text.encode(text)).digest()


def md5(text: str) -> bytes:
    """Return the MD5 hash of a text, 16 bytes."""
    return hashlib.md5(go_text.encode(text), usedforsecurity=False).digest()


def seeded_string(length: int, seed: str) -> str:
    """Make letters and digits from a seed; they repeat after eight."""
    if length <= 0:
        raise EvaluationError("random.seededString length must be positive")
    check_size(length)
    digest = sha256(seed)
    words = (int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4))
    period = "".join(_ALPHABET[word % len(_ALPHABET)] for word in words)
    return (period * (length // len(period) + 1))[:length]


def seeded_int(least: int, limit: int, seed: str) -> int:
    """Choose a number from `least` up to, not including, `limit`, by a seed."""
    if least >= limit:
        raise EvaluationError("random.seededInt min must be less than max")
    word = int.from_bytes(sha256(seed)[:8], "big")
    return least + word % (limit - least)


def json_marshal(value: Any) -> str:
    """Write a value as JSON, as Go does."""
    try:
        plain = to_json(value, strict=False, max_nodes=MAX_PARTS)
    except ConversionError as error:
        raise EvaluationError(f"json.marshal failed to convert value: {error.message}") from None
    return encode_json(plain, _SUBSTITUTES)


def json_unmarshal(text: str) -> Any:
    """Read JSON; every number becomes a double."""
    check_size(text.count(",") + text.count("[") + text.count("{"), _MAX_VALUES)
    try:
        return decode_json(text)
    except JsonError as error:
        raise EvaluationError(f"json.unmarshal failed to parse JSON: {error}") from None


def merge(left: Any, right: Any) -> Any:
    """Put two maps together; the right one wins."""
    check_size(len(left) + len(right))
    if type(left) is dict and type(right) is dict:
        return {**left, **right}
    merged = new_map([*left.items(), *right.items()])
    if type(merged) is MixedMap:  # a number of the right wins over its twin of another type
        others = right if type(right) is MixedMap else MixedMap(right.items())
        kept = [entry for entry in left.items() if entry[0] not in others]
        return MixedMap([*kept, *right.items()])
    return merged


def deep_merge(left: Any, right: Any) -> Any:
    """Put two maps together, and the maps in them; the right one wins."""
    if not is_map(left) or not is_map(right):
        raise no_such_overload()
    # Maps still to be merged wait on a stack: data may be nested deeper than Python may call.
    result: dict[str, Any] = {}
    waiting: list[tuple[Any, Any, Any, Any]] = [(result, "", left, right)]
    made = 0
    while waiting:
        holder, key, one, other = waiting.pop()
        if not len(one) or not len(other):
            holder[key] = one if len(one) else other
            continue
        made += len(one) + len(other)
        check_size(made, MAX_PARTS)
        merged = holder[key] = new_map([*one.items(), *other.items()])
        known = {exact_key(name): value for name, value in one.items()}
        for name, value in other.items():
            twin = known.get(exact_key(name))
            if type(twin) in MAPS and type(value) in MAPS:
                waiting.append((merged, name, twin, value))
    return result[""]


def set_at_index(elements: Any, index: int, value: Any) -> list[Any]:
    """Replace the element at an index."""
    changed = _copied("lists.setAtIndex", elements, index)
    changed[index] = value
    return changed


def insert_at_index(elements: Any, index: int, value: Any) -> list[Any]:
    """Put a value before the element at an index, or at the end."""
    changed = list(elements)
    if not 0 <= index <= len(changed):
        bounds = f"[0, {len(changed)}]"
        raise EvaluationError(f"lists.insertAtIndex: index {index} out of bounds {bounds}")
    changed.insert(index, value)
    return changed


def remove_at_index(elements: Any, index: int) -> list[Any]:
    """Leave out the element at an index."""
    changed = _copied("lists.removeAtIndex", elements, index)
    del changed[index]
    return changed


def new_condition(_: Any, fields: Any) -> Condition:
    """Make a status condition from the texts of its fields."""
    texts: dict[str, str] = {}
    for name, text in fields.items():
        if type(text) is not str:
            given = f"{name} must be a string, got {kind_of(text)}"
            raise EvaluationError(f"runtime.newCondition: {given}")
        if name == "type" and not text:
            raise EvaluationError("runtime.newCondition: type must not be empty")
        if name == "status" and text not in _STATUSES:
            allowed = f"{', '.join(_STATUSES)} (got {go_text.quote(text)})"
            raise EvaluationError(f"runtime.newCondition: status must be one of {allowed}")
        texts[name] = text
    return Condition(**texts)


def find_condition(_: Any, owner: Any, wanted: str) -> Condition:
    """Return the condition of a type from an object's status; an empty one if it has none."""
    found = (_as_condition(element) for element in _conditions(owner))
    # All are parsed: a malformed one is an error even if it follows the requested one.
    return next((each for each in list(found) if each.type == wanted), Condition())


def _copied(function: str, elements: Any, index: int) -> list[Any]:
    if not 0 <= index < len(elements):
        bounds = f"[0, {len(elements)})"
        raise EvaluationError(f"{function}: index {index} out of bounds {bounds}")
    return list(elements)


def _conditions(owner: Any) -> Any:
    if not is_map(owner):
        given = f"obj must be an object, got {kind_of(owner)}"
        raise EvaluationError(f"runtime.condition: {given}")
    status = find_key(owner, "status")
    if status is ABSENT:
        return ()
    if not is_map(status):
        raise EvaluationError("runtime.condition: obj.status must be an object")
    conditions = find_key(status, "conditions")
    if conditions is ABSENT:
        return ()
    if not is_list(conditions):
        raise EvaluationError("runtime.condition: obj.status.conditions must be a list")
    return conditions


def _as_condition(element: Any) -> Condition:
    if type(element) is Condition:
        return element
    if not is_map(element):
        given = f"unexpected condition element type {kind_of(element)}"
        raise EvaluationError(f"runtime.condition: {given}")
    fields = (find_key(element, name) for name in ("type", "status", "reason", "message"))
    return Condition(*(text if type(text) is str else "" for text in fields))


def _finite(number: float) -> float:
    if not math.isfinite(number):
        shown = f"json: unsupported value: {format_double(number)}"
        raise EvaluationError(f"json.marshal failed to encode value: {shown}")
    return number


_SUBSTITUTES: dict[type, Callable[[Any], Any]] = {
    float: _finite,
    bytes: base64_encode,
    type(OMIT): lambda _: {},  # Go's sentinel is an empty struct
}

GLOBALS = global_functions(
    {
        "hash.fnv64a(string)": fnv64a,
        "hash.sha256(string)": sha256,
        "hash.md5(string)": md5,
        "random.seededString(int, string)": seeded_string,
        "random.seededInt(int, int, string)": seeded_int,
        "json.marshal(dyn)": json_marshal,
        "json.unmarshal(string)": json_unmarshal,
        "lists.setAtIndex(list, int, dyn)": set_at_index,
        "lists.insertAtIndex(list, int, dyn)": insert_at_index,
        "lists.removeAtIndex(list, int)": remove_at_index,
        "omit()": lambda: OMIT,
    }
)

MEMBERS = member_functions(
    {
        "merge(map, map)": merge,
        "newCondition(kro.run.Runtime, map)": new_condition,
        "condition(kro.run.Runtime, dyn, string)": find_condition,
    }
) | {("deepMerge", ANY): deep_merge}  # it rejects receivers that are no maps itself
