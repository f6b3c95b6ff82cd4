"""Which Role would let somebody do what they may not."""

import pytest

from kro_gitops.kube.access_review import Permission, role_for
from kro_gitops.kube.api import Resource
from kube_objects.refs import Kind

PODS = Resource(Kind("", "v1", "Pod"), "pods", namespaced=True)
MAPS = Resource(Kind("", "v1", "ConfigMap"), "configmaps", namespaced=True)
DEPLOYMENTS = Resource(Kind("apps", "v1", "Deployment"), "deployments", namespaced=True)
NODES = Resource(Kind("", "v1", "Node"), "nodes", namespaced=False)


def rights(resource: Resource, namespace: str, *verbs: str) -> list[Permission]:
    return [Permission(verb, resource, namespace) for verb in verbs]


def test_rights_in_one_namespace_are_a_role_with_few_rules() -> None:
    wanted = [
        *rights(PODS, "shop", "watch", "get", "list"),
        *rights(MAPS, "shop", "list", "get", "watch", "get"),
        *rights(DEPLOYMENTS, "shop", "patch"),
    ]
    assert role_for(wanted, "extra") == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "extra", "namespace": "shop"},
        "rules": [
            {
                "apiGroups": [""],
                "resources": ["configmaps", "pods"],
                "verbs": ["get", "list", "watch"],
            },
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]},
        ],
    }


@pytest.mark.parametrize(
    "wanted",
    [
        rights(PODS, "", "list"),
        rights(PODS, "a", "get") + rights(PODS, "b", "get"),
        rights(NODES, "shop", "get"),
        rights(PODS, "shop", "get") + rights(NODES, "shop", "get"),
    ],
    ids=["everywhere", "two namespaces", "cluster-scoped", "both"],
)
def test_rights_beyond_one_namespace_are_a_cluster_role(wanted: list[Permission]) -> None:
    role = role_for(wanted)
    assert role["kind"] == "ClusterRole"
    assert "namespace" not in role["metadata"]


def test_a_right_on_one_object_names_it() -> None:
    (rule,) = role_for([Permission("get", MAPS, "shop", "settings")])["rules"]
    assert rule["resourceNames"] == ["settings"]


def test_an_unknown_verb_comes_last() -> None:
    (rule,) = role_for(rights(PODS, "shop", "approve", "delete", "get"))["rules"]
    assert rule["verbs"] == ["get", "delete", "approve"]
