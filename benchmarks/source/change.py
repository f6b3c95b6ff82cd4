"""
One line changed in a large repository: from the wish to look until the child says it.

The peer does what cannot be left out: `git fetch` of the same commit from the same server, then one
apply of an instance and then of its child. Both take turns.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from benchmarks.engine.attempts import goal_at_most
from benchmarks.engine.audit import patches_in
from benchmarks.engine.connection import connect
from benchmarks.report import Report, middle, milliseconds
from benchmarks.source import workload
from benchmarks.source.world import Following, World, poke, ready
from kro_gitops.kube.api import Cluster, Selection, WriteOptions
from kro_gitops.metadata import SOURCE_MANAGER

GOAL = 3.0
_ROUNDS = 7
_LIMIT = 120.0  # seconds for one change
_PAUSE = 0.5  # seconds until what a change sets off has come to rest
_BARE = WriteOptions(manager="benchmark", force=True)

# Steps until the instance is applied, as the controller calls them, and in our words.
_BEFORE = {
    "ask": "ask the remote",
    "fetch": "fetch",
    "read": "list files, read, parse",
    "plan": "put in order",
    "compare": "compare with the cluster",
    "rehearse": "dry run",
    "apply": "apply",
}
# What it does while the engine is at work on the children.
_BESIDE = {"inventory": "inventory", "look": "look at health", "status": "status"}


@dataclass(frozen=True, slots=True)
class Change:
    """Seconds of one change: until the child was seen, until all was reported, and of steps."""

    seen: float
    reported: float
    steps: dict[str, float]
    engine: float
    fetch_bare: float
    apply_bare: float

    @property
    def floor(self) -> float:
        """Return what cannot be left out."""
        return self.fetch_bare + self.apply_bare


def measure(world: World, following: Following, count: int) -> list[Change]:
    """Change an instance several times, another one each time."""
    numbers = range(0, count, max(1, count // _ROUNDS))[:_ROUNDS]

    async def all_rounds() -> list[Change]:
        async with connect(world.field.plane.kubeconfig) as cluster:
            for number in (0, 1):  # so that the first round is one of many
                await _bare(cluster, world, number, "warm")
            return [await _round(cluster, world, following, number) for number in numbers]

    return asyncio.run(all_rounds())


async def _round(cluster: Cluster, world: World, following: Following, number: int) -> Change:
    greeting = f"changed at {time.time()}"
    changed = workload.text_of(workload.instance(number, greeting))
    commit = world.repository.commit({workload.file_of(number): changed}, f"change {number}")
    await asyncio.sleep(_PAUSE)
    before, mark = following.figures(), world.field.audit.mark()
    async with asyncio.timeout(_LIMIT):
        began, seen = await until_child(cluster, number, greeting)
        await ready(cluster, commit, _LIMIT)
    reported = time.perf_counter() - began
    await asyncio.sleep(_PAUSE)
    after = following.figures()
    steps = {step: seconds - before.get(step, 0.0) for step, seconds in after.items()}
    engine = _engine_seconds(world.field.audit.lines_since(mark), number)
    fetch_bare, apply_bare = await _bare(cluster, world, number, greeting)
    return Change(seen, reported, steps, engine, fetch_bare, apply_bare)


async def until_child(cluster: Cluster, number: int, greeting: str) -> tuple[float, float]:
    """Have the source look; return when that was, and how long until the child had changed."""
    ref = workload.child_ref(number)
    selection = Selection(ref.kind, ref.namespace, fields=f"metadata.name={ref.name}")
    listing = await cluster.list(selection)
    async with cluster.watch(selection, listing.resource_version) as events:
        began = time.perf_counter()
        await poke(cluster, greeting)
        async for event in events:
            if (event.object.get("data") or {}).get("greeting") == greeting:
                return began, time.perf_counter() - began
    raise RuntimeError(f"the watch ended before {ref} had changed")


async def _bare(cluster: Cluster, world: World, number: int, greeting: str) -> tuple[float, float]:
    """Return the seconds of the bare fetch, and of the bare requests."""
    fetched = await asyncio.to_thread(world.fetch_bare)
    await _apply(cluster, number, "former")  # so that it is a change, as it is to ours
    began = time.perf_counter()
    await _apply(cluster, number, greeting)
    return fetched, time.perf_counter() - began


async def _apply(cluster: Cluster, number: int, greeting: str) -> None:
    await cluster.apply(workload.instance(number, greeting, workload.BARE), _BARE)
    await cluster.apply(workload.child(number, greeting, prefix="bare-"), _BARE)


def _engine_seconds(lines: Sequence[str], number: int) -> float:
    """Return how long the API server waited for the child once it had the instance."""
    shops = [
        each.answered
        for each in patches_in(lines, f"{workload.KIND.kind.lower()}s")
        if each.manager == SOURCE_MANAGER
    ]
    child = workload.child_ref(number).name
    made = [each.answered for each in patches_in(lines, "configmaps") if each.name == child]
    return _between(shops[-1], made[-1]) if shops and made else 0.0


def _between(earlier: datetime, later: datetime) -> float:
    return (later - earlier).total_seconds()


def _rest(change: Change) -> float:
    known = sum(change.steps.get(step, 0.0) for step in _BEFORE)
    return change.seen - known - change.engine


def _middle(changes: Sequence[Change], figure: Callable[[Change], float]) -> str:
    return milliseconds(middle([figure(each) for each in changes]))


def print_changes(report: Report, changes: Sequence[Change], count: int) -> None:
    """Print the split, and compare."""
    report.heading(f"12. One line changed among {count:,} instances, ms (medians)")
    seen = middle([each.seen for each in changes])
    rows = [
        [words, milliseconds(middle([each.steps.get(step, 0.0) for each in changes]))]
        for step, words in _BEFORE.items()
    ]
    rows.append(["the engine: instance to child", _middle(changes, lambda one: one.engine)])
    rows.append(["all the rest: be told, and in between", _middle(changes, _rest)])
    rows.append(["until the child is seen", milliseconds(seen)])
    report.table(["step", "ms"], rows)
    aside = [
        f"{words} {milliseconds(middle([each.steps.get(step, 0.0) for each in changes]))}"
        for step, words in _BESIDE.items()
    ]
    report.line(f"meanwhile, and after: {', '.join(aside)}")
    report.line(f"until the source says it is ready: {_middle(changes, lambda o: o.reported)}")
    report.line(
        f"bare: git fetch {_middle(changes, lambda o: o.fetch_bare)}, "
        f"two applies {_middle(changes, lambda o: o.apply_bare)}"
    )
    times = middle([each.seen / each.floor for each in changes])
    subject = f"a change among {count:,}, times the bare fetch and applies"
    report.goal(goal_at_most(subject, GOAL, times))
