"""What a source remembers between two reconciles."""

from dataclasses import replace

from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.controllers.state import SourceState, SourceStore, Trigger
from kro_gitops.tracking.inventory import Inventory
from kube_objects.refs import ObjectRef


def store() -> SourceStore:
    made = SourceStore()
    key = ObjectRef(GIT_SOURCE_KIND, "team", "shop")
    source = {"metadata": {"name": "shop", "namespace": "team"}, "spec": {}}
    made.put(SourceState(key, source, Inventory()))
    return made


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
