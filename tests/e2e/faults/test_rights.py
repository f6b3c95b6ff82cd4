"""Rights that are missing: the instance says which, nobody else suffers, and granting is enough."""

import asyncio
from pathlib import Path

from kube_objects.refs import KubeObject
from tests.e2e.faults.accounts import OWN_WORK, Account, rule
from tests.e2e.faults.stage import LIMIT, staged
from tests.e2e.scenarios.parts import config_map, node, service
from tests.e2e.scenarios.samples import messages
from tests.e2e.scenarios.world import World
from tools.cluster.plane import Plane

NAME = "${schema.metadata.name}"
GRANTED_WITHIN = 35.0  # seconds
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}}


async def test_missing_rights_are_told_and_what_is_granted_is_used(
    own_plane: Plane, tmp_path: Path
) -> None:
    account = Account(own_plane, "controller")
    few = [*OWN_WORK, rule("", "configmaps"), rule("", "services", "get", "list", "watch")]
    await asyncio.to_thread(account.may, few)
    kubeconfig = await asyncio.to_thread(account.kubeconfig, tmp_path)
    async with staged(own_plane.kubeconfig, through=kubeconfig) as world:
        few.append(rule(world.group, "*"))
        await asyncio.to_thread(account.may, few)
        unseen = await _served(world, "Unseen", SECRET)
        unwritten = await _served(world, "Unwritten", service(NAME, "main"))
        free = await _served(world, "Free", config_map(NAME, {"a": "b"}))
        await world.settled(free, LIMIT)
        await asyncio.gather(
            _complains(world, unseen, "secrets"), _complains(world, unwritten, "services")
        )
        # Whoever has all rights goes on meanwhile.
        await world.delete(world.ref("v1", "ConfigMap", "free"))
        await world.until(lambda: world.get(world.ref("v1", "ConfigMap", "free")))
        late = world.instance("Free", "late")
        await world.create(late)
        await world.settled(late)

        await asyncio.to_thread(account.may, [*few, rule("", "secrets"), rule("", "services")])
        both = (unseen, unwritten)
        await asyncio.gather(*(world.settled(each, GRANTED_WITHIN) for each in both))
        for kind in ("Unseen", "Unwritten"):
            assert await world.find(_child(world, kind)) is not None


async def _served(world: World, kind: str, child: KubeObject) -> KubeObject:
    """Have a definition with one child, and an instance; the kind may be served half."""
    await world.create(world.definition(kind, resources=[node("child", child)]))
    instance = world.instance(kind, kind.lower())
    await world.create(instance)
    return instance


async def _complains(world: World, instance: KubeObject, about: str) -> None:
    async def check() -> None:
        found = await world.get(instance)
        told = messages(found)
        assert "forbidden" in told, told
        assert about in told, told
        assert found["status"]["state"] != "ACTIVE"

    await world.until(check, LIMIT)


def _child(world: World, kind: str) -> KubeObject:
    made = SECRET if kind == "Unseen" else service(NAME, "main")
    place = {"name": kind.lower(), "namespace": world.namespace}
    return {**made, "metadata": place}
