"""What a client can tell of an API server beyond single answers: watches, patience, warnings."""

import asyncio
import json
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import Any

import pytest

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, DeleteOptions, JsonPatch, MergePatch, Selection
from kro_gitops.kube.responses import ApiError, Forbidden, NotFound
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.connection import Connection
from tools.cluster.plane import Plane

CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
LIMIT = 15.0  # seconds
HELD = 3.0  # seconds that a request for a version of the future is held
RULE = {"rule": "self.size < 10", "message": "too large"}


@dataclass(frozen=True, slots=True)
class Thing:
    """A custom kind that is there for one test."""

    cluster: Cluster
    kind: Kind
    plural: str
    namespace: str

    @property
    def definition(self) -> ObjectRef:
        return ObjectRef(CRD, "", f"{self.plural}.{self.kind.group}")

    @property
    def path(self) -> str:
        return f"apis/{self.kind.group}/v1/namespaces/{self.namespace}/{self.plural}"

    def build(self, name: str, **metadata: Any) -> KubeObject:
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"name": name, "namespace": self.namespace, **metadata},
            "spec": {"size": 1},
        }

    def ref(self, name: str) -> ObjectRef:
        return ObjectRef(self.kind, self.namespace, name)

    async def is_served(self) -> None:
        """Return when objects can be made."""
        for _ in range(100):
            try:
                await self.cluster.list(Selection(self.kind, self.namespace))
            except (ApiError, NotServed):
                await asyncio.sleep(0.1)
            else:
                return
        raise AssertionError("it is not served")


def crd_of(thing: Thing) -> KubeObject:
    spec: KubeObject = {"type": "object", "properties": {"size": {"type": "integer"}}}
    spec["x-kubernetes-validations"] = [RULE]
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": thing.definition.name},
        "spec": {
            "group": thing.kind.group,
            "names": {"plural": thing.plural, "kind": thing.kind.kind},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


@pytest.fixture
async def thing(connection: Connection, namespace: str) -> AsyncIterator[Thing]:
    """Give a custom kind of one's own."""
    token = secrets.token_hex(3)
    kind = Kind(f"{token}.example.org", "v1", f"Thing{token}")
    made = Thing(connection.client, kind, f"things{token}", namespace)
    await made.cluster.create(crd_of(made))
    await made.is_served()
    yield made
    with suppress(NotFound):
        await made.cluster.delete(made.definition, DeleteOptions())


def ask(plane: Plane, method: str, path: str, body: Any = None) -> tuple[int, Message, Any]:
    """Send a request; return code, headers and body, whatever the code."""
    config = json.loads(plane.kubeconfig.read_text())
    headers = {
        "Authorization": f"Bearer {config['users'][0]['user']['token']}",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{plane.url}/{path}", data, headers, method=method)
    context = ssl.create_default_context(cafile=str(plane.authority))
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, json.load(error)


async def events_of(thing: Thing, since: str) -> list[str]:
    """Return the types of all events until a watch ends by itself."""
    async with thing.cluster.watch(Selection(thing.kind, thing.namespace), since) as events:
        return [str(event.type) async for event in events]


@pytest.mark.timeout(60)
async def test_watches_end_when_the_definition_changes(thing: Thing) -> None:
    since = (await thing.cluster.list(Selection(thing.kind, thing.namespace))).resource_version
    watching = asyncio.create_task(events_of(thing, since))
    await asyncio.sleep(0.5)
    await thing.cluster.create(thing.build("first"))
    change = {"op": "add", "path": "/spec/versions/0/additionalPrinterColumns", "value": []}
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    await thing.cluster.patch(thing.definition, JsonPatch([{**change, "value": [column]}]))
    assert await asyncio.wait_for(watching, LIMIT) == ["ADDED"]


@pytest.mark.timeout(60)
async def test_watches_outlive_a_change_that_is_no_matter_of_theirs(thing: Thing) -> None:
    since = (await thing.cluster.list(Selection(thing.kind, thing.namespace))).resource_version
    watching = asyncio.create_task(events_of(thing, since))
    await asyncio.sleep(0.5)
    label = MergePatch({"metadata": {"labels": {"a": "b"}}})
    await thing.cluster.patch(thing.definition, label)
    await asyncio.sleep(2.0)
    assert not watching.done()
    watching.cancel()


@pytest.mark.timeout(60)
async def test_watches_end_when_the_definition_is_gone(thing: Thing) -> None:
    await thing.cluster.create(thing.build("first"))
    since = (await thing.cluster.list(Selection(thing.kind, thing.namespace))).resource_version
    watching = asyncio.create_task(events_of(thing, since))
    await asyncio.sleep(0.5)
    await thing.cluster.delete(thing.definition, DeleteOptions())
    assert await asyncio.wait_for(watching, LIMIT) == ["DELETED"]


async def first_refusal(plane: Plane, thing: Thing) -> Any:
    """Try to make an object until that is refused; return how."""
    for _ in range(50):
        made = thing.build("late")
        code, _, body = await asyncio.to_thread(ask, plane, "POST", thing.path, made)
        if code == 403:
            return body
        await asyncio.sleep(0.1)
    raise AssertionError("nothing was refused")


@pytest.mark.timeout(60)
async def test_a_definition_that_goes_lets_objects_go_and_none_in(
    thing: Thing, plane: Plane
) -> None:
    await thing.cluster.create(thing.build("held", finalizers=["example.org/hold"]))
    await thing.cluster.delete(thing.definition, DeleteOptions())
    refused = await first_refusal(plane, thing)
    assert refused["reason"] == "Forbidden"
    why = "create not allowed while custom resource definition is terminating"
    assert refused["message"] == f'{thing.definition.name} "late" is forbidden: {why}'
    free = MergePatch({"metadata": {"finalizers": None}})
    await thing.cluster.patch(thing.ref("held"), free)

    async def is_gone() -> bool:
        try:
            await thing.cluster.get(thing.definition)
        except NotFound:
            return True
        return False

    deadline = time.monotonic() + LIMIT
    while not await is_gone():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


async def made_at_last(thing: Thing, name: str) -> KubeObject:
    """Make an object as soon as that is allowed."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return await thing.cluster.create(thing.build(name))
        except Forbidden:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


@pytest.mark.timeout(60)
async def test_a_definition_that_others_hold_lets_objects_in_again_once_all_are_gone(
    thing: Thing,
) -> None:
    hold = MergePatch({"metadata": {"finalizers": ["example.org/hold"]}})
    await thing.cluster.patch(thing.definition, hold)
    await thing.cluster.create(thing.build("first"))
    await thing.cluster.delete(thing.definition, DeleteOptions())
    made = await made_at_last(thing, "second")
    assert made["metadata"]["name"] == "second"
    await thing.cluster.patch(thing.definition, MergePatch({"metadata": {"finalizers": None}}))


@pytest.mark.timeout(60)
async def test_a_write_that_changes_nothing_makes_a_version_if_the_schema_lost_a_field(
    thing: Thing,
) -> None:
    first = await thing.cluster.create(thing.build("first"))
    nothing = MergePatch({"metadata": {}})
    assert await thing.cluster.patch(thing.ref("first"), nothing) == first
    schema = "/spec/versions/0/schema/openAPIV3Schema"
    lost = {"op": "replace", "path": schema, "value": {"type": "object"}}
    await thing.cluster.patch(thing.definition, JsonPatch([lost]))
    deadline = time.monotonic() + LIMIT
    while "spec" in (await thing.cluster.get(thing.ref("first"))):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    second = await thing.cluster.patch(thing.ref("first"), nothing)
    assert version_of(second) > version_of(first)
    assert await thing.cluster.patch(thing.ref("first"), nothing) == second


def version_of(obj: KubeObject) -> int:
    return int(obj["metadata"]["resourceVersion"])


def version_of_the_future(plane: Plane) -> int:
    # The server writes now and then itself.
    return int(plane.get("api/v1/namespaces?limit=1")["metadata"]["resourceVersion"]) + 8


async def test_who_asks_for_a_version_to_come_gets_it_when_it_is_there(
    plane: Plane, cluster: Cluster, namespace: str
) -> None:
    version = version_of_the_future(plane)
    path = f"api/v1/namespaces/{namespace}/configmaps?resourceVersion={version}"
    asking = asyncio.create_task(asyncio.to_thread(ask, plane, "GET", path))
    await asyncio.sleep(0.5)
    assert not asking.done()
    for number in range(9):
        body = {"apiVersion": "v1", "kind": "ConfigMap"}
        await cluster.create(
            {**body, "metadata": {"name": f"map-{number}", "namespace": namespace}}
        )
    code, _, found = await asking
    assert code == 200
    assert int(found["metadata"]["resourceVersion"]) >= version
    assert len(found["items"]) >= 2


async def test_who_asks_for_a_version_that_never_comes_is_told_after_a_while(
    plane: Plane, namespace: str
) -> None:
    version = version_of_the_future(plane) + 1000
    path = f"api/v1/namespaces/{namespace}/configmaps?resourceVersion={version}"
    began = time.monotonic()
    code, headers, found = await asyncio.to_thread(ask, plane, "GET", path)
    assert HELD - 0.5 < time.monotonic() - began < HELD + 3.0
    assert (code, headers["Retry-After"]) == (504, "1")
    assert found["message"].startswith(f"Timeout: Too large resource version: {version}, current: ")


async def test_a_warning_is_told_once_and_also_to_those_who_are_refused(
    plane: Plane, thing: Thing
) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}
    body = thing.build("doubly", ownerReferences=[owner, owner, owner], finalizers=["simple"])
    body["spec"] = {"size": 1, "unknown": 1}
    code, headers, _ = await asyncio.to_thread(ask, plane, "POST", thing.path, body)
    assert code == 201
    told = headers.get_all("Warning") or []
    assert len(told) == len(set(told))
    body["spec"]["size"] = 100
    body["metadata"]["name"] = "refused"
    code, headers, found = await asyncio.to_thread(ask, plane, "POST", thing.path, body)
    assert (code, found["reason"]) == (422, "Invalid")
    assert '299 - "unknown field \\"spec.unknown\\""' in (headers.get_all("Warning") or [])
