"""
Parts of cells that many kinds share: labels, selectors, containers, truncated lists.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go layoutContainerCells,
translateTimestampSince, listWithMoreString; k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go
FormatLabelSelector; k8s.io/apimachinery/pkg/util/duration/duration.go HumanDuration.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_span, parse_time

UNKNOWN = "<unknown>"


@dataclass(frozen=True, slots=True)
class Clock:
    """What time it is while a table is made."""

    now: datetime

    def since(self, written: object) -> str:
        """Print how long ago a time was."""
        found = parse_time(written)
        return format_span(self.now - found) if found else UNKNOWN


Cells = list[Any]
Print = Callable[[KubeObject, Clock], Cells]
NONE = "<none>"
UNSET = "<unset>"


class Printers(dict[str, Print]):
    """The functions that print the cells of a row, by `group/Kind`."""

    def of(self, *kinds: str) -> Callable[[Print], Print]:
        """Return a decorator that registers a function as the printer of kinds."""

        def register(print_cells: Print) -> Print:
            self.update(dict.fromkeys(kinds, print_cells))
            return print_cells

        return register


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
    """Print a label selector; an empty selector as an empty text."""
    terms = [(key, f"{key}={value}") for key, value in (at(found, "matchLabels") or {}).items()]
    for requirement in items(found, "matchExpressions"):
        key, operator = text(requirement, "key"), text(requirement, "operator")
        values = ",".join(sorted(items(requirement, "values")))
        match operator:
            case "In":
                terms.append((key, f"{key} in ({values})"))
            case "NotIn":
                terms.append((key, f"{key} notin ({values})"))
            case "DoesNotExist":
                terms.append((key, f"!{key}"))
            case _:
                terms.append((key, key))
    return ",".join(printed for _, printed in sorted(terms, key=lambda term: term[0]))


def containers(template: Any) -> list[str]:
    """Print the names and the images of a pod template's containers."""
    found = items(template, "spec", "containers")
    return [",".join(text(each, part) for each in found) for part in ("name", "image")]


def cut(found: Sequence[str], most: int, *, empty: str = UNSET, total: int | None = None) -> str:
    """Print the first `most` texts and how many more there are."""
    shown = ",".join(found[:most])
    count = len(found) if total is None else total
    return f"{shown} + {count - most} more..." if len(found) > most else shown or empty


def condition(obj: Any, sort: str) -> Any:
    """Return the condition of a type, or `None`."""
    found = items(obj, "status", "conditions")
    return next((each for each in found if at(each, "type") == sort), None)


def is_true(obj: Any, sort: str) -> bool:
    """Return whether a condition is true."""
    return bool(at(condition(obj, sort), "status") == "True")


def joined(found: Iterable[Any]) -> str:
    """Print texts with commas."""
    return ",".join(map(str, found))
