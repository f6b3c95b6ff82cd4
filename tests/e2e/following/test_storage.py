"""
The folder of fetched repositories is a cache: it may vanish, break or be too small.
"""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.following.apart import world_apart
from tests.e2e.following.watching import holding
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.controllers import Flag
from tools.cluster.plane import Plane


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"


@pytest.fixture
async def world(own_plane: Plane, git: Git, storage: Path) -> AsyncIterator[SourceWorld]:
    flags: dict[str, Flag] = {"storage_path": str(storage), "storage_size": "8Mi"}
    async with world_apart(own_plane, git, **flags) as made:
        yield made


def packs_in(storage: Path) -> list[int]:
    """Return the sizes of the packs of all mirrors."""
    return [pack.stat().st_size for pack in storage.glob("*/objects/pack/*.pack")]


async def test_repositories_that_do_not_fit_together_take_turns(
    world: SourceWorld, storage: Path
) -> None:
    files: dict[str, str | bytes | None] = {"big": os.urandom(2 << 20)}
    for number in range(3):
        repository = world.new_repository()
        manifest = yaml.safe_dump(config_map(f"map-{number}", color="blue"))
        commit = repository.commit({**files, "map.yaml": manifest})
        await world.follow(f"repo-{number}", url=world.url(repository))
        await world.ready(commit, f"repo-{number}")
        assert sum(packs_in(storage)) < 7 << 20
    for number in range(3):
        await holding(world, f"map-{number}", color="blue")
    large = world.new_repository()
    large.commit({"big": os.urandom(5 << 20)})
    await world.follow("large", url=world.url(large))
    text = "3 MiB of storage, which is the limit for the repositories of one namespace"
    await world.reported("Ready", "False", reason="GitStorageExceeded", text=text, name="large")
    assert sum(packs_in(storage)) < 7 << 20


async def test_a_folder_that_vanishes_is_filled_again(world: SourceWorld, storage: Path) -> None:
    await world.follow()
    await world.ready(world.commit({"a.yaml": config_map("a", color="blue")}))
    shutil.rmtree(storage)
    await world.ready(world.commit({"a.yaml": config_map("a", color="green")}))
    await holding(world, "a", color="green")
    assert packs_in(storage)


async def test_a_folder_that_cannot_be_used_is_reported(world: SourceWorld, storage: Path) -> None:
    await world.follow()
    await world.ready(world.commit({"a.yaml": config_map("a", color="blue")}))
    shutil.rmtree(storage)
    shutil.copy(__file__, storage)  # a file is in the way
    await world.reported("Ready", "False", reason="GitStorageFailed", text=str(storage))
    shutil.move(storage, f"{storage}.old")
    await world.ready(world.commit({"a.yaml": config_map("a", color="green")}))
