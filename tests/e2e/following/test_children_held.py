"""A commit that would delete many children of instances is held until it is approved."""

import asyncio
from pathlib import Path

from kro_gitops.kube.api import Selection
from kro_gitops.metadata import OWNED
from kube_objects.refs import Kind, KubeObject
from tests.command import Outcome, run
from tests.e2e.following.test_control import ask
from tests.e2e.following.world import SourceWorld
from tests.e2e.scenarios.world import condition

SERVICE = Kind("", "v1", "Service")
NAMES = [f"front-{number}" for number in range(13)]


def service(suffix: str) -> KubeObject:
    """Build the resource of a Service for each instance."""
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"${{schema.metadata.name}}-{suffix}"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}},
    }
    return {"id": suffix, "template": body}


def shop(world: SourceWorld, *suffixes: str) -> KubeObject:
    """Build a definition with these Services."""
    found = world.shop()
    found["spec"]["resources"] += [service(each) for each in suffixes]
    return found


async def has_services(world: SourceWorld, count: int) -> None:
    async def check() -> None:
        selection = Selection(SERVICE, world.namespace, labels=f"{OWNED}=true")
        assert len((await world.cluster.list(selection)).items) == count

    await world.until(check, within=40.0)


async def following(world: SourceWorld) -> None:
    """Follow a repository with thirteen instances, one of which has a Service of its own kind."""
    files: dict[str, object] = {"shop.yaml": shop(world, "web")}
    files |= {f"{name}.yaml": world.front(name) for name in NAMES}
    commit = world.commit(files)
    await world.follow()
    await world.ready(commit, within=60.0)
    await has_services(world, 13)


async def approve(world: SourceWorld, kubeconfig: Path, target: str, *more: str) -> Outcome:
    words = ("approve", target, "-n", world.namespace, *more)
    return await asyncio.to_thread(run, *words, "--kubeconfig", kubeconfig)


async def test_thirteen_services_stay_until_the_definition_is_approved(
    world: SourceWorld, kubeconfig: Path
) -> None:
    await following(world)
    commit = world.commit({"shop.yaml": shop(world)})
    source = await world.reported("PruneBlocked", commit=commit, within=60.0)
    said = condition(source, "PruneBlocked")["message"]
    assert "would delete 13 children of 13 instances" in said
    assert condition(source, "Ready")["status"] == "False"
    name = f"rgd/{shop(world)['metadata']['name']}"
    assert f"kro-gitops approve {name}" in said

    history = (await ask(kubeconfig, "history", f"{world.namespace}/repo")).out
    assert "children: held 13" in history

    done = await approve(world, kubeconfig, "source/repo")
    assert done.code == 1
    assert {line for line in done.out.splitlines() if line.startswith("delete ")} == {
        f"delete Service {world.namespace}/{front}-web of "
        f"{shop(world)['spec']['schema']['kind']} {world.namespace}/{front}"
        for front in NAMES
    }

    done = await approve(world, kubeconfig, name)  # no terminal, and no --yes
    assert done.code == 1
    assert done.out.count("delete Service ") == 13
    await has_services(world, 13)

    done = await approve(world, kubeconfig, name, "--yes")
    assert done.code == 0, done.err
    await has_services(world, 0)
    source = await world.ready(commit, within=60.0)
    assert "childrenHeld" not in source["status"]["history"][0]

    async def counted() -> None:
        found = await world.get(world.source_ref())
        assert found["status"]["history"][0]["childrenDeleted"] == 13

    await world.until(counted)
    done = await approve(world, kubeconfig, name, "--yes")
    assert (done.code, "nothing waits for approval" in done.err) == (1, True)


async def test_one_instance_is_approved_alone(world: SourceWorld, kubeconfig: Path) -> None:
    await following(world)
    commit = world.commit({"shop.yaml": shop(world)})
    await world.reported("PruneBlocked", commit=commit, within=60.0)
    done = await approve(world, kubeconfig, f"shop.{world.group}/{NAMES[0]}", "--yes")
    assert done.code == 0, done.err
    assert done.out.count("delete Service ") == 1
    await has_services(world, 12)


async def test_a_source_is_approved_for_its_commit(world: SourceWorld, kubeconfig: Path) -> None:
    await following(world)
    world.commit({f"{name}.yaml": None for name in NAMES[:6]})
    source = await world.reported("PruneBlocked", within=60.0)
    message = condition(source, "PruneBlocked")["message"]
    assert "18 of 40 objects would be deleted" in message
    assert "12 of them are children of instances" in message
    await has_services(world, 13)
    done = await approve(world, kubeconfig, "source/repo", "--yes")
    assert done.code == 0, done.err
    await has_services(world, 7)
