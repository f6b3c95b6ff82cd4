"""
Everything at once, for a while: `make soak MINUTES=30`, and a short one in `make test-full`.

The seed decides what is committed and what fails, and when. It is printed; `make soak SEED=7` uses
it again. What the controller does at that moment is not decided by it.
"""

import logging
import os
import random
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.faults.cuts import line
from tests.e2e.faults.growing import SourceBystanders
from tests.e2e.faults.soak import SETTLE_LIMIT, Soak
from tests.e2e.faults.stage import FULL, following
from tools.cluster.plane import Plane

log = logging.getLogger(__name__)

MINUTES = float(os.environ.get("KRO_GITOPS_SOAK_MINUTES") or 0)
SEED = int(os.environ.get("KRO_GITOPS_SOAK_SEED") or (secrets.randbelow(10**6) if MINUTES else 7))
SECONDS = MINUTES * 60 or 80.0
TEAMS, SHOPS = (20, 25) if MINUTES else (6, 10)
PERIOD = 300.0  # seconds at most until everything is compared


@pytest.mark.skipif(not FULL, reason="disturbs a whole cluster; in test-full")
@pytest.mark.timeout(SECONDS + 4 * SETTLE_LIMIT * max(1, SECONDS / PERIOD))
async def test_nothing_is_lost_or_deleted_by_mistake_whatever_fails(
    own_plane: Plane, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    size = f"{TEAMS} sources, {TEAMS * SHOPS} instances"
    log.info("seed %d, %.0f s, %s", SEED, SECONDS, size)
    async with (
        line(own_plane.kubeconfig, tmp_path) as (laid, through),
        following(own_plane, tmp_path, through=through) as world,
    ):
        bystanders = SourceBystanders(world)
        await bystanders.settle()
        soak = Soak(world, own_plane, laid, random.Random(SEED))
        await soak.begin(TEAMS, SHOPS)
        # The first half kills the controller, too; the second one shows how its memory grows.
        periods = max(1, round(SECONDS / 2 / PERIOD))
        for kills in (True, False):
            for _ in range(periods):
                await soak.run(SECONDS / 2 / periods, kills=kills)
                await soak.as_wanted()
                await bystanders.are_untouched()
                log.info("as wanted after %s", dict(soak.happened))
        assert world.controller.is_running
        for what, count in soak.happened.items():
            record_property("tally: soak", [what, count])
        record_property("notice", f"soak with seed {SEED}: {soak.memory()}")
