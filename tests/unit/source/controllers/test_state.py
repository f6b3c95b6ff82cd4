"""Whose an instance is decides as whom its children are made: in doubt, nobody's is not ours."""

from dataclasses import replace

import pytest

from kro_gitops.errors import NotYet
from kro_gitops.metadata import (
    INSTANCE_GROUP,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    OWNED,
)
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.controllers.state import FindInstance, SourceState, SourceStore, Trigger
from kro_gitops.tracking.inventory import Entry, Inventory
from kube_objects.refs import Kind, KubeObject, ObjectRef

DOLL = Kind("kro.run", "v1", "Doll")
CHILD = ObjectRef(Kind("", "v1", "ConfigMap"), "kube-system", "loot")


def doll(number: int, within: int | None = None) -> KubeObject:
    labels = {}
    if within is not None:
        labels = {
            OWNED: "true",
            INSTANCE_GROUP: DOLL.group,
            INSTANCE_VERSION: DOLL.version,
            INSTANCE_KIND: DOLL.kind,
            INSTANCE_NAME: f"doll-{within}",
            INSTANCE_NAMESPACE: "team",
        }
    metadata = {"name": f"doll-{number}", "namespace": "team", "labels": labels}
    return {"apiVersion": DOLL.api_version, "kind": DOLL.kind, "metadata": metadata}


def finder(seen: list[KubeObject]) -> FindInstance:
    by_ref = {ObjectRef.of(each): each for each in seen}

    def find(ref: ObjectRef) -> KubeObject | None:
        if ref not in by_ref:
            raise NotYet("owner-unknown", f"{ref} cannot be seen yet")
        return by_ref[ref]

    return find


def store() -> SourceStore:
    made = SourceStore("deployer")
    key = ObjectRef(GIT_SOURCE_KIND, "team", "shop")
    source = {"metadata": {"name": "shop", "namespace": "team"}, "spec": {}}
    inventory = Inventory()
    inventory.put(Entry(ObjectRef.of(doll(0)), "uid", "", "OBJECTS", "a.yaml", ""))
    made.put(SourceState(key, source, inventory))
    return made


@pytest.mark.parametrize("depth", [0, 1, 2, 17, 40])
def test_however_deep_it_is_an_instance_is_its_source_s(depth: int) -> None:
    dolls = [doll(0), *(doll(each, each - 1) for each in range(1, depth + 1))]
    found, find = store(), finder(dolls)
    identity = found.identity_of(dolls[-1], find)
    assert identity is not None
    assert identity.user == "system:serviceaccount:team:deployer"
    assert "kube-system" in found.refusal_of(dolls[-1], CHILD, find)


def test_nothing_is_done_for_an_instance_whose_owner_was_not_seen_yet() -> None:
    found, find = store(), finder([doll(0)])  # of 1, its parent, nothing is known
    with pytest.raises(NotYet):
        found.identity_of(doll(2, 1), find)
    with pytest.raises(NotYet):
        found.refusal_of(doll(2, 1), CHILD, find)


def test_labels_that_lead_in_a_circle_end_somewhere() -> None:
    circle = [doll(1, 2), doll(2, 1)]
    assert store().identity_of(circle[0], finder(circle)) is None


def test_without_sources_every_instance_is_ours() -> None:
    assert SourceStore("deployer").identity_of(doll(2, 1), finder([])) is None


def test_a_trigger_is_set_once_and_taken_once() -> None:
    found = store()
    assert found.trigger("team/shop", Trigger.SYNC)
    assert not found.trigger("team/shop", Trigger.SYNC)
    assert found.take("team/shop", Trigger.SYNC)
    assert not found.take("team/shop", Trigger.SYNC)


def test_a_trigger_outlives_a_replaced_state_but_not_its_source() -> None:
    found = store()
    [state] = found
    found.trigger("team/shop", Trigger.POLL)
    found.put(replace(state, mirror="elsewhere"))
    assert found.has("team/shop", Trigger.POLL)
    found.drop("team/shop")
    assert not found.has("team/shop", Trigger.POLL)
