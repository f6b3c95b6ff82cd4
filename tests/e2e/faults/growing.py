"""
A repository that changes commit by commit, and what must be there of it in the end.

Objects are added, changed, moved, renamed and removed; the schema of a kind grows, and is used in
the same commit; another kind comes with its instances and goes with them. What the last commit
wants is kept here, so that the cluster can be compared with it to the byte.
"""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Selection
from kro_gitops.kube.discovery import NOT_SERVED_TTL
from kro_gitops.source.api.resources import SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.faults.stage import LIMIT, insist
from tests.e2e.following.world import CONFIG_MAP, SourceWorld
from tests.e2e.scenarios.clearing import DEFINITION
from tests.e2e.scenarios.world import annotations, labels

SOURCE, PATH, HASH = (f"gitops.kro.run/{each}" for each in ("source", "path", "source-hash"))
BULK = 24  # objects that change together: so that a sync takes a while
COLOURS = ("red", "green", "blue", "white")
FOLDERS = ("apps", "infra", "teams/a", "teams/b")


@dataclass(slots=True)
class Wanted:
    """An object as the last commit wants it."""

    path: str
    object: KubeObject
    since: int  # the commit from which on it was always wanted


@dataclass(slots=True)
class Growing:
    """A repository, and what its last commit wants."""

    world: SourceWorld
    chance: random.Random
    wanted: dict[ObjectRef, Wanted] = field(default_factory=dict)
    number: int = 0  # of commits
    head: str = ""
    fields: list[str] = field(default_factory=lambda: ["color"])
    _written: dict[str, KubeObject] = field(default_factory=dict)  # as of the last commit
    _names: int = 0
    _uids: dict[ObjectRef, tuple[int, str]] = field(default_factory=dict)  # when seen, and which

    # Changing

    def begin(self) -> str:
        """Commit what is wanted from the beginning to the end, and some more."""
        self._shops()
        self._put(self.world.front("always"))
        self._put(self._config_map("always"))
        self._bulk()
        for _ in range(4):
            self._add()
        return self._commit()

    def change(self, most: int = 3) -> str:
        """Commit some changes; return the commit."""
        actions = [
            *(self._bulk, self._add, self._add, self._alter, self._alter, self._move),
            *(self._remove, self._rename, self._extend, self._stalls),
        ]
        for action in self.chance.sample(actions, self.chance.randint(1, most)):
            action()
        return self._commit()

    def _put(self, obj: KubeObject, path: str = "") -> None:
        ref = self._ref(obj)
        former = self.wanted.get(ref)
        if former is not None:
            self.wanted[ref] = Wanted(path or former.path, obj, former.since)
            return
        folder = self.chance.choice(FOLDERS)
        where = path or f"{folder}/{ref.kind.kind.lower()}-{ref.name}.yaml"
        self.wanted[ref] = Wanted(where, obj, self.number + 1)

    def _ref(self, obj: KubeObject) -> ObjectRef:
        namespace = "" if obj["kind"] == DEFINITION.kind else self.world.namespace
        return ObjectRef(
            Kind.of(obj["apiVersion"], obj["kind"]), namespace, obj["metadata"]["name"]
        )

    def _config_map(self, name: str) -> KubeObject:
        data = {"at": str(self.number), "of": name, "x": str(self.chance.random())}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}

    def _shop(self, name: str) -> KubeObject:
        return self.world.front(name, **{each: self.chance.choice(COLOURS) for each in self.fields})

    def _shops(self) -> None:
        fields = dict.fromkeys(self.fields, 'string | default="none"')
        self._put(self.world.shop({**fields, "color": "string"}))

    def _bulk(self) -> None:
        for number in range(BULK):
            self._put(self._config_map(f"bulk-{number}"))

    def _add(self) -> None:
        self._names += 1
        name = f"part-{self._names}"
        make = self._shop if self.chance.random() < 0.4 else self._config_map
        self._put(make(name))

    def _alter(self) -> None:
        ref = self.chance.choice(self._changeable())
        self._put(self._config_map(ref.name) if ref.kind == CONFIG_MAP else self._shop(ref.name))

    def _move(self) -> None:
        ref = self.chance.choice(self._changeable())
        found = self.wanted[ref]
        found.path = f"moved/{self.number}-{ref.kind.kind.lower()}-{ref.name}.yaml"

    def _remove(self) -> None:
        for ref in self._parts()[:2]:
            del self.wanted[ref]

    def _rename(self) -> None:
        """Let an object have another name; the file is the same."""
        for ref in self._parts()[:1]:
            former = self.wanted.pop(ref)
            self._names += 1
            name = f"{ref.name}-{self._names}"
            made = {**former.object, "metadata": {**former.object["metadata"], "name": name}}
            self._put(made, former.path)

    def _extend(self) -> None:
        """Let the kind have one more field, and use it at once."""
        self.fields.append(f"field{len(self.fields)}")
        self._shops()
        self._put(self._shop("always"))

    def _stalls(self) -> None:
        """Let another kind come with its instances, or go with them."""
        there = [ref for ref in self.wanted if "stall" in ref.name]
        for ref in there:
            del self.wanted[ref]
        if not there:
            body = self._config_map("${schema.metadata.name}-settings") | {"data": {"a": "b"}}
            resources = [{"id": "settings", "template": body}]
            name = f"stall-{self.world.token}"
            self._put(self.world.definition("Stall", {}, resources=resources, name=name))
            for number in (1, 2):
                self._put(self.world.instance("Stall", f"stall-{number}"))

    def _changeable(self) -> list[ObjectRef]:
        return sorted(
            (r for r in self.wanted if r.kind == CONFIG_MAP or r.kind.kind == "Shop"), key=str
        )

    def _parts(self) -> list[ObjectRef]:
        """Return what need not stay, in any order."""
        found = [ref for ref in self._changeable() if ref.name.startswith("part-")]
        return self.chance.sample(found, len(found))

    def _commit(self) -> str:
        self.number += 1
        files = {each.path: each.object for each in self.wanted.values()}
        assert len(files) == len(self.wanted), "two objects in one file"
        changes: dict[str, object] = {
            path: obj for path, obj in files.items() if self._written.get(path) != obj
        }
        changes |= dict.fromkeys(self._written.keys() - files.keys())
        self._written = files
        self.head = self.world.commit(changes, f"commit {self.number}") if changes else self.head
        return self.head

    # Comparing

    async def as_wanted(self, within: float = LIMIT) -> None:
        """Return when the cluster is exactly what the last commit wants; it must stay so."""
        await insist(lambda: self.world.ready(self.head, within=within), within)
        await self._is_exact()
        await asyncio.sleep(1.5)
        await self._is_exact()
        self._uids = {
            ref: (self.number, obj["metadata"]["uid"])
            for ref, obj in (await self.applied()).items()
        }

    async def _is_exact(self) -> None:
        found = await self.applied()
        names = {str(ref) for ref in found} ^ {str(ref) for ref in self.wanted}
        assert not names, f"leaked or missing: {names}"
        for ref, obj in found.items():
            self._is_as_wanted(ref, obj)
        inventory = {key: entry.get("uid") for key, entry in (await self.inventory()).items()}
        assert inventory == {key_of(ref): obj["metadata"]["uid"] for ref, obj in found.items()}
        await self._children_are_exact(found)

    def _is_as_wanted(self, ref: ObjectRef, obj: KubeObject) -> None:
        wanted = self.wanted[ref]
        assert annotations(obj)[PATH] == wanted.path, ref
        for part in ("data", "spec") if ref.kind != DEFINITION else ():
            assert _covers(obj.get(part) or {}, wanted.object.get(part) or {}), (ref, obj, wanted)
        if ref.kind == DEFINITION:
            assert obj["spec"]["schema"]["spec"] == wanted.object["spec"]["schema"]["spec"], ref
        seen, uid = self._uids.get(ref, (0, ""))
        assert wanted.since > seen or obj["metadata"]["uid"] == uid, f"{ref} was made anew"

    def _is_old(self, found: KubeObject | None, wanted: Wanted) -> bool:
        same = ("data",) if wanted.object["kind"] == "ConfigMap" else ()
        return (
            found is None
            or annotations(found).get(PATH) != wanted.path
            or any(found.get(part) != wanted.object.get(part) for part in same)
        )

    async def _children_are_exact(self, found: dict[ObjectRef, KubeObject]) -> None:
        instances = {ref: obj for ref, obj in found.items() if ref.kind.group == self.world.group}
        selection = Selection(CONFIG_MAP, self.world.namespace, labels="kro.run/node-id")
        listing = await self.world.cluster.list(selection)
        children = {each["metadata"]["name"]: each for each in listing.items}
        assert children.keys() == {f"{ref.name}-settings" for ref in instances}
        for ref, obj in instances.items():
            child = children[f"{ref.name}-settings"]
            assert labels(child)["kro.run/instance-id"] == obj["metadata"]["uid"], ref
            if ref.kind.kind == "Shop":
                assert child["data"]["color"] == obj["spec"]["color"], ref

    async def applied(self) -> dict[ObjectRef, KubeObject]:
        """Return all objects that bear our source's name, children apart."""
        kinds = [Kind(self.world.group, "v1alpha1", each) for each in ("Shop", "Stall")]
        ours = f"{self.world.namespace}/repo"
        found = {}
        for kind in (CONFIG_MAP, DEFINITION, *kinds):
            for each in await _all_of(self.world, kind):
                is_child = "kro.run/node-id" in labels(each)
                if annotations(each).get(SOURCE) == ours and not is_child:
                    found[ObjectRef.of(each)] = each
        return found

    async def inventory(self) -> dict[str, dict[str, str]]:
        """Return what our source has noted, on all shards."""
        entries: dict[str, dict[str, str]] = {}
        for shard in await _all_of(self.world, SOURCE_INVENTORY_KIND):
            if labels(shard).get("gitops.kro.run/source-name") == "repo":
                entries |= shard.get("entries") or {}
        return entries

    async def moment(self) -> str:
        """Say in the midst of what a controller was when it died just now."""
        entries, found = await self.inventory(), await self.applied()
        there = {key_of(ref): obj["metadata"]["uid"] for ref, obj in found.items()}
        wanted = {key_of(ref) for ref in self.wanted}
        unnamed = {key for key, entry in entries.items() if not entry.get("uid")}
        if unnamed & there.keys():
            return "applied, not recorded"
        if unnamed:
            return "announced, not applied"
        if wanted - entries.keys():
            return "before the inventory"
        if any(self._is_old(found.get(ref), each) for ref, each in self.wanted.items()):
            return "changing"
        if entries.keys() - there.keys():
            return "deleted, not recorded"
        if entries.keys() - wanted:
            return "before pruning"
        status = (await self.world.get(self.world.source_ref()))["status"]
        is_done = status.get("lastAppliedRevision", "").endswith(self.head)
        return "idle" if is_done else "before the report"


class SourceBystanders:
    """What nobody may touch, though it looks much like what our source made."""

    def __init__(self, world: SourceWorld) -> None:
        self._world = world
        self._before: dict[ObjectRef, tuple[str, str]] = {}

    async def settle(self) -> None:
        """Have them there, and remember them."""
        place, other = self._world.namespace, f"{self._world.namespace}/repo-0"
        looks: list[dict[str, Any]] = [
            {"name": "part-0"},
            {"name": "part-1-0", "labels": {HASH: "0123456789abcdef"}},
            {"name": "bulk-x", "annotations": {SOURCE: other}, "labels": {HASH: "abc"}},
            {"name": "always-not", "labels": {"app.kubernetes.io/managed-by": "kro-gitops"}},
        ]
        for metadata in looks:
            body: KubeObject = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
            made = await self._world.create(body | {"metadata": {**metadata, "namespace": place}})
            self._before[ObjectRef.of(made)] = _version(made)

    async def are_untouched(self) -> None:
        """Fail if anybody touched them."""
        for ref, before in self._before.items():
            assert _version(await self._world.get(ref)) == before, ref


async def _all_of(world: SourceWorld, kind: Kind) -> list[KubeObject]:
    selection = Selection(kind, "" if kind == DEFINITION else world.namespace)
    for wait in (NOT_SERVED_TTL, 0.0):  # discovery of our own may be as old as that
        try:
            return list((await world.cluster.list(selection)).items)
        except NotServed:
            await asyncio.sleep(wait)
    return []


def key_of(ref: ObjectRef) -> str:
    """Name an object as inventories do."""
    return "/".join((ref.kind.group, ref.kind.kind, ref.namespace, ref.name))


def _covers(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Say whether all that is wanted is there; a schema may have added defaults."""
    return all(found.get(name) == value for name, value in wanted.items())


def _version(obj: KubeObject) -> tuple[str, str]:
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
