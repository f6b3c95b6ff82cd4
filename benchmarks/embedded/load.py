"""
A client that does nothing but apply and watch: run as a process of its own, beside the server.

`python -m benchmarks.embedded.load KUBECONFIG RESULT COUNT`. Bodies are made beforehand, answers
are thrown away: what is left is the server's time, and the client's own, which is the same for all.
"""

import asyncio
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import yaml

from benchmarks.embedded import workload
from benchmarks.engine.connection import write_result

AT_ONCE = 16
_WATCHED = 100
_WARM = 20
_SERVED = 30.0  # seconds until a custom kind must be served
_APPLY = {"Content-Type": "application/apply-patch+yaml"}


class Server:
    """One server, with connections that stay open."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._url = cluster["server"]
        context = ssl.create_default_context()
        # Both have keys of their own making, and neither is asked who it is.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connector = aiohttp.TCPConnector(ssl=context, limit=AT_ONCE + 4)
        headers = {"Authorization": f"Bearer {user['token']}"}
        self._session = aiohttp.ClientSession(connector=connector, headers=headers)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._session.close()

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> int:
        """Send a request, and return the code when all of the answer is there."""
        async with self._session.request(
            method, self._url + path, data=body or None, headers=headers
        ) as answer:
            await answer.read()
            return answer.status

    async def get(self, path: str) -> Any:
        """Return what is there."""
        async with self._session.get(self._url + path) as answer:
            return await answer.json()

    async def apply(self, path: str, body: bytes) -> None:
        """Apply an object."""
        query = "?fieldManager=benchmark&force=true"
        code = await self.send("PATCH", path + query, body, _APPLY)
        if code not in (200, 201):
            raise RuntimeError(f"{path}: {code}")

    def watch(self, path: str) -> Any:
        """Open a watch."""
        return self._session.get(f"{self._url}{path}?watch=true")


async def timed(count: int, at_once: int, work: Callable[[int], Awaitable[None]]) -> float:
    """Return the seconds each of many pieces of work takes, several of them at once."""
    left = iter(range(count))

    async def worker() -> None:
        for number in left:
            await work(number)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
    return (time.perf_counter() - begun) / count


async def prepare(server: Server) -> None:
    """Make the namespace and the custom kind, and wait until that is served."""
    for path, body in workload.preparations():
        await server.send("POST", path, body, {"Content-Type": "application/json"})
    async with asyncio.timeout(_SERVED):
        while await server.send("GET", workload.SUBJECTS["custom"].collection) != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def _applied(server: Server, prefix: str, count: int) -> dict[str, float]:
    found = {}
    for at_once in (1, AT_ONCE):
        for kind, subject in workload.SUBJECTS.items():
            for way, version in (("create", 1), ("change", 2), ("no-op", 2)):

                async def apply(
                    number: int,
                    subject: workload.Subject = subject,
                    version: int = version,
                    at_once: int = at_once,
                ) -> None:
                    name = f"{prefix}{at_once}-{number}"
                    await server.apply(subject.path(name), subject.body(name, version))

                found[f"{kind}/{way}/{at_once}"] = await timed(count, at_once, apply)
    return found


async def _latency(server: Server) -> float:
    """Return the median time from sending a write to hearing of it."""
    subject = workload.SUBJECTS["ConfigMap"]
    times = []
    async with server.watch(subject.collection) as stream:
        await asyncio.sleep(0.5)
        lines = stream.content
        while True:  # what is there already
            try:
                async with asyncio.timeout(0.5):
                    await lines.readline()
            except TimeoutError:
                break
        for number in range(_WATCHED):
            begun = time.perf_counter()
            name = f"watched-{number}"
            async with asyncio.TaskGroup() as group:
                group.create_task(server.apply(subject.path(name), subject.body(name, 1)))
                await lines.readline()
                times.append(time.perf_counter() - begun)
    return median(times)


async def main(kubeconfig: str, result: str, count: str) -> None:
    """Measure, and leave the figures in a file."""
    server = Server(Path(kubeconfig))
    try:
        await prepare(server)
        await _applied(server, "warm", _WARM)
        found: dict[str, Any] = {"apply": await _applied(server, "n", int(count))}
        found["latency"] = await _latency(server)
        write_result(result, found)
    finally:
        await server.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
