"""
The source controller and the engine in this event loop, on a cluster in process.

Git is real, and so is the clock: a repository is a folder, fetched by the real git. The controller
has a connection of its own, so that a test can disturb its requests and not the test's.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kro_gitops.app.wiring import EngineView
from kro_gitops.control.loop import LoopSettings
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.engine import Engine, EngineSettings
from kro_gitops.kube.api import Selection
from kro_gitops.kube.client import Client
from kro_gitops.kube.discovery import Discovery
from kro_gitops.metadata import SOURCE_HASH
from kro_gitops.source.api.parse import Defaults
from kro_gitops.source.controllers.ownership import AccountRules, Ownership, SourceRecords
from kro_gitops.source.controllers.state import SourceStore
from kro_gitops.source.controllers.wiring import SourceController, SourceOptions
from kro_gitops.source.git.types import FetchRules
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.git_repositories import GitRepository
from tests.integration.cluster import InProcessCluster, InProcessTransport

CONFIG_MAP = Kind("", "v1", "ConfigMap")
NAMESPACE = "town"


@dataclass(slots=True)
class SourceScene:
    """A cluster, a repository, and controllers that follow it."""

    cluster: InProcessCluster
    repository: GitRepository
    folder: Path
    transport: InProcessTransport  # of the controllers
    store: SourceStore
    _tasks: list[asyncio.Task[None]]

    @classmethod
    async def open(cls, folder: Path, keys: Path) -> "SourceScene":
        """Make a cluster with a namespace, an empty repository, and start the controllers."""
        cluster = InProcessCluster(keys)
        await cluster.install()
        town = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await cluster.client.create(town)
        repository = GitRepository.create(folder / "repository.git")
        transport = InProcessTransport(cluster.server)
        scene = cls(cluster, repository, folder, transport, SourceStore(), [])
        await scene.start()
        return scene

    async def start(self, **chosen: Any) -> None:
        """Start the controllers with empty caches, as a new process would."""
        discovery = Discovery(self.transport)
        client = Client(self.transport, discovery)
        self.store = SourceStore()
        records = SourceRecords(client, self.store, Defaults())
        ownership = Ownership(records, AccountRules())
        engine = Engine(EngineContext(client, discovery, authorities=ownership), EngineSettings())
        rules = FetchRules(local_urls=frozenset((self.url,)))
        options = SourceOptions(
            self.folder / "mirrors",
            fetch=rules,
            loop=LoopSettings(workers=4, grace=0.0),
            **chosen,
        )
        controller = SourceController(client, discovery, EngineView(engine), records, options)
        await records.load(engine.wake, is_required=True)
        controller.load()
        self._tasks = [
            asyncio.create_task(engine.run(), name="engine"),
            asyncio.create_task(controller.run(), name="sources"),
        ]
        await engine.wait_ready()

    async def kill(self) -> None:
        """Stop the controllers at once: nothing in progress is finished."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """End everything."""
        await self.kill()
        await self.cluster.close()

    @property
    def url(self) -> str:
        """Return where the repository is."""
        return self.repository.path.as_uri()

    def commit(self, files: Mapping[str, Any]) -> str:
        """Commit objects as YAML; None deletes a file."""
        dumped = {
            path: None if each is None else yaml.safe_dump(each) for path, each in files.items()
        }
        return self.repository.commit(dumped)

    async def follow(self, name: str = "repo", **spec: Any) -> ObjectRef:
        """Create a source of the repository."""
        source = {
            "apiVersion": GIT_SOURCE_KIND.api_version,
            "kind": GIT_SOURCE_KIND.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"url": self.url, "interval": "1s", **spec},
        }
        return ObjectRef.of(await self.cluster.client.create(source))

    async def ready(self, ref: ObjectRef, commit: str, within: float = 20.0) -> KubeObject:
        """Return a source once it is ready at a commit."""

        async def check() -> KubeObject:
            found = await self.cluster.get(ref)
            conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
            assert conditions["Ready"] == "True", found["status"]
            assert found["status"]["lastAppliedRevision"].endswith(commit), found["status"]
            return found

        return await self.cluster.eventually(check, within)

    async def config_maps(self) -> dict[str, dict[str, str]]:
        """Return the data of the ConfigMaps that sources applied."""
        selection = Selection(CONFIG_MAP, NAMESPACE, labels=SOURCE_HASH)
        found = (await self.cluster.client.list(selection)).items
        return {each["metadata"]["name"]: each.get("data") or {} for each in found}


def config_map(name: str, **data: str) -> KubeObject:
    """Return a ConfigMap without a namespace."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
