"""Children in reverse order: what may go now."""

from typing import Any

import pytest

from kro_gitops.engine.plan.deletion import asks_to_orphan, teardown, was_orphaned
from kro_gitops.metadata import APPLY_ORDER, DESIRED_HASH
from tests.builders import instance


def member(name: str, order: str | None, **metadata: Any) -> dict[str, Any]:
    annotations = {} if order is None else {APPLY_ORDER: order}
    return {"metadata": {"name": name, "annotations": annotations, **metadata}}


def names(members: Any) -> list[str]:
    return [each["metadata"]["name"] for each in members]


def test_nothing_left_is_the_end() -> None:
    assert teardown([]) is None


def test_the_highest_wave_goes_first() -> None:
    found = teardown([member("a", "1"), member("c", "10"), member("b", "2"), member("d", "10")])
    assert found is not None
    assert found.wave == 10
    assert names(found.members) == ["c", "d"]


def test_who_goes_already_is_waited_for_but_not_told_again() -> None:
    going = member("b", "2", deletionTimestamp="2026-01-01T00:00:00Z")
    found = teardown([member("a", "1"), going, member("c", "2")])
    assert found is not None
    assert names(found.members) == ["b", "c"]
    assert names(found.to_delete) == ["c"]


@pytest.mark.parametrize("order", [None, "", "-3", "two", "1e3", "0"])
def test_what_says_nothing_sensible_goes_last(order: str | None) -> None:
    found = teardown([member("odd", order), member("a", "1")])
    assert found is not None
    assert names(found.members) == ["a"]
    rest = teardown([member("odd", order)])
    assert rest is not None
    assert rest.wave == 0


def test_orphaning_is_asked_for_by_a_finalizer() -> None:
    assert asks_to_orphan(instance(finalizers=["orphan", "kro.run/finalizer"]))
    assert not asks_to_orphan(instance(finalizers=["foregroundDeletion"]))
    assert not asks_to_orphan(instance())


def child(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "town", "labels": {DESIRED_HASH: "x"}, **metadata}}


def test_a_child_without_its_owner_was_orphaned() -> None:
    parent = instance(uid="u")
    assert was_orphaned(parent, child())
    assert was_orphaned(parent, child(ownerReferences=[{"uid": "other"}]))
    assert not was_orphaned(parent, child(ownerReferences=[{"uid": "other"}, {"uid": "u"}]))


def test_a_child_that_never_had_an_owner_was_not_orphaned() -> None:
    parent = instance(uid="u")
    assert not was_orphaned(parent, child(namespace="elsewhere"))
    assert not was_orphaned(parent, child(labels={}))
