"""
Many sources with many instances that change all the time, while everything around them fails.

What the last commits want is kept here, so that the cluster can be compared with it. An object that
was wanted all the time must keep its uid: another one means that it was deleted by mistake.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression

import yaml

from kro_gitops.kube.api import Selection
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_objects.refs import Kind, KubeObject
from tests.e2e.faults.cuts import Line
from tests.e2e.faults.stage import insist
from tests.e2e.following.world import CONFIG_MAP, SourceWorld
from tests.e2e.scenarios.parts import serve
from tests.e2e.scenarios.world import condition
from tests.git_repositories import Content, GitRepository
from tools.cluster.parts import Part
from tools.cluster.plane import Plane

COLOURS = ("red", "green", "blue", "white")
SETTLE_LIMIT = 240.0  # seconds until everything must be as wanted once nothing is disturbed
_STAYS = 2.0  # seconds in which nothing may change after that
_SAMPLE_INTERVAL = 2.0  # seconds between two looks at the memory
_WARM_UP = 0.2  # part of the samples that is left out: caches are filled
_PAGE = 4096  # bytes, as /proc/…/statm counts
_FAULTS = ("api-server", "watches", "watches", "remote gone", "remote fails", "remote slow")


@dataclass(slots=True)
class Team:
    """A source, its repository, and the colour of each shop that its last commit wants."""

    name: str
    repository: GitRepository
    wanted: dict[str, str] = field(default_factory=dict)
    opened: int = 0  # shops so far: no name is used twice
    head: str = ""


class Soak:
    """The teams of a world, and what may happen to them."""

    def __init__(self, world: SourceWorld, plane: Plane, line: Line, chance: random.Random) -> None:
        self.world = world
        self.happened: Counter[str] = Counter()
        self._plane = plane
        self._line = line
        self._chance = chance
        self._teams: list[Team] = []
        self._uids: dict[tuple[str, str], str] = {}  # by kind and name, when last compared
        self._samples: list[tuple[float, int]] = []  # time, bytes of the controller

    async def begin(self, teams: int, shops: int) -> None:
        """Have a source with so many shops for each team, and wait until all is applied."""
        await serve(self.world, self.world.shop())
        for number in range(teams):
            team = Team(f"team-{number}", self.world.new_repository())
            self._teams.append(team)
            for _ in range(shops):
                self._open(team)
            self._commit(team, team.wanted.keys())
            url = self.world.url(team.repository)
            await self.world.follow(team.name, url=url, maxPrune={"percent": 100, "count": 100})
        await self.as_wanted()

    # What happens

    async def run(self, seconds: float, *, kills: bool) -> None:
        """Commit and disturb for a while; without `kills` the controller stays alive."""
        until = time.monotonic() + seconds
        works = [self._keep_committing(until), self._keep_disturbing(until, kills=kills)]
        if not kills:
            works.append(self._watch_memory(until))
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)

    async def _keep_committing(self, until: float) -> None:
        while time.monotonic() < until:
            team = self._chance.choice(self._teams)
            changed = set(self._chance.sample(sorted(team.wanted), self._chance.randint(0, 4)))
            for name in changed:
                team.wanted[name] = self._chance.choice(COLOURS)
            if self._chance.random() < 0.5:
                changed.add(self._open(team))
            if self._chance.random() < 0.5:
                closed = self._chance.choice(sorted(team.wanted))
                del team.wanted[closed]
                self._uids.pop(("Shop", closed), None)
                self._uids.pop(("ConfigMap", f"{closed}-settings"), None)
                changed.add(closed)
            if changed:
                await asyncio.to_thread(self._commit, team, changed)
                self.happened["commits"] += 1
            await asyncio.sleep(self._chance.uniform(0.1, 1.5))

    async def _keep_disturbing(self, until: float, *, kills: bool) -> None:
        faults = (*_FAULTS, "controller", "controller") if kills else _FAULTS
        server, controller = self.world.git.server, self.world.controller
        while time.monotonic() < until:
            fault = self._chance.choice(faults)
            lasts = self._chance.uniform(0.0, 4.0)
            match fault:
                case "controller":
                    controller.kill()
                    await asyncio.sleep(lasts / 4)
                    # It may be killed again before it is ready.
                    await asyncio.to_thread(Part.start, controller)
                case "api-server":
                    await asyncio.to_thread(self._plane.restart_api_server)
                case "watches":
                    self._line.cut()
                case "remote gone":
                    await asyncio.to_thread(server.go_away)
                    await asyncio.sleep(lasts)
                    server.come_back()
                case "remote fails":
                    server.fail(self._chance.choice((401, 404, 429, 500, 503)))
                    await asyncio.sleep(lasts)
                    server.fail(0)
                case _:
                    server.slow(20_000)
                    await asyncio.sleep(lasts)
                    server.slow(0)
            self.happened[fault] += 1
            await asyncio.sleep(self._chance.uniform(0.2, 4.0))

    def _open(self, team: Team) -> str:
        team.opened += 1
        name = f"{team.name}-shop-{team.opened}"
        team.wanted[name] = self._chance.choice(COLOURS)
        return name

    def _commit(self, team: Team, names: Iterable[str]) -> None:
        files: dict[str, Content] = {}
        for name in names:
            colour = team.wanted.get(name)
            shop = self.world.front(name, color=colour)
            files[f"shops/{name}.yaml"] = yaml.safe_dump(shop) if colour else None
        team.head = team.repository.commit(files, f"change of {team.name}")

    # What must come of it

    async def as_wanted(self) -> None:
        """Return when the cluster is exactly what the last commits want; it must stay so."""
        await insist(lambda: self.world.until(self._is_exact, SETTLE_LIMIT, 1.0), SETTLE_LIMIT)
        await asyncio.sleep(_STAYS)
        self._uids = await self._is_exact()

    async def _is_exact(self) -> dict[tuple[str, str], str]:
        """Compare everything; return the uids by kind and name."""
        heads = {team.name: team.head for team in self._teams}
        for source in await self._all_of(GIT_SOURCE_KIND):
            name, ready = source["metadata"]["name"], condition(source, "Ready")
            assert ready["status"] == "True", (name, ready)
            assert ready["observedGeneration"] == source["metadata"]["generation"], (name, ready)
            revision = source["status"].get("lastAppliedRevision", "")
            assert revision.endswith(heads[name]), (name, revision, heads[name])
        wanted = {name: colour for team in self._teams for name, colour in team.wanted.items()}
        shops = {
            each["metadata"]["name"]: each
            for each in await self._all_of(Kind(self.world.group, "v1alpha1", "Shop"))
        }
        children = {
            each["metadata"]["name"]: each
            for each in await self._all_of(CONFIG_MAP, "kro.run/node-id=settings")
        }
        assert shops.keys() == wanted.keys(), shops.keys() ^ wanted.keys()
        settings = {f"{name}-settings": {"color": colour} for name, colour in wanted.items()}
        assert {name: each["data"] for name, each in children.items()} == settings
        for name, shop in shops.items():
            assert shop["spec"]["color"] == wanted[name], shop
            assert shop["status"]["state"] == "ACTIVE", shop
        uids = {
            (each["kind"], name): each["metadata"]["uid"]
            for found in (shops, children)
            for name, each in found.items()
        }
        wrong = [key for key, uid in self._uids.items() if uids.get(key) != uid]
        assert not wrong, f"deleted by mistake, and created again: {wrong}"
        return uids

    async def _all_of(self, kind: Kind, labels: str = "") -> list[KubeObject]:
        selection = Selection(kind, self.world.namespace, labels)
        return list((await self.world.cluster.list(selection)).items)

    # What it costs

    async def _watch_memory(self, until: float) -> None:
        while time.monotonic() < until:
            pid = self.world.controller.pid
            statm = await asyncio.to_thread(Path(f"/proc/{pid}/statm").read_text)
            self._samples.append((time.monotonic(), int(statm.split()[1]) * _PAGE))
            await asyncio.sleep(_SAMPLE_INTERVAL)

    def memory(self) -> str:
        """Return how the memory of the controller changed while it was not killed."""
        kept = self._samples[int(len(self._samples) * _WARM_UP) :]
        if len(kept) < 2:
            return "memory: not measured"
        times, sizes = zip(*kept, strict=True)
        slope = linear_regression(times, sizes).slope * 3600 / 2**20
        first, last, most = (size / 2**20 for size in (sizes[0], sizes[-1], max(sizes)))
        return (
            f"memory: {first:.0f} → {last:.0f} MiB in {times[-1] - times[0]:.0f} s, at most "
            f"{most:.0f} MiB; slope {slope:+.0f} MiB an hour"
        )
