"""
Nested instances in a cluster with sources: each has the authority of the outermost instance.

A source exists in every scene, so that nobody's authority goes without saying.
"""

import asyncio
from typing import Any

import pytest

from kro_gitops.kube.api import MergePatch
from kro_gitops.kube.requests import Request
from kro_gitops.metadata import (
    APPLYSET_ID,
    FINALIZER,
    INSTANCE_GROUP,
    INSTANCE_ID,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    OWNED,
    RECONCILE,
)
from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import definition, resource
from tests.integration.sources import CONFIG_MAP, NAMESPACE, SourceScene, config_map

FAR = "country"  # where others may write instances than those who write malls
CLOSED = "castle"  # where neither may write
QUIET = 1.5  # seconds in which something forbidden would have happened
NAME = "${schema.metadata.name}"


def instance(kind: str, name: str, spec: KubeObject, namespace: str = NAMESPACE) -> KubeObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "kro.run/v1", "kind": kind, "metadata": metadata, "spec": spec}


def mall(name: str = "west", **spec: Any) -> KubeObject:
    return instance("Mall", name, {"place": NAMESPACE, "at": NAMESPACE, **spec})


def shop(name: str = "west", namespace: str = NAMESPACE) -> KubeObject:
    return instance("Shop", name, {"place": namespace}, namespace)


def goods(namespace: str = NAMESPACE, name: str = "west") -> ObjectRef:
    return ObjectRef(CONFIG_MAP, namespace, name)


async def open_malls(scene: SourceScene) -> None:
    """Create a source, and the definitions of malls and of the shops in them."""
    client = scene.cluster.client
    for name in (FAR, CLOSED):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(body)
    commit = scene.commit({"a.yaml": config_map("a")})
    await scene.ready(await scene.follow(), commit)
    stock = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"note": "${schema.spec.note}"}}
    stock["metadata"] = {"name": NAME, "namespace": "${schema.spec.place}"}
    of_shop = definition(
        resource("stock", stock),
        spec={
            "place": "string",
            "note": "string | default=plain",
            "hours": {"from": "integer | default=8", "days": "[]string"},
        },
        kind="Shop",
    )
    inner = instance("Shop", NAME, {"place": "${schema.spec.place}"}, "${schema.spec.at}")
    inner["spec"]["hours"] = {"days": "${schema.spec.days}"}
    of_mall = definition(
        resource("inner", inner, includeWhen=["${schema.spec.open}"]),
        spec={
            "place": "string",
            "at": "string",
            "open": "boolean | default=true",
            "days": "[]string | default=[]",
        },
        kind="Mall",
    )
    for made in (of_shop, of_mall):
        made["metadata"]["name"] = made["spec"]["schema"]["kind"].lower()
        await client.create(made)
        await scene.cluster.in_state(made, "Active")


async def is_gone(scene: SourceScene, *refs: ObjectRef) -> None:
    async def check() -> None:
        assert [ref for ref in refs if await scene.cluster.client.find(ref)] == []

    await scene.cluster.eventually(check, 15.0)


def writes_to_closed(scene: SourceScene) -> list[str]:
    """Return the requests to write there: what they created may be gone again."""
    paths = (each.path for each in scene.transport.writes)
    return [path for path in paths if f"/namespaces/{CLOSED}/configmaps" in path]


def labels_of_child(parent: KubeObject) -> dict[str, str]:
    ref = ObjectRef.of(parent)
    return {
        OWNED: "true",
        INSTANCE_GROUP: ref.kind.group,
        INSTANCE_VERSION: ref.kind.version,
        INSTANCE_KIND: ref.kind.kind,
        INSTANCE_NAME: ref.name,
        INSTANCE_NAMESPACE: ref.namespace,
        INSTANCE_ID: parent["metadata"]["uid"],
    }


@pytest.mark.parametrize("at", [NAMESPACE, FAR])
async def test_a_nested_instance_that_is_pruned_goes_with_its_children(
    sources: SourceScene, at: str
) -> None:
    await open_malls(sources)
    cluster = sources.cluster
    await cluster.client.create(mall(at=at, days=["mon"]))
    await cluster.in_state(mall(), "ACTIVE")
    await cluster.in_state(shop(namespace=at), "ACTIVE")
    await cluster.client.patch(ObjectRef.of(mall()), MergePatch({"spec": {"open": False}}))
    await is_gone(sources, ObjectRef.of(shop(namespace=at)), goods())


async def test_a_nested_instance_that_is_pruned_goes_also_after_a_restart(
    sources: SourceScene,
) -> None:
    await open_malls(sources)
    cluster, inner = sources.cluster, ObjectRef.of(shop())
    await cluster.client.create(mall())
    await cluster.in_state(mall(), "ACTIVE")
    await cluster.in_state(shop(), "ACTIVE")
    await sources.kill()
    await cluster.client.patch(ObjectRef.of(mall()), MergePatch({"spec": {"open": False}}))
    await cluster.client.delete(inner)
    await sources.start()
    await is_gone(sources, inner, goods())


async def test_a_nested_instance_elsewhere_is_repaired_below_a_suspended_one_after_a_restart(
    sources: SourceScene,
) -> None:
    await open_malls(sources)
    cluster = sources.cluster
    await cluster.client.create(mall(at=FAR, place=FAR, days=["mon", "tue"]))
    await cluster.in_state(mall(), "ACTIVE")
    await cluster.in_state(shop(namespace=FAR), "ACTIVE")
    suspended = {"metadata": {"annotations": {RECONCILE: "suspended"}}}
    await cluster.client.patch(ObjectRef.of(mall()), MergePatch(suspended))
    await sources.kill()
    await cluster.client.delete(goods(FAR))
    await sources.start()

    async def is_back() -> None:
        assert (await cluster.get(goods(FAR)))["data"] == {"note": "plain"}

    await cluster.eventually(is_back, 10.0)


async def test_a_mall_with_a_long_name_has_its_shop(sources: SourceScene) -> None:
    await open_malls(sources)
    name = "-".join(["long"] * 16)
    await sources.cluster.client.create(mall(name))
    await sources.cluster.in_state(mall(name), "ACTIVE", 10.0)
    await sources.cluster.in_state(shop(name), "ACTIVE", 10.0)


async def test_what_others_write_into_a_nested_instance_is_not_done_with_its_rights(
    sources: SourceScene,
) -> None:
    """Those who may write in its namespace need not be those who write the outer instance."""
    await open_malls(sources)
    cluster = sources.cluster
    await cluster.client.create(mall(at=FAR, place=FAR, days=["mon"]))
    await cluster.in_state(mall(), "ACTIVE")
    inner = shop(namespace=FAR)
    await cluster.in_state(inner, "ACTIVE")
    for changes in ({"note": "loot"}, {"hours": {"from": 3}}, {"place": CLOSED}):
        await cluster.client.patch(ObjectRef.of(inner), MergePatch({"spec": changes}))
        await asyncio.sleep(QUIET / 3)
        assert writes_to_closed(sources) == []
        assert (await cluster.get(goods(FAR)))["data"] == {"note": "plain"}


async def test_an_edit_while_its_metadata_is_written_is_not_done_with_its_rights(
    sources: SourceScene,
) -> None:
    await open_malls(sources)
    cluster = sources.cluster
    await cluster.client.create(mall(at=FAR, place=FAR))
    await cluster.in_state(mall(), "ACTIVE")
    inner = ObjectRef.of(shop(namespace=FAR))
    await cluster.in_state(shop(namespace=FAR), "ACTIVE")
    edits = 0

    async def edit(request: Request) -> None:
        nonlocal edits
        is_apply = request.method == "PATCH" and request.path.endswith("/shops/west")
        if is_apply and not edits and FINALIZER in str(request.body):
            edits += 1
            await cluster.client.patch(inner, MergePatch({"spec": {"place": CLOSED}}))

    sources.transport.fault = edit
    await cluster.client.patch(inner, MergePatch({"metadata": {"labels": {APPLYSET_ID: None}}}))
    await asyncio.sleep(QUIET)
    assert edits == 1
    assert writes_to_closed(sources) == []
    await cluster.in_state(shop(namespace=FAR), "ACTIVE")  # the mall has repaired it


async def test_an_instance_of_others_does_not_become_nested_by_its_name(
    sources: SourceScene,
) -> None:
    """It was there before, with the labels of a child, and the outer instance desires its name."""
    await open_malls(sources)
    cluster = sources.cluster
    created = await cluster.client.create(mall(at=FAR, place=FAR, open=False))
    await cluster.in_state(mall(), "ACTIVE")
    forged = shop(namespace=FAR)
    forged["spec"] = {"place": CLOSED, "note": "loot"}
    forged["metadata"]["labels"] = labels_of_child(created)
    await cluster.client.create(forged)
    await cluster.client.patch(ObjectRef.of(mall()), MergePatch({"spec": {"open": True}}))
    await cluster.in_state(mall(), "ERROR")  # the shop is not adopted
    woken = {"metadata": {"annotations": {"example.org/woken": "yes"}}}
    await cluster.client.patch(ObjectRef.of(forged), MergePatch(woken))
    await asyncio.sleep(QUIET)
    assert writes_to_closed(sources) == []
