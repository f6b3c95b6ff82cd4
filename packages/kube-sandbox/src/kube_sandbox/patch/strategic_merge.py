"""
Strategic merge patches: how kubectl changes built-in kinds.

The published schema says which lists are merged and by which key (`x-kubernetes-patch-strategy`,
`x-kubernetes-patch-merge-key`); directives in a patch say the rest: `$patch`, `$retainKeys`,
`$deleteFromPrimitiveList/…`, `$setElementOrder/…`. The order of a merged list is that of the patch,
with the items that only the object has put where the object's own order would have them.

Neither an object nor a patch is changed. A mistake in a patch that the API server has no code for
is answered with 500, as there.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/strategicpatch/patch.go
StrategicMergeMapPatchUsingLookupPatchMeta, mergeMap, mergeSlice;
k8s.io/apimachinery/pkg/util/mergepatch/errors.go ErrNoMergeKey.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.go_format import format_value
from kube_objects.schemas import Schema
from kube_sandbox.api_errors import StatusError, bad_request
from kube_sandbox.patch.json_patch import json_type
from kube_sandbox.patch.list_merge import (
    GO_TYPES,
    Items,
    Order,
    has,
    index,
    interleaved,
    internal_patch_error,
    invalid_item_type,
    item_type,
    missing_merge_key,
    partition_items,
    scalar,
)

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"


def strategic_patch(obj: Any, patch: Any, schema: Schema) -> Any:
    """Return an object with a strategic merge patch laid over it."""
    if patch is None:
        return obj
    if not isinstance(patch, dict):
        text = f"json: cannot unmarshal {json_type(patch)} into Go value of type"
        raise bad_request(f"{text} map[string]interface {{}}")
    return _merged(obj, patch, schema)


def _unknown_type(directive: Any, item: Mapping[str, Any]) -> StatusError:
    if isinstance(directive, str):
        named = directive
    else:
        # Print a value as Go's verb %s does.
        if directive is None:
            named = "%!s(<nil>)"
        else:
            kind = GO_TYPES[type(directive)]
            named = (
                f"%!s({kind}={format_value(directive)})"
                if not isinstance(directive, dict | list)
                else format_value(directive)
            )
    return internal_patch_error(f"unknown patch type: {named} in map: {format_value(item)}")


def _field(schema: Schema, name: str) -> Schema:
    """Return the schema of a field, or of any field where names are free; else nothing."""
    properties = schema.get("properties")
    found = properties.get(name) if properties else schema.get("additionalProperties")
    return found if isinstance(found, dict) else {}


def _strategy(field: Schema) -> str:
    """Return how a field is patched, without retainKeys: that one is the patch's to say."""
    written = str(field.get("x-kubernetes-patch-strategy", "")).split(",")
    return next((each for each in written if each != "retainKeys"), "")


def _merge_key(field: Schema) -> str:
    return str(field.get("x-kubernetes-patch-merge-key", ""))


def _merged(
    original: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """Merge two objects."""
    if _PATCH in patch:
        directive = patch[_PATCH]
        if directive == "replace":
            return {name: value for name, value in patch.items() if name != _PATCH}
        if directive == "delete":
            return {}
        raise _unknown_type(directive, patch)
    # Copies of both, with what `$retainKeys` does not name gone from the object.
    retain_rest = dict(patch)
    if _RETAIN not in retain_rest:
        found, rest = dict(original), retain_rest
    else:
        names = retain_rest.pop(_RETAIN)
        if not isinstance(names, list):
            raise bad_request("invalid patch format of retainKeys")
        for name, value in retain_rest.items():
            is_directive = name.startswith((_DELETE_FROM, _ORDER))
            if value is not None and not is_directive and name not in names:
                raise bad_request("invalid patch format of retainKeys")
        found, rest = (
            {name: value for name, value in original.items() if name in names},
            retain_rest,
        )
    for name in [name for name in rest if name.startswith(_ORDER)]:
        _set_order(found, rest, name, schema)
    for name, value in rest.items():
        _merge_field(found, name, value, schema)
    return found


def _merge_field(found: dict[str, Any], written: str, value: Any, schema: Schema) -> None:
    """Merge one field of a patch into an object; changes `found`."""
    name, deletes = written, written.startswith(_DELETE_FROM)
    if deletes:
        name = _named(written, _DELETE_FROM, "invalid patch format of primitive list")
    if value is None:
        found.pop(name, None)
        return
    before: Any = found.get(name)
    if type(before) is not type(value) or not isinstance(value, dict | list):
        if not deletes:
            # Set a field to what a patch has.
            kept = _without_directives(_without_nulls(value))
            if kept is _NOTHING:
                found.pop(name, None)
            else:
                found[name] = kept
        return
    field = _field(schema, name)
    if isinstance(value, list):
        found[name] = _merged_list(before, value, field, deletes).items
    elif _strategy(field) == "replace":
        found[name] = value
    else:
        found[name] = _merged(before, value, field)


def _named(written: str, prefix: str, complaint: str) -> str:
    start, slash, name = written.partition("/")
    if not slash or start != prefix:
        raise bad_request(complaint)
    return name


_NOTHING: Any = object()


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        if _PATCH in value:
            return _NOTHING
        kept = {name: _without_directives(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each is not _NOTHING}
    if isinstance(value, list):
        return [each for each in map(_without_directives, value) if each is not _NOTHING]
    return value


def _without_nulls(value: Any) -> Any:
    """Return a value as it is added: null deletes a key, so it is nothing in a new object."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


class _Merge:
    """A merged list; `live` is what became of the object's own list on the way."""

    __slots__ = ("items", "live")

    def __init__(self, items: Items, live: Items) -> None:
        self.items = items
        self.live = live


def _merged_list(original: Items, patch: Items, field: Schema, deletes: bool) -> _Merge:
    """Merge two lists by the field's strategy."""
    if not deletes and _strategy(field) != "merge":
        return _Merge(patch, original)
    if not original and not patch:
        return _Merge(original, original)
    if item_type(original, patch) is not dict:
        if deletes:
            gone = set(map(scalar, patch))
            return _Merge([each for each in original if scalar(each) not in gone], original)
        both = list({scalar(each): each for each in [*original, *patch]}.values())
        named = set(map(scalar, patch))
        ours = [each for each in both if scalar(each) in named]
        theirs = [each for each in both if scalar(each) not in named]
        return _Merge(interleaved(Order(patch), ours, Order(original), theirs), original)
    key = _merge_key(field)
    if not key:
        raise internal_patch_error("cannot merge lists without merge key for struct")
    schema = field.get("items", {})
    # Do what items with directives say.
    special_live, special_rest, replaces = list(original), [], False
    for item in patch:
        directive = item.get(_PATCH, _NOTHING)
        if directive is _NOTHING:
            special_rest.append(item)
        elif directive == "delete":
            if key not in item:
                raise missing_merge_key(item, key)
            special_live = [each for each in special_live if not has(each, key, item[key])]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise internal_patch_error("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_type(directive, item)
    live, rest = (special_rest, []) if replaces else (special_live, special_rest)
    merged = list(live)
    added = 0
    for item in rest:
        if key not in item:
            raise missing_merge_key(item, key)
        at = index(merged, key, item[key])
        if at < 0:
            merged.append(item)
            added += 1
        else:
            merged[at] = _merged(merged[at], item, schema)
    ours, theirs = partition_items(merged, rest, key)
    items = interleaved(Order(rest, key), ours, Order(live, key), theirs)
    # Items that are new come to stand where others were deleted: that is the order a
    # $setElementOrder goes by afterwards.
    room = max(len(original) - len(live), 0)
    return _Merge(items, live + merged[len(live) : len(live) + min(room, added)])


def _set_order(found: dict[str, Any], rest: dict[str, Any], written: str, schema: Schema) -> None:
    """Merge a list and put it into the order that a patch gives; changes both."""
    order = rest.pop(written)
    if not isinstance(order, list):
        raise invalid_item_type(list, order)
    name = _named(written, _ORDER, "invalid patch format of setElementOrder list")
    for side in (found, rest):
        if name in side and not isinstance(side[name], list):
            raise invalid_item_type(list, side[name])
    field = _field(schema, name)
    if "properties" in schema and not field:
        raise internal_patch_error(
            f'unable to find api field in struct for the json field "{name}"'
        )
    key = _merge_key(field)
    patch: Items | None = rest.get(name)
    original: Items | None = found.get(name)
    # Reject an order that contradicts the order of the patch's own items.
    order_patch = patch or []
    if order_patch and order:
        if key and (
            odd := next((each for each in order_patch if not isinstance(each, dict)), None)
        ):
            raise invalid_item_type(dict, odd)
        wanted = [each for each in order_patch if not (isinstance(each, dict) and _PATCH in each)]
        left = iter(order)
        for item in wanted:
            if not any(_equal(item, each, key) for each in left):
                text = f"The order in patch list:\n{format_value(order_patch)}\n doesn't match"
                raise internal_patch_error(f"{text} {_ORDER} list:\n{format_value(order)}\n")
    if patch is None and original is None:
        return
    if patch is None or original is None:
        items = original if original is not None else _without_directives(patch)
        merge = _Merge(items, original or [])
    else:
        merge = _merged_list(original, patch, field, deletes=False)
    kind = item_type(original or [], patch or [])
    ours, theirs = partition_items(merge.items, order, key)
    by = key if kind is dict else ""
    found[name] = interleaved(Order(order, by), ours, Order(merge.live, by), theirs)
    rest.pop(name, None)


def _equal(item: Any, other: Any, key: str) -> bool:
    if not key:
        return bool(scalar(item) == scalar(other))
    for each in (item, other):
        if not isinstance(each, dict):
            raise invalid_item_type(dict, each)
    for each in (item, other):
        if key not in each:
            raise missing_merge_key(each, key)
    return bool(scalar(item[key]) == scalar(other[key]))
