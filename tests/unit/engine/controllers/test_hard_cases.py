"""What must not happen: edits lost, ghosts, objects of others touched, instances that hang."""

import asyncio
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from kro_gitops.engine.applyset import GroupKind, Inventory, applyset_id
from kro_gitops.engine.controllers.applier import Applier
from kro_gitops.engine.controllers.context import EngineContext, WriteContext
from kro_gitops.engine.controllers.engine import Engine, EngineSettings
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.serving import KindServer
from kro_gitops.engine.controllers.watches import Watches, trim_child
from kro_gitops.engine.plan.children import Family, Rules
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.engine.status import State, project, summarize
from kro_gitops.errors import KroGitopsError, NotYet
from kro_gitops.kube.api import EventType, Listing, Selection, WatchEvent
from kro_gitops.kube.informer import Informer
from kro_gitops.metadata import (
    APPLYSET_PART_OF,
    CHILD_MANAGER,
    DEFINITION_NAME,
    OWNED,
)
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, ObjectRef
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster

KIOSK = Kind("kro.run", "v1", "Kiosk")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
KEY = ObjectRef(KIOSK, "town", "corner")
UNUSED: Any = None  # what a case has no need of


class Server:
    """Lists what it has and then reports what it is told to report."""

    def __init__(self, *objects: dict[str, Any], broken: tuple[Kind, ...] = ()) -> None:
        self.objects = list(objects)
        self.broken = broken
        self.streams: dict[Kind, asyncio.Queue[WatchEvent]] = {}
        self.applied: list[tuple[str, bool]] = []

    async def list(self, selection: Any, keep: Any = lambda obj: obj) -> Listing:
        if selection.kind in self.broken:
            raise KroGitopsError("forbidden", "forbidden")
        found = [o for o in self.objects if ObjectRef.of(o).kind == selection.kind]
        if selection.labels == f"{OWNED}=true":
            found = [o for o in found if o["metadata"].get("labels", {}).get(OWNED) == "true"]
        return Listing(tuple(keep(dict(o, metadata=dict(o["metadata"]))) for o in found), "100")

    @asynccontextmanager
    async def watch(self, selection: Any, since: str) -> Any:
        queue = self.streams.setdefault(selection.kind, asyncio.Queue())

        async def events() -> Any:
            while True:
                yield await queue.get()

        yield events()

    async def find(self, ref: ObjectRef) -> Any:
        return next((dict(o) for o in self.objects if ObjectRef.of(o) == ref), None)

    async def apply(self, obj: Any, options: Any) -> Any:
        live = await self.find(ObjectRef.of(obj))
        self.applied.append((obj["metadata"]["name"], options.force))
        entries = list((live or {"metadata": {}})["metadata"].get("managedFields", []))
        entries.append({"manager": CHILD_MANAGER, "operation": "Apply", "fieldsV1": {}})
        about = {"uid": "u", **obj["metadata"], "resourceVersion": "101", "managedFields": entries}
        return {**obj, "metadata": about}

    def acting_as(self, identity: Any) -> "Server":
        return self


def versioned(obj: dict[str, Any], version: int, **metadata: Any) -> dict[str, Any]:
    about = {"uid": "u-" + obj["metadata"]["name"], **obj["metadata"], **metadata}
    return {**obj, "metadata": {**about, "resourceVersion": str(version)}}


def corner(version: int, **metadata: Any) -> dict[str, Any]:
    return versioned(instance(), version, **{"generation": 1, **metadata})


def child(
    name: str, version: int = 50, namespace: str = "town", labels: dict[str, str] | None = None
) -> dict[str, Any]:
    found = versioned(config_map(name), version, namespace=namespace)
    found["metadata"]["labels"] = {OWNED: "true", **(labels or {})}
    return found


def serving(*resources: Any) -> ServedKind:
    return ServedKind(KIOSK, "kiosks", "kiosk", "u", 1, graph(definition(*resources)))


@pytest.fixture
def woken() -> list[ObjectRef]:
    return []


@pytest.fixture
async def watches(woken: list[ObjectRef]) -> Any:
    made = []

    def make(server: Any) -> Watches:
        found = Watches(server, lambda key, delay=0.0: woken.append(key))
        made.append(found)
        return found

    yield make
    for each in made:
        each.close()


# an edit that our own write overtakes


async def test_an_edit_that_our_write_overtook_still_wakes(watches: Any, woken: Any) -> None:
    server: Any = Server(corner(90))
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    woken.clear()
    found.router.own_writes.begin(KEY)
    # Somebody edits (101, generation 2); our status write comes next (102) and is answered first.
    found.cache_instance(KEY, corner(102, generation=2))
    stream = server.streams[KIOSK]
    stream.put_nowait(WatchEvent(EventType.MODIFIED, corner(101, generation=2)))
    stream.put_nowait(WatchEvent(EventType.MODIFIED, corner(102, generation=2)))
    await asyncio.sleep(0.01)
    assert found.router.own_writes.end(KEY) or woken == [KEY]


async def test_new_defaults_wake_though_the_event_was_ours(watches: Any, woken: Any) -> None:
    server: Any = Server(corner(90))
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    woken.clear()
    found.router.own_writes.begin(KEY)
    # By the schema that changed meanwhile, our own status write shows a default; it is heard
    # before it is answered, and nothing else will ever be said of it.
    shown = corner(101)
    shown["spec"] = {**shown["spec"], "novelty": "none"}
    server.streams[KIOSK].put_nowait(WatchEvent(EventType.MODIFIED, deepcopy(shown)))
    await asyncio.sleep(0.01)
    found.cache_instance(KEY, shown)
    assert not found.router.own_writes.end(KEY)
    assert woken == [KEY]


# an answer that comes after the end of its object


async def test_an_answer_after_the_end_does_not_bring_an_object_back(watches: Any) -> None:
    server: Any = Server(corner(90))
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    stream = server.streams[CONFIG_MAP]
    stream.put_nowait(WatchEvent(EventType.ADDED, child("corner", 101)))
    stream.put_nowait(WatchEvent(EventType.DELETED, child("corner", 102)))
    await asyncio.sleep(0.01)
    found.cache_child(KEY, child("corner", 101))
    assert found.child(ObjectRef(CONFIG_MAP, "town", "corner")) is None


# members are looked for beyond the inventory


async def test_members_are_only_where_the_inventory_says(watches: Any) -> None:
    id_ = applyset_id(KEY)
    mirrored = child("mirrored", labels={APPLYSET_PART_OF: id_})
    mirrored.update(apiVersion="discovery.k8s.io/v1", kind="EndpointSlice", addressType="IPv4")
    planted = child("planted", namespace="attacker", labels={APPLYSET_PART_OF: id_})
    ours = child("ours", labels={APPLYSET_PART_OF: id_})
    server: Any = Server(corner(90), mirrored, planted, ours)
    found = watches(server)
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "x"},
        "addressType": "IPv4",
        "endpoints": [],
    }
    await found.serve(serving(resource(), resource("slices", slices)), 1.0)
    inventory = Inventory(frozenset({GroupKind("ConfigMap")}))
    errand = WriteContext(KEY, server)
    membership = ChildFinder(found, UNUSED)
    members, _ = await membership.members(errand, inventory)
    assert [each["metadata"]["name"] for each in members] == ["ours"]


# a graph that cannot be watched takes away what the former one needs


async def test_a_graph_that_cannot_be_watched_leaves_the_former_at_work(watches: Any) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    server: Any = Server(corner(90), child("corner"), broken=(Kind("", "v1", "Secret"),))
    found = watches(server)
    former = serving(resource())
    await found.serve(former, 1.0)
    with pytest.raises(NotYet):
        await found.serve(serving(resource("secret", secret)), 0.05)
    assert found.child(ObjectRef(CONFIG_MAP, "town", "corner")) is not None
    await asyncio.wait_for(found.wait_for_caches(former, 5.0), 0.5)


async def test_what_is_not_watched_is_not_taken_for_absent(watches: Any) -> None:
    found = watches(Server(corner(90), child("corner")))
    with pytest.raises(NotYet):
        found.child(ObjectRef(CONFIG_MAP, "town", "corner"))


# instances that wait for their children when the definition goes


async def test_instances_are_looked_at_when_their_definition_goes(
    watches: Any, woken: list[ObjectRef]
) -> None:
    server: Any = Server(corner(90))
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    woken.clear()
    kinds = KindServer(found, UNUSED, 1.0, UNUSED)
    await kinds.serve_deletions(KIOSK, "kiosks", "kiosk")
    assert woken == [KEY]


# a definition that was going when we started


async def test_instances_of_a_definition_that_was_going_can_go(monkeypatch: Any) -> None:
    served: list[str] = []

    async def serve_deletions(kind: Kind, plural: str, owner: str) -> None:
        served.append(owner)

    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        **graph(definition(resource())).crd,
    }
    crd["metadata"] = {
        "name": "kiosks.kro.run",
        "resourceVersion": "1",
        "labels": {OWNED: "true", DEFINITION_NAME: "kiosk"},
    }
    server: Any = Server(crd)
    engine = Engine(EngineContext(server, UNUSED), EngineSettings())
    going = definition(resource())
    going["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", resourceVersion="1", uid="u")
    engine._definitions.cache.put(going)
    engine._crds.cache.put(crd)
    monkeypatch.setattr(engine._kinds, "serve_deletions", serve_deletions)
    await engine._serve_kinds_without_definition()
    assert served == ["kiosk"]


# whose object is it?


def applying(name: str, live: Any = None, key: ObjectRef = KEY) -> Apply:
    parent = versioned(instance(name=key.name), 1)
    body = config_map(name)
    body["metadata"]["namespace"] = "town"
    made = Family(parent, Rules()).child(body, "cm", 1)
    return Apply("cm", 0, ObjectRef.of(made), made, live)


async def test_an_object_that_only_has_the_label_is_not_taken_over(watches: Any) -> None:
    theirs = child("shared")
    theirs["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update"}]
    server: Any = Server(theirs)
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    live = trim_child({**theirs, "metadata": dict(theirs["metadata"])}, None)
    applier = Applier(found, Observer())
    with pytest.raises(RefusedError):
        await applier.apply(WriteContext(KEY, server), applying("shared", live))
    assert ("shared", True) not in server.applied


async def test_what_another_instance_made_meanwhile_is_not_taken(watches: Any) -> None:
    server: Any = Server()
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    applier = Applier(found, Observer())
    other = ObjectRef(KIOSK, "town", "other")
    # Both planned while it was not there; the other one was faster.
    late = applying("shared")
    await applier.apply(WriteContext(other, server), applying("shared", key=other))
    with pytest.raises(RefusedError):
        await applier.apply(WriteContext(KEY, server), late)


async def test_an_object_of_somebody_else_is_not_touched_to_find_that_out(watches: Any) -> None:
    theirs = versioned(config_map("shared"), 50, namespace="town")
    theirs["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update"}]
    server: Any = Server(theirs)
    found = watches(server)
    await found.serve(serving(resource()), 1.0)
    with pytest.raises(RefusedError):
        await Applier(found, Observer()).apply(
            WriteContext(KEY, server),
            applying("shared"),
        )
    assert server.applied == []


# drift of a Secret written as text


def test_a_secret_is_applied_in_the_form_whose_drift_can_be_seen() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"a": "b"},
    }
    cluster = SmallCluster()
    cluster.run(graph(definition(resource("s", secret))), instance())
    made = cluster.named("s")
    assert made["data"] == {"a": "Yg=="}
    assert "stringData" not in made


# readyWhen of what was selected


def test_what_was_selected_can_become_ready() -> None:
    ref = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"selector": {"matchLabels": {"a": "b"}}},
    }
    made = graph(
        definition(
            {
                "id": "input",
                "externalRef": ref,
                "readyWhen": ["${input.all(i, i.data.ok == 'yes')}"],
            }
        )
    )
    seen = config_map("x", ok="yes")
    seen["metadata"].update(namespace="town", labels={"a": "b"})
    assert summarize(SmallCluster(seen).run(made, instance())).state is State.ACTIVE


# an informer that dies unseen


async def test_an_informer_survives_a_listener_that_raises() -> None:
    server: Any = Server(child("a", 50))
    informer = Informer(server, Selection(CONFIG_MAP))
    heard: list[str] = []

    def listener(change: Any) -> None:
        heard.append(change.object["metadata"]["name"])
        if len(heard) == 1:
            raise KeyError("a mistake")

    informer.listen(listener)
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(1.5)
    assert not task.done()
    assert informer.is_synced
    task.cancel()


# one element that is not known yet costs the whole status


def test_a_list_with_a_gap_is_left_out_until_it_is_whole() -> None:
    status = {"names": ["${a.data.x}", "${b.metadata.name}"], "other": "${b.metadata.name}"}
    made = graph(
        definition(resource("a", config_map("a")), resource("b", config_map("b")), status=status)
    )
    values = {"schema": instance(), "a": config_map("a"), "b": config_map("b")}
    # The API server: status.names[0] in body must be of type string: "null".
    assert project(made, values, Evaluator(Bounds())).fields == {"other": "b"}


# Definitions that share a kind of child


class SlowServer(Server):
    """Answers lists of config maps only when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_list = asyncio.Event()

    async def list(self, selection: Any, keep: Any = lambda obj: obj) -> Listing:
        if selection.kind == CONFIG_MAP:
            await self.may_list.wait()
        return await super().list(selection, keep)


async def test_a_definition_is_served_though_another_replaced_the_watch_it_waits_for(
    watches: Any,
) -> None:
    server = SlowServer()
    watched = watches(server)
    reads_nothing = serving(resource())
    kind = Kind("kro.run", "v1", "Stand")
    reads_data = serving(
        resource("cm", config_map("one", x="1")),
        resource("copy", config_map("two", x="${cm.data.x}")),
    )
    first = asyncio.create_task(watched.serve(reads_nothing, 2.0))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(watched.serve(replace(reads_data, kind=kind), 2.0))
    await asyncio.sleep(0.01)
    server.may_list.set()
    await asyncio.gather(first, second)
    await watched.wait_for_caches(reads_nothing, 0.0)
    assert watched.child(ObjectRef(CONFIG_MAP, "town", "corner")) is None


async def test_the_observer_learns_which_informers_start_sync_and_stop() -> None:
    class Recorder(Observer):
        def __init__(self) -> None:
            self.calls: list[tuple[str, object]] = []

        def handler_attached(self, type_: str) -> None:
            self.calls.append(("attached", type_))

        def handler_detached(self, type_: str) -> None:
            self.calls.append(("detached", type_))

        def informer_synced(self, kind: Kind, seconds: float) -> None:
            assert seconds >= 0.0
            self.calls.append(("synced", kind.kind))

    recorder = Recorder()
    server: Any = Server(corner(10))
    watches = Watches(server, lambda key, delay=0.0: None, recorder)
    served = serving(resource("words", config_map("words")))
    await watches.serve(served, 5.0)
    await watches.serve(served, 5.0)
    watches.stop_serving(KIOSK)
    assert recorder.calls == [
        ("attached", "parent"),
        ("attached", "child"),
        ("synced", "Kiosk"),
        ("synced", "ConfigMap"),
        ("detached", "parent"),
        ("detached", "child"),
    ]
