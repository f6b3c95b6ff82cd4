"""
The planner asked for single fields of one child, from the objects that are there.

The same evaluation as a pass, field by field: an expression that cannot be evaluated, because it
reads what is not there or what was not read, leaves the other fields their values.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Graph, Node
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator, Fatal
from kro_gitops.engine.plan.foreach import Iteration, iterations_at
from kro_gitops.engine.plan.knowledge import NOT_VISIBLE, FieldKnowledge
from kro_gitops.engine.plan.resolve import fill, without_omitted
from kro_gitops.engine.plan.slices import finish
from kube_cel.errors import ConversionError, EvaluationError
from kube_cel.values import OMIT
from kube_objects.problems import Path
from kube_objects.refs import KubeObject

UNKNOWN: Any = object()

_KNOWLEDGE = FieldKnowledge(UNKNOWN)


@dataclass(frozen=True, slots=True)
class DesiredFields:
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


NOTHING_KNOWN = DesiredFields()


def visible_values(
    graph: Graph, instance: KubeObject, children: Mapping[str, Sequence[KubeObject]]
) -> dict[str, Any]:
    """Return what expressions see: the instance, and the nodes whose objects were read."""
    found: dict[str, Any] = {SCHEMA: _KNOWLEDGE.schema(graph, instance)}
    for name, node in graph.nodes.items():
        if name in children:
            value = _KNOWLEDGE.shared(node, children[name])
            if value is not NOT_VISIBLE:
                found[name] = value
    return found


def plan_fields(node: Node, values: Mapping[str, Any], index: int | None) -> DesiredFields:
    """Plan the child of a node, of a collection the one at an index."""
    evaluator = Evaluator(Bounds(), _KNOWLEDGE)
    iterations: tuple[Iteration, ...] = ()
    with suppress(Fatal):  # forEach over null: no iterator has a value
        dimensions = finish(evaluator.dimensions(node, values))
        if isinstance(dimensions, list):
            iterations = iterations_at(dimensions, index or 0)
    evaluate = evaluator.in_template(node, iterating=bool(iterations))
    found = {id(each.expression): UNKNOWN for each in node.fields}

    def evaluate_known(expression: Expression, values: Mapping[str, Any]) -> Any:
        value = found[id(expression)] = evaluate(expression, values)
        return OMIT if value is UNKNOWN else value

    bound = {**values, **{each.name: each.value for each in iterations}}
    body: KubeObject = without_omitted(finish(fill(node, bound, evaluate_known)))
    by_path = {each.path: found[id(each.expression)] for each in node.fields}
    return DesiredFields(by_path, iterations, body)


def evaluate_field(expression: Expression, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression, or `UNKNOWN`."""
    try:
        return Evaluator(Bounds(), _KNOWLEDGE).value(expression, values)
    except (EvaluationError, ConversionError):
        return UNKNOWN
