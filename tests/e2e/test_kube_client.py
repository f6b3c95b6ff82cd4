"""The client against a real API server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import (
    Cluster,
    DeleteOptions,
    EventType,
    Identity,
    JsonPatch,
    MergePatch,
    Selection,
    WriteOptions,
)
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.kube.responses import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
)
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.config_maps import CONFIG_MAP, config_map, create_many, ours, ref
from tests.connection import Connection, connect
from tools.cluster.plane import Plane

US = WriteOptions(manager="us")
THEM = WriteOptions(manager="them")


async def test_an_object_is_created_read_changed_and_deleted(
    cluster: Cluster, namespace: str
) -> None:
    created = await cluster.create(config_map(namespace, colour="red"))
    assert await cluster.get(ref(namespace)) == created
    changed = await cluster.patch(ref(namespace), MergePatch({"data": {"colour": "blue"}}))
    assert changed["data"] == {"colour": "blue"}
    operations = [{"op": "remove", "path": "/data/colour"}]
    assert "data" not in await cluster.patch(ref(namespace), JsonPatch(operations))
    await cluster.delete(ref(namespace))
    assert await cluster.find(ref(namespace)) is None


async def test_what_is_not_there_is_not_found(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(NotFound, match='configmaps "settings" not found'):
        await cluster.get(ref(namespace))
    with pytest.raises(NotFound, match='configmaps "settings" not found'):
        await cluster.delete(ref(namespace))


async def test_a_missing_namespace_is_not_a_missing_kind(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        await cluster.create(config_map("nowhere"))


async def test_a_name_is_taken_once(cluster: Cluster, namespace: str) -> None:
    await cluster.create(config_map(namespace))
    with pytest.raises(AlreadyExists):
        await cluster.create(config_map(namespace))


async def test_each_cause_of_an_invalid_object_is_told(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create(config_map(namespace, name="Upper_Case", **{"a b": "c"}))
    assert {cause.field for cause in caught.value.causes} == {"metadata.name", "data[a b]"}


async def test_a_kind_that_is_not_served_is_waited_for(cluster: Cluster, namespace: str) -> None:
    unknown = Kind("nowhere.example", "v1", "Thing")
    with pytest.raises(NotServed, match=r"does not serve nowhere\.example/v1 Thing"):
        await cluster.get(ObjectRef(unknown, namespace, "one"))


async def test_applying_owns_fields_and_gives_up_those_left_out(
    cluster: Cluster, namespace: str
) -> None:
    await cluster.apply(config_map(namespace, ours="1", also="2"), US)
    await cluster.apply(config_map(namespace, theirs="3"), THEM)
    applied = await cluster.apply(config_map(namespace, ours="1"), US)
    assert applied["data"] == {"ours": "1", "theirs": "3"}


async def test_fields_of_another_manager_are_taken_only_by_force(
    cluster: Cluster, namespace: str
) -> None:
    await cluster.apply(config_map(namespace, shared="theirs"), THEM)
    with pytest.raises(Conflict) as caught:
        await cluster.apply(config_map(namespace, shared="ours"), US)
    assert [cause.field for cause in caught.value.fields] == [".data.shared"]
    assert 'conflict with "them"' in caught.value.fields[0].message
    forced = await cluster.apply(
        config_map(namespace, shared="ours"), WriteOptions(manager="us", force=True)
    )
    assert forced["data"] == {"shared": "ours"}


async def test_a_rehearsal_changes_nothing(cluster: Cluster, namespace: str) -> None:
    rehearsed = await cluster.apply(
        config_map(namespace, colour="red"), WriteOptions(manager="us", dry_run=True)
    )
    assert rehearsed["data"] == {"colour": "red"}
    assert await cluster.find(ref(namespace)) is None


async def test_a_change_based_on_an_old_version_is_a_conflict(
    cluster: Cluster, namespace: str
) -> None:
    old = await cluster.create(config_map(namespace, colour="red"))
    await cluster.patch(ref(namespace), MergePatch({"data": {"colour": "blue"}}))
    stale = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": None}
    with pytest.raises(Conflict) as caught:
        await cluster.patch(ref(namespace), MergePatch(stale))
    assert caught.value.fields == ()


async def test_only_the_object_that_was_meant_is_deleted(cluster: Cluster, namespace: str) -> None:
    await cluster.create(config_map(namespace))
    with pytest.raises(Conflict):
        await cluster.delete(ref(namespace), DeleteOptions(uid="another"))
    with pytest.raises(Conflict):
        await cluster.delete(ref(namespace), DeleteOptions(resource_version="1"))
    assert await cluster.find(ref(namespace)) is not None


async def test_the_status_is_written_apart(cluster: Cluster, namespace: str) -> None:
    claim: KubeObject = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    await cluster.create(claim)
    status = {"status": {"observedGeneration": 1}, "spec": {"maxUnavailable": 9}}
    options = WriteOptions(manager="us", subresource="status")
    written = await cluster.patch(ObjectRef.of(claim), MergePatch(status), options)
    assert written["status"]["observedGeneration"] == 1
    assert written["spec"]["maxUnavailable"] == 1


async def test_a_list_of_many_pages_is_complete(connection: Connection, namespace: str) -> None:
    cluster = connection.client
    await create_many(cluster, namespace, 1200)
    connection.sent.clear()
    listing = await cluster.list(ours(namespace))
    names = [item["metadata"]["name"] for item in listing.items]
    assert names == sorted(f"many-{number:04}" for number in range(1200))
    assert {item["kind"] for item in listing.items} == {"ConfigMap"}
    assert len(connection.sent) == 3


async def test_selectors_and_metadata_only(cluster: Cluster, namespace: str) -> None:
    for name, colour in (("one", "red"), ("two", "blue")):
        made = config_map(namespace, name, content="large")
        made["metadata"]["labels"] = {"colour": colour}
        await cluster.create(made)
    by_label = await cluster.list(
        Selection(CONFIG_MAP, namespace, labels="colour=red", metadata_only=True)
    )
    assert [ObjectRef.of(item) for item in by_label.items] == [ref(namespace, "one")]
    assert "data" not in by_label.items[0]
    by_field = await cluster.list(Selection(CONFIG_MAP, namespace, fields="metadata.name=two"))
    assert [item["data"] for item in by_field.items] == [{"content": "large"}]


async def test_a_watch_reports_what_happens_after_a_list(cluster: Cluster, namespace: str) -> None:
    selection = ours(namespace)
    await cluster.create(config_map(namespace, "before"))
    listing = await cluster.list(selection)
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(20), cluster.watch(selection, listing.resource_version) as events:
        await cluster.create(config_map(namespace, "after"))
        await cluster.patch(ref(namespace, "after"), MergePatch({"data": {"colour": "blue"}}))
        await cluster.delete(ref(namespace, "before"))
        async for event in events:
            assert ObjectRef.of(event.object).kind == CONFIG_MAP
            seen.append((event.type, event.object["metadata"].get("name", "")))
            if event.type is EventType.DELETED:
                break
    assert seen == [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "before")]


async def test_another_identity_has_only_its_own_rights(cluster: Cluster, namespace: str) -> None:
    reader = cluster.acting_as(Identity.service_account(namespace, "reader"))
    await cluster.create(config_map(namespace))
    with pytest.raises(Forbidden, match=f'"system:serviceaccount:{namespace}:reader" cannot get'):
        await reader.get(ref(namespace))
    for made in role(namespace, "reader"):
        await cluster.create(made)
    async with asyncio.timeout(20):
        while True:
            try:
                assert (await reader.get(ref(namespace)))["metadata"]["name"] == "settings"
                break
            except Forbidden:  # roles take a moment
                await asyncio.sleep(0.05)
    with pytest.raises(Forbidden, match="cannot delete"):
        await reader.delete(ref(namespace))


async def test_a_group_gives_its_rights(cluster: Cluster, namespace: str) -> None:
    strong = Identity(
        "somebody", groups=("first", "system:masters"), uid="7", extra={"a/b": ("c",)}
    )
    review: KubeObject = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
        "metadata": {},
    }
    seen = (await cluster.acting_as(strong).create(review))["status"]["userInfo"]
    assert seen["username"] == "somebody"
    assert seen["groups"] == ["first", "system:masters", "system:authenticated"]
    assert seen["uid"] == "7"
    assert seen["extra"] == {"a/b": ["c"]}
    assert namespace in {
        item["metadata"]["name"]
        for item in (
            await cluster.acting_as(strong).list(Selection(Kind("", "v1", "Namespace")))
        ).items
    }


@pytest.mark.timeout(120)
async def test_a_version_that_is_forgotten_is_expired(own_plane: Plane) -> None:
    selection = ours("default")
    async with connect(own_plane.kubeconfig) as connection:
        cluster = connection.client
        listing = await cluster.list(selection)
        for number in range(3):
            await cluster.create(config_map("default", f"later-{number}"))
        # A real API server keeps versions in memory that etcd forgot.
        await asyncio.to_thread(own_plane.compact)
        await asyncio.to_thread(own_plane.restart_api_server)
        with pytest.raises(Expired):
            await watch_to_the_end(cluster, selection, listing.resource_version)


async def test_a_silent_watch_ends_with_a_bookmark_to_go_on_from(
    kubeconfig: Path, namespace: str
) -> None:
    selection = ours(namespace)
    async with connect(kubeconfig, ClientLimits(watch=4)) as connection:
        since = (await connection.client.list(selection)).resource_version
        async with connection.client.watch(selection, since) as events:
            await connection.client.create(config_map("default", namespace))  # not watched
            seen = [event async for event in events]
        assert {event.type for event in seen} == {EventType.BOOKMARK}
        assert int(seen[-1].resource_version) > int(since)
        async with connection.client.watch(selection, seen[-1].resource_version):
            pass


@pytest.mark.timeout(120)
async def test_a_list_whose_version_is_forgotten_half_way_is_read_at_once(
    own_plane: Plane,
) -> None:
    async with connect(own_plane.kubeconfig) as connection:
        cluster = connection.client
        await create_many(cluster, "default", 600)
        connection.sent.clear()
        # The API server keeps old versions in memory, too, until it is started anew.
        forgetting = iter([own_plane.compact, own_plane.restart_api_server])

        def keep(obj: KubeObject) -> KubeObject:
            for forget in forgetting:
                forget()
            return obj

        listing = await cluster.list(ours("default"), keep)
        assert len(listing.items) == 600
        assert [sent.http_code for sent in connection.sent if sent.http_code] == [200, 410, 200]


async def watch_to_the_end(cluster: Cluster, selection: Selection, since: str) -> None:
    async with cluster.watch(selection, since) as events:
        async for _ in events:
            pass


def role(namespace: str, account: str) -> list[dict[str, Any]]:
    group = "rbac.authorization.k8s.io"
    metadata = {"name": "reading", "namespace": namespace}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reading"},
            "subjects": [subject],
        },
    ]
