"""
Reads the state of a cluster again and again: all sources with their trees, and everything else.
"""

from dataclasses import replace

from kro_gitops.cli.cluster_reading import NotInstalled, Reading
from kro_gitops.cli.run.progress import (
    ClusterState,
    State,
    by_object,
    object_item,
    source_item,
)
from kro_gitops.cli.source_tree import source_branches
from kro_gitops.cli.sources import MANAGER, generation
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
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kro_gitops.tracking.health import health
from kube_objects.refs import KubeObject, ObjectRef


class Watcher:
    """Reads one cluster; remembers which request each source has to answer."""

    def __init__(self, cluster: Cluster, discovery: Discovery) -> None:
        self._cluster = cluster
        self._discovery = discovery
        self._goals: dict[ObjectRef, Goal] = {}

    async def request_sync(self, request: str) -> None:
        """
        Make every source fetch its repository, and wait for its answer from now on.

        The status of a source may be that of an earlier run of the controllers. A source without a
        status has not been reconciled yet, and will be anyway.
        """
        for source in await self._sources(Reading(self._cluster, self._discovery)):
            ref = ObjectRef.of(source)
            if not source.get("status") or is_suspended(source):
                continue
            patch = MergePatch({"metadata": {"annotations": {REQUESTED_AT: request}}})
            await self._cluster.patch(ref, patch, WriteOptions(MANAGER))
            self._goals[ref] = Goal(request=request)

    async def read(self) -> ClusterState:
        """Read everything."""
        reading = Reading(self._cluster, self._discovery)
        sources = await self._sources(reading)
        listed = in_order(await reading.definitions())
        definitions = by_kind_made(listed)
        offers = await reading.offers(listed)
        instances = in_order(await reading.objects(offers, ""))
        family = await reading.family(instances, definitions)
        trees = [await source_branches(reading, each, definitions, family) for each in sources]
        located = by_object(failure for source in sources for failure in failures(source))
        grown = {_uid(each): grow(each, family, definitions) for each in instances}
        definition_items = tuple(object_item(each, located) for each in listed)
        instance_items = tuple(object_item(each, located, grown[_uid(each)]) for each in instances)
        items = (*definition_items, *instance_items)
        reported = {item.name for item in items if item.state is not State.READY}
        # What no source applied: definitions, then instances with their children.
        parts = (part.branch for tree in trees for part in tree.parts if part.branch is not None)
        shown = {_uid(branch.object) for part in parts for branch in part.walk()}
        roots = [grown[_uid(each)] for each in outermost(instances, family)]
        loose = [Branch(each, "", health(each)) for each in listed if _uid(each) not in shown]
        loose += [each for each in roots if _uid(each.object) not in shown]
        # For kubectl, preferably a kind that has instances.
        present = {ObjectRef.of(each).kind for each in instances}
        used = [each for each in offers if each.resource.kind in present] or offers
        goals = [self._goals.get(ObjectRef.of(each), Goal()) for each in sources]
        return ClusterState(
            tuple(
                source_item(each, replace(goal, generation=generation(each)), reported)
                for each, goal in zip(sources, goals, strict=True)
            ),
            definition_items,
            instance_items,
            tuple(trees),
            tuple(loose),
            used[0].resource.plural if used else "",
        )

    async def _sources(self, reading: Reading) -> list[KubeObject]:
        try:
            return in_order(await reading.own(GIT_SOURCE_KIND))
        except NotInstalled:
            return []  # sources may be switched off


def _uid(obj: KubeObject) -> str:
    return text_at(obj, "metadata", "uid")
