"""
Many instances that come, change and go, and what must be there of them in the end.

A shop has children of every sort: one that another reads, one that is only there if wanted, and
a collection. What is wanted is kept here, so the cluster can be compared with it to the byte.
"""

import asyncio
import random
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.kube.api import Selection
from kro_gitops.kube.responses import NotFound
from kube_objects.refs import KubeObject, ObjectRef
from tests.config_maps import CONFIG_MAP
from tests.e2e.faults.stage import LIMIT, apply, insist
from tests.e2e.scenarios.parts import config_map, node, serve
from tests.e2e.scenarios.world import World, labels

KIND = "Shop"
NAME = "${schema.metadata.name}"
COLOURS = ("red", "green", "blue", "white")
GOODS = ("pear", "plum", "fig", "lime")


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants of a shop."""

    colour: str = "red"
    goods: tuple[str, ...] = ("pear",)
    annex: bool = False

    def spec(self) -> dict[str, Any]:
        """Return it as an instance has it."""
        return {"colour": self.colour, "goods": list(self.goods), "annex": self.annex}

    def children(self, name: str) -> dict[str, dict[str, str]]:
        """Return the data of every child, by name."""
        base, made = f"{name}-base", dict[str, dict[str, str]]()
        made[base] = {"colour": self.colour}
        made[f"{name}-sign"] = {"on": base, "colour": self.colour}
        if self.annex:
            made[f"{name}-annex"] = {"of": base}
        made |= {f"{name}-{each}": {"sells": each} for each in self.goods}
        return made

    def changed(self, chance: random.Random) -> "Wish":
        """Return another wish: a value, a switch or the size of the collection is different."""
        match chance.randrange(3):
            case 0:
                return replace(self, colour=chance.choice(COLOURS))
            case 1:
                return replace(self, annex=not self.annex)
            case _:
                return replace(self, goods=tuple(sorted(_some_goods(chance))))


def definition(world: World, kind: str = KIND) -> KubeObject:
    """Build the definition of shops."""
    return world.definition(
        kind,
        {"colour": "string", "goods": "[]string", "annex": "boolean"},
        status={"colour": "${sign.data.colour}"},
        resources=[
            node("base", config_map(f"{NAME}-base", {"colour": "${schema.spec.colour}"})),
            node("sign", config_map(f"{NAME}-sign", _SIGN)),
            node(
                "annex",
                config_map(f"{NAME}-annex", {"of": "${base.metadata.name}"}),
                includeWhen=["${schema.spec.annex}"],
            ),
            node(
                "goods",
                config_map(f"{NAME}-${{good}}", {"sells": "${good}"}),
                forEach=[{"good": "${schema.spec.goods}"}],
            ),
        ],
    )


_SIGN = {"on": "${base.metadata.name}", "colour": "${base.data.colour}"}


class Shops:
    """The shops of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.wanted: dict[str, Wish] = {}
        self.closed: set[str] = set()
        self.suspects: set[str] = set()  # those that were not as wanted when last looked at
        self._count = 0

    async def open(self, wish: Wish) -> str:
        """Open one more shop; return its name."""
        self._count += 1
        name = f"shop-{self._count}"
        await self.change(name, wish)
        return name

    async def change(self, name: str, wish: Wish) -> None:
        """Have a shop be as somebody wants it now."""
        self.wanted[name] = wish
        await apply(self.world.cluster, self.instance(name))

    async def close(self, name: str) -> None:
        """Have a shop go."""
        ref = ObjectRef.of(self.instance(name))
        del self.wanted[name]
        self.closed.add(name)

        async def delete() -> None:
            try:
                await self.world.cluster.delete(ref)
            except NotFound:
                return

        await insist(delete)

    async def do_something(self, chance: random.Random) -> None:
        """Open, change or close a shop."""
        names = sorted(self.wanted)
        if len(names) < 4 or chance.random() < 0.2:
            await self.open(Wish().changed(chance))
        elif chance.random() < 0.25:
            await self.close(chance.choice(names))
        else:
            name = chance.choice(names)
            await self.change(name, self.wanted[name].changed(chance))

    def instance(self, name: str) -> KubeObject:
        """Return the instance of a shop as it is wanted now."""
        return self.world.instance(KIND, name, self.wanted.get(name, Wish()).spec())

    def child(self, name: str) -> ObjectRef:
        """Name a child."""
        return ObjectRef(CONFIG_MAP, self.world.namespace, name)

    async def as_wanted(self, within: float = LIMIT) -> None:
        """Return when everything is as wanted: shops ready, closed ones gone, children exact."""
        await asyncio.gather(
            *(self._ready(name, within) for name in self.wanted),
            *(self._gone(name, within) for name in self.closed),
        )
        await self.world.until(self._children_are_exact, within)
        # And it stays so: nobody is still at work.
        await asyncio.sleep(1.0)
        await self._children_are_exact()

    async def _ready(self, name: str, within: float) -> None:
        found = await self.world.settled(self.instance(name), within)
        assert found["status"]["colour"] == self.wanted[name].colour
        assert found["spec"] == self.wanted[name].spec()

    async def _gone(self, name: str, within: float) -> None:
        await self.world.gone(self.instance(name), within)

    async def _children_are_exact(self) -> None:
        selection = Selection(CONFIG_MAP, self.world.namespace, labels="kro.run/owned=true")
        listing = await self.world.cluster.list(selection)
        found = [
            each for each in listing.items if labels(each).get("kro.run/instance-kind") == KIND
        ]
        wanted: dict[str, dict[str, str]] = {}
        for name, wish in self.wanted.items():
            wanted |= wish.children(name)
        made = {each["metadata"]["name"]: each.get("data") for each in found}
        self.suspects = {name.rpartition("-")[0] for name in _differing(made, wanted)}
        assert made == wanted, _difference(made, wanted)
        uids = [await self._uid(name) for name in self.wanted]
        assert {labels(each)["kro.run/instance-id"] for each in found} <= set(uids), "orphans"

    async def _uid(self, name: str) -> str:
        found = await self.world.get(self.instance(name))
        uid: str = found["metadata"]["uid"]
        return uid


class Bystanders:
    """What nobody may touch: objects with names like children's, and another kind's children."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._before: dict[ObjectRef, tuple[str, str]] = {}

    async def settle(self) -> None:
        """Have them there, and remember them."""
        world, place = self._world, self._world.namespace
        stalls = definition(world, "Stall")
        stall = world.instance("Stall", "stall-1", Wish(annex=True).spec())
        await serve(world, stalls, stall)
        await world.settled(stall, LIMIT)
        likeness = {"app.kubernetes.io/managed-by": "kro", "kro.run/node-id": "goods"}
        made = [
            config_map("shop-1-apple", namespace=place),
            config_map("shop-2-nut", namespace=place, labels=likeness),
            config_map("shop-3-date", namespace=place, labels={"kro.run/owned": "true"}),
        ]
        for each in made:
            await world.create(each)
        names = [each["metadata"]["name"] for each in made]
        for name in (*names, *Wish(annex=True).children("stall-1")):
            ref = ObjectRef(CONFIG_MAP, place, name)
            self._before[ref] = _version(await world.get(ref))

    async def are_untouched(self) -> None:
        """Fail if anybody touched them."""
        for ref, before in self._before.items():
            assert _version(await self._world.get(ref)) == before, ref


async def keep_busy(shops: Shops, chance: random.Random, closing: asyncio.Event) -> None:
    """Open, change and close shops until it is closing time."""
    while not closing.is_set():
        await shops.do_something(chance)
        await asyncio.sleep(chance.uniform(0, 0.3))


def _some_goods(chance: random.Random) -> list[str]:
    return chance.sample(GOODS, chance.randrange(len(GOODS) + 1))


def _differing(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    names = sorted(found.keys() | wanted.keys())
    return [name for name in names if found.get(name) != wanted.get(name)]


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    wrong = _differing(found, wanted)
    return "; ".join(f"{name}: {found.get(name)}, not {wanted.get(name)}" for name in wrong)


def _version(obj: KubeObject) -> tuple[str, str]:
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
