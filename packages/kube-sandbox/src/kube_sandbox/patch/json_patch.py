"""
JSON Patch (RFC 6902) and JSON merge patch (RFC 7386), as the API server applies them.

Where the standards and the API server differ, this is the API server: negative indices count from
the end, `replace` makes a key that is not there, `copy` of what is not there writes null, and every
patch that does not fit is rejected in the same words. Neither an object nor a patch is changed;
what comes back shares their parts. As upstream, copies are limited by their size, because each may
double the object.

Follows json-patch 4.13.0 patch.go Patch.ApplyIndent; merge.go MergePatch; kubernetes 1.35
k8s.io/apiserver/pkg/endpoints/handlers/patch.go jsonPatcher.applyJSPatch.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import (
    StatusError,
    bad_request,
    too_large,
    unsupported_media_type,
)
from kube_sandbox.nesting import is_too_deep
from kube_sandbox.registry.kinds import Served

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, _APPLY)
_PATCHES = (*_CUSTOM_PATCHES, "application/strategic-merge-patch+json")
MAX_OPERATIONS = 10_000
_MAX_COPIED_BYTES = 3 * 1024 * 1024  # of all `copy` operations of a patch together, as JSON
_FIELDS = ("op", "path", "from", "value")
_TEXTS = ("op", "path", "from")
_INDEX = re.compile(r"[+-]?[0-9]+")
_LARGEST = 2**63 - 1
_TYPES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}


class PatchRejectedError(StatusError):
    """A patch does not apply; only its Status has details, which are empty."""

    def __init__(self) -> None:
        text = "the server rejected our request due to an error in our request"
        super().__init__(422, "Invalid", text)

    def status(self) -> KubeObject:
        """Return what is sent."""
        found = super().status()
        code = found.pop("code")
        return {**found, "details": {}, "code": code}


class _OperationFailedError(Exception):
    """An operation cannot be done; the API server does not tell why."""


def json_type(value: Any) -> str:
    """Name a JSON value as Go's decoder does when it met another one than it wants."""
    return _TYPES[type(value)]


def operations_of(body: Any, *, checked: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """
    Return the operations of a decoded body, and what strict decoding says about them.

    `checked` stands for fieldValidation Strict and Warn, under which a body is decoded twice and
    the messages are those of the first decoder.
    """
    if body is None:
        return [], []
    if not isinstance(body, list):
        raise _undecodable(
            body, "[]handlers.jsonPatchOp" if checked else "jsonpatch.Patch", checked
        )
    said: list[str] = []
    for index, each in enumerate(body):
        if each is not None and not isinstance(each, dict):
            goal = "handlers.jsonPatchOp" if checked else "jsonpatch.Operation"
            raise _undecodable(each, goal, checked)
        if checked:
            for name, value in (each or {}).items():
                if name in _TEXTS and value is not None and not isinstance(value, str):
                    text = f"json: cannot unmarshal {json_type(value)} into Go struct field"
                    raise bad_request(
                        f"error decoding patch: {text} jsonPatchOp.{name} of type string"
                    )
            unknown = [name for name in each or () if name not in _FIELDS]
            said += [f'json patch unknown field "[{index}].{name}"' for name in unknown]
    return [each or {} for each in body], said


def _undecodable(value: Any, goal: str, checked: bool) -> StatusError:
    text = f"json: cannot unmarshal {json_type(value)} into Go value of type {goal}"
    return bad_request(f"error decoding patch: {text}" if checked else text)


def check_patch_type(served: Served, media_type: str) -> None:
    """Reject a patch in a form that a kind does not take."""
    if media_type in (_CUSTOM_PATCHES if served.is_custom else _PATCHES):
        return
    if served.is_custom:
        raise unsupported_media_type(_CUSTOM_PATCHES)
    raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def json_patch(obj: Any, operations: Any, *, checked: bool = True) -> Any:
    """Return an object with the operations of a JSON Patch done, one after the other."""
    steps, _ = operations_of(operations, checked=checked)
    if len(steps) > MAX_OPERATIONS:
        text = "The allowed maximum operations in a JSON patch is"
        raise too_large(f"{text} {MAX_OPERATIONS}, got {len(steps)}")
    document = _Document(obj)
    for each in steps:
        do = _OPERATIONS.get(each["op"]) if isinstance(each.get("op"), str) else None
        if do is None:
            raise PatchRejectedError
        try:
            do(document, each)
        except _OperationFailedError:
            raise PatchRejectedError from None
    if is_too_deep(document.root):
        raise PatchRejectedError
    return document.root


class _Document:
    """An object while it is patched; a container is copied before it is first changed."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied = 0  # bytes
        # By id; the containers are held so that no id is used twice.
        self._own: dict[int, Any] = {}

    def holder(self, pointer: str) -> tuple[Any, str]:
        """Return the container that a pointer ends in, ready to be changed, and the last step."""
        steps = pointer.split("/")
        if len(steps) < 2:
            raise _OperationFailedError
        self.root = here = self._owned(self.root)
        for step in steps[1:-1]:
            key = _key(here, _unescaped(step))
            if isinstance(here, dict) and key not in here:
                raise _OperationFailedError
            here[key] = here = self._owned(here[key])
        return here, _unescaped(steps[-1])

    def copy(self, value: Any) -> Any:
        """Return a copy of a part; fail when all copies of a patch are too large together."""
        try:
            content = orjson.dumps(value)
        except orjson.JSONEncodeError:  # nested too deep
            raise _OperationFailedError from None
        self._copied += len(content)
        if self._copied > _MAX_COPIED_BYTES:
            raise _OperationFailedError
        return orjson.loads(content)

    def _owned(self, container: Any) -> Any:
        if not isinstance(container, dict | list):
            raise _OperationFailedError
        if id(container) in self._own:
            return container
        copied = container.copy()
        self._own[id(copied)] = copied
        return copied


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def _number(step: str) -> int:
    number = int(step) if _INDEX.fullmatch(step) and len(step) < 25 else _LARGEST + 1
    if abs(number) > _LARGEST:
        raise _OperationFailedError
    return number


def _key(holder: Any, step: str) -> Any:
    """Return a step as what a container is asked with; an index is one that there is."""
    if isinstance(holder, dict):
        return step
    number = _number(step)
    if not -len(holder) <= number < len(holder):
        raise _OperationFailedError
    return number


def _find(holder: Any, step: str) -> Any:
    return holder.get(step) if isinstance(holder, dict) else holder[_key(holder, step)]


def _put(holder: Any, step: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[step] = value
    elif step == "-":
        holder.append(value)
    else:
        number, places = _number(step), len(holder) + 1
        if not -places <= number < places:
            raise _OperationFailedError
        holder.insert(number if number >= 0 else number + places, value)


def _take(holder: Any, step: str) -> Any:
    key = _key(holder, step)
    if isinstance(holder, dict) and key not in holder:
        raise _OperationFailedError
    return holder.pop(key)


def _text(operation: Mapping[str, Any], name: str) -> str:
    found = operation.get(name)
    if not isinstance(found, str):
        raise _OperationFailedError
    return found


def _remove(document: _Document, operation: Mapping[str, Any]) -> None:
    _take(*document.holder(_text(operation, "path")))


def _replace(document: _Document, operation: Mapping[str, Any]) -> None:
    path = _text(operation, "path")
    value = operation.get("value")
    if path:
        holder, step = document.holder(path)
        holder[_key(holder, step)] = value
    elif isinstance(value, dict | list):
        document.root = value
    else:
        raise _OperationFailedError


def _move(document: _Document, operation: Mapping[str, Any]) -> None:
    value = _take(*document.holder(_text(operation, "from")))
    _put(*document.holder(_text(operation, "path")), value)


def _copy(document: _Document, operation: Mapping[str, Any]) -> None:
    value = document.copy(_find(*document.holder(_text(operation, "from"))))
    _put(*document.holder(_text(operation, "path")), value)


def _test(document: _Document, operation: Mapping[str, Any]) -> None:
    path = _text(operation, "path")
    found = _find(*document.holder(path)) if path else document.root
    if not _same(found, operation.get("value")):
        raise _OperationFailedError


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are written alike: 1 is neither 1.0 nor true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


_OPERATIONS: Mapping[str, Callable[[_Document, Mapping[str, Any]], None]] = {
    "add": lambda document, operation: _put(
        *document.holder(_text(operation, "path")), operation.get("value")
    ),
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def merge_patch(obj: Any, patch: Any, *, checked: bool = True) -> Any:
    """Return an object with a merge patch laid over it; `checked` as in `operations_of`."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        if checked:
            raise _undecodable(patch, "map[string]interface {}", checked)
        if isinstance(patch, list):
            return _without_nulls(patch)
        raise bad_request("Invalid JSON Patch")
    return _merged(obj, patch)


def _merged(current: Any, patch: dict[str, Any]) -> dict[str, Any]:
    found = dict(current)
    for key, value in patch.items():
        before = found.get(key)
        if value is None:
            found.pop(key, None)
        elif not isinstance(before, dict):
            found[key] = _without_nulls(value)
        elif isinstance(value, dict):
            found[key] = _merged(before, value)
        else:
            # A list that takes the place of an object keeps the nulls within its items.
            found[key] = value
    return found


def _without_nulls(value: Any) -> Any:
    """Drop keys whose value is null, at any depth; nulls in lists stay."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value
