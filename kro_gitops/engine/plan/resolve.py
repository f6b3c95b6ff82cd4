"""
A node and known values become desired objects.

How an expression is evaluated is handed in (`Evaluate`): live, a missing value stops the node;
offline, it becomes a placeholder.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kro_gitops.engine.graph.nodes import Expression, Graph, Node, Places
from kube_cel.values import OMIT
from kube_objects.refs import KubeObject

Values = Mapping[str, Any]
Evaluate = Callable[[Expression, Values], Any]


def fill(node: Node, values: Values, evaluate: Evaluate) -> KubeObject:
    """
    Put every expression's value in its place, in a copy of the node's body.

    Only what leads to a value is copied; the rest is shared with the template, so nobody may
    change a desired object below its metadata.
    """
    body: KubeObject = _copied(node.body, node.places)
    has_omitted = False
    for item in node.fields:
        value = evaluate(item.expression, values)
        has_omitted = has_omitted or item.expression.uses_omit
        holder: Any = body
        for step in item.path[:-1]:
            holder = holder[step]
        holder[item.path[-1]] = value
    return without_omitted(body) if has_omitted else body


def complete(body: KubeObject, node: Node, graph: Graph, namespace: str) -> KubeObject:
    """Give a namespaced child of a namespaced instance the instance's namespace."""
    if not node.served.namespaced or not graph.definition.schema.is_namespaced:
        return body
    metadata = body["metadata"]
    if metadata.get("namespace") in (None, "") and namespace:
        metadata["namespace"] = namespace
    return body


def _copied(value: Any, places: Places) -> Any:
    copy = value.copy()
    for step, below in places.items():
        if below:
            copy[step] = _copied(value[step], below)
    return copy


def without_omitted(value: Any) -> Any:
    """Remove every key and element that `omit()` was written to."""
    if type(value) is dict:
        return {k: without_omitted(child) for k, child in value.items() if child is not OMIT}
    if type(value) is list:
        return [without_omitted(child) for child in value if child is not OMIT]
    return value
