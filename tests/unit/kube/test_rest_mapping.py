"""Discovery documents → how kinds are served."""

from typing import Any

from kro_gitops.kube.rest_mapping import first_of_each, is_aggregated, resources
from kube_objects.refs import Kind


def entry(plural: str, kind: str, scope: str = "Namespaced", **more: Any) -> dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": scope, **more}


def document(group: str, *entries: dict[str, Any]) -> dict[str, Any]:
    version = {"version": "v1", "resources": list(entries)}
    metadata = {"name": group} if group else {}
    return {
        "kind": "APIGroupDiscoveryList",
        "items": [{"metadata": metadata, "versions": [version]}],
    }


def test_a_kind_has_plural_scope_verbs_and_parts() -> None:
    pods = entry("pods", "Pod", verbs=["get"], subresources=[{"subresource": "status"}])
    nodes = entry("nodes", "Node", "Cluster")
    pod, node = resources(document("", pods, nodes))
    assert pod.kind == Kind("", "v1", "Pod")
    assert (pod.plural, pod.namespaced) == ("pods", True)
    assert (pod.verbs, pod.subresources) == (frozenset({"get"}), frozenset({"status"}))
    assert not node.namespaced


def test_a_group_names_its_kinds() -> None:
    (found,) = resources(document("apps", entry("deployments", "Deployment")))
    assert found.kind == Kind("apps", "v1", "Deployment")


def test_the_first_of_two_that_serve_a_kind_is_meant() -> None:
    both = document("", entry("first", "Thing"), entry("second", "Thing"))
    assert first_of_each(resources(both))[Kind("", "v1", "Thing")].plural == "first"


def test_a_server_that_does_not_aggregate_is_noticed() -> None:
    assert is_aggregated(document(""))
    assert not is_aggregated({"kind": "APIGroupList", "groups": []})


def test_an_empty_group_is_no_trouble() -> None:
    assert list(resources({"items": [{"metadata": {"name": "stale"}, "versions": [{}]}]})) == []
    assert list(resources({})) == []
