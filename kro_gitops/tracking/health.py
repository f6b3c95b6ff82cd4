"""
Conditions → health, in the terms of Argo CD.

Argo CD has no health for instances and definitions of its own accord: it shows a broken one as
fine. The decision is a table, read from top to bottom, the first row that fits decides. Its cells
are names, not code: what they mean for a Python dict stands below, what they mean in the script
that Argo CD runs can stand beside it, and one set of tests holds for both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from kro_gitops.metadata import KRO_GROUP, RECONCILE
from kube_objects.conditions import FALSE, READY, TRUE, UNKNOWN, Condition, parse_conditions
from kube_objects.refs import KubeObject, ObjectRef


class Health(StrEnum):
    """The health states of Argo CD."""

    HEALTHY = "Healthy"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    SUSPENDED = "Suspended"


class Match(StrEnum):
    """A fact about an object that a rule depends on."""

    DELETING = "deletionTimestamp is set"
    NO_STATUS = "status is missing or empty"
    SUSPENDED = "reconciliation is suspended"
    STATUS_IS_STALE = "status.observedGeneration is of another generation"
    READY_IS_STALE = "Ready is of another generation"
    CHILDREN_DEGRADED = "ChildrenHealthy is False"
    CHILDREN_PROGRESSING = "ChildrenHealthy is Unknown"
    READY_IS_TRUE = "Ready is True"
    FAILED = "Stalled is True, or the state is an error"
    REJECTED = "GraphAccepted or KindReady is False"
    READY_IS_FALSE = "Ready is False"
    READY_EXISTS = "there is a Ready"
    ACTIVE = "the state is active"
    INACTIVE = "the state is inactive"
    ALWAYS = "otherwise"


class MessageSource(StrEnum):
    """What a message about an object contains."""

    FINALIZERS = "what it waits for"
    NOT_PICKED_UP = "not picked up yet"
    SUSPENSION = "why it is suspended"
    NOT_PROCESSED = "spec change not processed"
    CHILDREN = "ChildrenHealthy's message"
    READY = "Ready's message"
    FAILURE = "message of the first condition that is False"
    REJECTION = "message of the condition that rejects it"
    STATE = "the state"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row."""

    when: Match
    health: Health
    say: MessageSource


@dataclass(frozen=True, slots=True)
class HealthStatus:
    """An object's health, and why; `brief` is the same without what changes every second."""

    health: Health
    message: str
    brief: str = ""


INSTANCE_RULES = (
    Rule(Match.DELETING, Health.PROGRESSING, MessageSource.FINALIZERS),
    Rule(Match.NO_STATUS, Health.PROGRESSING, MessageSource.NOT_PICKED_UP),
    Rule(Match.SUSPENDED, Health.SUSPENDED, MessageSource.SUSPENSION),
    Rule(Match.STATUS_IS_STALE, Health.PROGRESSING, MessageSource.NOT_PROCESSED),
    Rule(Match.READY_IS_STALE, Health.PROGRESSING, MessageSource.NOT_PROCESSED),
    Rule(Match.FAILED, Health.DEGRADED, MessageSource.FAILURE),
    # Ready has kro's meaning: children were applied and `readyWhen` holds. Pods may crash all the
    # same, which says more than what other children wait for.
    Rule(Match.CHILDREN_DEGRADED, Health.DEGRADED, MessageSource.CHILDREN),
    Rule(Match.READY_IS_FALSE, Health.PROGRESSING, MessageSource.READY),
    Rule(Match.CHILDREN_PROGRESSING, Health.PROGRESSING, MessageSource.CHILDREN),
    Rule(Match.READY_IS_TRUE, Health.HEALTHY, MessageSource.READY),
    Rule(Match.READY_EXISTS, Health.PROGRESSING, MessageSource.READY),
    # With conditions of the author's own there may be no Ready at all.
    Rule(Match.ACTIVE, Health.HEALTHY, MessageSource.STATE),
    Rule(Match.ALWAYS, Health.PROGRESSING, MessageSource.STATE),
)

DEFINITION_RULES = (
    Rule(Match.DELETING, Health.PROGRESSING, MessageSource.FINALIZERS),
    Rule(Match.NO_STATUS, Health.PROGRESSING, MessageSource.NOT_PICKED_UP),
    # A rejected change leaves Ready as it was for the generation before.
    Rule(Match.REJECTED, Health.DEGRADED, MessageSource.REJECTION),
    Rule(Match.READY_IS_STALE, Health.PROGRESSING, MessageSource.NOT_PROCESSED),
    Rule(Match.READY_IS_TRUE, Health.HEALTHY, MessageSource.READY),
    Rule(Match.READY_IS_FALSE, Health.DEGRADED, MessageSource.READY),
    Rule(Match.READY_EXISTS, Health.PROGRESSING, MessageSource.READY),
    Rule(Match.ACTIVE, Health.HEALTHY, MessageSource.STATE),
    Rule(Match.INACTIVE, Health.DEGRADED, MessageSource.STATE),
    Rule(Match.ALWAYS, Health.PROGRESSING, MessageSource.STATE),
)

CHILDREN_HEALTHY = "ChildrenHealthy"

_DEFINITION = "ResourceGraphDefinition"
_RESOURCES_READY = "ResourcesReady"
_SUSPENSION = "ReconciliationSuspended"
_SUSPEND_VALUES = ("suspended", "disabled")
_REJECTION_CONDITIONS = ("GraphAccepted", "KindReady")
_ERRORS = ("ERROR", "FAILED")


def health(obj: KubeObject) -> HealthStatus:
    """Return the health of an instance or a definition."""
    facts = _Facts(obj)
    kind = ObjectRef.of(obj).kind
    is_definition = (kind.group, kind.kind) == (KRO_GROUP, _DEFINITION)
    rules = DEFINITION_RULES if is_definition else INSTANCE_RULES
    rule = next(rule for rule in rules if _MATCHES[rule.when](facts))
    return HealthStatus(rule.health, _MESSAGES[rule.say](facts))


class _Facts:
    """An object, as the rules see it."""

    def __init__(self, obj: KubeObject) -> None:
        self.metadata = _mapping(obj.get("metadata"))
        self.status = _mapping(obj.get("status"))
        self.conditions = parse_conditions(obj)

    @property
    def state(self) -> str:
        state = self.status.get("state")
        return state if isinstance(state, str) else ""

    @cached_property
    def ready(self) -> Condition | None:
        return self.find(READY)

    @property
    def annotation(self) -> str:
        value = _mapping(self.metadata.get("annotations")).get(RECONCILE)
        return value.lower() if isinstance(value, str) else ""

    def find(self, type_: str) -> Condition | None:
        return next((each for each in self.conditions if each.type == type_), None)

    def has(self, type_: str, status: str) -> bool:
        found = self.find(type_)
        return found is not None and found.status == status

    def is_current(self, generation: object) -> bool:
        return generation == self.metadata.get("generation")

    @property
    def rejection(self) -> Condition | None:
        """Return the condition by which a controller rejects the present spec, if any."""
        for type_ in _REJECTION_CONDITIONS:
            found = self.find(type_)
            if found and found.status == FALSE and self.is_current(found.observed_generation):
                return found
        return None


def _is_suspended(facts: _Facts) -> bool:
    resources = facts.find(_RESOURCES_READY)
    return facts.annotation in _SUSPEND_VALUES or (
        resources is not None and resources.reason == _SUSPENSION
    )


def _status_is_stale(facts: _Facts) -> bool:
    observed = facts.status.get("observedGeneration")
    return observed is not None and not facts.is_current(observed)


def _ready_is_stale(facts: _Facts) -> bool:
    return facts.ready is not None and not facts.is_current(facts.ready.observed_generation)


_MATCHES: Mapping[Match, Callable[[_Facts], bool]] = {
    Match.DELETING: lambda facts: facts.metadata.get("deletionTimestamp") is not None,
    Match.NO_STATUS: lambda facts: not facts.status,
    Match.SUSPENDED: _is_suspended,
    Match.STATUS_IS_STALE: _status_is_stale,
    Match.READY_IS_STALE: _ready_is_stale,
    Match.CHILDREN_DEGRADED: lambda facts: facts.has(CHILDREN_HEALTHY, FALSE),
    Match.CHILDREN_PROGRESSING: lambda facts: facts.has(CHILDREN_HEALTHY, UNKNOWN),
    Match.READY_IS_TRUE: lambda facts: facts.has(READY, TRUE),
    Match.FAILED: lambda facts: facts.has("Stalled", TRUE) or facts.state in _ERRORS,
    Match.REJECTED: lambda facts: facts.rejection is not None,
    Match.READY_IS_FALSE: lambda facts: facts.has(READY, FALSE),
    Match.READY_EXISTS: lambda facts: facts.ready is not None,
    Match.ACTIVE: lambda facts: facts.state.upper() == "ACTIVE",
    Match.INACTIVE: lambda facts: facts.state.upper() == "INACTIVE",
    Match.ALWAYS: lambda _: True,
}


def _finalizers(facts: _Facts) -> str:
    listed = facts.metadata.get("finalizers")
    names = ", ".join(map(str, listed)) if isinstance(listed, list) else ""
    return f"waiting on finalizers: {names}" if names else "waiting to be removed"


def _suspension(facts: _Facts) -> str:
    resources = facts.find(_RESOURCES_READY)
    if resources is not None and resources.reason == _SUSPENSION and resources.message:
        return resources.message
    return f"reconciliation suspended via {RECONCILE} annotation"


def _failure(facts: _Facts) -> str:
    failed = next((each for each in facts.conditions if each.status == FALSE), None)
    return _condition_text(failed) or facts.state


def _condition_text(condition: Condition | None) -> str:
    return (condition.message or condition.reason or "") if condition else ""


_MESSAGES: Mapping[MessageSource, Callable[[_Facts], str]] = {
    MessageSource.FINALIZERS: _finalizers,
    MessageSource.NOT_PICKED_UP: lambda _: "not picked up yet",
    MessageSource.SUSPENSION: _suspension,
    MessageSource.NOT_PROCESSED: lambda _: "spec change not processed",
    MessageSource.CHILDREN: lambda facts: _condition_text(facts.find(CHILDREN_HEALTHY)),
    MessageSource.READY: lambda facts: _condition_text(facts.ready),
    MessageSource.FAILURE: _failure,
    MessageSource.REJECTION: lambda facts: _condition_text(facts.rejection),
    MessageSource.STATE: lambda facts: facts.state.lower() or "no state yet",
}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
