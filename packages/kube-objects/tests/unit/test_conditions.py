"""Conditions add up to Ready: kro's rules, seen from outside."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_objects.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Condition,
    ConditionSet,
    ConditionTypes,
    Subject,
    parse_conditions,
)

BORN = datetime(2026, 3, 1, 8, tzinfo=UTC)
NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
EVEN_LATER = NOW + timedelta(seconds=2)

MANAGED, RESOLVED, READY = "InstanceManaged", "GraphResolved", "ResourcesReady"
TYPES = ConditionTypes((MANAGED, RESOLVED, READY), obsolete=("InstanceSynced",))


def fresh(generation: int = 1, stored: Iterable[Condition] = ()) -> ConditionSet:
    return ConditionSet(TYPES, Subject(generation, BORN), stored, NOW)


def true(type_: str, at: datetime = NOW, generation: int = 1) -> Condition:
    return Condition(type_, TRUE, "Fine", "", at, generation)


def all_true(generation: int = 1) -> list[Condition]:
    return [true(type_, NOW, generation) for type_ in (MANAGED, RESOLVED, READY, "Ready")]


def types_of(conditions: ConditionSet) -> list[str]:
    return [each.type for each in conditions.all]


def found(conditions: ConditionSet, type_: str) -> Condition:
    condition = conditions.find(type_)
    assert condition is not None
    return condition


class TestAFreshObject:
    def test_has_every_condition_unknown_since_it_was_made(self) -> None:
        assert fresh().to_json() == [
            {
                "type": type_,
                "status": "Unknown",
                "reason": "AwaitingReconciliation",
                "message": f'condition "{about}" is awaiting reconciliation',
                "lastTransitionTime": "2026-03-01T08:00:00Z",
                "observedGeneration": 1,
            }
            for type_, about in (
                (MANAGED, MANAGED),
                (RESOLVED, RESOLVED),
                (READY, READY),
                # The root repeats the dependent that stands first.
                ("Ready", MANAGED),
            )
        ]

    def test_is_not_ready(self) -> None:
        assert not fresh().is_ready

    def test_keeps_what_is_stored_and_drops_what_is_obsolete(self) -> None:
        stored = [true("InstanceSynced"), *all_true(), true("MyOwn")]
        conditions = fresh(stored=stored)
        assert sorted(types_of(conditions)) == sorted([MANAGED, RESOLVED, READY, "Ready", "MyOwn"])
        assert conditions.is_ready

    def test_a_dependent_that_is_new_in_this_version_makes_the_root_unknown(self) -> None:
        conditions = fresh(stored=[c for c in all_true() if c.type != RESOLVED])
        assert conditions.root.status == UNKNOWN
        assert conditions.root.changed == NOW
        assert found(conditions, RESOLVED).changed == BORN

    def test_without_a_time_of_creation_has_conditions_without_time(self) -> None:
        conditions = ConditionSet(TYPES, Subject(1), (), NOW)
        assert all("lastTransitionTime" not in each for each in conditions.to_json())


class TestSetting:
    def test_the_root_is_not_set_by_hand(self) -> None:
        with pytest.raises(ValueError, match="Ready follows from the others"):
            fresh().set(Condition("Ready", TRUE), NOW)

    def test_a_changed_status_gets_the_time_of_the_change(self) -> None:
        conditions = fresh()
        assert conditions.set(Condition(MANAGED, TRUE, "Managed", "fine"), LATER)
        assert found(conditions, MANAGED) == Condition(MANAGED, TRUE, "Managed", "fine", LATER, 1)

    def test_new_words_for_the_same_status_keep_the_time(self) -> None:
        conditions = fresh(stored=all_true())
        assert conditions.set(Condition(READY, TRUE, "AllReady", "better"), LATER)
        assert found(conditions, READY) == Condition(READY, TRUE, "AllReady", "better", NOW, 1)

    def test_saying_the_same_again_changes_nothing(self) -> None:
        conditions = fresh(stored=[*all_true()[:3], Condition("Ready", FALSE, "Odd", "", NOW, 1)])
        assert not conditions.set(Condition(READY, TRUE, "Fine", ""), LATER)
        # Not even the root, which does not fit its dependents here.
        assert conditions.root.reason == "Odd"

    def test_saying_the_same_of_a_new_generation_is_news(self) -> None:
        conditions = fresh(generation=2, stored=all_true(generation=1))
        assert conditions.set(Condition(READY, TRUE, "Fine", ""), LATER)
        assert found(conditions, READY) == true(READY, NOW, 2)

    def test_an_absent_message_is_not_an_empty_one(self) -> None:
        conditions = fresh(stored=all_true())
        assert conditions.set(Condition(READY, TRUE, "Fine", None), LATER)
        assert "message" not in found(conditions, READY).to_json()

    def test_a_condition_nobody_knows_is_new_now_and_does_not_count(self) -> None:
        conditions = fresh(stored=all_true())
        conditions.set(Condition("MyOwn", FALSE, "Mine", ""), LATER)
        assert found(conditions, "MyOwn").changed == LATER
        assert conditions.is_ready

    def test_while_an_object_goes_the_others_follow_to_its_generation(self) -> None:
        conditions = ConditionSet(TYPES, Subject(2, BORN, is_deleting=True), all_true(1), NOW)
        conditions.set(Condition(READY, UNKNOWN, "UnderDeletion", "deleting resources"), LATER)
        assert {each.observed_generation for each in conditions.all} == {2}
        assert conditions.root == Condition(
            "Ready", UNKNOWN, "UnderDeletion", "deleting resources", LATER, 2
        )


class TestOrder:
    def test_conditions_stand_in_the_order_of_their_changes_and_the_root_last(self) -> None:
        conditions = fresh()
        conditions.set(true(READY), LATER)
        conditions.set(true(MANAGED), EVEN_LATER)
        assert types_of(conditions) == [RESOLVED, READY, MANAGED, "Ready"]

    def test_a_healthy_instance_reads_from_cause_to_effect(self) -> None:
        conditions = fresh()
        for type_ in (MANAGED, RESOLVED, READY):
            conditions.set(true(type_), LATER)
        assert types_of(conditions) == [MANAGED, RESOLVED, READY, "Ready"]

    def test_conditions_without_a_time_come_first(self) -> None:
        conditions = fresh(stored=[*all_true(), Condition("MyOwn", TRUE)])
        conditions.set(Condition(READY, FALSE, "NotReady", ""), LATER)
        assert types_of(conditions) == ["MyOwn", MANAGED, RESOLVED, READY, "Ready"]


class TestTheRoot:
    def test_is_true_when_all_dependents_are(self) -> None:
        conditions = fresh()
        for type_ in (MANAGED, RESOLVED, READY):
            assert not conditions.is_ready
            conditions.set(true(type_), LATER)
        assert conditions.root == Condition("Ready", TRUE, "Ready", "", LATER, 1)
        assert conditions.is_ready

    def test_repeats_the_newest_that_is_false(self) -> None:
        conditions = fresh()
        conditions.set(Condition(RESOLVED, FALSE, "ResolutionFailed", "no graph"), LATER)
        conditions.set(Condition(READY, FALSE, "NotReady", "no pods"), EVEN_LATER)
        root = conditions.root
        assert (root.status, root.reason, root.message) == (FALSE, "NotReady", "no pods")

    def test_prefers_false_to_a_newer_unknown(self) -> None:
        conditions = fresh()
        conditions.set(Condition(RESOLVED, FALSE, "ResolutionFailed", "no graph"), LATER)
        conditions.set(Condition(READY, TRUE, "Fine", ""), LATER)
        conditions.set(Condition(READY, UNKNOWN, "Odd", "?"), EVEN_LATER)
        assert conditions.root.reason == "ResolutionFailed"

    def test_waits_for_every_dependent_to_speak_about_a_new_generation(self) -> None:
        conditions = fresh(generation=2, stored=all_true(generation=1))
        conditions.set(true(MANAGED), LATER)
        conditions.set(true(RESOLVED), LATER)
        # Still what it was for the generation before.
        assert conditions.root == true("Ready", NOW, 1)
        assert not conditions.is_ready
        conditions.set(true(READY), LATER)
        assert conditions.root == Condition("Ready", TRUE, "Ready", "", NOW, 2)
        assert conditions.is_ready

    def test_of_an_object_without_dependents_is_true_as_soon_as_anything_is_said(self) -> None:
        conditions = ConditionSet(ConditionTypes(()), Subject(1, BORN), (), NOW)
        assert conditions.root.status == UNKNOWN
        conditions.set(Condition("MyOwn", FALSE), LATER)
        assert conditions.is_ready


def test_is_true_asks_for_all_and_ignores_generations() -> None:
    conditions = fresh(generation=7, stored=all_true(generation=1))
    assert conditions.is_true(MANAGED, READY)
    conditions.set(Condition(READY, FALSE, "NotReady", ""), LATER)
    assert not conditions.is_true(MANAGED, READY)
    assert not conditions.is_true("MyOwn")


class TestTheWire:
    def test_conditions_of_an_object_are_taken_over(self) -> None:
        obj = {
            "metadata": {
                "generation": 3,
                "creationTimestamp": "2026-03-01T08:00:00Z",
                "deletionTimestamp": "2026-03-01T10:00:00Z",
            },
            "status": {"conditions": [true(MANAGED, NOW, 3).to_json()]},
        }
        assert Subject.of(obj) == Subject(3, BORN, is_deleting=True)
        conditions = ConditionSet.of(TYPES, obj, NOW)
        assert found(conditions, MANAGED) == true(MANAGED, NOW, 3)
        assert found(conditions, READY).changed == BORN

    @pytest.mark.parametrize(
        "status",
        [
            pytest.param(None, id="no status"),
            pytest.param("odd", id="a status that is text"),
            pytest.param({"conditions": None}, id="null"),
            pytest.param({"conditions": {"a": 1}}, id="a map"),
            pytest.param({"conditions": ["x", None, 3, {}, {"type": ""}]}, id="no conditions"),
        ],
    )
    def test_what_is_no_condition_is_left_out(self, status: Any) -> None:
        assert parse_conditions({"status": status}) == ()

    def test_fields_of_a_wrong_type_read_as_absent(self) -> None:
        raw = {"type": "A", "status": 1, "reason": 2, "message": [], "observedGeneration": True}
        assert Condition.parse(raw) == Condition("A", "")

    def test_a_generation_of_zero_is_not_written(self) -> None:
        assert Condition("A", TRUE).to_json() == {"type": "A", "status": "True"}


texts = st.none() | st.text(max_size=5)
times = st.none() | st.integers(0, 5).map(lambda seconds: BORN + timedelta(seconds=seconds))
conditions_of_any_type = st.builds(
    Condition,
    st.sampled_from((MANAGED, RESOLVED, READY, "MyOwn")),
    st.sampled_from((TRUE, FALSE, UNKNOWN)),
    texts,
    texts,
    times,
    st.integers(0, 3),
)
stored_conditions = st.lists(conditions_of_any_type, unique_by=lambda each: each.type)
said = st.lists(conditions_of_any_type, max_size=8)


@settings(max_examples=200)
@given(conditions_of_any_type)
def test_a_condition_survives_the_wire(condition: Condition) -> None:
    assert Condition.parse(condition.to_json()) == condition


@settings(max_examples=200)
@given(stored_conditions, said, st.booleans())
def test_whatever_is_said_ready_means_all_dependents_are_true_for_this_generation(
    stored: list[Condition], said: list[Condition], is_deleting: bool
) -> None:
    conditions = ConditionSet(TYPES, Subject(3, BORN, is_deleting), stored, NOW)
    clock = (NOW + timedelta(seconds=seconds) for seconds in count())
    for condition in said:
        conditions.set(condition, next(clock))
    dependents = [found(conditions, type_) for type_ in TYPES.dependents]
    healthy = [each.status == TRUE and each.observed_generation == 3 for each in dependents]
    if conditions.is_ready:
        assert all(healthy)
    assert types_of(conditions)[-1] == "Ready"
    assert len(set(types_of(conditions))) == len(conditions.all)


@settings(max_examples=200)
@given(stored_conditions, said)
def test_what_was_written_and_read_back_is_taken_over_without_a_change(
    stored: list[Condition], said: list[Condition]
) -> None:
    conditions = ConditionSet(TYPES, Subject(3, BORN), stored, NOW)
    for condition in said:
        conditions.set(condition, NOW)
    written = conditions.to_json()
    read = parse_conditions({"status": {"conditions": written}})
    assert ConditionSet(TYPES, Subject(3, BORN), read, LATER).to_json() == written
