"""
Conditions that authors define: evaluated, dated, and summed up where that is asked for.

An author who defines conditions owns the list: kro's own are hidden then, but can be read from
expressions. One thing kro only proposed: an annotation on the definition names the conditions that
count for `Ready`, which is then published again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kro_gitops.engine.graph.nodes import RUNTIME, SCHEMA, Expression
from kro_gitops.engine.plan.evaluation import Evaluator, is_pending, told
from kube_cel.errors import EvaluationError
from kube_cel.scalars import RUNTIME as RUNTIME_VALUE
from kube_cel.scalars import Condition as Value
from kube_cel.values import is_list
from kube_objects.conditions import FALSE, READY, TRUE, UNKNOWN, Condition, ConditionSet
from kube_objects.go_text import quote


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What expressions yield; `is_whole` if each of them did, `faults` are mistakes."""

    conditions: tuple[Condition, ...]
    is_whole: bool = True
    faults: tuple[str, ...] = ()


def evaluate(
    expressions: Iterable[Expression],
    values: Mapping[str, Any],
    builtin: Iterable[Mapping[str, Any]],
    evaluator: Evaluator,
) -> Evaluated:
    """Evaluate an author's conditions; expressions see kro's own below `schema.status`."""
    schema = {**values[SCHEMA], "status": {"conditions": [dict(each) for each in builtin]}}
    known = {**values, SCHEMA: schema, RUNTIME: RUNTIME_VALUE}
    found: list[Value] = []
    faults: list[str] = []
    is_whole = True
    for expression in expressions:
        try:
            found += _values(expression, evaluator.raw(expression, known))
        except EvaluationError as error:
            is_whole = False
            if not is_pending(error):
                faults.append(f"{quote(expression.shown)}: {told(expression, error)}")
    counts = Counter(each.type for each in found)
    doubles = sorted(type_ for type_, count in counts.items() if count > 1)
    if doubles:
        faults.append(f"duplicate condition type(s) [{' '.join(doubles)}] dropped")
    kept = [_condition(each) for each in found if counts[each.type] == 1]
    return Evaluated(tuple(kept), is_whole and not faults, tuple(faults))


def with_timestamps(
    evaluated: Evaluated, former: Iterable[Condition], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Date conditions; keep former ones of which an evaluation could say nothing."""
    before = {each.type: each for each in former}
    current = [
        replace(
            each,
            changed=_transition_time(each, before.get(each.type), now),
            observed_generation=generation,
        )
        for each in evaluated.conditions
    ]
    if not evaluated.is_whole:
        produced = {each.type for each in current}
        current += [each for type_, each in before.items() if type_ not in produced]
    return tuple(current)


@dataclass(frozen=True, slots=True)
class ReadyCondition:
    """A condition that counts for Ready; `is_bad` if True is the bad news."""

    type: str
    is_bad: bool = False


def parse_ready_conditions(text: str) -> tuple[ReadyCondition, ...]:
    """Read the annotation: names, separated by commas, `!` before those that are bad when True."""
    words = (word.strip() for word in text.split(","))
    return tuple(
        ReadyCondition(word.lstrip("!").strip(), word.startswith("!"))
        for word in words
        if word.strip("! ")
    )


def with_ready(
    authored: tuple[Condition, ...],
    counted: tuple[ReadyCondition, ...],
    builtins: ConditionSet,
    former: Condition | None,
    now: datetime,
) -> tuple[Condition, ...]:
    """Return an author's conditions with a Ready that follows from some of them and kro's own."""
    others = tuple(each for each in authored if each.type != READY)
    ready = _ready(others, counted, builtins)
    generation = builtins.root.observed_generation
    dated = replace(
        ready, changed=_transition_time(ready, former, now), observed_generation=generation
    )
    return (*others, dated)


def _ready(
    authored: tuple[Condition, ...], counted: tuple[ReadyCondition, ...], builtins: ConditionSet
) -> Condition:
    if builtins.root.status != TRUE:
        root = builtins.root
        return Condition(READY, root.status, root.reason, root.message)
    by_type = {each.type: each for each in authored}
    judged: list[Condition] = []
    for expected in counted:
        found = by_type.get(expected.type)
        if found is None:
            text = f"condition {quote(expected.type)} is not reported yet"
            judged.append(Condition(READY, UNKNOWN, "ConditionMissing", text))
        else:
            status = found.status
            if expected.is_bad:
                status = {TRUE: FALSE, FALSE: TRUE}.get(status, UNKNOWN)
            reason = found.reason or expected.type
            text = f"{expected.type}: {found.message or reason}"
            judged.append(Condition(READY, status, reason, text))
    for status in (FALSE, UNKNOWN):
        for each in judged:
            if each.status == status:
                return each
    return Condition(READY, TRUE, READY, "")


def _values(expression: Expression, value: Any) -> list[Value]:
    if isinstance(value, Value):
        return [value]
    if is_list(value) and all(isinstance(each, Value) for each in value):
        return list(value)
    raise EvaluationError(f"condition {quote(expression.shown)} does not return a condition")


def _condition(value: Value) -> Condition:
    return Condition(value.type, value.status, value.reason or None, value.message or None)


def _transition_time(condition: Condition, former: Condition | None, now: datetime) -> datetime:
    if former is not None and former.status == condition.status and former.changed is not None:
        return former.changed
    return now
