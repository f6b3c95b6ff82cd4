"""
Is a node ready, seen from what is there? If not: why, in kro's words.

Conditions see the objects as they are, without the views that other expressions have. Without a
cluster a condition may read what is not known; then it is assumed to hold.
"""

from collections.abc import Sequence
from typing import Any

from kro_gitops.engine.graph.nodes import EACH, Expression, Node, NodeKind
from kro_gitops.engine.plan.evaluation import Evaluator, Fatal, error_text, is_pending
from kro_gitops.engine.plan.slices import Slices
from kube_cel.errors import ConversionError, EvaluationError, UnknownValue
from kube_objects.go_text import quote

_WAITING = "(waiting for readiness)"


def not_ready(
    node: Node, desired: int | None, observed: Sequence[Any], evaluator: Evaluator
) -> Slices[str | None]:
    """
    Return why a node is not ready, or `None`.

    `desired` is how many objects it makes, `None` if that is not known yet. Raises `Fatal` for
    a condition that cannot be evaluated at all.
    """
    match node.kind:
        case NodeKind.COLLECTION:
            return (yield from _collection(node, desired, observed, evaluator))
        case NodeKind.EXTERNAL_COLLECTION:
            if desired is None:
                return _unseen(node)
            # Definitions are checked with the whole list; kro then offers single items, and waits.
            if not observed:
                return None
            return (yield from _single(node, list(observed), evaluator))
        case NodeKind.RESOURCE | NodeKind.EXTERNAL:
            if not observed:
                return _unseen(node)
            return (yield from _single(node, observed[0], evaluator))


def _unseen(node: Node) -> str:
    return f"node {quote(node.id)}: no observed state: waiting for readiness"


def _single(node: Node, observed: Any, evaluator: Evaluator) -> Slices[str | None]:
    for condition in node.ready_when:
        prefix = f"node {quote(node.id)}: failed to evaluate readyWhen expression: "
        try:
            found = evaluator.value(condition, {node.id: observed})
        except UnknownValue:
            continue
        except (EvaluationError, ConversionError) as error:
            if is_pending(error):
                return f"{prefix}{quote(condition.shown)} {_WAITING}"
            text = f"{prefix}{quote(condition.shown)} ({error_text(condition, error)})"
            raise Fatal(text, code=error.code, place=condition.place) from None
        if evaluator.is_slice_over():
            yield
        if found is None or found is False:
            return _unmet(condition)
        if found is not True:
            text = f"expression {quote(condition.shown)} did not return bool"
            text = f"{prefix}{quote(condition.shown)} ({text})"
            raise Fatal(text, code="not-a-boolean", place=condition.place)
    return None


def _collection(
    node: Node, desired: int | None, observed: Sequence[Any], evaluator: Evaluator
) -> Slices[str | None]:
    if desired is None:
        return f"node {quote(node.id)}: collection not computed {_WAITING}"
    if len(observed) < desired:
        return (
            f"node {quote(node.id)}: collection not ready: "
            f"observed {len(observed)} but desired {desired} {_WAITING}"
        )
    for index, item in enumerate(observed):
        for condition in node.ready_when:
            where = f"{quote(condition.shown)} (item {index})"
            prefix = f"node {quote(node.id)}: failed to evaluate readyWhen {where}"
            try:
                found = evaluator.value(condition, {EACH: item})
            except UnknownValue:
                continue
            except (EvaluationError, ConversionError) as error:
                if is_pending(error):
                    return f"{prefix} {_WAITING}"
                text = f"{prefix}: {error_text(condition, error)}"
                raise Fatal(text, code=error.code, place=condition.place) from None
            if evaluator.is_slice_over():
                yield
            if not isinstance(found, bool):
                text = f"readyWhen {quote(condition.shown)} did not return bool"
                raise Fatal(text, code="not-a-boolean", place=condition.place)
            if not found:
                return _unmet(condition)
    return None


def _unmet(condition: Expression) -> str:
    return f"readyWhen condition evaluated to false: {quote(condition.shown)} {_WAITING}"
