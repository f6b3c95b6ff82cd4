"""What a real API server serves, as it comes and goes."""

import asyncio
import secrets
import time

import pytest

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, MergePatch, Resource, Selection, WriteOptions
from kube_objects.builtins.catalog import catalog
from kube_objects.paths import find
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.connection import Connection

CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
LIMIT = 20.0


def crd(group: str, scope: str = "Namespaced") -> KubeObject:
    properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [version],
        },
    }


def thing(kind: Kind, namespace: str) -> KubeObject:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "one", "namespace": namespace},
        "spec": {"size": 3},
    }


@pytest.fixture
def group() -> str:
    return f"g{secrets.token_hex(4)}.example"


async def establish(cluster: Cluster, made: KubeObject) -> KubeObject:
    """Create a CRD and return it when the API server says that it is served."""
    await cluster.create(made)
    async with asyncio.timeout(LIMIT):
        while True:
            found = await cluster.get(ObjectRef.of(made))
            conditions = found.get("status", {}).get("conditions") or ()
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return found
            await asyncio.sleep(0.02)


async def test_built_in_kinds_are_mapped(connection: Connection) -> None:
    deployment = await connection.discovery.resource_of(Kind("apps", "v1", "Deployment"))
    assert (deployment.plural, deployment.namespaced) == ("deployments", True)
    assert {"get", "list", "watch", "patch"} <= deployment.verbs
    assert {"status", "scale"} <= deployment.subresources
    namespace = await connection.discovery.resource_of(Kind("", "v1", "Namespace"))
    assert (namespace.plural, namespace.namespaced) == ("namespaces", False)


async def test_everything_is_read_once(connection: Connection) -> None:
    connection.sent.clear()
    kinds = [Kind("", "v1", "Pod"), Kind("apps", "v1", "StatefulSet"), Kind("batch", "v1", "Job")]
    await asyncio.gather(*map(connection.discovery.resource_of, kinds))
    assert [sent.request.path for sent in connection.sent] == ["/api", "/apis"]


async def test_a_new_crd_is_usable_within_a_second(
    connection: Connection, namespace: str, group: str
) -> None:
    kind = Kind(group, "v1", "Thing")
    with pytest.raises(NotServed):
        await connection.discovery.resource_of(kind)
    await establish(connection.client, crd(group))
    begun = time.monotonic()
    while True:
        try:
            # Not `create`, which the API server itself delays by two seconds for a new CRD.
            await connection.client.apply(thing(kind, namespace), WriteOptions(manager="us"))
            break
        except NotServed:
            await asyncio.sleep(0.05)
    assert time.monotonic() - begun < 1


async def test_a_crd_that_was_learned_is_usable_at_once(
    connection: Connection, namespace: str, group: str
) -> None:
    connection.discovery.learn(await establish(connection.client, crd(group)))
    connection.sent.clear()
    found = await connection.discovery.resource_of(Kind(group, "v1", "Thing"))
    assert (found.plural, found.namespaced) == ("things", True)
    assert connection.sent == []


async def test_a_crd_that_is_gone_is_forgotten(
    connection: Connection, namespace: str, group: str
) -> None:
    kind = Kind(group, "v1", "Thing")
    await establish(connection.client, crd(group))
    await served(connection, kind)
    await connection.client.delete(ObjectRef(CRD, "", f"things.{group}"))
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                await connection.client.list(Selection(kind, namespace))
            except NotServed:
                break
            await asyncio.sleep(0.05)


async def test_the_schema_of_a_built_in_kind_is_as_in_the_catalogue(
    connection: Connection,
) -> None:
    kind = Kind("apps", "v1", "Deployment")
    live = await connection.discovery.schema_of(kind)
    known = catalog.schema_of(kind)
    assert known is not None
    replicas = ("properties", "spec", "properties", "replicas", "type")
    assert find(live.schema, replicas) == find(known.schema, replicas) == "integer"
    assert (live.plural, live.namespaced) == (known.plural, known.namespaced)


async def test_a_changed_schema_is_read_again(connection: Connection, group: str) -> None:
    kind = Kind(group, "v1", "Thing")
    await establish(connection.client, crd(group))
    size = ("properties", "spec", "properties", "size", "type")
    await schema_with(connection, kind, size, "integer")
    connection.sent.clear()
    await connection.discovery.schema_of(kind)
    assert all(sent.request.path == "/openapi/v3" for sent in connection.sent)

    changed = await connection.client.get(ObjectRef(CRD, "", f"things.{group}"))
    properties = find(changed, ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties"))
    properties["spec"]["properties"]["size"]["type"] = "string"
    from_now = {"spec": {"versions": changed["spec"]["versions"]}}
    await patch_crd(connection.client, group, from_now)
    await schema_with(connection, kind, size, "string")


async def test_schemas_of_kinds_that_are_not_served_are_left_out(connection: Connection) -> None:
    pod = Kind("", "v1", "Pod")
    found = await connection.discovery.schemas([pod, Kind("nowhere.example", "v1", "Thing")])
    assert list(found.kinds()) == [pod]


async def served(connection: Connection, kind: Kind) -> Resource:
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                return await connection.discovery.resource_of(kind)
            except NotServed:
                await asyncio.sleep(0.05)


async def schema_with(
    connection: Connection, kind: Kind, path: tuple[str, ...], wanted: str
) -> None:
    """Wait until the schema of a kind has a value at a path."""
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                found = await connection.discovery.schema_of(kind)
                if find(found.schema, path) == wanted:
                    return
            except NotServed:
                pass
            await asyncio.sleep(0.05)


async def patch_crd(cluster: Cluster, group: str, changes: KubeObject) -> None:
    await cluster.patch(ObjectRef(CRD, "", f"things.{group}"), MergePatch(changes))
