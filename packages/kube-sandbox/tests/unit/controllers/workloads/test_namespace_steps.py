"""How a namespace begins and ends; conditions were seen on a real control plane."""

from typing import Any

from sandbox_testing.owned_objects import config_map
from sandbox_testing.simulated_cluster import World

NAMESPACE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "n"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


def test_a_namespace_takes_its_content_along() -> None:
    world = World()
    made = world.add(NAMESPACE)
    world.add(config_map("a"))
    world.run()
    world.remove(made)
    world.run()
    assert world.names("configmaps") == []
    assert world.names("namespaces") == []


def test_a_namespace_says_what_holds_it_up() -> None:
    world = World()
    made = world.add(NAMESPACE)
    world.add(config_map("held", finalizers=["f.example.com/x", "f.example.com/y"]))
    world.add(config_map("held2", finalizers=["f.example.com/x"]))
    metadata = {"name": "d", "finalizers": ["f.example.com/x"]}
    spec = {"replicas": 0}
    world.add({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    world.run()
    world.remove(made)
    world.run(3)
    found = world.find("namespaces", "n", "")
    assert [
        (each["type"], each["status"], each["reason"], each["message"])
        for each in found["status"]["conditions"]
    ] == [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 2 resource instances, "
            "deployments.apps has 1 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: "
            "f.example.com/x in 3 resource instances, f.example.com/y in 1 resource instances",
        ),
    ]
    for bucket, name in (
        ("configmaps", "held"),
        ("configmaps", "held2"),
        ("deployments.apps", "d"),
    ):
        obj = world.find(bucket, name)
        del obj["metadata"]["finalizers"]
        world.change(obj)
    world.run()
    assert world.names("namespaces") == []


def test_a_new_namespace_is_furnished() -> None:
    world = World(authority="certificate")
    world.add(NAMESPACE)
    world.run()
    assert world.names("serviceaccounts") == ["default"]
    assert world.find("configmaps", "kube-root-ca.crt")["data"] == {"ca.crt": "certificate"}
    world.remove(world.find("configmaps", "kube-root-ca.crt"))
    world.run()
    assert world.names("configmaps") == ["kube-root-ca.crt"]
    found = world.find("configmaps", "kube-root-ca.crt")
    world.change({**found, "data": {"ca.crt": "of another server"}})
    world.run()
    assert world.find("configmaps", "kube-root-ca.crt")["data"] == {"ca.crt": "certificate"}
