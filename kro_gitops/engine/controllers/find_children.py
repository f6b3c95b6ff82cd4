"""
Finds all children of an instance, in every kind and namespace of its inventory.

Kinds that the graph has are watched, so nothing is asked of the server. An inventory may also name
kinds that are no longer in the graph: those are listed, until their last member is gone.
"""

from kro_gitops.engine.applyset import GroupKind, Inventory, applyset_id
from kro_gitops.engine.controllers.context import WriteContext
from kro_gitops.engine.controllers.watches import Watches, trim_child
from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Selection
from kro_gitops.kube.discovery import Discovery
from kro_gitops.metadata import APPLYSET_PART_OF
from kube_objects.refs import KubeObject


class ChildFinder:
    """Finds the members of an instance's apply set."""

    def __init__(self, watches: Watches, discovery: Discovery) -> None:
        self._watches = watches
        self._discovery = discovery

    async def members(
        self, context: WriteContext, inventory: Inventory
    ) -> tuple[list[KubeObject], bool]:
        """Return the members of an instance's apply set, and whether all of them are watched."""
        id_ = applyset_id(context.key)
        places = inventory.searched_namespaces(context.key)
        found, unwatched = self._watches.members(id_, inventory.group_kinds, places)
        by_uid = {each["metadata"]["uid"]: each for each in found}
        is_watched = True
        for group_kind in sorted(unwatched):
            listed = await self._list(context, inventory, group_kind, id_)
            is_watched = is_watched and not listed
            for each in listed:
                by_uid.setdefault(each["metadata"]["uid"], each)
        return list(by_uid.values()), is_watched

    async def _list(
        self, context: WriteContext, inventory: Inventory, group_kind: GroupKind, id_: str
    ) -> list[KubeObject]:
        try:
            for kind in await self._discovery.kinds():
                if kind.kind == group_kind.kind and kind.group == group_kind.group:
                    resource = await self._discovery.resource_of(kind)
                    break
            else:
                raise NotServed("not-served", f"the API server does not serve {group_kind}")
        except NotServed:
            return []  # a kind that is gone has no members
        places = [""]
        if resource.namespaced:
            places = sorted(inventory.searched_namespaces(context.key))
        found: list[KubeObject] = []
        for namespace in places:
            selection = Selection(resource.kind, namespace, labels=f"{APPLYSET_PART_OF}={id_}")
            listing = await context.cluster.list(selection, lambda obj: trim_child(obj, None))
            found += listing.items
        return found
