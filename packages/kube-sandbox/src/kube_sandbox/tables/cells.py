"""
What cells of many kinds have in common: labels, selectors, containers, lists that are cut short.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go layoutContainerCells,
translateTimestampSince, listWithMoreString; k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go
FormatLabelSelector.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.tables.ages import Clock

Cells = list[Any]
Print = Callable[[KubeObject, Clock], Cells]
NONE = "<none>"
UNSET = "<unset>"


def at(obj: Any, *path: str) -> Any:
    """Return what is at a path, or `None`."""
    for step in path:
        obj = obj.get(step) if isinstance(obj, Mapping) else None
    return obj


def text(obj: Any, *path: str, absent: str = "") -> str:
    """Return the text at a path."""
    found = at(obj, *path)
    return absent if found is None else str(found)


def number(obj: Any, *path: str) -> int:
    """Return the number at a path; 0 if there is none."""
    return int(at(obj, *path) or 0)


def items(obj: Any, *path: str) -> list[Any]:
    """Return the list at a path; an empty one if there is none."""
    return at(obj, *path) or []


def name_of(obj: KubeObject) -> str:
    """Return an object's name."""
    return text(obj, "metadata", "name")


def age_of(obj: KubeObject, clock: Clock) -> str:
    """Print how old an object is."""
    return clock.since(at(obj, "metadata", "creationTimestamp"))


def labels(found: Mapping[str, str] | None) -> str:
    """Print labels."""
    return ",".join(f"{key}={found[key]}" for key in sorted(found)) if found else NONE


def selector(found: Any) -> str:
    """Print a label selector; one that asks nothing as an empty text."""
    asked = [(key, f"{key}={value}") for key, value in (at(found, "matchLabels") or {}).items()]
    asked += [(text(each, "key"), _expression(each)) for each in items(found, "matchExpressions")]
    return ",".join(printed for _, printed in sorted(asked, key=lambda each: each[0]))


def _expression(found: Any) -> str:
    key, operator = text(found, "key"), text(found, "operator")
    values = ",".join(sorted(items(found, "values")))
    match operator:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return key


def containers(template: Any) -> list[str]:
    """Print the names and the images of a pod template's containers."""
    found = items(template, "spec", "containers")
    return [",".join(text(each, part) for each in found) for part in ("name", "image")]


def cut(found: Sequence[str], most: int, *, empty: str = UNSET, total: int | None = None) -> str:
    """Print the first of many."""
    shown = ",".join(found[:most])
    count = len(found) if total is None else total
    return f"{shown} + {count - most} more..." if len(found) > most else shown or empty


def condition(obj: Any, sort: str) -> Any:
    """Return a condition of a sort, or `None`."""
    found = items(obj, "status", "conditions")
    return next((each for each in found if at(each, "type") == sort), None)


def is_true(obj: Any, sort: str) -> bool:
    """Say whether a condition is true."""
    return bool(at(condition(obj, sort), "status") == "True")


def joined(found: Iterable[Any]) -> str:
    """Print texts with commas."""
    return ",".join(map(str, found))
