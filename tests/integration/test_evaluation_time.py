"""
Instances whose expressions take long: they block neither the event loop nor other instances.

Times are CPU times of the event loop's thread, so that a busy machine does not change the outcome.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kro_gitops.engine.controllers.engine import INSTANCES, EngineSettings, LoopSettings
from kro_gitops.engine.controllers.evaluation_turns import EvaluationLimits
from kro_gitops.engine.controllers.instances import InstanceSettings
from kro_gitops.kube.api import MergePatch
from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import config_map, definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene

Play = Callable[[Scene], None]

# Some milliseconds each, and far below the limit for one expression. All of them differ: one that
# stands in several places is evaluated once.
SLOW = "${string(schema.spec.items.map(a, schema.spec.items.map(b, a * b + NUMBER)).size())}"
ITEMS = list(range(60))
MANY = 150


def slow_definition() -> KubeObject:
    data = {f"k{index}": SLOW.replace("NUMBER", str(index)) for index in range(MANY)}
    return definition(resource("cm", config_map(**data)), spec={"items": "[]integer"})


async def create(cluster: InProcessCluster, *objects: KubeObject) -> None:
    for obj in objects:
        await cluster.client.create(obj)


def namespace(name: str) -> KubeObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def condition(obj: KubeObject, type_: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in obj["status"]["conditions"] if c["type"] == type_)
    return found


@asynccontextmanager
async def longest_gap() -> AsyncIterator[Callable[[], float]]:
    """Measure the most CPU time that passes without a turn for another task of the event loop."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - began)

    task = asyncio.create_task(tick())
    try:
        yield lambda: longest
    finally:
        task.cancel()


async def cpu_time_of(cluster: InProcessCluster, obj: KubeObject) -> float:
    began = time.thread_time()
    await create(cluster, obj)
    await cluster.in_state(obj, "ACTIVE")
    return time.thread_time() - began


def test_many_slow_expressions_do_not_block_the_event_loop(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await create(cluster, namespace("town"), slow_definition())
        await cluster.in_state(slow_definition(), "Active")
        async with longest_gap() as gap:
            total = await cpu_time_of(cluster, instance({"items": ITEMS}))
            # One slice, one expression, and a request or two.
            assert gap() < total / 4, total

    play(scene)


def test_the_instance_of_another_namespace_does_not_wait_for_slow_ones(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        # More slow instances than workers.
        controllers.rules = EngineSettings(loops={INSTANCES: LoopSettings(workers=3)})
        await controllers.restart()
        quick = definition(resource("cm", config_map()), kind="Stall")
        quick["metadata"]["name"] = "stall"
        await create(cluster, namespace("town"), namespace("village"), slow_definition(), quick)
        await cluster.in_state(slow_definition(), "Active")
        await cluster.in_state(quick, "Active")
        slow = [instance({"items": ITEMS}, name=f"slow-{number}") for number in range(8)]
        await create(cluster, *slow)
        small = {**instance(name="small", namespace="village"), "kind": "Stall"}
        used = await cpu_time_of(cluster, small)
        states = [(await cluster.get(obj)).get("status", {}).get("state") for obj in slow]
        assert "ACTIVE" not in states[1:], (used, states)

    play(scene)


def test_an_instance_whose_expressions_take_too_long_is_stopped_and_reported(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        limits = EvaluationLimits(instance=0.03)
        controllers.rules = EngineSettings(InstanceSettings(evaluation=limits))
        await controllers.restart()
        await create(cluster, namespace("town"), slow_definition())
        await cluster.in_state(slow_definition(), "Active")
        await create(cluster, instance({"items": []}))
        child = {**config_map("corner"), "metadata": {"name": "corner", "namespace": "town"}}
        await cluster.in_state(instance(), "ACTIVE")
        before = await cluster.get(child)
        await cluster.client.patch(ObjectRef.of(instance()), MergePatch({"spec": {"items": ITEMS}}))
        stopped = await cluster.in_state(instance(), "ERROR")
        found = condition(stopped, "ResourcesReady")
        assert (found["status"], found["reason"]) == ("False", "EvaluationLimitExceeded")
        assert found["message"].startswith(
            "evaluating the expressions of this instance took more than 0.03s of CPU time and was "
            "stopped; use fewer or simpler expressions"
        )
        assert condition(stopped, "Ready")["status"] == "False"
        assert await cluster.get(child) == before, "children stay as they are"

        # Changes of children do not evaluate it again at once.
        sent = len(cluster.transport.writes)
        await cluster.client.patch(ObjectRef.of(child), MergePatch({"data": {"k0": "drift"}}))
        began = time.thread_time()
        await asyncio.sleep(0.2)
        assert time.thread_time() - began < limits.instance
        assert len(cluster.transport.writes) == sent + 1
        # A new spec does.
        await cluster.client.patch(ObjectRef.of(instance()), MergePatch({"spec": {"items": [1]}}))
        await cluster.in_state(instance(), "ACTIVE", within=0.2)
        assert (await cluster.get(child))["data"]["k0"] == "1"

    play(scene)
