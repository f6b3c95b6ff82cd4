"""Config maps: what tests on a cluster make when any object will do."""

import asyncio

from kro_gitops.kube.api import Selection, Writer
from kube_objects.refs import Kind, KubeObject, ObjectRef

CONFIG_MAP = Kind("", "v1", "ConfigMap")


def config_map(namespace: str, name: str = "settings", **data: str) -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"made-by": "tests"}},
        "data": data,
    }


def ours(namespace: str) -> Selection:
    """Select what tests made; controllers put config maps into every namespace, too."""
    return Selection(CONFIG_MAP, namespace, labels="made-by=tests")


def ref(namespace: str, name: str = "settings") -> ObjectRef:
    return ObjectRef(CONFIG_MAP, namespace, name)


async def create_many(cluster: Writer, namespace: str, count: int, **data: str) -> None:
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await cluster.create(config_map(namespace, f"many-{number:04}", **data))

    async with asyncio.TaskGroup() as group:
        for _ in range(16):
            group.create_task(work())
