"""
The sandbox and our controllers in one event loop, without sockets.

`InProcessTransport` hands each request of the real client to the API server's handler, so nothing
waits for the network and the loop's clock may be virtual (`tests.virtual_time`): an hour of backoff
passes in no time. What a test makes fail is a `Fault`: it decides by the request.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import orjson

from kro_gitops.app.process import install_crds
from kro_gitops.engine.authority import Authorities, ControllerAuthority
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.engine import Engine, EngineSettings
from kro_gitops.engine.crd.own import own_crds
from kro_gitops.errors import ClusterUnavailable, KroGitopsError
from kro_gitops.kube.client import Client
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.requests import Request
from kro_gitops.kube.responses import error_of
from kro_gitops.kube.transport import Transport, decode_json
from kro_gitops.source.api.crd import git_source_crd, source_inventory_crd
from kube_objects.refs import KubeObject, ObjectRef
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.certificates import ensure_keys
from kube_sandbox.endpoints.interface import HTTPRequest, Stream
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.storage.store import Store
from kube_sandbox.wiring import APIServerComponents, now

T = TypeVar("T")
Fault = Callable[[Request], Awaitable[None]]

_LATENCY = 0.001  # seconds of a request; time must pass, or a busy loop would never end
_TOKEN = "administrator"
_ADDRESS = "127.0.0.1:6443"  # nobody listens there


async def no_fault(_request: Request) -> None:
    """Let every request through."""


class InProcessTransport(Transport):
    """Sends requests to an API server in this event loop; retries are those of `Transport`."""

    def __init__(self, server: APIServerComponents) -> None:
        super().__init__(access=None)  # type: ignore[arg-type] # there is no connection
        self.fault: Fault = no_fault
        self.sent: list[Request] = []
        self._server = server

    @property
    def writes(self) -> list[Request]:
        """Return the requests that asked for a change, leases and events apart."""
        return [each for each in self.sent if each.method != "GET"]

    async def send_once(self, request: Request, repetition: int) -> Any:
        """Let the API server answer a request."""
        del repetition
        answer = await self._answer(request)
        assert isinstance(answer, Response), "a watch is a stream"
        return decode_json(request, answer.body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch."""
        stream = await self._answer(request)
        assert not isinstance(stream, Response), "nothing but a watch is a stream"
        try:
            yield _lines(stream)
        finally:
            stream.close()

    async def _answer(self, request: Request) -> Response | Stream:
        self.sent.append(request)
        await self.fault(request)
        await asyncio.sleep(_LATENCY)
        headers = {**dict(request.headers), "Authorization": f"Bearer {_TOKEN}"}
        body = b"" if request.body is None else orjson.dumps(request.body)
        call = HTTPRequest(request.method, request.path, urlencode(request.query), headers, body)
        try:
            answer = self._server.answer(call)
        except StatusError as error:
            status = orjson.dumps(error.status())
            raise error_of(error.code, status, error.headers.get("Retry-After")) from None
        if isinstance(answer, Response) and answer.code >= 300:
            raise error_of(answer.code, answer.body)
        return answer


async def _lines(stream: Stream) -> AsyncIterator[bytes]:
    while chunk := await stream.next():
        for line in chunk.splitlines():
            yield line


@dataclass(slots=True)
class Controllers:
    """The engine at work on the cluster; `restart` it as a new process would start."""

    cluster: "InProcessCluster"
    rules: EngineSettings = field(default_factory=EngineSettings)
    authorities: Authorities = field(default_factory=ControllerAuthority)
    engine: Engine | None = None
    _task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the controllers with empty caches and wait until they are ready."""
        client = self.cluster.client
        discovery = Discovery(self.cluster.transport)
        context = EngineContext(client, discovery, authorities=self.authorities)
        self.engine = Engine(context, self.rules)
        self._task = asyncio.create_task(self.engine.run(), name="controllers")
        await self.engine.wait_ready()

    async def kill(self) -> None:
        """Stop at once, as SIGKILL would: nothing in progress is finished."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def restart(self) -> None:
        """Kill the controllers and start them again."""
        await self.kill()
        await self.start()


class InProcessCluster:
    """An API server, a client for it, and helpers that wait for what a user would see."""

    def __init__(self, folder: Path) -> None:
        keys = ensure_keys(folder / "keys", now())
        self.store = Store()
        self.server = server = APIServerComponents(self.store, keys, _TOKEN, accounts=False)
        server.open(_ADDRESS)
        server.create_bootstrap_objects(6443)
        self._manager = server.background(None, "")
        self._manager.start()
        self._task = asyncio.create_task(self._manager.serve(now), name="controller manager")
        self.transport = InProcessTransport(server)
        discovery = Discovery(self.transport)
        self.client = Client(self.transport, discovery)
        self._discovery = discovery

    async def install(self) -> None:
        """Install the CRDs of the product."""
        await install_crds(
            self.client, self._discovery, (*own_crds(), git_source_crd(), source_inventory_crd())
        )

    def lose(self, ref: ObjectRef) -> None:
        """Remove an object at once, finalizers or not (kubernetes/kubernetes#77988)."""
        for bucket in self.store.buckets():
            record = self.store.get(bucket, ref.namespace, ref.name)
            if record is not None and orjson.loads(record.value)["kind"] == ref.kind.kind:
                value = orjson.loads(record.value)
                value["metadata"]["resourceVersion"] = str(self.store.version + 1)
                last = replace(record, version=self.store.version + 1, value=orjson.dumps(value))
                self.store.delete(bucket, last)
                return
        raise KeyError(str(ref))

    async def close(self) -> None:
        """End the cluster's own controllers."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def get(self, obj: KubeObject | ObjectRef) -> KubeObject:
        """Return an object."""
        return await self.client.get(obj if isinstance(obj, ObjectRef) else ObjectRef.of(obj))

    async def eventually(
        self, check: Callable[[], Awaitable[T]], within: float = 60.0, every: float = 0.05
    ) -> T:
        """Return what `check` returns once it raises no more, within so many virtual seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while True:
            try:
                return await check()
            except (AssertionError, KeyError, KroGitopsError):
                if loop.time() > deadline:
                    raise
                await asyncio.sleep(every)

    async def in_state(
        self, obj: KubeObject, state: str, within: float = 60.0, every: float = 0.05
    ) -> KubeObject:
        """Return an instance or a definition once its state is this one."""

        async def check() -> KubeObject:
            found = await self.get(obj)
            assert found["status"]["state"] == state, found["status"]
            return found

        return await self.eventually(check, within, every)

    async def gone(self, obj: KubeObject | ObjectRef, within: float = 60.0) -> None:
        """Return once an object is deleted."""
        ref = obj if isinstance(obj, ObjectRef) else ObjectRef.of(obj)

        async def check() -> None:
            assert await self.client.find(ref) is None

        await self.eventually(check, within)


def unavailable(request: Request) -> ClusterUnavailable:
    """Return the error of an API server that does not answer."""
    return ClusterUnavailable("cluster-unavailable", f"no answer to {request.verb}")
