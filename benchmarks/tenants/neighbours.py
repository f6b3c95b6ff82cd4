"""
How long tenant B waits for its commit while tenant A misbehaves, and how much memory that takes.

Each case has a control plane and a controller of its own. Tenant B changes one line several times,
first alone and then beside tenant A; the figure is the ratio of the medians. Memory is the peak of
the controller and of the git processes it started, compared with the limit in the Helm chart.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

import yaml

from benchmarks.engine.attempts import Missing, attempt, goal_at_most
from benchmarks.engine.connection import connect
from benchmarks.peers.processes import ROOT, NotMeasuredError
from benchmarks.report import Report, middle
from benchmarks.source import workload as tenant_b
from benchmarks.source.change import until_child
from benchmarks.source.world import World, wait_until_ready, world
from benchmarks.tenants import workload as tenant_a
from benchmarks.tenants.memory import Peak, peak_of
from benchmarks.tenants.remotes import endless_refs, hanging
from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_cel.budget import Budget
from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import DYN
from kube_objects.conditions import FALSE, READY, parse_conditions
from kube_objects.quantity import parse_quantity
from kube_objects.refs import ObjectRef
from tests.git_http_server import http_server
from tests.git_repositories import GitRepository

SUBJECT = "neighbours"
GOAL = 2.0  # times the quiet time
_INSTANCES = 20  # of tenant B
_QUIET_ROUNDS, _NOISY_ROUNDS = 5, 9
_PAUSE = 2.0  # seconds between two commits of tenant B
_LIMIT = 120.0  # seconds after which a commit counts as lost
_READ_LIMIT = 300.0  # seconds for all documents of tenant A
_SOURCES = 3  # with many documents
_HANGING = 10  # sources with a remote that never answers
_EXPRESSION_SECONDS = 0.02
_EXPRESSION = "string(lists.range(schema.spec.size).map(x, x + schema.spec.round).size())"

Noise = Callable[[World, Cluster], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of tenant B's commits, and the memory of the controller before and at the peak."""

    quiet: list[float]
    noisy: list[float]
    quiet_peak: Peak
    noisy_peak: Peak

    @property
    def ratio(self) -> float:
        """Return how many times the quiet time a commit takes."""
        return middle(self.noisy) / middle(self.quiet)


def run(report: Report) -> None:
    """Measure each case, and print them in one table."""
    report.heading("16. A commit of tenant B while tenant A misbehaves, seconds")
    limit = _chart_limit()
    found = {
        name: attempt(report, name, partial(_measure, noise)) for name, noise in _CASES.items()
    }
    rows = [
        [
            name,
            f"{middle(one.quiet):.2f}",
            f"{middle(one.noisy):.2f}",
            f"{max(one.noisy):.2f}",
            f"{one.ratio:.2f}",
            f"{one.quiet_peak.total / 2**20:.0f}",
            f"{one.noisy_peak.total / 2**20:.0f}",
            f"{one.noisy_peak.own / 2**20:.0f}",
        ]
        for name, one in found.items()
        if not isinstance(one, Missing)
    ]
    if rows:
        heads = ["", "quiet", "noisy", "worst", "×", "MiB quiet", "MiB peak", "controller alone"]
        report.table(heads, rows)
        report.line(f"a commit that takes {_LIMIT:.0f} s is lost: it counts with that time")
    for name, one in found.items():
        times = one if isinstance(one, Missing) else one.ratio
        report.goal(goal_at_most(f"{name}: a neighbour's commit, times quiet", GOAL, times))
        share = one if isinstance(one, Missing) else one.noisy_peak.total / limit
        what = f"{name}: peak memory, times the chart's limit of {limit >> 20} MiB"
        report.goal(goal_at_most(what, 1.0, share))


def _chart_limit() -> int:
    values = yaml.safe_load((ROOT / "deploy/helm/kro-gitops/values.yaml").read_bytes())
    return parse_quantity(values["deployment"]["resources"]["limits"]["memory"]).whole


def _measure(noise: Noise) -> Measured:
    with world(_INSTANCES) as made, made.following() as following:
        made.follow()
        wait_until_ready(made, made.repository.head(), 120)
        pid = following.controller.pid

        async def measure() -> Measured:
            async with connect(made.field.plane.kubeconfig) as cluster:
                await _commit(cluster, made)  # so that the first round is one of many
                with peak_of(pid) as quiet_peak:
                    quiet = [await _commit(cluster, made) for _ in range(_QUIET_ROUNDS)]
                noisy: list[float] = []
                with peak_of(pid) as noisy_peak:
                    await cluster.create(tenant_a.namespace())
                    async with noise(made, cluster):
                        while len(noisy) < _NOISY_ROUNDS and max(noisy, default=0) < _LIMIT:
                            noisy.append(await _commit(cluster, made))
                return Measured(quiet, noisy, quiet_peak, noisy_peak)

        return asyncio.run(measure())


async def _commit(cluster: Cluster, made: World) -> float:
    """Change one instance of tenant B; return the seconds until its child shows it."""
    await asyncio.sleep(_PAUSE)
    greeting = f"changed at {time.time()}"
    changed = tenant_b.text_of(tenant_b.instance(0, greeting))
    made.repository.commit({tenant_b.file_of(0): changed}, greeting)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LIMIT):
            _, seen = await until_child(cluster, 0, greeting)
            return seen
    return _LIMIT


# Tenant A


@asynccontextmanager
async def _many_documents(made: World, cluster: Cluster) -> AsyncIterator[None]:
    with http_server(made.home) as server:
        for number in range(_SOURCES):
            repository = GitRepository.create(made.home / f"documents-{number}.git")
            repository.commit(tenant_a.documents(number), "all documents")
            url = server.url(repository.path.name)
            await cluster.create(tenant_a.source(f"documents-{number}", url))
        yield
        # The peak of memory comes when all of them were read.
        deadline = time.monotonic() + _READ_LIMIT
        for number in range(_SOURCES):
            while not await _is_reported(cluster, f"documents-{number}"):
                if time.monotonic() > deadline:
                    raise NotMeasuredError(f"not all documents were read in {_READ_LIMIT:.0f} s")
                await asyncio.sleep(_PAUSE)


async def _is_reported(cluster: Cluster, name: str) -> bool:
    found = await cluster.get(ObjectRef(GIT_SOURCE_KIND, tenant_a.NAMESPACE, name))
    return any(each.type == READY and each.status == FALSE for each in parse_conditions(found))


@asynccontextmanager
async def _hanging_remotes(_made: World, cluster: Cluster) -> AsyncIterator[None]:
    with hanging() as address:
        for number in range(_HANGING):
            url = f"{address}/{number}.git"
            await cluster.create(tenant_a.source(f"hanging-{number}", url, timeout="10m"))
        yield


@asynccontextmanager
async def _slow_expressions(_made: World, cluster: Cluster) -> AsyncIterator[None]:
    size = _slow_size()
    await cluster.create(tenant_a.definition(_EXPRESSION))
    while True:
        with suppress(NotServed):
            await cluster.create(tenant_a.instance(size, 0))
            break
        await asyncio.sleep(_PAUSE)

    async def keep_changing() -> None:
        for number in itertools.count(1):
            await cluster.patch(tenant_a.INSTANCE, MergePatch({"spec": {"round": number}}))
            await asyncio.sleep(_PAUSE)

    changing = asyncio.create_task(keep_changing())
    try:
        yield
    finally:
        changing.cancel()


def _slow_size() -> int:
    """Return the size with which an expression takes its time on this machine."""
    program, size = compile_text(_EXPRESSION, Environment.kro().extend(types={"schema": DYN})), 500
    while True:
        began = time.process_time()
        program.evaluate({"schema": {"spec": {"size": size, "round": 1}}}, Budget())
        seconds = time.process_time() - began
        if seconds >= _EXPRESSION_SECONDS:
            return int(size * _EXPRESSION_SECONDS / seconds)
        size *= 2


@asynccontextmanager
async def _endless_refs(_made: World, cluster: Cluster) -> AsyncIterator[None]:
    with endless_refs() as address:
        for number in range(_SOURCES):
            await cluster.create(tenant_a.source(f"endless-{number}", f"{address}/{number}.git"))
        yield


_CASES: dict[str, Noise] = {
    f"{_SOURCES} sources with {tenant_a.DOCUMENTS:,} documents": _many_documents,
    f"{_HANGING} remotes that hang": _hanging_remotes,
    f"{tenant_a.EXPRESSIONS:,} expressions of 20 ms": _slow_expressions,
    f"{_SOURCES} remotes with endless refs": _endless_refs,
}
