"""
The order of lists that are merged by strategic merge patches, and what can be wrong with them.

Two orders meet: that of a patch, and that of the object it changes. An item is known by itself or,
if it is an object, by the value of its merge key.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/strategicpatch/patch.go
mergePatchIntoOriginal, normalizeElementOrder, partitionMapsByPresentInList.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kube_objects.go_format import format_value
from kube_sandbox.api_errors import StatusError
from kube_sandbox.patch.json_patch import PatchRejectedError

GO_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    type(None): "%!s(<nil>)",
}

Items = list[Any]


def internal_patch_error(text: str) -> StatusError:
    """Reject a patch in a way that the API server has no code for."""
    return StatusError(500, "", text)


def invalid_item_type(expected: type, actual: Any) -> StatusError:
    """Return the error for a value of another type than expected."""
    got = GO_TYPES[type(actual)]
    return internal_patch_error(f"expected a {GO_TYPES[expected]}, but received a {got}")


def missing_merge_key(item: Mapping[str, Any], key: str) -> StatusError:
    """Return the error that an item has nothing to be known by."""
    return internal_patch_error(
        f"map: {format_value(item)} does not contain declared merge key: {key}"
    )


def item_type(*lists: Items) -> type:
    """Return the type that all items have."""
    found: type | None = None
    for each in (each for items in lists for each in items):
        if found is None:
            found = type(each)
            if found is list:
                raise PatchRejectedError
        elif type(each) is not found:
            raise internal_patch_error(
                f"list element types are not identical: {format_value(list(lists))}"
            )
    if found is None:
        raise internal_patch_error("no elements in any of the given slices")
    return found


def partition_items(items: Items, named: Items, key: str) -> tuple[Items, Items]:
    """Part items in those that a list has as well, and the others."""
    if not key:
        inside = set(map(scalar, named))
        ours = [each for each in items if scalar(each) in inside]
        return ours, [each for each in items if scalar(each) not in inside]
    for item in items:
        if not isinstance(item, dict):
            raise invalid_item_type(dict, item)
        if key not in item:
            raise missing_merge_key(item, key)
    if items:
        for index, item in enumerate(named):
            if not isinstance(item, dict):
                raise internal_patch_error(f"value for key {index} is not a map")
        values = {scalar(item[key]) for item in named if key in item}
    else:
        values = set()
    ours = [each for each in items if scalar(each[key]) in values]
    return ours, [each for each in items if scalar(each[key]) not in values]


class Order:
    """Where items stand in a list; by the value of a key, if they have one."""

    def __init__(self, items: Sequence[Any], key: str = "") -> None:
        self.key = key
        self._items = items
        self._places: dict[Any, int] = {}
        for index, item in enumerate(items):
            self._places.setdefault(self._name(item), index)

    def _name(self, item: Any) -> Any:
        if not self.key:
            return scalar(item)
        return scalar(item.get(self.key)) if isinstance(item, dict) else scalar(None)

    def place(self, item: Any) -> int:
        """Return where an item stands; -1 if nowhere."""
        return self._places.get(self._name(item), -1)

    def check(self, items: Iterable[Any]) -> None:
        """Reject items without the key, those of the order first asked about."""
        for item in [*items, *self._items] if self.key else ():
            if not isinstance(item, dict):
                raise invalid_item_type(dict, item)
            if self.key not in item:
                raise missing_merge_key(item, self.key)

    def sorted(self, items: Items) -> Items:
        """Put items in this order."""
        self.check(items)
        places = [self.place(each) for each in items]
        if -1 not in places:
            return [items[i] for i in sorted(range(len(items)), key=places.__getitem__)]
        # Items of no place are "before" any other, and any other is before them; what comes of
        # that is an insertion sort's doing.
        found: list[tuple[int, Any]] = []
        for place, item in zip(places, items, strict=True):
            at = len(found)
            while at and (place < 0 or found[at - 1][0] < 0 or place < found[at - 1][0]):
                at -= 1
            found.insert(at, (place, item))
        return [item for _, item in found]


def interleaved(order: Order, ours: Items, live: Order, theirs: Items) -> Items:
    """Put the patch's items in its order, and the object's own among them in the object's."""
    right, left = order.sorted(ours), live.sorted(theirs)
    found: Items = []
    i = j = 0
    while i < len(left) and j < len(right):
        before, after = live.place(left[i]), live.place(right[j])
        if 0 <= before < after:
            found.append(left[i])
            i += 1
        else:
            found.append(right[j])
            j += 1
    return [*found, *left[i:], *right[j:]]


def scalar(value: Any) -> Any:
    """Return what a value is compared by: 1, 1.0 and true are different."""
    if isinstance(value, dict | list):
        return (type(value), format_value(value))
    return (type(value), value)


def has(item: Any, key: str, value: Any) -> bool:
    """Return whether an item is known by a value."""
    return key in item and bool(scalar(item[key]) == scalar(value))


def index(items: Items, key: str, value: Any) -> int:
    """Return where the item known by a value is; -1 if nowhere."""
    return next((i for i, each in enumerate(items) if has(each, key, value)), -1)
