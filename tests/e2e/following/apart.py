"""
A world on a control plane of its own, with a controller of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from tests.connection import connect
from tests.e2e.following.world import Git, SourceWorld
from tests.e2e.scenarios.controllers import OURS, Controller, Flag, start_controller
from tools.cluster.plane import Plane

OPEN: dict[str, Flag] = {"sources": True, "allow_private_networks": True, "allow_plain_http": True}


@asynccontextmanager
async def world_apart(plane: Plane, git: Git, **flags: Flag) -> AsyncIterator[SourceWorld]:
    """Give a world; `{namespace}` in a flag is that of the world."""
    async with connect(plane.kubeconfig) as opened:
        world = SourceWorld(opened.client, cast("Controller", None), git)
        given = {
            name: value.format(namespace=world.namespace) if isinstance(value, str) else value
            for name, value in {**OPEN, **flags}.items()
        }
        controller = await asyncio.to_thread(start_controller, plane.kubeconfig, OURS, **given)
        with controller:
            world.controller = controller
            await world.open()
            yield world
