"""
A repository that is new to the cluster: a definition and many instances, until all are ready.

The limit is the same objects applied by our own client, as many at once, where no controller runs.
Beside it stands what people do without a source: clone, and `kubectl apply --server-side`; to them
the definition is served already.
"""

import asyncio
import subprocess
import time
from dataclasses import dataclass, field

from benchmarks.engine.attempts import Missing, attempt, goal_at_most, ratio
from benchmarks.engine.audit import Requests
from benchmarks.engine.connection import connect, for_each
from benchmarks.engine.workload import is_ready
from benchmarks.peers.processes import NotMeasuredError
from benchmarks.report import Report
from benchmarks.source import workload
from benchmarks.source.world import GLANCE, World, is_applied, world
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, Selection, WriteOptions
from kube_objects.refs import ObjectRef
from tools.cluster.commands import find_binary
from tools.cluster.parts import ToolError

SUBJECT = "source-first"
COUNT = 1_000
_LIMIT = 900.0
_STEPS = ("ask", "fetch", "read", "wait", "compare", "plan", "rehearse", "apply", "inventory")
_BARE = WriteOptions(manager="benchmark", force=True)
_DEFINITION = ObjectRef(DEFINITION_KIND, "", workload.DEFINITION)


@dataclass(frozen=True, slots=True)
class First:
    """Seconds until all was applied and until all was ready, and what was asked for."""

    applied: float
    ready: float = 0.0
    requests: Requests | None = None
    steps: dict[str, float] = field(default_factory=dict)


def run(report: Report, count: int = COUNT) -> None:
    """Measure each way, print them side by side."""
    report.heading(f"15. {count:,} instances from a new repository")
    bare = attempt(report, "the bare applies", lambda: _bare(count))
    ours = attempt(report, "ours", lambda: _ours(count))
    theirs = attempt(report, "git clone and kubectl apply", lambda: _kubectl(count))
    again = attempt(report, "the bare applies again", lambda: _bare(count))
    limit = _mean(bare, again)
    found = {"bare applies": limit, "ours": ours, "git clone, kubectl apply": theirs}
    rows = [
        [name, f"{one.applied:.1f}", _times(ratio(one.applied, _applied(limit))), _ready(one)]
        for name, one in found.items()
        if not isinstance(one, Missing)
    ]
    if rows:
        report.table(["", "s until applied", "× bare", "s until ready"], rows)
    if not isinstance(ours, Missing) and ours.requests is not None:
        report.line(f"ours, for each instance: {ours.requests.per(count)}")
        steps = (f"{step} {ours.steps.get(step, 0.0):.1f}" for step in _STEPS)
        report.line(f"ours, seconds of steps: {', '.join(steps)}")
    times = ratio(_applied(ours), _applied(limit))
    report.goal(goal_at_most(f"{count:,} from git until applied, times bare applies", 3, times))
    against = ratio(_until_ready(ours), _until_ready(theirs))
    report.goal(goal_at_most("until ready, times git clone and kubectl apply", 1.2, against))


def _bare(count: int) -> First:
    """Apply the same objects; nobody looks at them."""

    async def pour(made: World) -> float:
        async with connect(made.field.plane.kubeconfig) as cluster:

            async def one(number: int) -> None:
                await cluster.apply(workload.instance(number, kind=workload.BARE), _BARE)

            await cluster.find(ObjectRef.of(workload.instance(0, kind=workload.BARE)))
            began = time.monotonic()
            await cluster.apply(workload.definition(), _BARE)
            await for_each(range(count), one)
            return time.monotonic() - began

    with world(count) as made:
        return First(asyncio.run(pour(made)))


def _ours(count: int) -> First:
    with world(count) as made, made.following() as following:
        commit = made.repository.head()
        mark = made.field.audit.mark()

        async def follow() -> tuple[float, float]:
            async with connect(made.field.plane.kubeconfig) as cluster:
                began = time.monotonic()
                await cluster.create(workload.source(made.url, "1h"))
                ready = asyncio.create_task(_all_ready(cluster, count))
                while not is_applied(await cluster.get(workload.SOURCE), commit):
                    _give_up_after(began)
                    await asyncio.sleep(5 * GLANCE)
                applied = time.monotonic()
                return applied - began, await ready - began

        applied, ready = asyncio.run(follow())
        made.field.audit.wait_until_quiet(2.0)
        return First(applied, ready, made.field.audit.since(mark), following.figures())


def _kubectl(count: int) -> First:
    """Do what people do without a source."""
    try:
        kubectl = find_binary("kubectl")
    except ToolError as error:
        raise NotMeasuredError(str(error)) from error
    with world(count) as made, made.following():
        folder = made.home / "clone"
        command = [kubectl, f"--kubeconfig={made.field.plane.kubeconfig}", "apply"]
        command += ["--server-side", "-R", "-f", str(folder / "instances")]

        def clone_and_apply() -> None:
            made.git("clone", "--quiet", "--depth=1", made.url, str(folder))
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_LIMIT)

        async def apply() -> tuple[float, float]:
            async with connect(made.field.plane.kubeconfig) as cluster:
                await _publish(cluster)
                began = time.monotonic()
                ready = asyncio.create_task(_all_ready(cluster, count))
                await asyncio.to_thread(clone_and_apply)
                applied = time.monotonic()
                return applied - began, await ready - began

        return First(*asyncio.run(apply()))


async def _publish(cluster: Cluster) -> None:
    began = time.monotonic()
    await cluster.apply(workload.definition(), _BARE)
    while ((await cluster.get(_DEFINITION)).get("status") or {}).get("state") != "Active":
        _give_up_after(began)
        await asyncio.sleep(GLANCE)


async def _all_ready(cluster: Cluster, count: int) -> float:
    """Return the time at which the last instance became ready."""
    began = time.monotonic()
    selection = Selection(workload.KIND, workload.NAMESPACE)
    ready: set[str] = set()
    while True:
        _give_up_after(began)
        try:
            listing = await cluster.list(selection)
            ready |= {each["metadata"]["name"] for each in listing.items if is_ready(each)}
            async with cluster.watch(selection, listing.resource_version) as events:
                async for event in events:
                    if is_ready(event.object):
                        ready.add(event.object["metadata"]["name"])
                    if len(ready) >= count:
                        return time.monotonic()
        except NotServed:
            await asyncio.sleep(GLANCE)


def _give_up_after(began: float) -> None:
    if time.monotonic() - began > _LIMIT:
        raise NotMeasuredError(f"not done within {_LIMIT:.0f} s")


def _mean(one: First | Missing, other: First | Missing) -> First | Missing:
    found = [each.applied for each in (one, other) if not isinstance(each, Missing)]
    return First(sum(found) / len(found)) if found else one


def _applied(one: First | Missing) -> float | Missing:
    return one if isinstance(one, Missing) else one.applied


def _until_ready(one: First | Missing) -> float | Missing:
    return one if isinstance(one, Missing) else one.ready


def _ready(one: First) -> str:
    return f"{one.ready:.1f}" if one.ready else "–"


def _times(figure: float | Missing) -> str:
    return "–" if isinstance(figure, Missing) else f"{figure:.2f}"
