"""
Collections: the cartesian product of a node's dimensions.

The first dimension is the outermost, list order is kept, an empty dimension makes an empty
collection.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from kube_cel.values import ListView, MapView, ObjectView, to_json
from kube_objects.errors import RefusedError

Binding = Mapping[str, Any]

_VIEWS = (ListView, MapView, ObjectView)


def elements(found: Any) -> list[Any]:
    """
    List what an iterator will be bound to, given the value of its expression.

    Iterators hold JSON, as all variables do: they are declared with the type of the elements, and
    so read them through views of their own.
    """
    if isinstance(found, ListView):
        return list(found.raw)
    return [item.raw if isinstance(item, _VIEWS) else to_json(item) for item in found]


def expand(dimensions: Sequence[tuple[str, Sequence[Any]]], limit: int) -> Iterator[Binding]:
    """Yield what the iterators are bound to, once for each object of a collection."""
    size = 1
    for _, values in dimensions:
        size *= len(values)
    if size > limit:
        raise RefusedError(
            "collection-too-large",
            f"collection size of {size} is over the maximum collection size of {limit}",
            hint="split it, or raise the limit with --max-collection-size",
        )
    names = [name for name, _ in dimensions]
    for values in product(*(values for _, values in dimensions)):
        yield dict(zip(names, values, strict=True))


@dataclass(frozen=True, slots=True)
class Iteration:
    """What an iterator of a collection is bound to: an element of its list, and which one."""

    name: str
    index: int
    value: Any


def iterations_at(
    dimensions: Sequence[tuple[str, Sequence[Any]]], index: int
) -> tuple[Iteration, ...]:
    """Return what the iterators are bound to for the object at an index; nothing if it has none."""
    found: list[Iteration] = []
    for name, values in reversed(dimensions):  # the last dimension runs fastest
        if not values:
            return ()
        index, at = divmod(index, len(values))
        found.append(Iteration(name, at, values[at]))
    return tuple(reversed(found)) if index == 0 else ()
