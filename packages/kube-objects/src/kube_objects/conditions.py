"""
Status conditions that are summarized in one: Ready.

An object reports several dependent conditions and a root condition that is derived from them; the
root cannot be set. Which transition times are kept, which generation is recorded, how conditions
are sorted, and whose reason and message the root repeats can be observed by other tools, and must
not change.

A dependent condition that was set for an older generation of the object is stale. The root does not
become True because of it, but not False either: it waits until every dependent is set again.

This module knows no condition types of any controller, and the time is an argument.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kube_objects.refs import KubeObject, as_mapping
from kube_objects.times import format_time, parse_time

TRUE = "True"
FALSE = "False"
UNKNOWN = "Unknown"

READY = "Ready"
AWAITING_RECONCILIATION = "AwaitingReconciliation"

_MIN_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Condition:
    """
    One status condition.

    Reason and message may be absent (`None`), which differs from empty: both are compared and
    written as they are.
    """

    type: str
    status: str
    reason: str | None = None
    message: str | None = None
    changed: datetime | None = None  # lastTransitionTime
    observed_generation: int = 0

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> "Condition | None":
        """Parse a condition of a status; `None` if it has no type."""
        type_ = _text(raw.get("type"))
        if not type_:
            return None
        generation = raw.get("observedGeneration")
        return cls(
            type=type_,
            status=_text(raw.get("status")) or "",
            reason=_text(raw.get("reason")),
            message=_text(raw.get("message")),
            changed=parse_time(raw.get("lastTransitionTime")),
            observed_generation=generation if type(generation) is int else 0,
        )

    def to_json(self) -> KubeObject:
        """Return the condition as JSON data of a status."""
        written: KubeObject = {"type": self.type, "status": self.status}
        if self.changed is not None:
            written["lastTransitionTime"] = format_time(self.changed)
        if self.reason is not None:
            written["reason"] = self.reason
        if self.message is not None:
            written["message"] = self.message
        if self.observed_generation:
            written["observedGeneration"] = self.observed_generation
        return written


@dataclass(frozen=True, slots=True)
class ConditionTypes:
    """Which conditions a kind has: the dependents in order, and types that older versions wrote."""

    dependents: tuple[str, ...]
    root: str = READY
    obsolete: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """Return the types every object of the kind has."""
        return (self.root, *self.dependents)


@dataclass(frozen=True, slots=True)
class Subject:
    """The metadata of an object that its conditions depend on."""

    generation: int = 0
    created: datetime | None = None
    is_deleting: bool = False

    @classmethod
    def of(cls, obj: KubeObject) -> "Subject":
        """Read the metadata of an object; what is malformed reads as absent."""
        metadata = as_mapping(obj.get("metadata"))
        generation = metadata.get("generation")
        return cls(
            generation=generation if type(generation) is int else 0,
            created=parse_time(metadata.get("creationTimestamp")),
            is_deleting=metadata.get("deletionTimestamp") is not None,
        )


class ConditionSet:
    """The conditions of one object during a reconcile; mutable."""

    def __init__(
        self,
        types: ConditionTypes,
        subject: Subject,
        stored: Iterable[Condition],
        now: datetime,
    ) -> None:
        """Start from the stored conditions: drop obsolete ones, add missing ones as Unknown."""
        self._types = types
        self._subject = subject
        self._all = tuple(each for each in stored if each.type not in types.obsolete)
        # The root comes first, so that all missing ones get the same time.
        for type_ in types.known:
            if self.find(type_) is None:
                self._put(awaiting(type_), now)

    @classmethod
    def of(cls, types: ConditionTypes, obj: KubeObject, now: datetime) -> "ConditionSet":
        """Start from the conditions in an object's status."""
        return cls(types, Subject.of(obj), parse_conditions(obj), now)

    @property
    def all(self) -> tuple[Condition, ...]:
        """Return the conditions as they are written: by transition time, the root last."""
        return self._all

    @property
    def root(self) -> Condition:
        """Return the root condition."""
        root = self.find(self._types.root)
        assert root is not None, "the root is there from the start and is never removed"
        return root

    @property
    def is_ready(self) -> bool:
        """Return whether the root is True for the current generation."""
        return self.root.status == TRUE and self._is_current(self.root)

    def find(self, type_: str) -> Condition | None:
        """Return the condition of a type, or `None`."""
        return next((each for each in self._all if each.type == type_), None)

    def is_true(self, *types: str) -> bool:
        """Return whether all these conditions are True, for whatever generation."""
        found = map(self.find, types)
        return all(each is not None and each.status == TRUE for each in found)

    def set(self, condition: Condition, now: datetime) -> bool:
        """
        Set a dependent condition for the current generation; return whether it changed.

        Only type, status, reason and message are taken; transition time and generation follow. An
        unchanged condition changes nothing, and the root is then not derived again. Raises
        `ValueError` for the root.
        """
        if condition.type == self._types.root:
            raise ValueError(f"{self._types.root} follows from the others and cannot be set")
        return self._put(condition, now)

    def drop(self, type_: str) -> None:
        """Remove a condition that no object of the kind has from the start; `Ready` stays."""
        if type_ in self._types.known:
            raise ValueError(f"{type_} cannot be removed: every object of the kind has it")
        self._all = tuple(each for each in self._all if each.type != type_)

    def to_json(self) -> list[KubeObject]:
        """Return the conditions as JSON data of a status."""
        return [each.to_json() for each in self._all]

    def _put(self, condition: Condition, now: datetime) -> bool:
        former = self.find(condition.type)
        changed: datetime | None = now
        if former is not None and former.status == condition.status:
            changed = former.changed
        elif former is None and condition.type in self._types.known:
            changed = self._subject.created  # every object has it, written or not, from the start
        updated = replace(condition, changed=changed, observed_generation=self._subject.generation)
        if updated == former:
            return False
        others = [other for other in self._all if other.type != condition.type]
        if self._subject.is_deleting:
            # Nothing sets the other conditions again while an object is deleted: they stay valid.
            generation = self._subject.generation
            others = [replace(other, observed_generation=generation) for other in others]
        root = self._types.root
        by_time = sorted(  # which keeps the order of equal times
            [*others, updated], key=lambda each: (each.type == root, each.changed or _MIN_TIME)
        )
        self._all = tuple(by_time)
        if condition.type != root:
            self._derive_root(now)
        return True

    def _derive_root(self, now: datetime) -> None:
        """Set the root: True, or the newest dependent that is False, else the newest Unknown."""
        dependents = [each for each in self._all if each.type in self._types.dependents]
        if not any(
            each.status in (FALSE, UNKNOWN) or not self._is_current(each) for each in dependents
        ):
            self._put(Condition(self._types.root, TRUE, self._types.root, ""), now)
            return
        dependents.sort(key=lambda each: each.changed or _MIN_TIME, reverse=True)
        for status in (FALSE, UNKNOWN):
            for each in dependents:
                if each.status == status:
                    root = Condition(self._types.root, status, each.reason, each.message)
                    self._put(root, now)
                    return
        # All that is wrong is stale: the root waits until those conditions are set again.

    def _is_current(self, condition: Condition) -> bool:
        return condition.observed_generation == self._subject.generation


def awaiting(type_: str) -> Condition:
    """Return the condition of an object that was not reconciled yet."""
    return Condition(
        type_, UNKNOWN, AWAITING_RECONCILIATION, f'condition "{type_}" is awaiting reconciliation'
    )


def parse_conditions(obj: KubeObject) -> tuple[Condition, ...]:
    """Parse the conditions in an object's status; malformed ones are left out."""
    listed = as_mapping(obj.get("status")).get("conditions")
    if not isinstance(listed, list):
        return ()
    read = (Condition.parse(each) for each in listed if isinstance(each, dict))
    return tuple(each for each in read if each is not None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
