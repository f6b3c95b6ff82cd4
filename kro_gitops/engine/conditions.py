"""
Conditions that authors define: their evaluation, timestamps and summary.

An author who defines conditions owns the list: kro's own are hidden then, but expressions can read
them. `Ready` is what tools wait for, so it can be published all the same: a setting says for which
definitions, and an annotation on the definition names the conditions that count for it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kro_gitops.engine.graph.nodes import RUNTIME, SCHEMA, Expression
from kro_gitops.engine.plan.evaluation import Evaluator, error_text, is_pending
from kro_gitops.engine.plan.slices import Slices
from kro_gitops.metadata import READY_CONDITIONS, SOURCE
from kro_gitops.settings.option import AuthorReady
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


def evaluate_in_slices(
    expressions: Iterable[Expression],
    values: Mapping[str, Any],
    builtin: Iterable[Mapping[str, Any]],
    evaluator: Evaluator,
) -> Slices[Evaluated]:
    """
    Evaluate an author's conditions; yield between two of them when a time slice is over.

    Expressions see kro's own conditions below `schema.status`.
    """
    schema = {**values[SCHEMA], "status": {"conditions": [dict(each) for each in builtin]}}
    known = {**values, SCHEMA: schema, RUNTIME: RUNTIME_VALUE}
    found: list[Value] = []
    faults: list[str] = []
    is_whole = True
    for expression in expressions:
        try:
            value = evaluator.raw(expression, known)
            values_found = [value] if isinstance(value, Value) else value
            if not is_list(values_found) or not all(isinstance(v, Value) for v in values_found):
                raise EvaluationError(
                    f"condition {quote(expression.shown)} does not return a condition"
                )
            found += values_found
        except EvaluationError as error:
            is_whole = False
            if not is_pending(error):
                faults.append(f"{quote(expression.shown)}: {error_text(expression, error)}")
        if evaluator.is_slice_over():
            yield
    counts = Counter(each.type for each in found)
    doubles = sorted(type_ for type_, count in counts.items() if count > 1)
    if doubles:
        faults.append(f"duplicate condition type(s) [{' '.join(doubles)}] dropped")
    kept = [
        Condition(each.type, each.status, each.reason or None, each.message or None)
        for each in found
        if counts[each.type] == 1
    ]
    return Evaluated(tuple(kept), is_whole and not faults, tuple(faults))


def with_timestamps(
    evaluated: Evaluated, former: Iterable[Condition], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Set the timestamps of conditions; keep former ones that could not be evaluated."""
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


def published_ready(
    annotations: Mapping[str, str], setting: AuthorReady
) -> tuple[ReadyCondition, ...] | None:
    """
    Return the author's conditions that count for Ready beside kro's own; None: publish no Ready.

    An annotation without names is kro's behaviour for one definition.
    """
    if READY_CONDITIONS in annotations:
        return parse_ready_conditions(annotations[READY_CONDITIONS]) or None
    is_from_source = bool(annotations.get(SOURCE))
    if setting is AuthorReady.ALWAYS or (setting is AuthorReady.SOURCE and is_from_source):
        return ()
    return None


def is_ready_computed(
    counted: tuple[ReadyCondition, ...] | None,
    expressions: Iterable[Expression],
    evaluated: Evaluated | None,
) -> bool:
    """
    Return whether Ready is computed, rather than left to the author or not published.

    `evaluated` is None if the expressions were not evaluated in this reconcile. Then, and where an
    expression has no value, its text decides whether the author defines Ready.
    """
    if counted is None:
        return False
    if counted:
        return True
    if evaluated is not None:
        if any(each.type == READY for each in evaluated.conditions):
            return False
        if evaluated.is_whole:
            return True
    return not any(_DEFINES_READY.search(each.text) for each in expressions)


# The field `type` of a condition; expressions that read kro's Ready have no such field.
_DEFINES_READY = re.compile(rf"""\btype\s*:[^,}}]*["']{READY}["']""")


def with_ready(
    authored: tuple[Condition, ...],
    counted: tuple[ReadyCondition, ...],
    builtins: ConditionSet,
    former: Condition | None,
    now: datetime,
    faults: tuple[str, ...] = (),
) -> tuple[Condition, ...]:
    """
    Return an author's conditions with a Ready that follows from some of them and kro's own.

    It is False if expressions are faulty, as the state is ERROR then.
    """
    others = tuple(each for each in authored if each.type != READY)
    root = builtins.root
    ready = Condition(READY, root.status, root.reason, root.message)
    if root.status == TRUE:
        by_type = {each.type: each for each in others}
        ready = Condition(READY, TRUE, READY, "")
        if faults:
            ready = Condition(READY, FALSE, "ConditionExpressionFailed", "; ".join(faults))
        for expected in counted if not faults else ():
            found = by_type.get(expected.type)
            if found is None:
                status, reason = UNKNOWN, "ConditionMissing"
                text = f"condition {quote(expected.type)} is not reported yet"
            else:
                status, reason = found.status, found.reason or expected.type
                if expected.is_bad:
                    status = {TRUE: FALSE, FALSE: TRUE}.get(status, UNKNOWN)
                text = f"{expected.type}: {found.message or reason}"
            # The first that is False wins, then the first that is Unknown.
            if status == FALSE or (status == UNKNOWN and ready.status == TRUE):
                ready = Condition(READY, status, reason, text)
            if status == FALSE:
                break
    dated = replace(
        ready,
        changed=_transition_time(ready, former, now),
        observed_generation=root.observed_generation,
    )
    return (*others, dated)


def _transition_time(condition: Condition, former: Condition | None, now: datetime) -> datetime:
    if former is not None and former.status == condition.status and former.changed is not None:
        return former.changed
    return now
