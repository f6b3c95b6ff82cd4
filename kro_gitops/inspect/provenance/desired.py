"""
What a definition wants of one child, worked out from the objects that are there.

The same evaluation as the controller's, field by field: one expression that cannot be evaluated
(because it reads what is not there, or what was not read) leaves the others their values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Graph, Node
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator
from kro_gitops.engine.plan.foreach import elements
from kro_gitops.engine.plan.resolve import without_omitted
from kube_cel.errors import ConversionError, EvaluationError
from kube_cel.values import OMIT, is_list
from kube_objects.problems import Path
from kube_objects.refs import KubeObject

UNKNOWN: Any = object()
Siblings = Mapping[str, Sequence[KubeObject]]


@dataclass(frozen=True, slots=True)
class Iteration:
    """What an iterator of a collection is bound to: an element of its list, and which one."""

    name: str
    index: int
    value: Any


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    The values of expressions, by their path in the template; `UNKNOWN` where there is none.

    `body` is the template with those values in it, without the fields that are not known.
    """

    values: Mapping[Path, Any] = field(default_factory=dict)
    iterations: tuple[Iteration, ...] = ()
    body: KubeObject = field(default_factory=dict)

    def at(self, path: Path) -> Any:
        """Return the value of the expression at a path, or `UNKNOWN`."""
        return self.values.get(path, UNKNOWN)


NOTHING_KNOWN = Wanted()


def visible(graph: Graph, instance: KubeObject, siblings: Siblings) -> dict[str, Any]:
    """Return what expressions see: the instance, and the nodes that are there."""
    found: dict[str, Any] = {SCHEMA: {k: v for k, v in instance.items() if k != "status"}}
    for name, node in graph.nodes.items():
        objects = siblings.get(name)
        if node.kind.is_list:
            if objects is not None:
                found[name] = list(objects)
        elif objects:
            found[name] = objects[0]
    return found


def work_out(node: Node, values: Mapping[str, Any], index: int | None) -> Wanted:
    """Evaluate the fields of a node, for the child at an index if it is a collection."""
    evaluator = Evaluator(Bounds())
    iterations = _iterations(node, values, index or 0, evaluator) if node.for_each else ()
    bound = {**values, **{each.name: each.value for each in iterations}}
    found = {each.path: evaluated(each.expression, bound) for each in node.fields}
    return Wanted(found, iterations, _filled(node, found))


def evaluated(expression: Expression, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or `UNKNOWN`."""
    try:
        return Evaluator(Bounds()).value(expression, values)
    except (EvaluationError, ConversionError):
        return UNKNOWN


def _iterations(
    node: Node, values: Mapping[str, Any], index: int, evaluator: Evaluator
) -> tuple[Iteration, ...]:
    """Find which elements an item of a collection is for: the last dimension runs fastest."""
    found: list[Iteration] = []
    for dimension in reversed(node.for_each):
        try:
            listed = evaluator.raw(dimension.expression, values)
        except EvaluationError:
            return ()
        if not is_list(listed):
            return ()
        items = elements(listed)
        if not items:
            return ()
        index, at = divmod(index, len(items))
        found.append(Iteration(dimension.name, at, items[at]))
    return tuple(reversed(found)) if index == 0 else ()


def _filled(node: Node, values: Mapping[Path, Any]) -> KubeObject:
    body = _copied(node.body)
    for path, value in values.items():
        holder = body
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = OMIT if value is UNKNOWN else value
    filled: KubeObject = without_omitted(body)
    return filled


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_copied(child) for child in value]
    return value
