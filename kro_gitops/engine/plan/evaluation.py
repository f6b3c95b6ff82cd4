"""
Evaluates the expressions of one instance: a value, or the reason why there is none.

There are three outcomes besides a value. Data that is missing may still come, so the node waits
(`Pending`). A value that the planner's knowledge cannot contain is replaced by what the knowledge
offers for it (`Knowledge.stand_in`): offline, a placeholder. Anything else is a mistake that
waiting does not repair (`Fatal`). The class of the failure decides, never its text. Texts are
kro's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Node
from kro_gitops.engine.plan.foreach import elements
from kro_gitops.engine.plan.knowledge import NOTHING_THERE, Knowledge
from kro_gitops.engine.plan.placeholder import Unknown, is_unknown
from kro_gitops.engine.plan.slices import Slices
from kro_gitops.errors import DataPending
from kube_cel.budget import DEFAULT_BUDGET, Budget
from kube_cel.errors import (
    ConversionError,
    EvaluationError,
    EvaluationStopped,
    ExpressionError,
    MissingVariable,
    UnknownValue,
)
from kube_cel.values import is_list
from kube_objects.go_text import quote
from kube_objects.problems import Path

Values = Mapping[str, Any]
Dimensions = list[tuple[str, list[Any]]]

_FINITE = frozenset((str, int, bool, type(None)))
_INSTANCE_ONLY = (SCHEMA,)
_UNEVALUATED: Any = object()
# What these errors quote are names of variables and paths, and limits.
_NAMES_ONLY = (MissingVariable, UnknownValue, EvaluationStopped)
_CONSTANT_MESSAGES = frozenset(
    (
        *("division by zero", "modulus by zero", "integer overflow", "unsigned integer overflow"),
        *("optional.none() dereference", "no such overload"),
    )
)
_KEY_MESSAGES = ("no such key", "index out of bounds")  # and then the key
_HIDDEN_MESSAGE = "failed; the reason is hidden, because it may quote the value of a Secret"


def _default_budget() -> Budget:
    return DEFAULT_BUDGET


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    Limits for one instance.

    The size of a collection, the cost of each evaluation, and whether to let other work run before
    the next one (`slices`).
    """

    collection_size: int = 1000
    budget: Callable[[], Budget] = _default_budget
    is_slice_over: Callable[[], bool] = _never


class Pending(DataPending):
    """
    A node waits for data, or for another node.

    `expression` is the one that lacks data, `cause` what it lacks; both are empty if another node
    is waited for.
    """

    def __init__(self, message: str, expression: Expression | None = None, cause: str = "") -> None:
        super().__init__("data-pending", message)
        self.expression = expression
        self.cause = cause


class Fatal(ExpressionError):  # noqa: N818 - beside Pending
    """
    A node cannot be planned, and waiting will not help.

    `place` is the path in the definition of the expression that is to blame, empty if it is the
    whole node.
    """

    def __init__(
        self, message: str, *, code: str = "evaluation-failed", place: Path = (), hint: str = ""
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.place = place


class Evaluator:
    """Evaluates the expressions of one instance, within its bounds."""

    def __init__(self, bounds: Bounds, knowledge: Knowledge = NOTHING_THERE) -> None:
        self.evaluated = 0  # expressions so far
        self.bounds = bounds
        self.is_slice_over = bounds.is_slice_over
        self._knowledge = knowledge
        # Values by program that depend on the instance only: templates repeat expressions.
        self._known: dict[int, Any] = {}

    def value(self, expression: Expression, values: Values) -> Any:
        """Evaluate to JSON; every failure is raised as it is."""
        program = expression.program
        reads_instance_only = expression.names == _INSTANCE_ONLY
        if reads_instance_only:
            known = self._known.get(id(program), _UNEVALUATED)
            if known is not _UNEVALUATED:
                return known
        self.evaluated += 1
        found = program.evaluate(values, self.bounds.budget())
        if type(found) not in _FINITE:
            finite(found)
        if reads_instance_only:
            self._known[id(program)] = found
        return found

    def raw(self, expression: Expression, values: Values) -> Any:
        """Evaluate to a CEL value; every failure is raised as it is."""
        return expression.program.value(values, self.bounds.budget())

    def in_template(self, node: Node, *, iterating: bool) -> Callable[[Expression, Values], Any]:
        """Return the function that evaluates the expressions of a node's template."""

        def evaluate(expression: Expression, values: Values) -> Any:
            try:
                return self.value(expression, values)
            except (EvaluationError, ConversionError) as error:
                found = self._knowledge.stand_in(node, expression, values, error)
                if found is not None:
                    return found
                text = error_text(expression, error)
                if is_pending(error):
                    message = (
                        "data pending"
                        if iterating
                        else f"node {quote(node.id)}: failed to evaluate expression: "
                        f"{text} (data pending)"
                    )
                    raise Pending(message, expression, text) from None
                if iterating:
                    text = f"collection iteration eval {quote(expression.shown)}: {text}"
                else:
                    text = f"node {quote(node.id)}: {text}"
                raise _fatal(text, expression, error) from None

        return evaluate

    def is_included(self, node: Node, values: Values) -> Slices[bool | Unknown]:
        """
        Return whether all `includeWhen` conditions hold; null counts as false.

        A condition that only a cluster can decide is returned as its placeholder, unless another
        condition is false.
        """
        undecided: Unknown | None = None
        for condition in node.include_when:
            prefix = f"includeWhen {quote(condition.shown)}: "
            try:
                found = self.value(condition, values)
            except (EvaluationError, ConversionError) as error:
                found = self._knowledge.stand_in(node, condition, values, error)
                if found is None:
                    text = prefix + error_text(condition, error)
                    # What an instance lacks stays absent; what another node lacks may come.
                    if is_pending(error) and any(name != SCHEMA for name in condition.names):
                        raise Pending(f"{text} (data pending)", condition, text) from None
                    raise _fatal(text, condition, error) from None
                if is_unknown(found):
                    undecided = undecided or found
                    continue
            if self.is_slice_over():
                yield
            if found is None or found is False:
                return False
            if found is not True:
                text = f"{prefix}expression {quote(condition.shown)} did not return bool"
                raise Fatal(text, code="not-a-boolean", place=condition.place)
        return True if undecided is None else undecided

    def dimensions(self, node: Node, values: Values) -> Slices[Dimensions | Unknown]:
        """Return the list of each `forEach` dimension, or a placeholder if one is unknown."""
        found: Dimensions = []
        unknown: Unknown | None = None
        for dimension in node.for_each:
            listed = self._elements(node, dimension.name, dimension.expression, values)
            if self.is_slice_over():
                yield
            if isinstance(listed, list):
                found.append((dimension.name, listed))
            else:
                unknown = unknown or listed
        return found if unknown is None else unknown

    def _elements(
        self, node: Node, name: str, expression: Expression, values: Values
    ) -> list[Any] | Unknown:
        prefix = f"forEach {quote(name)}: "
        try:
            found = expression.program.value(values, self.bounds.budget())
        except EvaluationError as error:
            unknown: Unknown | None = self._knowledge.stand_in(node, expression, values, error)
            if unknown is not None:
                return unknown
            text = prefix + error_text(expression, error)
            if is_pending(error):
                raise Pending("data pending", expression, text) from None
            raise _fatal(text, expression, error) from None
        if not is_list(found):
            what = "returned null, expected list" if found is None else "did not return a list"
            text = f"{prefix}expression {quote(expression.shown)} {what}"
            raise Fatal(text, code="not-a-list", place=expression.place)
        return elements(found)


def error_text(expression: Expression, error: EvaluationError | ConversionError) -> str:
    """
    Return kro's text for an evaluation that failed.

    Errors of an expression that handles values of Secrets may quote them. Only texts are shown
    that are the same for all values, or that the expression itself contains.
    """
    message = error.message
    if expression.is_confidential and not isinstance(error, _NAMES_ONLY):
        what, _, key = message.partition(": ")
        names_a_literal = what in _KEY_MESSAGES and key in expression.shown
        if message not in _CONSTANT_MESSAGES and not names_a_literal:
            return f"eval {quote(expression.shown)}: {_HIDDEN_MESSAGE}"
    if isinstance(error, ConversionError):
        return message
    return f"eval {quote(expression.shown)}: {message}"


def is_pending(error: EvaluationError | ConversionError) -> bool:
    """Return whether an evaluation only lacks data that may still come."""
    return isinstance(error, EvaluationError) and error.pending


def finite(value: Any) -> Any:
    """Return a value that JSON can hold; raise `ConversionError` for infinity and NaN."""
    if type(value) in _FINITE or _is_finite(value):
        return value
    raise ConversionError("the result is no number that JSON can hold")


def _is_finite(value: Any) -> bool:
    """Return False if a value contains NaN or infinity, which JSON cannot express."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, dict) or all(map(_is_finite, value.values()))


def _fatal(text: str, expression: Expression, error: EvaluationError | ConversionError) -> Fatal:
    hint = "" if expression.is_confidential else error.hint
    return Fatal(text, code=error.code, place=expression.place, hint=hint)
