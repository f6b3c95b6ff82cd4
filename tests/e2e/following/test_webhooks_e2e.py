"""
A forge calls: its push is live long before the next poll.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.connection import connect
from tests.e2e.following.watching import holding
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.controllers import start_controller
from tools.cluster.control_plane import free_ports
from tools.cluster.plane import Plane

TOKEN = "a-token-between-forge-and-us"
LIVE_WITHIN = 3.0  # seconds from the call


@dataclass(frozen=True, slots=True)
class Forge:
    """Who calls, and where."""

    address: str
    clone_url: str

    async def push(self, path: str, commit: str, *, token: str = TOKEN, ref: str = "main") -> int:
        """Tell of a push as GitHub does; return the status of the answer."""
        repository = {"clone_url": self.clone_url, "html_url": self.clone_url}
        body = json.dumps({"ref": f"refs/heads/{ref}", "after": commit, "repository": repository})
        digest = hmac.new(token.encode(), body.encode(), hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": secrets.token_hex(8),
            "X-Hub-Signature-256": f"sha256={digest}",
        }
        request = urllib.request.Request(f"{self.address}{path}", body.encode(), headers)
        return await asyncio.to_thread(_status, request)


def _status(request: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.fixture
async def called(own_plane: Plane, git: Git) -> AsyncIterator[tuple[SourceWorld, Forge]]:
    """Give a world whose controller listens to forges."""
    [port] = free_ports(1)
    flags = {"sources": True, "allow_private_networks": True, "allow_plain_http": True}
    listening = f"127.0.0.1:{port}"
    starting = asyncio.to_thread(
        start_controller, own_plane.kubeconfig, "ours", webhook_bind_address=listening, **flags
    )
    with await starting as controller:
        async with connect(own_plane.kubeconfig) as connection:
            world = SourceWorld(connection.client, controller, git)
            await world.open()
            yield world, Forge(f"http://{listening}", world.url())


async def _is_heard(forge: Forge, path: str, commit: str) -> None:
    """Fail if nobody listens there yet: each replica finds out by itself who can be called."""
    assert await forge.push(path, commit, token="guessed") != 404


async def test_a_push_is_live_at_once(called: tuple[SourceWorld, Forge]) -> None:
    world, forge = called
    first = world.commit({"settings.yaml": config_map("settings", color="blue")})
    await world.secret("hook", token=TOKEN)
    hook = {"secretRef": {"name": "hook"}}
    await world.follow(interval="1h", ref={"branch": "main"}, webhook=hook)
    source = await world.ready(first)
    path = source["status"]["webhookPath"]
    assert TOKEN not in path

    second = world.commit({"settings.yaml": config_map("settings", color="green")})
    await world.until(lambda: _is_heard(forge, path, second), 5.0)
    assert await forge.push(path, second, token="guessed") == 403
    assert await forge.push("/hook/" + "0" * 64, second) == 404
    assert await forge.push(path, second, ref="elsewhere") in (200, 202)
    await asyncio.sleep(1.5)
    await holding(world, "settings", color="blue")  # neither of them had us look

    began = time.monotonic()
    assert await forge.push(path, second) in (200, 202)
    await holding(world, "settings", color="green")
    assert time.monotonic() - began < LIVE_WITHIN
    source = await world.ready(second)
    assert source["status"]["lastAppliedRevision"] == f"main@sha1:{second}"
