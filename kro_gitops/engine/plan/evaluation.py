"""
Expressions evaluated live: a value, or the reason why there is none, in kro's words.

Two reasons matter. Data that is missing may still come, so the node waits; anything else is a
mistake that waiting will not mend. Which it is, the class of the failure says.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Node
from kro_gitops.engine.plan.foreach import Binding, elements, expand
from kro_gitops.errors import DataPending
from kube_cel.budget import DEFAULT_BUDGET, Budget
from kube_cel.errors import ConversionError, EvaluationError, ExpressionError
from kube_cel.values import is_list
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote

Values = Mapping[str, Any]


def _default_budget() -> Budget:
    return DEFAULT_BUDGET


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one instance may cost: the size of a collection, and each evaluation."""

    collection_size: int = 1000
    budget: Callable[[], Budget] = _default_budget


class Pending(DataPending):
    """A node waits for data, or for another node."""

    def __init__(self, message: str) -> None:
        super().__init__("data-pending", message)


class Fatal(ExpressionError):  # noqa: N818 - beside Pending
    """A node cannot be worked out, and waiting will not help."""

    def __init__(self, message: str) -> None:
        super().__init__("evaluation-failed", message)


class Evaluator:
    """Evaluates the expressions of one instance, within its bounds."""

    def __init__(self, bounds: Bounds) -> None:
        self.evaluated = 0  # expressions so far
        self._bounds = bounds

    def value(self, expression: Expression, values: Values) -> Any:
        """Evaluate to JSON, letting every failure pass."""
        self.evaluated += 1
        return expression.program.evaluate(values, self._bounds.budget())

    def raw(self, expression: Expression, values: Values) -> Any:
        """Evaluate to a CEL value, letting every failure pass."""
        return expression.program.value(values, self._bounds.budget())

    def in_template(self, node: Node, *, iterating: bool) -> Callable[[Expression, Values], Any]:
        """Return how to evaluate the expressions of a node's template."""

        def evaluate(expression: Expression, values: Values) -> Any:
            try:
                return self.value(expression, values)
            except (EvaluationError, ConversionError) as error:
                text = told(expression, error)
                if iterating:
                    raise _of_iteration(expression, error, text) from None
                if is_pending(error):
                    raise Pending(
                        f"node {quote(node.id)}: failed to evaluate expression: "
                        f"{text} (data pending)"
                    ) from None
                raise Fatal(f"node {quote(node.id)}: {text}") from None

        return evaluate

    def is_included(self, node: Node, values: Values) -> bool:
        """Say whether all `includeWhen` conditions hold; null counts as false."""
        for condition in node.include_when:
            prefix = f"includeWhen {quote(condition.shown)}: "
            try:
                found = self.value(condition, values)
            except (EvaluationError, ConversionError) as error:
                text = prefix + told(condition, error)
                # What an instance lacks it will always lack; what another node lacks may come.
                if is_pending(error) and any(name != SCHEMA for name in condition.names):
                    raise Pending(f"{text} (data pending)") from None
                raise Fatal(text) from None
            if found is None or found is False:
                return False
            if found is not True:
                raise Fatal(f"{prefix}expression {quote(condition.shown)} did not return bool")
        return True

    def bindings(self, node: Node, values: Values) -> Iterator[Binding]:
        """Yield what iterators are bound to, once for each object of a collection."""
        lists = [
            (each.name, self._elements(each.name, each.expression, values))
            for each in node.for_each
        ]
        try:
            yield from expand(lists, self._bounds.collection_size)
        except RefusedError as error:
            raise Fatal(error.message) from None

    def _elements(self, name: str, expression: Expression, values: Values) -> list[Any]:
        prefix = f"forEach {quote(name)}: "
        try:
            found = expression.program.value(values, self._bounds.budget())
        except EvaluationError as error:
            if is_pending(error):
                raise Pending("data pending") from None
            raise Fatal(prefix + told(expression, error)) from None
        if not is_list(found):
            what = "returned null, expected list" if found is None else "did not return a list"
            raise Fatal(f"{prefix}expression {quote(expression.shown)} {what}")
        return elements(found)


def told(expression: Expression, error: EvaluationError | ConversionError) -> str:
    """Return what kro says about an evaluation that failed."""
    if isinstance(error, ConversionError):
        return error.message
    return f"eval {quote(expression.shown)}: {error.message}"


def is_pending(error: EvaluationError | ConversionError) -> bool:
    """Say whether an evaluation only lacks data that may still come."""
    return isinstance(error, EvaluationError) and error.pending


def _of_iteration(
    expression: Expression, error: EvaluationError | ConversionError, text: str
) -> Pending | Fatal:
    if is_pending(error):
        return Pending("data pending")
    return Fatal(f"collection iteration eval {quote(expression.shown)}: {text}")
