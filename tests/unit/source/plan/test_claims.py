"""What a source claims of others before its revision has been gone through."""

from dataclasses import dataclass, replace

from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.api.types import Allow, SourceSpec, WantedRef
from kro_gitops.source.controllers.state import SourceState, SourceStore
from kro_gitops.source.files.revision import Library, Snapshot
from kro_gitops.source.plan.claims import (
    Claims,
    coming_claims,
    follows_same_ref,
    postpone,
    unclaimed,
)
from kro_gitops.source.plan.desired import Provenance
from kro_gitops.source.plan.stages import Stage
from kro_gitops.tracking.inventory import Entry, Inventory
from kro_gitops.tracking.methods import TrackingMetadata
from kube_objects.refs import Kind, ObjectRef

CONFIG_MAP = Kind("", "v1", "ConfigMap")


@dataclass(frozen=True)
class File:
    path: str
    id: str


def state(name: str, *entries: Entry) -> SourceState:
    key = ObjectRef(GIT_SOURCE_KIND, "team", name)
    return SourceState(key, {"metadata": {"uid": name}}, Inventory.of({0: entries}))


def snapshot(text: str) -> Snapshot:
    return Library().snapshot("c" * 40, [File("a.yaml", "1")], {"1": text.encode()})


def test_what_a_new_revision_wants_is_claimed_before_it_is_applied() -> None:
    key = ("", "ConfigMap", "team", "moved")
    former = state("a", Entry(ObjectRef(CONFIG_MAP, "team", "moved"), "uid"))
    heir = state("b")
    heir = replace(heir, claims=Claims(frozenset()))  # its last revision did not have it
    store = SourceStore()
    store.put(former)
    store.put(heir)
    assert not list(store.claimants(key, former.name))
    found = snapshot("{apiVersion: v1, kind: ConfigMap, metadata: {name: moved}}")
    coming = coming_claims("team", Allow(), found.items)
    heir = store.put(replace(heir, claims=Claims(frozenset(), coming)))
    assert list(store.claimants(key, former.name)) == [heir]


def test_nobody_claims_what_it_may_not_have() -> None:
    found = snapshot(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: others}}\n---\n"
        "{apiVersion: v1, kind: Namespace, metadata: {name: others}}"
    )
    assert ("", "ConfigMap", "others", "a") not in coming_claims("team", Allow(), found.items)
    assert ("", "Namespace", "", "others") not in coming_claims("team", Allow(), found.items)
    allow = Allow(namespaces=("oth*",), cluster_scoped=True)
    assert ("", "ConfigMap", "others", "a") in coming_claims("team", allow, found.items)
    assert ("", "Namespace", "", "others") in coming_claims("team", allow, found.items)


def test_what_a_source_is_known_to_want_is_not_claimed_again() -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    found = snapshot(text)
    [item] = found.items
    assert list(unclaimed(found, None, {})) == [item]
    ref = ObjectRef(CONFIG_MAP, "team", "a")
    desired = Provenance("team/a", "c" * 40).stamp(
        item, ref, None, Stage.OBJECTS, TrackingMetadata()
    )
    known = {item: desired}
    assert list(unclaimed(found, None, known)) == [item]  # planned in a sync that did not end
    applied = frozenset({desired.key})
    assert list(unclaimed(found, applied, known)) == []
    assert list(unclaimed(snapshot(text), applied, known)) != []  # parsed again: it may differ


def test_pruning_waits_for_each_commit_anew_and_not_for_ever() -> None:
    first = postpone(None, "a", 10.0)
    assert postpone(first, "a", 35.0) is first
    assert not first.is_over(39.0)
    assert first.is_over(40.0)
    assert postpone(first, "b", 35.0).since == 35.0


def test_sources_are_related_by_repository_ref_and_pin() -> None:
    spec = SourceSpec(url="https://example.org/a")
    assert follows_same_ref(spec, SourceSpec(url="https://example.org/a"))
    assert not follows_same_ref(spec, SourceSpec(url="https://example.org/b"))
    main = SourceSpec(url="https://example.org/a", ref=WantedRef(branch="main"))
    assert not follows_same_ref(spec, main)
