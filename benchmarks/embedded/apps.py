"""
Creates Deployments, each with a Service, and waits until all are available; a process of its own.

    python -m benchmarks.embedded.apps KUBECONFIG RESULT COUNT
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from benchmarks.embedded.load import AT_ONCE, Server, timed
from benchmarks.embedded.workload import NAMESPACE
from benchmarks.engine.connection import write_result

_DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
_SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
_PAUSE = 0.5


def _app(name: str) -> list[tuple[str, bytes]]:
    labels = {"app": name}
    container = {"name": "app", "image": "registry.example/app:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": labels, "ports": [{"port": 80}]},
    }
    return [
        (f"{_DEPLOYMENTS}/{name}", json.dumps(deployment).encode()),
        (f"{_SERVICES}/{name}", json.dumps(service).encode()),
    ]


async def main(kubeconfig: str, result: str, count: str) -> None:
    """Create them, wait, and say how long it took."""
    server = Server(Path(kubeconfig))

    async def create(number: int) -> None:
        for path, body in _app(f"app-{number}"):
            await server.apply(path, body)

    try:
        namespace = json.dumps({"metadata": {"name": NAMESPACE}}).encode()
        json_type = {"Content-Type": "application/json"}
        await server.send("POST", "/api/v1/namespaces", namespace, json_type)
        begun = time.perf_counter()
        await timed(int(count), AT_ONCE, create)
        while await _available(server) < int(count):  # noqa: ASYNC110 - a watch would be load, too
            await asyncio.sleep(_PAUSE)
        write_result(result, {"seconds": time.perf_counter() - begun})
    finally:
        await server.close()


async def _available(server: Server) -> int:
    found = await server.get(_DEPLOYMENTS)
    return sum(each["status"].get("availableReplicas", 0) for each in found["items"])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
