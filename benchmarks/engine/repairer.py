"""
The least that repairs: one watch, and one apply for each event; a process of its own.

    python -m benchmarks.engine.repairer KUBECONFIG RESULT COUNT

It makes ConfigMaps and keeps them as they were, until it is ended. No result is ever written.
"""

import asyncio
import sys
from pathlib import Path

from benchmarks.engine.connection import connect
from benchmarks.engine.workload import NAMESPACE, config_ref, greeting_of
from kro_gitops.kube.api import Cluster, Selection, WriteOptions
from kube_objects.refs import KubeObject, ObjectRef

LABEL = "benchmark-floor"
MANAGER = "repairer"
_APPLY = WriteOptions(manager=MANAGER, force=True)


def ref_of(number: int) -> ObjectRef:
    """Return where a ConfigMap is found."""
    return ObjectRef(config_ref(number).kind, NAMESPACE, f"floor-{number}-config")


def _config(number: int) -> KubeObject:
    ref = ref_of(number)
    metadata = {"name": ref.name, "namespace": ref.namespace, "labels": {LABEL: "yes"}}
    data = {"greeting": greeting_of(number), "port": "8080", "mode": "small"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def _repair(cluster: Cluster, count: int) -> None:
    desired = {ref_of(number).name: _config(number) for number in range(count)}
    selection = Selection(config_ref(0).kind, NAMESPACE, labels=f"{LABEL}=yes")
    listing = await cluster.list(selection)
    async with cluster.watch(selection, listing.resource_version) as events:
        for config in desired.values():
            await cluster.apply(config, _APPLY)
        async for event in events:
            wanted = desired[event.object["metadata"]["name"]]
            if event.object["data"] != wanted["data"]:
                await cluster.apply(wanted, _APPLY)


async def _main(kubeconfig: str, _result: str, count: str) -> None:
    async with connect(Path(kubeconfig)) as cluster:
        await _repair(cluster, int(count))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
