"""
What scenarios are made of: nodes of definitions, objects that exist beside them, and waiting
for a field to have a value.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from kro_gitops.kube.api import EventType, Selection, WatchEvent
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.scenarios.world import Named, World, condition

BUILT_IN = {"InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"}
REVISION = Kind("internal.kro.run", "v1alpha1", "GraphRevision")


def node(node_id: str, template: KubeObject, **rules: Any) -> KubeObject:
    """Write a node that makes an object; `rules` are `readyWhen`, `includeWhen`, `forEach`."""
    return {"id": node_id, "template": template, **rules}


def external(node_id: str, api_version: str, kind: str, **metadata: Any) -> KubeObject:
    """Write a node that only reads: one object by `name`, or those a `selector` finds."""
    reference = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return {"id": node_id, "externalRef": reference}


def config_map(name: str, data: Mapping[str, Any] | None = None, **metadata: Any) -> KubeObject:
    """Write a ConfigMap, as a template or as an object."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": dict(data or {}),
    }


def service_account(name: str, **metadata: Any) -> KubeObject:
    """Write a ServiceAccount."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, **metadata},
    }


def service(name: str, app: str, **metadata: Any) -> KubeObject:
    """Write a Service in front of the pods of an app."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **metadata},
        "spec": {"selector": {"app": app}, "ports": [{"port": 80}]},
    }


def deployment(
    name: str, *, image: str = "web:1", replicas: Any = 1, port: Any = 80, **metadata: Any
) -> KubeObject:
    """Write a Deployment of one container."""
    container = {"name": "main", "image": image, "ports": [{"containerPort": port}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **metadata},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "main"}},
            "template": {
                "metadata": {"labels": {"app": "main"}},
                "spec": {"containers": [container]},
            },
        },
    }


def at(obj: KubeObject | None, path: str) -> Any:
    """Return what stands at a dotted path, `None` if nothing does."""
    found: Any = obj
    for step in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found


async def becomes(
    world: World, named: Named, path: str, value: Any, within: float = 20.0
) -> KubeObject:
    """Return an object when a field of it has a value."""

    async def check() -> KubeObject:
        found = await world.get(named)
        assert at(found, path) == value, f"{path} is {at(found, path)!r}; {found.get('status')}"
        return found

    return await world.until(check, within)


async def exists(world: World, named: Named, within: float = 20.0) -> KubeObject:
    """Return an object when it is there."""
    return await world.until(lambda: world.get(named), within)


async def says(
    world: World, named: Named, kind: str, within: float = 30.0, **fields: Any
) -> KubeObject:
    """Return an object when its condition of a type has these fields."""

    async def check() -> KubeObject:
        found = await world.get(named)
        shown = condition(found, kind)
        assert {key: shown.get(key) for key in fields} == fields, found["status"]
        return found

    return await world.until(check, within)


async def serve(world: World, definition: KubeObject, *instances: KubeObject) -> None:
    """Create a definition, and instances as soon as their kind is served."""
    await world.create(definition)
    await world.active(definition)
    for instance in instances:
        await world.create(instance)


def labelled(value: str) -> Callable[[KubeObject], None]:
    """Return an edit that gives the first node of a definition a label `round`."""

    def edit(definition: KubeObject) -> None:
        definition["spec"]["resources"][0]["template"]["metadata"]["labels"] = {"round": value}

    return edit


async def revisions(world: World, definition: KubeObject) -> list[KubeObject]:
    """Return the revisions of a definition that are not going, oldest first."""
    name = definition["metadata"]["name"]
    found = await world.cluster.list(Selection(REVISION, fields=f"spec.snapshot.name={name}"))
    live = [each for each in found.items if "deletionTimestamp" not in each["metadata"]]
    return sorted(live, key=lambda each: int(each["spec"]["revision"]))


async def revision_numbers(world: World, definition: KubeObject) -> list[int]:
    """Return the numbers of a definition's revisions, ascending."""
    return [each["spec"]["revision"] for each in await revisions(world, definition)]


def condition_types(obj: KubeObject) -> set[str]:
    """Return the types of all conditions of an object."""
    return {each["type"] for each in obj.get("status", {}).get("conditions", [])}


@asynccontextmanager
async def recorded(world: World, named: KubeObject) -> AsyncIterator[list[KubeObject]]:
    """Keep every version of an object that there is while the block lasts."""
    ref = ObjectRef.of(named)
    selection = Selection(ref.kind, ref.namespace, fields=f"metadata.name={ref.name}")
    listing = await world.cluster.list(selection)
    seen = list(listing.items)

    def keep(event: WatchEvent) -> None:
        if event.type is not EventType.BOOKMARK:
            seen.append(event.object)

    async def follow() -> None:
        async with world.cluster.watch(selection, listing.resource_version) as events:
            async for event in events:
                keep(event)

    async def caught_up() -> None:
        assert last in {each["metadata"]["resourceVersion"] for each in seen}

    following = asyncio.create_task(follow())
    try:
        yield seen
        last = (await world.get(named))["metadata"]["resourceVersion"]
        await world.until(caught_up, within=5)
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
