"""Sources and an API server that is away for a while."""

import asyncio
from pathlib import Path

from kro_gitops.kube.api import MergePatch
from kro_gitops.kube.informer import MAX_RETRY_DELAY
from kro_gitops.kube.requests import Request
from tests import virtual_time
from tests.integration.cluster import no_fault, unavailable
from tests.integration.sources import SourceScene


def test_a_source_is_reconciled_as_soon_as_the_api_server_is_back(
    tmp_path: Path, key_folder: Path
) -> None:
    async def play() -> None:
        scene = await SourceScene.open(tmp_path, key_folder)
        ref = await scene.follow(suspend=True)

        async def reported(generation: int) -> None:
            found = await scene.cluster.get(ref)
            assert found["status"]["observedGeneration"] == generation

        await scene.cluster.eventually(lambda: reported(1))

        async def down(request: Request) -> None:
            raise unavailable(request)

        scene.transport.fault = down
        await scene.cluster.client.patch(ref, MergePatch({"spec": {"interval": "2m"}}))
        await asyncio.sleep(3600)
        scene.transport.fault = no_fault
        # Not when the retry is due, up to 1,000 seconds later: as soon as a watch is back.
        await scene.cluster.eventually(lambda: reported(2), within=MAX_RETRY_DELAY + 1, every=0.1)
        await scene.close()

    virtual_time.run(play())
