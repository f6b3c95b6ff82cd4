"""Definitions that share a kind of child: their watches are replaced, and nobody notices."""

import asyncio
import os
from collections.abc import Callable

from kro_gitops.kube.requests import Request
from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import config_map, definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene

Play = Callable[[Scene], None]

IS_FULL = os.environ.get("KRO_GITOPS_TESTS") == "full"
DEFINITIONS, INSTANCES = (200, 2000) if IS_FULL else (12, 48)
SCALE = 12 / DEFINITIONS  # of delays: eight definitions at a time start one after the other
SETTLED = 10.0  # virtual seconds; a watch that is waited for in vain costs 30


def reading(number: int) -> KubeObject:
    """Return a definition that reads a part of ConfigMaps which no other one reads."""
    key = f"k{number}"
    found = definition(
        resource("one", config_map("${schema.metadata.name}-one", **{key: "x"})),
        resource("two", config_map("${schema.metadata.name}-two", copy=f"${{one.data.{key}}}")),
        kind=f"Kiosk{number}",
    )
    found["metadata"]["name"] = f"kiosk-{number}"
    return found


def instance_of(number: int) -> KubeObject:
    kind = f"Kiosk{number % DEFINITIONS}"
    return {**instance(name=f"corner-{number}"), "kind": kind}


async def slow_requests(request: Request) -> None:
    """Let definitions start one after the other, while ConfigMaps are still being listed."""
    if request.method == "GET" and request.path.endswith("/configmaps"):
        await asyncio.sleep(0.5 * SCALE)
    elif request.method == "GET" and "/customresourcedefinitions/kiosk" in request.path:
        number = int("".join(filter(str.isdigit, request.path.rpartition("/")[2])))
        await asyncio.sleep(0.05 * SCALE * (number % 8))


async def fill(cluster: InProcessCluster) -> None:
    """Create the definitions at once, then their instances, and wait for all of them."""
    town = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "town"}}
    await cluster.client.create(town)
    definitions = [reading(number) for number in range(DEFINITIONS)]
    await asyncio.gather(*(cluster.client.create(each) for each in definitions))
    for each in definitions:
        await cluster.in_state(each, "Active")
    instances = [instance_of(number) for number in range(INSTANCES)]
    await asyncio.gather(*(cluster.client.create(each) for each in instances))
    for each in instances:
        await cluster.in_state(each, "ACTIVE")
    await asyncio.sleep(SETTLED)


def test_restarts_write_nothing_and_wait_for_no_watch_that_was_replaced(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await fill(cluster)
        cluster.transport.fault = slow_requests
        loop = asyncio.get_running_loop()
        for _ in range(3):
            sent, began = len(cluster.transport.writes), loop.time()
            await controllers.restart()
            assert loop.time() - began < SETTLED
            await asyncio.sleep(SETTLED)
            # No status was written, so no definition and no instance ever changed its state.
            assert cluster.transport.writes[sent:] == []

    play(scene)


def test_definitions_that_come_and_go_do_not_disturb_the_others(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        kept = [reading(number) for number in range(4)]
        town = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "town"}}
        await cluster.client.create(town)
        for each in kept:
            await cluster.client.create(each)
            await cluster.in_state(each, "Active")
        instances = [{**instance(name=f"corner-{n}"), "kind": f"Kiosk{n}"} for n in range(4)]
        for each in instances:
            await cluster.client.create(each)
            await cluster.in_state(each, "ACTIVE")

        cluster.transport.fault = slow_requests

        async def come_and_go(first: int) -> None:
            for round_ in range(5):
                coming = reading(100 + first * 10 + round_)
                await cluster.client.create(coming)
                await cluster.in_state(coming, "Active", within=SETTLED)
                await cluster.client.delete(ObjectRef.of(coming))
                await cluster.gone(coming, within=SETTLED)

        await asyncio.gather(*(come_and_go(first) for first in range(8)), controllers.restart())
        await asyncio.sleep(SETTLED)
        for each in kept:
            assert (await cluster.get(each))["status"]["state"] == "Active"
        for each in instances:
            assert (await cluster.get(each))["status"]["state"] == "ACTIVE"

    play(scene)
