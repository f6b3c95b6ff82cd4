"""
0 of many attempts succeed, whatever the controller is told to watch and to act as.

Everything is planted while sources are reconciled. Then the controller starts again with the flags
of the row, and everything is woken: that nobody reconciles a source must not free its instances.
"""

import asyncio
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.connection import connect
from tests.e2e.following.world import Git
from tests.e2e.scenarios.controllers import OURS, Controller, Flag, start_controller
from tests.e2e.tenancy.attempts import EDITS, GIT, KUBECTL, LAST
from tests.e2e.tenancy.stage import DEPLOYER, OPEN, Stage
from tools.cluster.plane import Plane

pytestmark = pytest.mark.timeout(400)
FULL = os.environ.get("KRO_GITOPS_TESTS") == "full"
ROWS = tuple(product((True, False), (True, False), (True, False)))  # account, watched, sources
CHOSEN = ROWS if FULL else ((True, False, True), (False, True, True), (False, False, False))


@pytest.mark.parametrize(("has_account", "is_watched", "has_sources"), CHOSEN)
async def test_no_attempt_succeeds(
    own_plane: Plane,
    git: Git,
    record_property: Callable[[str, object], None],
    has_account: bool,
    is_watched: bool,
    has_sources: bool,
) -> None:
    account: dict[str, Flag] = {"default_service_account": DEPLOYER} if has_account else {}
    async with connect(own_plane.kubeconfig) as opened:
        controller = await start(own_plane.kubeconfig, **account)
        try:
            stage = await Stage.open(opened.client, controller, git, has_account)
            planted = await stage.plant(GIT, KUBECTL)
            assert await stage.loot() == []
            await asyncio.to_thread(controller.stop)
            controller.close()
            flags = {**account, "sources": has_sources}
            if not is_watched:
                flags["watch_namespaces"] = stage.platform
            controller = await start(own_plane.kubeconfig, **flags)
            rows = [f"{planted} objects planted, controller restarted"]
            edits = (("nothing else", None), *EDITS, ("source orphaned", Stage.orphan), LAST)
            for name, edit in edits:
                if edit is not None:
                    await edit(stage)
                await stage.wake()
                await stage.settle()
                loot = await stage.loot()
                rows.append(f"{name}: {len(loot)} succeeded")
                assert loot == [], (name, controller.tail(30))
            await stage.is_victim_served()
        finally:
            controller.close()
    title = (
        f"default account {has_account}, namespace watched {is_watched}, sources {has_sources}: "
        f"{len(GIT)} attempts by git, {len(KUBECTL)} by kubectl"
    )
    record_property("notice", "\n  ".join((title, *rows)))


async def start(kubeconfig: Path, **flags: Flag) -> Controller:
    return await asyncio.to_thread(start_controller, kubeconfig, OURS, **{**OPEN, **flags})
