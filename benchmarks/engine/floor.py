"""
The floor: what the requests of an engine cost without an engine; a process of its own.

    python -m benchmarks.engine.floor KUBECONFIG RESULT COUNT

For each instance: create it, mark it, apply its three children, write its status. What is written
is worked out before the clock starts, but for the uid.
"""

import asyncio
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.engine import workload
from benchmarks.engine.connection import connect, for_each, write_result
from kro_gitops.kube.api import Cluster, MergePatch, WriteOptions
from kube_objects.refs import KubeObject, ObjectRef

_MARKS = WriteOptions(manager="kro.run/labeller", force=True)
_APPLY = WriteOptions(manager="kro.run/applyset", force=True)
_STATUS = WriteOptions(manager="kro.run/status", subresource="status")


async def pour(cluster: Cluster, count: int) -> dict[str, float]:
    """Return the seconds, and the CPU seconds, from the first request to the last answer."""
    compiled = workload.graph()
    children = [workload.children(compiled, number) for number in range(count)]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def one(number: int) -> None:
        await _settle(cluster, number, children[number], now)

    for obj in (workload.instance(0), *children[0].values()):
        await cluster.find(ObjectRef.of(obj))  # from here on it is known how the kind is served
    begun, used = time.monotonic(), time.process_time()
    await for_each(range(count), one)
    return {"ready": time.monotonic() - begun, "cpu": time.process_time() - used}


async def _settle(cluster: Cluster, number: int, children: dict[str, KubeObject], now: str) -> None:
    made = await cluster.create(workload.instance(number))
    uid = made["metadata"]["uid"]
    await cluster.apply(workload.marked_instance(number, uid, children), _MARKS)
    address = ""
    for node, child in children.items():
        child["metadata"].setdefault("labels", {}).update(
            workload.labels_of_child(number, uid, node)
        )
        applied = await cluster.apply(child, _APPLY)
        address = applied.get("spec", {}).get("clusterIP", address)
    status = MergePatch(workload.status(number, address, now))
    await cluster.patch(workload.ref_of(number), status, _STATUS)


async def _main(kubeconfig: str, result: str, count: str) -> None:
    async with connect(Path(kubeconfig)) as cluster:
        write_result(result, await pour(cluster, int(count)))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
