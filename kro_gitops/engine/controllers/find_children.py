"""
Finds all children of an instance, in every kind and namespace of its inventory.

Kinds in the graph are watched, so they cost no request. An inventory may also name kinds that are
no longer in the graph: those are listed, until their last member is gone.
"""

from kro_gitops.engine.applyset import Inventory, applyset_id
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
        namespaces = inventory.searched_namespaces(context.key)
        cached, unwatched = self._watches.members(id_, inventory.group_kinds, namespaces)
        by_uid = {member["metadata"]["uid"]: member for member in cached}
        is_watched = True
        for group_kind in sorted(unwatched):
            try:
                for kind in await self._discovery.kinds():
                    if kind.kind == group_kind.kind and kind.group == group_kind.group:
                        resource = await self._discovery.resource_of(kind)
                        break
                else:
                    continue  # a kind that is gone has no members
            except NotServed:
                continue
            for namespace in sorted(namespaces) if resource.namespaced else [""]:
                selection = Selection(resource.kind, namespace, labels=f"{APPLYSET_PART_OF}={id_}")
                listing = await context.cluster.list(selection, lambda obj: trim_child(obj, None))
                is_watched = is_watched and not listing.items
                for member in listing.items:
                    by_uid.setdefault(member["metadata"]["uid"], member)
        return list(by_uid.values()), is_watched
