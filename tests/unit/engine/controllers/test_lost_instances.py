"""
An instance that is gone although it had our finalizer leaves no children behind.

The API server lets that happen to one that is deleted while it gets its finalizer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import pytest

from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.applyset import GroupKind, Inventory, parent_labels
from kro_gitops.engine.child_counts import ChildCounter
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.instances import InstanceReconciler, InstanceSettings
from kro_gitops.engine.controllers.prune_gate import PruneGate
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.children import Family, Rules
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.kube.api import EventType, Listing, WatchEvent
from kro_gitops.metadata import CHILD_MANAGER, FINALIZER, OWNED
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import config_map, definition, graph, instance, resource

KIOSK = Kind("kro.run", "v1", "Kiosk")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
KEY = ObjectRef(KIOSK, "town", "corner")
SERVING = ServedKind(KIOSK, "kiosks", "kiosk", "u", 1, graph(definition(resource())))
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
UNUSED: Any = None


class Server:
    """Lists, finds and deletes what it has, and reports that."""

    def __init__(self, *objects: KubeObject) -> None:
        self.objects = {ObjectRef.of(each): each for each in objects}
        self.deleted: list[str] = []
        self._version = 100
        self._streams: dict[Kind, asyncio.Queue[WatchEvent]] = {}

    async def list(self, selection: Any, keep: Any) -> Listing:
        found = [deepcopy(o) for ref, o in self.objects.items() if ref.kind == selection.kind]
        if selection.labels == f"{OWNED}=true":
            found = [o for o in found if o["metadata"].get("labels", {}).get(OWNED) == "true"]
        return Listing(tuple(map(keep, found)), str(self._version))

    @asynccontextmanager
    async def watch(self, selection: Any, since: str) -> AsyncIterator[Any]:
        queue = self._stream(selection.kind)

        async def events() -> AsyncIterator[WatchEvent]:
            while True:
                yield await queue.get()

        yield events()

    async def find(self, ref: ObjectRef) -> KubeObject | None:
        return self.objects.get(ref)

    async def delete(self, ref: ObjectRef, options: Any) -> KubeObject:
        self.deleted.append(ref.name)
        return await self.take(ref)

    async def take(self, ref: ObjectRef, **last: Any) -> KubeObject:
        """Have an object go at once, and be seen to."""
        self._version += 1
        gone = deepcopy(self.objects.pop(ref))
        gone["metadata"].update(last, resourceVersion=str(self._version))
        self._stream(ref.kind).put_nowait(WatchEvent(EventType.DELETED, gone))
        await asyncio.sleep(0.01)
        return gone

    def acting_as(self, identity: Any) -> "Server":
        return self

    def _stream(self, kind: Kind) -> asyncio.Queue[WatchEvent]:
        return self._streams.setdefault(kind, asyncio.Queue())


def corner(uid: str = "u-corner") -> KubeObject:
    inventory = Inventory(frozenset({GroupKind("ConfigMap")}), frozenset({"country"}))
    return instance(
        uid=uid,
        resourceVersion="90",
        finalizers=[FINALIZER],
        labels=parent_labels(KEY),
        annotations=inventory.annotations(KEY, "v0.9.4"),
    )


def child(name: str, wave: int = 0, namespace: str = "town") -> KubeObject:
    body = config_map(name)
    body["metadata"]["namespace"] = namespace
    made = Family(corner(), Rules()).child(body, "cm", wave)
    ours = {"manager": CHILD_MANAGER, "operation": "Apply", "fieldsV1": {"f:data": {}}}
    made["metadata"] |= {"uid": f"u-{name}", "resourceVersion": "95", "managedFields": [ours]}
    return made


Run = Callable[[Server], Awaitable["Engine"]]


class Engine:
    """As much of the engine as instances need; whoever is woken is worked on."""

    def __init__(self, server: Any) -> None:
        self.woken: list[ObjectRef] = []
        self.watches = Watches(server, lambda key, delay=0.0: self.woken.append(key))
        self.watches.served_kinds[KIOSK] = SERVING
        self._instances = InstanceReconciler(
            EngineContext(server, UNUSED),
            InstanceSettings(),
            self.watches,
            PruneGate(self.watches, lambda _: None),
            ChildCounter(),
        )

    async def settle(self) -> None:
        """Work until nobody is woken any more."""
        while self.woken:
            keys, self.woken = dict.fromkeys(self.woken), []
            for key in keys:
                await self._instances.reconcile(WorkItem(key, 0, 0.0))
                await asyncio.sleep(0.01)


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    made: list[Engine] = []

    async def begin(server: Server) -> Engine:
        engine = Engine(server)
        made.append(engine)
        await engine.watches.serve(SERVING, 1.0)
        return engine

    yield begin
    for each in made:
        each.watches.close()


async def test_children_go_in_reverse_order_wherever_they_are(run: Run) -> None:
    server = Server(corner(), child("base"), child("far", 1, "country"), child("top", 2))
    engine = await run(server)
    engine.woken.clear()
    await server.take(KEY)
    await engine.settle()
    assert server.deleted == ["top", "far", "base"]
    assert not engine.watches.router.lost


async def test_children_stay_where_somebody_let_the_instance_go(run: Run) -> None:
    server = Server(corner(), child("base"))
    engine = await run(server)
    engine.woken.clear()
    await server.take(KEY, **GOING)
    await engine.settle()
    assert server.deleted == []


async def test_children_stay_that_do_not_refer_to_it_any_more(run: Run) -> None:
    orphan = child("base")
    orphan["metadata"]["ownerReferences"] = []
    server = Server(corner(), orphan)
    engine = await run(server)
    engine.woken.clear()
    await server.take(KEY)
    await engine.settle()
    assert server.deleted == []
    assert not engine.watches.router.lost


async def test_another_instance_of_that_name_takes_the_children_over(run: Run) -> None:
    server = Server(corner(), child("base"))
    engine = await run(server)
    engine.woken.clear()
    await server.take(KEY)
    server.objects[KEY] = corner("u-next")  # not seen yet
    await engine.settle()
    assert server.deleted == []
    assert not engine.watches.router.lost


# while nobody looked


async def test_what_a_dead_controller_left_is_found_by_the_next(run: Run) -> None:
    server = Server(child("base"), child("far", 1, "country"), child("top", 2))
    engine = await run(server)
    await engine.settle()
    assert server.deleted == ["top", "far", "base"]


async def test_what_refers_to_nobody_is_not_taken_for_left(run: Run) -> None:
    server = Server(child("far", namespace="country"))
    engine = await run(server)
    await engine.settle()
    assert server.deleted == []


async def test_what_others_made_is_not_taken_for_left(run: Run) -> None:
    theirs = child("base")
    theirs["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update"}]
    server = Server(theirs)
    engine = await run(server)
    await engine.settle()
    assert server.deleted == []


async def test_an_instance_that_was_only_not_seen_yet_keeps_its_children(run: Run) -> None:
    server = Server(child("base"))
    engine = await run(server)
    server.objects[KEY] = corner()
    await engine.settle()
    assert server.deleted == []
