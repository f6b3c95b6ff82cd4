"""Who looks at whom among the objects of a cluster."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.indexes import (
    IndexQuery,
    Key,
    RelatedBucket,
    RelatedIndexes,
    label_index_keys,
    label_query,
)
from kube_sandbox.controllers.workloads.registry import controllers, standing_controllers


def _selected(service: KubeObject) -> list[IndexQuery]:
    selector = service["spec"]["selector"]
    return [] if selector is None else [label_query(service["metadata"]["namespace"], selector)]


SERVICES = {"services": (RelatedBucket("pods", wishes=_selected, ties=label_index_keys),)}


def service(selector: dict[str, str] | None, namespace: str = "n") -> KubeObject:
    return {"metadata": {"namespace": namespace}, "spec": {"selector": selector}}


def pod(labels: dict[str, str], namespace: str = "n") -> KubeObject:
    return {"metadata": {"namespace": namespace, "labels": labels}}


def at(bucket: str, name: str, namespace: str = "n") -> Key:
    return (bucket, namespace, name)


def test_a_change_is_told_only_to_those_who_look_for_it() -> None:
    related = RelatedIndexes(SERVICES)
    for name in ("a", "b", "c"):
        related.put(at("services", name), service({"app": name, "tier": "web"}))
    related.put(at("services", "web"), service({"tier": "web"}))
    told = related.put(at("pods", "x"), pod({"app": "b", "tier": "web", "more": "1"}))
    assert told == [at("services", "b"), at("services", "web")]


def test_who_looked_at_an_object_is_told_that_it_is_another_now() -> None:
    related = RelatedIndexes(SERVICES)
    for name in ("a", "b"):
        related.put(at("services", name), service({"app": name}))
    related.put(at("pods", "x"), pod({"app": "a"}))
    both = [at("services", "a"), at("services", "b")]
    assert related.put(at("pods", "x"), pod({"app": "b"})) == both
    assert related.seen(at("services", "a")) == {"pods": []}
    assert related.put(at("pods", "x"), None) == [at("services", "b")]
    assert related.seen(at("services", "b")) == {"pods": []}


def test_an_empty_wish_is_for_all_in_the_namespace() -> None:
    related = RelatedIndexes(SERVICES)
    related.put(at("services", "all"), service({}))
    related.put(at("pods", "x"), pod({}))
    related.put(at("pods", "y", "other"), pod({}, "other"))
    assert related.seen(at("services", "all")) == {"pods": [at("pods", "x")]}


def test_claims_volumes_and_sets_see_their_own() -> None:
    known = {**controllers(), **standing_controllers()}
    related = RelatedIndexes({bucket: each.sees for bucket, each in known.items()})
    claim = at("persistentvolumeclaims", "data-db-0")
    volume = ("persistentvolumes", "", "pv")
    statefulset, user = at("statefulsets.apps", "db"), at("pods", "db-0")
    objects: dict[Key, dict[str, Any]] = {
        claim: {"uid": "u1"},
        volume: {},
        statefulset: {},
        user: {"labels": {}},
    }
    specs: dict[Key, dict[str, Any]] = {
        volume: {"claimRef": {"uid": "u1"}},
        statefulset: {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
        user: {"volumes": [{"persistentVolumeClaim": {"claimName": "data-db-0"}}]},
    }
    for key, more in objects.items():
        metadata = {"name": key[2], **({"namespace": key[1]} if key[1] else {}), **more}
        related.put(key, {"metadata": metadata, "spec": specs.get(key, {})})
    assert related.seen(volume) == related.seen(statefulset) == {"persistentvolumeclaims": [claim]}
    assert related.seen(claim) == {"pods": [user]}
    assert related.put(claim, None) == [volume, statefulset]


_LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"))
_WRITES = st.lists(
    st.tuples(
        st.sampled_from(("services", "pods")),
        st.sampled_from("xyz"),
        st.sampled_from(("n", "m")),
        st.none() | _LABELS,
    )
)


@given(_WRITES)
def test_what_is_seen_is_what_is_selected_whatever_happened_before(
    writes: list[tuple[str, str, str, dict[str, str] | None]],
) -> None:
    related = RelatedIndexes(SERVICES)
    there: dict[Key, dict[str, str]] = {}
    for bucket, name, namespace, labels in writes:
        key = (bucket, namespace, name)
        if labels is None:
            there.pop(key, None)
            related.put(key, None)
        else:
            there[key] = labels
            make = service if bucket == "services" else pod
            related.put(key, make(labels, namespace))
    for (bucket, namespace, name), wanted in there.items():
        if bucket == "services":
            chosen = [
                key
                for key, labels in sorted(there.items())
                if key[:2] == ("pods", namespace) and wanted.items() <= labels.items()
            ]
            assert related.seen((bucket, namespace, name)) == {"pods": chosen}
