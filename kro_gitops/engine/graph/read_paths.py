"""
Which fields of each node its dependents read: only these need to be cached and converted.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from kro_gitops.engine.graph.nodes import EACH, Dependency, Graph, Node

ReadPaths = Mapping[str, Any]
"""Field by field what is read: more `ReadPaths`, or None for everything below."""


def read_paths_of(dependencies: Iterable[Dependency]) -> ReadPaths:
    """Gather what is read, node by node."""
    found: dict[str, Any] = {}
    for dependency in dependencies:
        for use in dependency.uses:
            for path in use.reads:
                _note(found, path)
    return found


def parts_of_ready_when(nodes: Iterable[Node]) -> ReadPaths:
    """Gather what the `readyWhen` conditions of each node read of its own objects."""
    found: dict[str, Any] = {}
    for node in nodes:
        for condition in node.ready_when:
            for path in condition.reads:
                name, _, rest = path.partition(".")
                if name in (node.id, EACH):
                    _note(found, ".".join(filter(None, (node.id, rest))))
    return found


def graph_read_paths(graph: Graph) -> ReadPaths:
    """Gather what any expression of a graph reads, node by node: conditions and status, too."""
    found: dict[str, Any] = {}
    for node in graph.nodes.values():
        for expression in (
            *(field.expression for field in node.fields),
            *(dimension.expression for dimension in node.for_each),
            *node.include_when,
            *node.ready_when,
        ):
            for path in expression.reads:
                name, _, rest = path.partition(".")
                # In a condition an item of a collection goes by another name.
                _note(found, ".".join(filter(None, (node.id if name == EACH else name, rest))))
    for expression in (*(each.expression for each in graph.status), *graph.conditions):
        for path in expression.reads:
            _note(found, path)
    return {name: found[name] for name in graph.nodes if name in found}


def merge_paths(one: ReadPaths | None, other: ReadPaths | None) -> ReadPaths | None:
    """Return the parts that either reads; `None` is everything."""
    if one is None or other is None:
        return None
    return {
        key: merge_paths(one[key], other[key])
        if key in one and key in other
        else {**one, **other}[key]
        for key in (*one, *(key for key in other if key not in one))
    }


def covers(one: ReadPaths | None, other: ReadPaths | None) -> bool:
    """Return whether one holds all that the other reads."""
    if one is None:
        return True
    if other is None:
        return False
    return all(key in one and covers(one[key], below) for key, below in other.items())


def pick(value: Any, parts: ReadPaths | None) -> Any:
    """Return the parts of a value; what is no object is taken whole."""
    if parts is None or not isinstance(value, dict):
        return value
    return {key: pick(value[key], below) for key, below in parts.items() if key in value}


def _note(parts: dict[str, Any], path: str) -> None:
    # An escaped name may stand for two keys of the data: with one, the whole owner is read.
    *owners, last = takewhile(lambda step: "__" not in step, path.split("."))
    for owner in owners:
        below = parts.setdefault(owner, {})
        if below is None:
            return
        parts = below
    parts[last] = None
