"""
A control plane, a repository that is served over HTTP, and a controller that follows it.
"""

import asyncio
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.engine.arena import Arena, Controller, arena
from benchmarks.engine.connection import connect
from benchmarks.engine.controllers import OURS, Addresses, crds_of
from benchmarks.peers.processes import NotMeasuredError
from benchmarks.source import workload
from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.metadata import REQUESTED_AT
from kube_objects.conditions import parse_conditions
from kube_objects.refs import KubeObject
from tests.git_http_server import http_server
from tests.git_repositories import GitRepository, clean_environment, git_program
from tools.cluster.control_plane import free_ports

GLANCE = 0.02
_SELDOM = "1h"  # polls come when we ask for them


@dataclass(frozen=True, slots=True)
class Following:
    """A controller that runs, and where it tells its figures."""

    controller: Controller
    metrics_url: str

    def figures(self) -> dict[str, float]:
        """Return what was counted so far of sources: seconds by step, and how many polls."""
        with urllib.request.urlopen(self.metrics_url, timeout=30) as answer:
            page = answer.read().decode()
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                if sample.name == "kro_gitops_source_step_seconds_sum":
                    found[sample.labels["step"]] = sample.value
                elif sample.name == "kro_gitops_source_poll_seconds_count":
                    found["polls"] = sample.value
                elif sample.name == "kro_gitops_source_poll_seconds_sum":
                    found["poll"] = sample.value
                elif sample.name == "kro_gitops_source_sync_seconds_sum":
                    found["sync"] = sample.value
        return found


@dataclass(frozen=True, slots=True)
class World:
    """Where commits are made, and where they arrive."""

    field: Arena
    repository: GitRepository
    url: str
    home: Path  # what controllers fetched stays here when they are started anew

    @contextmanager
    def following(self) -> Iterator[Following]:
        """Run a controller that follows sources for as long as the block lasts."""
        addresses = Addresses(self.field.plane.kubeconfig, *free_ports(2))
        command = [
            *(sys.executable, "-m", "kro_gitops", "run", *addresses.arguments),
            *("--allow-private-networks", "--allow-plain-http"),
            f"--storage-path={self.home / 'mirrors'}",
        ]
        with self.field.command(OURS, command, addresses) as controller:
            yield Following(controller, f"http://127.0.0.1:{addresses.metrics_port}/metrics")

    def follow(self, interval: str = _SELDOM) -> None:
        """Make the source."""
        made = workload.source(self.url, interval)

        async def create() -> None:
            async with connect(self.field.plane.kubeconfig) as cluster:
                await cluster.create(made)

        asyncio.run(create())

    def fetch_bare(self) -> float:
        """Fetch what is new as the controller does, by git alone; return the seconds."""
        folder = self.home / "peer.git"
        if not folder.exists():
            self.git("init", "--quiet", "--bare", str(folder))
        where = ("-C", str(folder))
        began = time.perf_counter()
        self.git(*where, "fetch", "--quiet", "--no-tags", "--depth=1", self.url, "+main:main")
        return time.perf_counter() - began

    def git(self, *arguments: str) -> None:
        """Run git."""
        environment = clean_environment(self.home)
        subprocess.run([git_program(), *arguments], env=environment, check=True)


@contextmanager
def world(count: int) -> Iterator[World]:
    """Give a fresh world whose repository has so many instances."""
    with arena() as field, http_server(field.home) as server:
        repository = GitRepository.create(field.home / "repository.git")
        repository.commit(workload.files(count), "everything")
        field.prepare(*crds_of(OURS), workload.bare_crd())
        yield World(field, repository, server.url("repository.git"), field.home)


async def ready(cluster: Cluster, commit: str, limit: float) -> KubeObject:
    """Return the source when it is ready at a commit."""
    deadline = time.monotonic() + limit
    found: KubeObject = {}
    while time.monotonic() < deadline:
        found = await cluster.get(workload.SOURCE)
        if _is_ready(found, commit):
            return found
        await asyncio.sleep(GLANCE)
    raise NotMeasuredError(f"the source is not ready after {limit:.0f} s: {_brief(found)}")


def wait_until_ready(world: World, commit: str, limit: float) -> float:
    """Return how many seconds it took until the source was ready."""

    async def wait() -> None:
        async with connect(world.field.plane.kubeconfig) as cluster:
            await ready(cluster, commit, limit)

    began = time.monotonic()
    asyncio.run(wait())
    return time.monotonic() - began


async def poke(cluster: Cluster, wish: str) -> None:
    """Have the source polled at once."""
    patch = MergePatch({"metadata": {"annotations": {REQUESTED_AT: wish}}})
    await cluster.patch(workload.SOURCE, patch)


def is_applied(source: KubeObject, commit: str) -> bool:
    """Say whether a commit was applied, whatever became of it."""
    revision: str = (source.get("status") or {}).get("lastAppliedRevision", "")
    return revision.endswith(commit)


def _is_ready(source: KubeObject, commit: str) -> bool:
    said = {each.type: each.status for each in parse_conditions(source)}
    return said.get("Ready") == "True" and is_applied(source, commit)


def _brief(source: KubeObject) -> dict[str, Any]:
    status = source.get("status") or {}
    return {key: status.get(key) for key in ("phase", "inventory", "failures", "conditions")}
