"""What a source claims of others before its revision has been gone through."""

from dataclasses import dataclass

from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.source.controllers.polling import claims, unclaimed
from kro_gitops.source.controllers.registry import Held, Registry
from kro_gitops.source.desired import Provenance
from kro_gitops.source.snapshot import Library, Snapshot
from kro_gitops.source.spec import Allow
from kro_gitops.source.stages import Stage
from kro_gitops.tracking.inventory import Entry, Inventory
from kro_gitops.tracking.methods import TrackingMetadata
from kube_objects.refs import Kind, ObjectRef

CONFIG_MAP = Kind("", "v1", "ConfigMap")


@dataclass(frozen=True)
class File:
    path: str
    id: str


def held(name: str, *entries: Entry) -> Held:
    key = ObjectRef(GIT_SOURCE_KIND, "team", name)
    return Held(key, {"metadata": {"uid": name}}, Inventory.of({0: entries}))


def snapshot(text: str) -> Snapshot:
    return Library().snapshot("c" * 40, [File("a.yaml", "1")], {"1": text.encode()})


def test_what_a_new_revision_wants_is_claimed_before_it_is_applied() -> None:
    key = ("", "ConfigMap", "team", "moved")
    former = held("a", Entry(ObjectRef(CONFIG_MAP, "team", "moved"), "uid"))
    heir = held("b")
    heir.wanted = frozenset()  # its last revision did not want it
    registry = Registry()
    registry.put(former)
    registry.put(heir)
    assert registry.claimant(key, former) is None
    found = snapshot("{apiVersion: v1, kind: ConfigMap, metadata: {name: moved}}")
    heir.coming = claims("team", Allow(), found.items)
    assert registry.claimant(key, former) is heir


def test_nobody_claims_what_it_may_not_have() -> None:
    found = snapshot(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: others}}\n---\n"
        "{apiVersion: v1, kind: Namespace, metadata: {name: others}}"
    )
    assert ("", "ConfigMap", "others", "a") not in claims("team", Allow(), found.items)
    assert ("", "Namespace", "", "others") not in claims("team", Allow(), found.items)
    allow = Allow(namespaces=("oth*",), cluster_scoped=True)
    assert ("", "ConfigMap", "others", "a") in claims("team", allow, found.items)
    assert ("", "Namespace", "", "others") in claims("team", allow, found.items)


def test_what_a_source_is_known_to_want_is_not_claimed_again() -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    found = snapshot(text)
    [item] = found.items
    source = held("a")
    assert list(unclaimed(source, found)) == [item]
    ref = ObjectRef(CONFIG_MAP, "team", "a")
    made = Provenance("team/a", "c" * 40).onto(item, ref, None, Stage.OBJECTS, TrackingMetadata())
    source.made[item] = made
    assert list(unclaimed(source, found)) == [item]  # placed once, in a sync that did not end
    source.wanted = frozenset({made.key})
    assert list(unclaimed(source, found)) == []
    assert list(unclaimed(source, snapshot(text))) != []  # read anew: it may say something else
