"""Events, rights and impersonation on a real API server."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.kube.access_review import AccessReviewer
from kro_gitops.kube.api import Cluster, Identity, Selection, Writer
from kro_gitops.kube.credentials import CredentialsError, from_kubeconfigs
from kro_gitops.kube.event_aggregation import EventLimits
from kro_gitops.kube.events import EventRecorder
from kro_gitops.kube.requests import impersonation
from kro_gitops.kube.responses import Forbidden
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.config_maps import CONFIG_MAP, config_map
from tests.connection import Connection
from tools.cluster.plane import Plane

EVENT = Kind("", "v1", "Event")
SECRET = Kind("", "v1", "Secret")
NODE = Kind("", "v1", "Node")
NAMESPACE: KubeObject = {"apiVersion": "v1", "kind": "Namespace"}


def now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def recording(
    cluster: Writer, limits: EventLimits | None = None
) -> AsyncIterator[EventRecorder]:
    recorder = EventRecorder(cluster, "kro-gitops", "host-1", now, limits)
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def events_of(cluster: Cluster, obj: KubeObject) -> list[KubeObject]:
    uid, namespace = obj["metadata"]["uid"], obj["metadata"].get("namespace", "default")
    selection = Selection(EVENT, namespace, fields=f"involvedObject.uid={uid}")
    return list((await cluster.list(selection)).items)


async def eventually(cluster: Cluster, obj: KubeObject, count: int) -> KubeObject:
    """Wait until an object has one event with that count."""
    async with asyncio.timeout(10):
        while True:
            found = await events_of(cluster, obj)
            if [event["count"] for event in found] == [count]:
                return found[0]
            await asyncio.sleep(0.05)


async def until_dropped(recorder: EventRecorder, count: int) -> None:
    async with asyncio.timeout(10):
        while True:
            if recorder.dropped == count:
                return
            await asyncio.sleep(0.05)


async def test_an_event_is_folded_into_one_object(cluster: Cluster, namespace: str) -> None:
    about = await cluster.create(config_map(namespace))
    async with recording(cluster, EventLimits(interval=0.2)) as recorder:
        recorder.record(about, "Warning", "Ready", "True -> False: NotReady", "kro/x-controller")
        event = await eventually(cluster, about, 1)
        recorder.record(about, "Warning", "Ready", "True -> False: NotReady", "kro/x-controller")
        await eventually(cluster, about, 2)
    assert event["type"] == "Warning"
    assert event["source"] == {"component": "kro/x-controller", "host": "host-1"}
    assert event["involvedObject"]["resourceVersion"] == about["metadata"]["resourceVersion"]


async def test_an_event_about_a_cluster_scoped_object(cluster: Cluster) -> None:
    name = f"kro-gitops:{time.time_ns()}"
    rules: KubeObject = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    about = await cluster.create({**rules, "metadata": {"name": name}, "rules": []})
    async with recording(cluster) as recorder:
        recorder.record(about, "Normal", "Seen", "x" * 5000)
        event = await eventually(cluster, about, 1)
    assert event["metadata"]["namespace"] == "default"
    assert len(event["message"]) == 1024


async def test_without_rights_nothing_is_recorded_and_one_line_is_logged(
    cluster: Cluster, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    about = await cluster.create(config_map(namespace))
    with caplog.at_level(logging.INFO):
        async with recording(cluster.acting_as(Identity("nobody"))) as recorder:
            for number in range(5):
                recorder.record(about, "Warning", "Ready", f"news {number}")
            await until_dropped(recorder, 5)
    assert await events_of(cluster, about) == []
    logged = [each for each in caplog.records if each.name == "kro_gitops.kube.events"]
    assert len(logged) == 1


async def test_a_namespace_that_goes_takes_no_events(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    place = f"going-{time.time_ns()}"
    made = await cluster.create({**NAMESPACE, "metadata": {"name": place}})
    about = await cluster.create(config_map(place))
    await cluster.delete(ObjectRef.of(made))
    with caplog.at_level(logging.INFO):
        async with recording(cluster) as recorder:
            recorder.record(about, "Warning", "Ready", "one")
            recorder.record(about, "Warning", "Ready", "two")
            await until_dropped(recorder, 2)
    logged = [each for each in caplog.records if each.name == "kro_gitops.kube.events"]
    assert len(logged) == 1


async def grant(cluster: Cluster, role: KubeObject, user: str) -> None:
    """Apply a role as it is printed, and bind it."""
    made = await cluster.create(role)
    metadata, kind = made["metadata"], made["kind"]
    binding: dict[str, Any] = {
        "apiVersion": made["apiVersion"],
        "kind": f"{kind}Binding",
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": kind,
            "name": metadata["name"],
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    await cluster.create(binding)


async def test_the_missing_role_grants_what_was_missing(
    connection: Connection, namespace: str
) -> None:
    cluster, clock = connection.client, [0.0]
    access = AccessReviewer(cluster, connection.discovery, lambda: clock[0])
    user = Identity(f"reader-of-{namespace}")
    wanted = [(verb, CONFIG_MAP, namespace) for verb in ("get", "list", "watch")]
    secrets = await connection.discovery.resource_of(SECRET)
    maps = await connection.discovery.resource_of(CONFIG_MAP)

    role = await access.missing(user, wanted)
    assert role is not None
    assert role["kind"] == "Role"
    await grant(cluster, role, user.user)

    assert not await access.may(user, "get", maps, namespace), "the answer is kept for a moment"
    clock[0] = 11.0
    async with asyncio.timeout(10):
        while await access.missing(user, wanted) is not None:
            clock[0] += 11.0
            await asyncio.sleep(0.05)
    assert await access.may(user, "get", maps, namespace)
    assert not await access.may(user, "get", secrets, namespace)
    assert not await access.may(user, "get", maps, "default")


async def test_answers_are_asked_for_once(connection: Connection, namespace: str) -> None:
    access = AccessReviewer(connection.client, connection.discovery, lambda: 0.0)
    nodes = await connection.discovery.resource_of(NODE)
    for place in (namespace, "", "default"):
        assert await access.may(None, "get", nodes, place)
    reviews = [each for each in connection.sent if "accessreviews" in each.request.subject]
    assert len(reviews) == 1


def acting(plane: Plane, folder: Path, **entries: Any) -> Path:
    """Write a kubeconfig whose user acts as another, in a namespace of its own."""
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"].update(entries)
    config["contexts"][0]["context"]["namespace"] = "shop"
    copy = folder / "kubeconfig"
    copy.write_text(json.dumps(config))
    return copy


async def test_a_kubeconfig_may_say_whom_to_act_as(plane: Plane, tmp_path: Path) -> None:
    extra = {"scopes": ["view", "edit"]}
    entries = {"as-groups": ["shop", "ops"], "as-uid": "u-1", "as-user-extra": extra}
    access = await from_kubeconfigs([acting(plane, tmp_path, **{"as": "jane"}, **entries)])
    assert access.identity == Identity("jane", ("shop", "ops"), "u-1", {"scopes": ("view", "edit")})
    assert access.namespace == "shop"


async def test_an_ordinary_kubeconfig_names_nobody(plane: Plane) -> None:
    access = await from_kubeconfigs([plane.kubeconfig])
    assert (access.identity, access.namespace) == (None, "")


@pytest.mark.parametrize(
    "entries",
    [
        {"as-groups": ["ops"]},
        {"as-uid": "u-1"},
        {"as": "jane", "as-groups": "ops"},
        {"as": "jane", "as-user-extra": {"scopes": "view"}},
    ],
    ids=["groups without a user", "uid without a user", "groups", "extra"],
)
async def test_half_an_identity_is_refused(
    plane: Plane, tmp_path: Path, entries: dict[str, Any]
) -> None:
    with pytest.raises(CredentialsError, match="no way to a cluster"):
        await from_kubeconfigs([acting(plane, tmp_path, **entries)])


async def test_whoever_is_acted_as_has_their_own_rights(
    plane: Plane, connection: Connection, tmp_path: Path
) -> None:
    access = await from_kubeconfigs([acting(plane, tmp_path, **{"as": "jane"})])
    assert access.identity is not None
    assert ("Impersonate-User", "jane") in impersonation(access.identity)
    with pytest.raises(Forbidden, match="jane"):
        await connection.client.acting_as(access.identity).list(Selection(CONFIG_MAP, "default"))
