"""Requests over HTTP against a server that misbehaves as it is told."""

import asyncio
import json
import re
import stat
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kro_gitops.errors import ClusterUnavailable, ConnectionLost
from kro_gitops.kube import requests
from kro_gitops.kube.api import Resource
from kro_gitops.kube.client import Client
from kro_gitops.kube.credentials import Credentials, CredentialsError, from_kubeconfigs
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.kube.requests import Request
from kro_gitops.kube.responses import AlreadyExists, ServerError, TooManyRequests, Unauthorized
from kro_gitops.kube.transport import RequestReport, Transport
from kube_objects.refs import Kind

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

READ = requests.read("/thing")
WRITE = Request("create", "things", "POST", "/thing", body={"a": 1})


@asynccontextmanager
async def transport_to(
    handler: Handler, folder: Path, limits: ClientLimits | None = None
) -> AsyncIterator[Transport]:
    async with (
        serving(handler) as url,
        Transport(await access_to(url, folder), limits) as transport,
    ):
        yield transport


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/thing", handler)
    server = TestServer(application)
    await server.start_server()
    try:
        yield str(server.make_url("")).rstrip("/")
    finally:
        await server.close()


async def access_to(url: str, folder: Path, user: dict[str, Any] | None = None) -> Credentials:
    path = folder / "kubeconfig"
    config = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": user or {"token": "secret-token"}}],
    }
    path.write_text(json.dumps(config))
    return await from_kubeconfigs([path])


def answers(*codes: int, headers: dict[str, str] | None = None) -> Handler:
    """Make a server that gives these answers, one after the other, and then good ones."""
    left = iter(codes)

    async def answer(_request: web.Request) -> web.StreamResponse:
        code = next(left, 200)
        if code == 200:
            return web.json_response({"fine": True})
        return web.json_response({"kind": "Status", "code": code}, status=code, headers=headers)

    return answer


async def test_retry_after_is_waited_for(tmp_path: Path) -> None:
    async with transport_to(answers(429, headers={"Retry-After": "1"}), tmp_path) as transport:
        begun = time.monotonic()
        assert await transport.send(WRITE) == {"fine": True}
        assert time.monotonic() - begun >= 1


async def test_a_long_retry_after_is_left_to_the_caller(tmp_path: Path) -> None:
    async with transport_to(answers(429, headers={"Retry-After": "60"}), tmp_path) as transport:
        with pytest.raises(TooManyRequests) as caught:
            await transport.send(READ)
        assert caught.value.status.retry_after == 60


async def test_reads_are_repeated_and_writes_are_not(tmp_path: Path) -> None:
    async with transport_to(answers(503, 503, 200, 503), tmp_path) as transport:
        assert await transport.send(READ) == {"fine": True}
        with pytest.raises(ServerError):
            await transport.send(WRITE)


async def test_repeating_ends(tmp_path: Path) -> None:
    sent: list[RequestReport] = []
    async with serving(answers(*[503] * 9)) as url:
        access = await access_to(url, tmp_path)
        async with Transport(access, ClientLimits(attempts=2), sent.append) as transport:
            with pytest.raises(ServerError):
                await transport.send(READ)
    assert [each.http_code for each in sent] == [503, 503]


async def test_a_server_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    async def sleep(_request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        raise AssertionError("nobody waited that long")

    async with transport_to(sleep, tmp_path, ClientLimits(timeout=0.1, attempts=1)) as transport:
        with pytest.raises(ClusterUnavailable, match="no response to get /thing"):
            await transport.send(READ)


async def test_a_server_that_is_not_there_is_unavailable_and_no_secret_told(
    tmp_path: Path,
) -> None:
    access = await access_to("http://127.0.0.1:1", tmp_path)
    async with Transport(access, ClientLimits(attempts=1)) as transport:
        with pytest.raises(ClusterUnavailable) as caught:
            await transport.send(READ)
    assert "secret-token" not in f"{caught.value!r} {access!r}"


async def test_no_more_requests_are_under_way_than_allowed(tmp_path: Path) -> None:
    now = most = 0

    async def count(_request: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return web.json_response({})

    async with transport_to(count, tmp_path, ClientLimits(in_flight=3)) as transport:
        await asyncio.gather(*(transport.send(READ) for _ in range(20)))
    assert most == 3


async def test_no_more_requests_start_per_second_than_allowed(tmp_path: Path) -> None:
    async with transport_to(answers(), tmp_path, ClientLimits(per_second=20, burst=2)) as transport:
        begun = time.monotonic()
        await asyncio.gather(*(transport.send(READ) for _ in range(12)))
        assert time.monotonic() - begun >= 0.5


async def test_lines_of_a_stream_may_be_of_any_length(tmp_path: Path) -> None:
    long = b"x" * 3_000_000

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in (b"one\ntw", b"o\n", long, long, b"\nfour\n"):
            await response.write(piece)
        return response

    async with transport_to(stream, tmp_path) as transport, transport.stream(READ) as lines:
        seen = [line async for line in lines]
    assert seen == [b"one", b"two", long + long, b"four"]


async def test_a_refused_token_is_renewed_once(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def check(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] == "Bearer new":
            return web.json_response({"fine": True})
        return web.json_response({"kind": "Status", "reason": "Unauthorized"}, status=401)

    async with serving(check) as url:
        access = await access_to(url, tmp_path, {"tokenFile": str(token)})
        async with Transport(access) as transport:
            with pytest.raises(Unauthorized):
                await transport.send(READ)
            token.write_text("new")
            assert await transport.send(READ) == {"fine": True}


async def test_a_credential_plugin_is_run_again_when_its_token_is_refused(tmp_path: Path) -> None:
    async def check(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] == "Bearer run-2":
            return web.json_response({"fine": True})
        return web.json_response({"kind": "Status", "reason": "Unauthorized"}, status=401)

    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": plugin(tmp_path)}}
    async with serving(check) as url:
        access = await access_to(url, tmp_path, user)
        assert await access.authorization() == "Bearer run-1"
        async with Transport(access) as transport:
            assert await transport.send(READ) == {"fine": True}
        assert await access.authorization() == "Bearer run-2"


async def test_a_credential_plugin_that_fails_is_named(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}}
    with pytest.raises(CredentialsError, match="the credential plugin '/bin/false' gave neither"):
        await access_to("http://127.0.0.1:1", tmp_path, user)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("{", "bad-kubeconfig", id="not YAML"),
        pytest.param("current-context: nowhere", "bad-kubeconfig", id="no such context"),
    ],
)
async def test_a_kubeconfig_that_leads_nowhere_is_refused(
    tmp_path: Path, text: str, code: str
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(CredentialsError) as caught:
        await from_kubeconfigs([path])
    assert caught.value.code == code


async def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"there is no kubeconfig at .*missing"):
        await from_kubeconfigs([tmp_path / "missing"])


def plugin(folder: Path) -> str:
    """Write a credential plugin whose token says how often it was run."""
    path = folder / "plugin"
    path.write_text(
        f"""#!{sys.executable}
import json, pathlib
count = pathlib.Path({str(folder / "count")!r})
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
print(json.dumps({{
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {{"token": f"run-{{number}}"}},
}}))
"""
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


class Closing:
    """An API server that closes connections without an answer, when it has read a request."""

    def __init__(self, *, stores: bool) -> None:
        self.stores = stores  # also the request that it does not answer
        self.objects: dict[str, Any] = {}
        self.posts = 0
        self.unanswered = 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        while not reader.at_eof():
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            method, path, _ = head.split(b" ", 2)
            length = re.search(rb"(?i)content-length: (\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            if method == b"POST":
                self.posts += 1
                is_silent = self.posts <= self.unanswered
                code, answer = self._create(json.loads(body), stores=self.stores or not is_silent)
                if is_silent:
                    break
            else:
                code, answer = self._read(path.decode())
            text = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n" % code)
            writer.write(b"content-length: %d\r\n\r\n%s" % (len(text), text))
        writer.close()

    def _create(self, obj: Any, *, stores: bool) -> tuple[int, Any]:
        name = obj["metadata"]["name"]
        if name in self.objects:
            return 409, {"kind": "Status", "reason": "AlreadyExists", "code": 409, "message": "is"}
        if stores:
            self.objects[name] = {**obj, "metadata": {**obj["metadata"], "uid": "1"}}
        return 201, self.objects.get(name)

    def _read(self, path: str) -> tuple[int, Any]:
        found = self.objects.get(path.rpartition("/")[2])
        gone = {"kind": "Status", "reason": "NotFound", "code": 404, "details": {"name": "a"}}
        return (200, found) if found else (404, gone)


class ConfigMapsOnly:
    """Knows how ConfigMaps are served."""

    async def resource_of(self, kind: Kind) -> Resource:
        """Return the resource."""
        return Resource(kind, "configmaps", namespaced=True)

    def forget(self, kind: Kind) -> None:
        """Keep it."""


@asynccontextmanager
async def client_of(closing: Closing, folder: Path) -> AsyncIterator[Client]:
    server = await asyncio.start_server(closing.serve, "127.0.0.1")
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with Transport(await access_to(url, folder)) as transport:
        yield Client(transport, ConfigMapsOnly())
    server.close()


def settings(**data: str) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "town"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.mark.parametrize("stores", [False, True], ids=["it was lost", "only its answer was lost"])
async def test_a_create_without_an_answer_is_sent_again(tmp_path: Path, stores: bool) -> None:
    closing = Closing(stores=stores)
    async with client_of(closing, tmp_path) as client:
        created = await client.create(settings(x="1"))
    assert (created["metadata"]["uid"], created["data"]) == ("1", {"x": "1"})
    assert closing.posts == 2


async def test_an_object_of_another_client_is_not_taken_for_ours(tmp_path: Path) -> None:
    closing = Closing(stores=False)
    closing.objects["a"] = {**settings(x="theirs"), "metadata": {"name": "a", "uid": "2"}}
    async with client_of(closing, tmp_path) as client:
        with pytest.raises(AlreadyExists):
            await client.create(settings(x="1"))


async def test_a_create_is_not_sent_for_ever(tmp_path: Path) -> None:
    closing = Closing(stores=False)
    closing.unanswered = 100
    async with client_of(closing, tmp_path) as client:
        with pytest.raises(ConnectionLost, match="no response to create configmaps"):
            await client.create(settings(x="1"))
    assert closing.posts == 4


async def test_a_create_that_cannot_be_read_back_is_sent_once(tmp_path: Path) -> None:
    closing = Closing(stores=False)
    nameless = {**settings(), "metadata": {"generateName": "a-", "namespace": "town", "name": ""}}
    async with client_of(closing, tmp_path) as client:
        with pytest.raises(ConnectionLost):
            await client.create(nameless)
    assert closing.posts == 1
