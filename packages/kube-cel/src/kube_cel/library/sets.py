"""Lists taken as sets: order and repetition do not count."""

from typing import Any

from kube_cel.library.dispatch import Function, global_functions
from kube_cel.library.value_set import ValueSet


def contains(elements: Any, wanted: Any) -> bool:
    """Say whether every wanted value is among the elements."""
    members = ValueSet(elements)
    return all(value in members for value in wanted)


def equivalent(left: Any, right: Any) -> bool:
    """Say whether each list contains the other."""
    return contains(left, right) and contains(right, left)


def intersects(left: Any, right: Any) -> bool:
    """Say whether the lists share a value."""
    members = ValueSet(right)
    return any(value in members for value in left)


GLOBALS = global_functions(
    {
        "sets.contains(list, list)": contains,
        "sets.equivalent(list, list)": equivalent,
        "sets.intersects(list, list)": intersects,
    }
)

MEMBERS: dict[tuple[str, str], Function] = {}
