"""
The examples are a repository that a controller can be pointed at.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, Selection
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.command import EXAMPLES, start
from tests.connection import connect
from tests.e2e.following.world import Git
from tests.e2e.scenarios.controllers import Flag, start_controller
from tests.git_repositories import GitRepository
from tools.cluster.plane import Plane

SOURCE = ObjectRef(GIT_SOURCE_KIND, "default", "repo")
SECRET, CONFIG_MAP = Kind("", "v1", "Secret"), Kind("", "v1", "ConfigMap")

pytestmark = pytest.mark.timeout(240)


@dataclass(frozen=True, slots=True)
class Followed:
    """A cluster in which the examples are followed, and the commit they are at."""

    cluster: Cluster
    kubeconfig: Path
    commit: str

    async def until(self, check: Callable[[], Awaitable[Any]], within: float = 60.0) -> Any:
        """Return what a check returns as soon as it holds."""
        deadline = time.monotonic() + within
        while True:
            try:
                return await check()
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.2)

    async def there(self, kind: Kind, namespace: str, name: str) -> KubeObject:
        """Return an object when it is there."""

        async def check() -> KubeObject:
            try:
                found = await self.cluster.find(ObjectRef(kind, namespace, name))
            except NotServed:
                found = None
            assert found is not None, (kind, namespace, name)
            return found

        found: KubeObject = await self.until(check)
        return found


@pytest.fixture
async def followed(own_plane: Plane, git: Git) -> AsyncIterator[Followed]:
    """Push the examples, and start `run --repo` on an empty cluster."""
    name = f"examples-{secrets.token_hex(4)}"
    repository = GitRepository.create(git.root / f"{name}.git")
    files = {f: f.read_text(encoding="utf-8") for f in EXAMPLES.rglob("*") if f.is_file()}
    commit = repository.commit({f.relative_to(EXAMPLES).as_posix(): t for f, t in files.items()})
    flags: dict[str, Flag] = {
        "repo": git.server.url(f"{name}.git"),
        "repo_interval": "1s",
        "sources": True,
        "allow_private_networks": True,
        "allow_plain_http": True,
    }
    with start_controller(own_plane.kubeconfig, "ours", **flags):
        async with connect(own_plane.kubeconfig) as connection:
            yield Followed(connection.client, own_plane.kubeconfig, commit)


async def test_the_examples_are_applied_to_an_empty_cluster(followed: Followed) -> None:
    cluster = followed.cluster

    async def applied() -> dict[str, Any]:
        try:
            found = await cluster.find(SOURCE)
        except NotServed:
            found = None
        status: dict[str, Any] = (found or {}).get("status") or {}
        assert status.get("lastAppliedRevision") == f"main@sha1:{followed.commit}", status
        return status

    status = await followed.until(applied)
    assert (status.get("failures"), status.get("warnings")) == (None, None)
    counts = status["inventory"]
    assert (counts["objects"], counts["definitions"], counts["instances"]) == (15, 5, 6)

    definitions = (await cluster.list(Selection(DEFINITION_KIND))).items
    states = {each["metadata"]["name"]: each["status"]["state"] for each in definitions}
    assert states == dict.fromkeys(
        ("database", "shop", "tenant-config", "webapp", "workers"), "Active"
    )

    settings = await followed.there(CONFIG_MAP, "data", "data-settings")
    assert settings["data"]["domain"] == "data.example.com"
    await followed.there(Kind("apps", "v1", "Deployment"), "shop", "front")

    tree = await asyncio.to_thread(
        start, "tree", "source/repo", "-n", "default", "--kubeconfig", followed.kubeconfig
    )
    assert tree.code == 0, tree.err
    lines = [line.replace("│", " ").strip(" ├└─") for line in tree.out.splitlines()]
    shown = {line.split("  ")[0] for line in lines}
    assert {
        "ResourceGraphDefinition/webapp",
        "Namespace/shop",
        "ConfigMap/organisation in platform",
        "WebApp/front in shop",
        "deployment: Deployment/front",
        "TenantConfig/data in data",
    } <= shown


async def test_databases_go_on_when_their_passwords_are_there(followed: Followed) -> None:
    await followed.there(Kind("kro.run", "v1alpha1", "Database"), "shop", "outlet-db")
    for namespace, name in (("data", "warehouse"), ("shop", "outlet")):
        await followed.cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": f"{name}-password", "namespace": namespace},
                "stringData": {"password": "p4ss"},
            }
        )
    await followed.there(SECRET, "data", "warehouse-credentials")
    await followed.there(SECRET, "shop", "outlet-db-credentials")
    await followed.there(Kind("apps", "v1", "StatefulSet"), "data", "warehouse")
