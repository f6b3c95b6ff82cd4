"""An external reference shows nothing that the identity of its instance may not read."""

from collections.abc import Callable
from typing import Any

import pytest

from kro_gitops.engine.authority import Authority, ControllerAuthority, Lineage
from kro_gitops.kube.api import Identity
from kube_objects.refs import KubeObject
from tests.builders import config_map, definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene

Play = Callable[[Scene], None]

OWN, OTHER = "town", "vault"
RBAC = "rbac.authorization.k8s.io"


class Robot(ControllerAuthority):
    """The service account `robot` of the instance's namespace acts for every instance."""

    def authority_of(self, instance: KubeObject, _lineage: Lineage) -> Authority:
        return Authority(Identity.service_account(instance["metadata"]["namespace"], "robot"))


def named(kind: str, name: str, namespace: str = "", **more: Any) -> KubeObject:
    version = f"{RBAC}/v1" if kind.startswith("Role") else "v1"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def reader_of(namespace: str) -> list[KubeObject]:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": OWN}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "robot"}
    return [
        named("Role", "robot", namespace, rules=rules),
        named("RoleBinding", "robot", namespace, subjects=[subject], roleRef=reference),
    ]


def reference(**metadata: Any) -> KubeObject:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": OTHER, **metadata}}
    return {"id": "other", "externalRef": body}


BY_NAME = reference(name="${schema.spec.target}")
BY_LABEL = reference(selector={"matchLabels": {"for": "${schema.spec.target}"}})
COPY = {
    "name": resource("cm", config_map(copied="${other.data.key}")),
    "label": resource("cm", config_map(copied="${string(other.size())}")),
}


async def messages(cluster: InProcessCluster, obj: KubeObject) -> str:
    """Return what the status of an instance says, without the names that distinguish it."""

    async def check() -> str:
        status = (await cluster.get(obj))["status"]
        found = [each for each in status["conditions"] if each["type"] == "ResourcesReady"]
        assert found[0]["status"] == "False", status
        target = obj["spec"]["target"]
        text = f"{status['state']} {found[0]['reason']}: {found[0]['message']}"
        return text.replace(obj["metadata"]["name"], "NAME").replace(target, "TARGET")

    return await cluster.eventually(check)


@pytest.mark.parametrize("by", ["name", "label"])
def test_a_missing_object_and_a_forbidden_one_look_the_same(play: Play, by: str) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        controllers.authorities = Robot()
        await controllers.restart()
        treasure = named("ConfigMap", "treasure", OTHER, data={"key": "gold"})
        treasure["metadata"]["labels"] = {"for": "treasure"}
        rgd = definition(BY_NAME if by == "name" else BY_LABEL, COPY[by], spec={"target": "string"})
        for obj in (
            named("Namespace", OWN),
            named("Namespace", OTHER),
            named("ServiceAccount", "robot", OWN),
            *reader_of(OWN),
            treasure,
            rgd,
        ):
            await cluster.client.create(obj)
        await cluster.in_state(rgd, "Active")
        existing = instance({"target": "treasure"}, name="one", namespace=OWN)
        missing = instance({"target": "absent"}, name="two", namespace=OWN)
        for obj in (existing, missing):
            await cluster.client.create(obj)
        found = await messages(cluster, existing)
        assert found == await messages(cluster, missing)
        assert "forbidden" in found

    play(scene)


def test_an_identity_that_may_read_there_learns_that_an_object_is_missing(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        controllers.authorities = Robot()
        await controllers.restart()
        rgd = definition(BY_NAME, COPY["name"], spec={"target": "string"})
        for obj in (
            named("Namespace", OWN),
            named("Namespace", OTHER),
            named("ServiceAccount", "robot", OWN),
            *reader_of(OWN),
            *reader_of(OTHER),
            rgd,
        ):
            await cluster.client.create(obj)
        await cluster.in_state(rgd, "Active")
        obj = instance({"target": "absent"}, name="one", namespace=OWN)
        await cluster.client.create(obj)
        assert "not found" in await messages(cluster, obj)
        treasure = named("ConfigMap", "absent", OTHER, data={"key": "gold"})
        await cluster.client.create(treasure)
        await cluster.in_state(obj, "ACTIVE")

    play(scene)
