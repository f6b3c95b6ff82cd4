"""What goes on in the background, through the verbs of the API itself."""

from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import orjson
import pytest

from kube_sandbox.admission.chain import AdmissionChain
from kube_sandbox.admission.plugins.interface import AdmissionContext
from kube_sandbox.admission.plugins.registration import default_plugins
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authorization.rbac import RBACAuthorizer
from kube_sandbox.controllers.client import StoreClient
from kube_sandbox.controllers.client_interface import Target
from kube_sandbox.controllers.manager import ControllerManager, ControllerManagerOptions
from kube_sandbox.controllers.namespace import NamespaceInitializer, delete_namespace
from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.endpoints.decoding import BodyDecoder
from kube_sandbox.endpoints.deletion import Deleter
from kube_sandbox.endpoints.stored_objects import StoredObjects
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin_resources import served_builtins
from kube_sandbox.registry.kinds import Registry
from kube_sandbox.storage.store import Store


class Api:
    """The verbs over a store, and a background with workloads."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 16, 12, tzinfo=UTC)
        self.store = Store()
        numbers = count(1)
        stored = StoredObjects(self.store, {})
        access = RBACAuthorizer(lambda _: ())
        around = AdmissionContext(stored.look, lambda bucket, _: self.all(bucket))
        asked = default_plugins(around, accounts=True, suffix=lambda: f"y{next(numbers):04}")
        admission = AdmissionChain(partial(stored.look, "namespaces", ""), access, plugins=asked)
        writer = Writer(
            stored,
            BodyDecoder(),
            admission,
            lambda: f"00000000-0000-0000-0000-{next(numbers):012}",
            lambda: f"x{next(numbers):04}",
        )
        deleter = Deleter(stored, admission, {"namespaces": delete_namespace})
        registry = Registry()
        for served in served_builtins(strategies(ServiceAllocations())):
            registry.add(served)
        self.verbs = StoreClient(registry, writer, deleter, lambda: self.now)
        duties = ControllerManagerOptions(
            self.verbs.place, self.verbs.namespaced, Settings(), "certificate"
        )
        self.background = ControllerManager(self.store, self.verbs, duties)
        self.background.start()
        self.add("namespaces", {"apiVersion": "v1", "kind": "Namespace"}, name="n")
        self.run()

    def add(self, bucket: str, obj: dict[str, Any], **metadata: str) -> None:
        """Create an object."""
        self.verbs.create("test", bucket, {**obj, "metadata": metadata})

    def run(self, seconds: int = 0) -> None:
        """Let time pass, a second at a time."""
        for _ in range(seconds + 1):
            while self.background.run(self.now) == 0.0:
                pass
            self.now += timedelta(seconds=1)

    def all(self, bucket: str) -> list[Any]:
        """Return the objects of a bucket."""
        return [orjson.loads(each.value) for each in self.store.list(bucket)]


@pytest.fixture
def api() -> Api:
    """Return an API with a namespace."""
    return Api()


ZONE = {"topology.kubernetes.io/zone": "z"}
ROBOT = {"serviceAccountName": "robot"}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {"containers": [{"name": "a", "image": "x"}]},
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "a", "image": "x"}]},
        },
    },
}


def managers(obj: Any) -> set[tuple[str, str]]:
    """Return who wrote an object, and which part of it."""
    found = obj["metadata"]["managedFields"]
    return {(each["manager"], each.get("subresource", "")) for each in found}


def test_a_deployment_runs_through_the_verbs(api: Api) -> None:
    api.add("deployments.apps", DEPLOYMENT, name="web", namespace="n")
    api.run(5)
    (deployment,) = api.all("deployments.apps")
    assert deployment["status"]["availableReplicas"] == 2
    assert deployment["metadata"]["generation"] == 1
    assert managers(deployment) == {("test", ""), ("kube-controller-manager", "status")}
    pods = api.all("pods")
    assert [each["status"]["phase"] for each in pods] == ["Running", "Running"]
    assert {each["spec"]["nodeName"] for each in pods} == {"embedded"}
    assert managers(pods[0]) == {("kube-controller-manager", ""), ("kubelet", "status")}
    assert pods[0]["spec"]["enableServiceLinks"] is True
    assert pods[0]["spec"]["serviceAccountName"] == "default"
    assert pods[0]["spec"]["volumes"][0]["name"].startswith("kube-api-access-")


def test_nobody_owns_what_plugins_add(api: Api) -> None:
    api.add("pods", POD, name="a", namespace="n")
    (pod,) = api.all("pods")
    (entry,) = pod["metadata"]["managedFields"]
    owned = set(entry["fieldsV1"]["f:spec"])
    added = {"tolerations", "priority", "preemptionPolicy", "serviceAccountName", "volumes"}
    assert added < set(pod["spec"])
    assert not {f"f:{each}" for each in added} & owned
    assert "f:volumeMounts" not in entry["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"a"}']


def test_a_pod_is_tried_again_until_its_account_is_there(api: Api) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**POD["spec"], **ROBOT}}
    spec = {**DEPLOYMENT["spec"], "template": template}
    api.add("deployments.apps", {**DEPLOYMENT, "spec": spec}, name="web", namespace="n")
    api.run(3)
    assert api.all("pods") == []
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    api.add("serviceaccounts", account, name="robot", namespace="n")
    api.run(5)
    assert {each["spec"]["serviceAccountName"] for each in api.all("pods")} == {"robot"}
    assert api.all("deployments.apps")[0]["status"]["availableReplicas"] == 2


def test_a_new_namespace_has_its_account_before_controllers_look(api: Api) -> None:
    soon: list[Any] = []
    api.store.listen(NamespaceInitializer(api.verbs, "certificate", soon.append).on_change)
    api.add("namespaces", {"apiVersion": "v1", "kind": "Namespace"}, name="m")
    for work in soon:
        work()
    api.add("pods", POD, name="a", namespace="m")
    api.run()
    for bucket, name in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
        there = [each.name for each in api.store.list(bucket, "m")]
        assert there == [name]


def test_an_object_is_refused_before_it_is_given_a_name(api: Api) -> None:
    with pytest.raises(StatusError) as caught:
        api.add("pods", {**POD, "spec": {**POD["spec"], **ROBOT}}, generateName="g-", namespace="n")
    assert caught.value.message == (
        'pods "g-" is forbidden: error looking up service account n/robot: '
        'serviceaccount "robot" not found'
    )
    assert caught.value.details["name"] == "g-"
    api.add("pods", POD, generateName="g-", namespace="n")
    assert len(api.all("pods")) == 1


def test_a_pod_has_the_zone_of_the_node_that_it_is_bound_to(api: Api) -> None:
    node = {"apiVersion": "v1", "kind": "Node"}
    api.verbs.create("test", "nodes", {**node, "metadata": {"name": "embedded", "labels": ZONE}})
    api.add("pods", POD, name="a", namespace="n")
    assert "labels" not in api.all("pods")[0]["metadata"]
    api.run(2)
    assert api.all("pods")[0]["metadata"]["labels"] == ZONE


def test_a_namespace_and_all_in_it_go_through_the_verbs(api: Api) -> None:
    assert {each["metadata"]["name"] for each in api.all("configmaps")} == {"kube-root-ca.crt"}
    api.add("deployments.apps", DEPLOYMENT, name="web", namespace="n")
    api.run(5)
    (namespace,) = api.all("namespaces")
    api.verbs.delete("namespaces", Target("", "n", namespace["metadata"]["uid"]))
    api.run(3)
    for bucket in ("deployments.apps", "replicasets.apps", "pods", "configmaps", "namespaces"):
        assert api.all(bucket) == []


def test_another_object_of_the_same_name_is_left_alone(api: Api) -> None:
    api.add("configmaps", {"apiVersion": "v1", "kind": "ConfigMap"}, name="a", namespace="n")
    metadata = {"name": "a", "namespace": "n", "uid": "another"}
    changed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "y"}}
    with pytest.raises(StatusError) as caught:
        api.verbs.replace("test", "configmaps", changed)
    assert caught.value.code == 404
    with pytest.raises(StatusError) as caught:
        api.verbs.delete("configmaps", Target("n", "a", "another"))
    assert caught.value.code == 409
    assert "data" not in api.all("configmaps")[0]


def test_kinds_have_their_places(api: Api) -> None:
    place = api.verbs.place("apps/v1", "Deployment")
    assert place is not None
    assert (place.bucket, place.is_namespaced) == ("deployments.apps", True)
    assert api.verbs.place("f.example.com/v1", "Foo") is None
    assert "namespaces" not in api.verbs.namespaced()
    assert "pods" in api.verbs.namespaced()
