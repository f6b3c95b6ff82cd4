"""What the engine's controllers do over time: reconcile, conflict, deletion, restart, time-outs."""

import asyncio
from collections.abc import Callable
from typing import Any

from kro_gitops.kube.api import MergePatch, WriteOptions
from kro_gitops.kube.informer import MAX_RETRY_DELAY
from kro_gitops.kube.requests import Request
from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import config_map, definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster, no_fault, unavailable
from tests.integration.conftest import Scene

Play = Callable[[Scene], None]
USER = WriteOptions(manager="user", force=True)


async def serve(cluster: InProcessCluster, *resources: KubeObject, **schema: Any) -> KubeObject:
    """Create a definition and return it once it is active."""
    made = definition(*resources, **schema)
    await cluster.client.create(made)
    await cluster.in_state(made, "Active")
    return made


async def create(cluster: InProcessCluster, *objects: KubeObject) -> None:
    town = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "town"}}
    if await cluster.client.find(ObjectRef.of(town)) is None:
        await cluster.client.create(town)
    for obj in objects:
        await cluster.client.create(obj)


def config_map_ref(name: str) -> ObjectRef:
    return ObjectRef.of({**config_map(name), "metadata": {"name": name, "namespace": "town"}})


def test_an_instance_becomes_active_with_its_children(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, resource("cm", config_map(x="${schema.spec.x}")), spec={"x": "string"})
        await create(cluster, instance({"x": "1"}))
        await cluster.in_state(instance(), "ACTIVE")
        assert (await cluster.get(config_map_ref("corner")))["data"] == {"x": "1"}

        await cluster.client.patch(ObjectRef.of(instance()), MergePatch({"spec": {"x": "2"}}))

        async def changed() -> None:
            assert (await cluster.get(config_map_ref("corner")))["data"] == {"x": "2"}

        await cluster.eventually(changed)

    play(scene)


def test_drift_is_repaired_at_once(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, resource("cm", config_map(x="ours")))
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        await cluster.client.patch(
            config_map_ref("corner"), MergePatch({"data": {"x": "theirs"}}), USER
        )

        async def repaired() -> None:
            assert (await cluster.get(config_map_ref("corner")))["data"] == {"x": "ours"}

        await cluster.eventually(repaired, within=1.0)

    play(scene)


def test_the_first_of_two_instances_keeps_a_child_that_both_name(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, resource("cm", config_map("shared", of="${schema.metadata.name}")))
        await create(cluster, instance(name="first"))
        await cluster.in_state(instance(name="first"), "ACTIVE")
        await create(cluster, instance(name="second"))
        failed = await cluster.in_state(instance(name="second"), "ERROR")
        assert "town/shared" in str(failed["status"]["conditions"])

        # The name is free again: the other instance gets it without being touched.
        await cluster.client.delete(ObjectRef.of(instance(name="first")))
        await cluster.in_state(instance(name="second"), "ACTIVE", within=120)
        assert (await cluster.get(config_map_ref("shared")))["data"] == {"of": "second"}

    play(scene)


def test_a_reference_to_a_child_of_the_same_instance_sees_it_once_it_is_there(play: Play) -> None:
    named = {"name": "corner-own", "namespace": "town"}

    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(
            cluster,
            resource("own", config_map("corner-own", x="1")),
            {
                "id": "seen",
                "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named},
            },
            resource("copy", config_map("corner-copy", x="${seen.data.x}")),
        )
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        assert (await cluster.get(config_map_ref("corner-copy")))["data"] == {"x": "1"}

    play(scene)


def test_children_are_deleted_in_reverse_order_and_a_held_child_is_waited_for(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(
            cluster,
            resource("base", config_map("base", x="1")),
            resource("top", config_map("top", x="${base.data.x}")),
        )
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        await cluster.client.patch(config_map_ref("top"), MergePatch(held), USER)
        await cluster.client.delete(ObjectRef.of(instance()))

        await asyncio.sleep(3600)
        top = await cluster.get(config_map_ref("top"))
        assert top["metadata"]["deletionTimestamp"]
        base = await cluster.get(config_map_ref("base"))
        assert "deletionTimestamp" not in base["metadata"]
        assert await cluster.client.find(ObjectRef.of(instance())) is not None

        released = {"metadata": {"finalizers": None}}
        await cluster.client.patch(config_map_ref("top"), MergePatch(released), USER)
        await cluster.gone(config_map_ref("base"))
        await cluster.gone(instance())

    play(scene)


def test_a_restart_over_settled_instances_writes_nothing(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await serve(
            cluster,
            resource("one", config_map("${schema.metadata.name}-one", x="1")),
            resource("two", config_map("${schema.metadata.name}-two", x="${one.data.x}")),
            status={"x": "${two.data.x}"},
        )
        names = [f"i{number}" for number in range(20)]
        await create(cluster, *(instance(name=name) for name in names))
        for name in names:
            await cluster.in_state(instance(name=name), "ACTIVE")

        cluster.transport.sent.clear()
        await controllers.restart()
        await asyncio.sleep(600)
        assert [f"{each.method} {each.path}" for each in cluster.transport.writes] == []

    play(scene)


def test_a_kill_at_any_write_ends_in_the_same_state(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await serve(
            cluster,
            resource("one", config_map("${schema.metadata.name}-one", x="1")),
            resource("two", config_map("${schema.metadata.name}-two", x="${one.data.x}")),
        )
        for writes in range(1, 7):
            await _killed_after(writes, f"k{writes}", cluster, controllers)

    play(scene)


async def _killed_after(
    writes: int, name: str, cluster: InProcessCluster, controllers: Controllers
) -> None:
    """Kill the controllers at a write on behalf of an instance, start them, and see it settle."""
    left = writes
    reached = asyncio.Event()

    async def stop(request: Request) -> None:
        nonlocal left
        if request.method in ("PATCH", "DELETE") and name in request.path:
            left -= 1
            if left < 0:
                reached.set()
                await asyncio.Event().wait()  # the process is gone before the request is sent

    cluster.transport.fault = stop
    await create(cluster, instance(name=name))
    settled = asyncio.create_task(cluster.in_state(instance(name=name), "ACTIVE"))
    stopped = asyncio.create_task(reached.wait())
    await asyncio.wait((settled, stopped), return_when=asyncio.FIRST_COMPLETED)
    settled.cancel()
    stopped.cancel()
    await controllers.kill()
    cluster.transport.fault = no_fault
    await controllers.start()
    await cluster.in_state(instance(name=name), "ACTIVE")
    assert (await cluster.get(config_map_ref(f"{name}-two")))["data"] == {"x": "1"}


def test_a_rejected_child_is_retried_less_and_less_often(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        bad = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {}}
        bad["spec"] = {"clusterIP": "${schema.spec.ip}", "ports": [{"port": 80}]}
        await serve(cluster, resource("svc", bad), spec={"ip": "string"})
        await create(cluster, instance({"ip": "not-an-address"}))
        await cluster.in_state(instance(), "ERROR")
        cluster.transport.sent.clear()
        await asyncio.sleep(600)
        tries = [each for each in cluster.transport.writes if each.path.endswith("/svc")]
        # Every 30 seconds in the end: far fewer than one every 3 seconds, and it never gives up.
        assert 15 <= len(tries) <= 40

        await cluster.client.patch(ObjectRef.of(instance()), MergePatch({"spec": {"ip": "None"}}))
        await cluster.in_state(instance(), "ACTIVE")

    play(scene)


def test_an_outage_of_an_hour_is_survived(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, resource("cm", config_map(x="${schema.spec.x}")), spec={"x": "string"})
        await create(cluster, instance({"x": "1"}))
        await cluster.in_state(instance(), "ACTIVE")

        async def down(request: Request) -> None:
            if "user" not in str(request.query):
                raise unavailable(request)

        cluster.transport.fault = down
        change = MergePatch({"spec": {"x": "2"}})
        await cluster.client.patch(ObjectRef.of(instance()), change, USER)
        await asyncio.sleep(3600)
        cluster.transport.fault = no_fault

        async def changed() -> None:
            assert (await cluster.get(config_map_ref("corner")))["data"] == {"x": "2"}

        # Not when the retry is due, up to 1,000 seconds later: as soon as a watch is back.
        await cluster.eventually(changed, within=MAX_RETRY_DELAY + 1, every=0.1)

    play(scene)


def test_a_kind_that_cannot_be_listed_makes_its_definition_inactive_until_it_can(
    play: Play,
) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        async def hang(request: Request) -> None:
            if request.verb == "list" and request.subject == "services":
                await asyncio.sleep(10_000)

        cluster.transport.fault = hang
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "svc"},
            "spec": {"ports": [{"port": 80}]},
        }
        made = definition(resource("svc", service))
        await cluster.client.create(made)
        found = await cluster.in_state(made, "Inactive", within=120)
        assert "cache sync timeout for v1 Service" in str(found["status"]["conditions"])
        cluster.transport.fault = no_fault
        await cluster.in_state(made, "Active", within=20_000, every=10)

    play(scene)
