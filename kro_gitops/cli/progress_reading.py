"""
What is read to show how far a cluster is: all sources with their trees, and what is of none.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_reading import NotInstalled, Reading
from kro_gitops.cli.progress import Picture, State, object_item, places_of, source_item
from kro_gitops.cli.source_tree import SourceTree, source_branches
from kro_gitops.inspect.views.instances import (
    Branch,
    by_kind_made,
    grow,
    in_order,
    outermost,
    text_at,
)
from kro_gitops.inspect.views.source_progress import Goal
from kro_gitops.inspect.views.sources import failures, is_suspended
from kro_gitops.kube.api import Cluster, MergePatch, WriteOptions
from kro_gitops.kube.discovery import Discovery
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.tracking.health import health
from kube_objects.refs import KubeObject, ObjectRef

if TYPE_CHECKING:
    from kro_gitops.inspect.kind_lookup import Offer

_MANAGER = WriteOptions("kro-gitops-cli")


class Watcher:
    """Reads a cluster again and again; what it waits for of each source is remembered."""

    def __init__(self, cluster: Cluster, discovery: Discovery) -> None:
        self._cluster = cluster
        self._discovery = discovery
        self._goals: dict[ObjectRef, Goal] = {}

    async def ask(self, request: str) -> None:
        """
        Have every source look at its repository, and wait for its answer from now on.

        What a source says of itself may be what it said in another life of the controllers. One
        that has not said anything yet need not be asked.
        """
        for source in await self._sources(Reading(self._cluster, self._discovery)):
            ref = ObjectRef.of(source)
            if not source.get("status") or is_suspended(source):
                continue
            patch = MergePatch({"metadata": {"annotations": {REQUESTED_AT: request}}})
            await self._cluster.patch(ref, patch, _MANAGER)
            self._goals[ref] = Goal(request=request)

    async def look(self) -> Picture:
        """Read everything."""
        reading = Reading(self._cluster, self._discovery)
        sources = await self._sources(reading)
        listed = in_order(await reading.definitions())
        definitions = by_kind_made(listed)
        offers = await reading.offers(listed)
        instances = in_order(await reading.objects(offers, ""))
        family = await reading.family(instances, definitions)
        trees = [await source_branches(reading, each, definitions, family) for each in sources]
        places = places_of(each for source in sources for each in failures(source))
        grown = {_uid(each): grow(each, family, definitions) for each in instances}
        roots = [grown[_uid(each)] for each in outermost(instances, family)]
        made = tuple(object_item(each, places) for each in listed)
        asked = tuple(object_item(each, places, grown[_uid(each)]) for each in instances)
        told = {each.name for each in (*made, *asked) if each.state is not State.READY}
        return Picture(
            tuple(source_item(each, self._goal(each), told) for each in sources),
            made,
            asked,
            tuple(trees),
            tuple(_loose(trees, listed, roots)),
            _plural(offers, instances),
        )

    def _goal(self, source: KubeObject) -> Goal:
        generation = source["metadata"].get("generation") or 0
        return replace(self._goals.get(ObjectRef.of(source), Goal()), generation=generation)

    async def _sources(self, reading: Reading) -> list[KubeObject]:
        try:
            return in_order(await reading.own(GIT_SOURCE_KIND))
        except NotInstalled:
            return []  # they may be switched off


def _loose(
    trees: list[SourceTree], definitions: list[KubeObject], instances: list[Branch]
) -> list[Branch]:
    """Return what no source applied: definitions, then instances with what they made."""
    parts = (part.branch for tree in trees for part in tree.parts if part.branch is not None)
    shown = {_uid(branch.object) for part in parts for branch in part.walk()}
    loose = [Branch(each, "", health(each)) for each in definitions if _uid(each) not in shown]
    return loose + [each for each in instances if _uid(each.object) not in shown]


def _plural(offers: "list[Offer]", instances: list[KubeObject]) -> str:
    """Return the plural to name to kubectl: of a kind with instances, if there is one."""
    present = {ObjectRef.of(each).kind for each in instances}
    used = [each for each in offers if each.resource.kind in present] or offers
    return used[0].resource.plural if used else ""


def _uid(obj: KubeObject) -> str:
    return text_at(obj, "metadata", "uid")
