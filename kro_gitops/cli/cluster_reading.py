"""
What the cluster verbs read: definitions, instances, their children, sources, events and pods.

What a verb cannot do without raises if it cannot be read; the rest is left out with a note.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress

from kro_gitops.control.lease import LEASE_NAME
from kro_gitops.engine.applyset import GroupKind, parse_inventory
from kro_gitops.engine.kinds import CRD_KIND, DEFINITION_KIND
from kro_gitops.engine.revision import REVISION_KIND
from kro_gitops.errors import NotServed, UserError
from kro_gitops.inspect.kind_lookup import Offer
from kro_gitops.inspect.views.instances import (
    DEEPEST,
    Definitions,
    is_instance,
    kind_made_by,
    revision_row,
    text_at,
    written,
)
from kro_gitops.inspect.views.sources import Entry
from kro_gitops.kube.access_review import Permission, role_for
from kro_gitops.kube.api import Reader, Resource, Selection
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.responses import Forbidden
from kro_gitops.metadata import DEFINITION_NAME, GITOPS_GROUP, INSTANCE_ID, SOURCE_NAME
from kro_gitops.source.kinds import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kro_gitops.tracking.workload_health import mapping, pod_selector
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.yaml_writer import to_yaml

EVENT = Kind("", "v1", "Event")
POD = Kind("", "v1", "Pod")
_LEASE = Kind("coordination.k8s.io", "v1", "Lease")
_DATA = (Kind("", "v1", "Secret"), Kind("", "v1", "ConfigMap"))  # without a status
_MAX_IN_SELECTOR = 50
_MAX_LABEL = 63


class NotInstalled(UserError):  # noqa: N818 - a state of the cluster
    """The CRDs of kro or of kro-gitops are missing."""


class Reading:
    """Reads one cluster."""

    def __init__(self, cluster: Reader, discovery: Discovery) -> None:
        self._cluster = cluster
        self._discovery = discovery
        self._notes: dict[str, None] = {}
        self._by_group_kind: dict[GroupKind, Kind] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what could not be read."""
        return tuple(self._notes)

    def over(self, cluster: Reader) -> "Reading":
        """Return a reading of the same cluster that has no notes yet."""
        return Reading(cluster, self._discovery)

    async def definitions(self, labels: str = "") -> list[KubeObject]:
        """Return all definitions, or those that match a label selector."""
        return await self.own(DEFINITION_KIND, labels=labels)

    async def own(self, kind: Kind, namespace: str = "", labels: str = "") -> list[KubeObject]:
        """Return all objects of a kind of kro or of kro-gitops; raise if it is not served."""
        try:
            return list((await self._cluster.list(Selection(kind, namespace, labels))).items)
        except NotServed:
            raise _not_installed(kind) from None
        except Forbidden as error:
            resource = await self._discovery.resource_of(kind)
            raise rejected(error, Permission("list", resource, namespace)) from None

    async def own_resource(self, kind: Kind) -> Resource:
        """Return the resource of a kind of kro or of kro-gitops; raise if it is not served."""
        try:
            return await self._discovery.resource_of(kind)
        except NotServed:
            raise _not_installed(kind) from None

    async def offers(self, definitions: Iterable[KubeObject]) -> list[Offer]:
        """Return the kinds that definitions define, as far as they are served."""
        found = []
        for definition in definitions:
            listed = mapping(definition, "spec", "schema").get("shortNames")
            shorts = tuple(map(str, listed)) if isinstance(listed, list) else ()
            try:
                resource = await self._discovery.resource_of(kind_made_by(definition))
            except NotServed:
                continue  # the definition was not accepted
            found.append(Offer(resource, shorts))
        return found

    async def instance_offers(self) -> list[Offer]:
        """Return the kinds of instances, those of definitions that were deleted included."""
        offers = await self.offers(await self.definitions())
        known = {(each.resource.kind.group, each.resource.plural) for each in offers}
        selection = Selection(CRD_KIND, labels=DEFINITION_NAME, metadata_only=True)
        names: set[str] = set()
        with suppress(Forbidden):  # then only those whose definitions exist are found
            names = {
                each["metadata"]["name"] for each in (await self._cluster.list(selection)).items
            }
        left = names - {f"{plural}.{group}" for group, plural in known}
        for kind in await self._discovery.kinds() if left else ():
            resource = await self._discovery.resource_of(kind)
            if f"{resource.plural}.{kind.group}" in left:
                offers.append(Offer(resource))
        return offers

    async def all_offers(self) -> list[Offer]:
        """Return every kind that is served."""
        kinds = await self._discovery.kinds()
        return [Offer(await self._discovery.resource_of(kind)) for kind in kinds]

    async def objects(
        self, offers: Sequence[Offer], namespace: str, labels: str = ""
    ) -> list[KubeObject]:
        """Return the objects of kinds, in a namespace or, if it is empty, in all."""
        selections = [Selection(each.resource.kind, namespace, labels) for each in offers]
        return _flat(await asyncio.gather(*map(self._list_or_note, selections)))

    async def count(self, offer: Offer) -> int:
        """Count the objects of a kind."""
        selection = Selection(offer.resource.kind, metadata_only=True)
        return len(await self._list_or_note(selection))

    async def find(self, resource: Resource, namespace: str, name: str) -> KubeObject | None:
        """Return one object, or `None`."""
        place = namespace if resource.namespaced else ""
        try:
            return await self._cluster.find(ObjectRef(resource.kind, place, name))
        except Forbidden as error:
            raise rejected(error, Permission("get", resource, place)) from None

    async def sources(self) -> list[KubeObject]:
        """Return all sources that may be read; none where the kind is not served."""
        try:
            return list((await self._cluster.list(Selection(GIT_SOURCE_KIND))).items)
        except (Forbidden, NotServed):
            return []

    async def source(self, namespace: str, name: str) -> KubeObject | None:
        """Return a source; None if it does not exist, an empty object if it may not be read."""
        try:
            return await self._cluster.find(ObjectRef(GIT_SOURCE_KIND, namespace, name))
        except NotServed:
            return None
        except Forbidden as error:
            self._note(error.message)
            return {}

    async def source_of(self, obj: KubeObject) -> KubeObject | None:
        """Return the source that the annotations of an object name, as `source` does."""
        place = written(obj)
        namespace, _, name = (place.source if place else "").partition("/")
        return await self.source(namespace, name) if name else None

    async def leases(self) -> list[KubeObject]:
        """Return the Leases of controllers, as far as they may be read."""
        selection = Selection(_LEASE, fields=f"metadata.name={LEASE_NAME}")
        try:
            return list((await self._cluster.list(selection)).items)
        except (Forbidden, NotServed):
            return []  # most users may not: the answer is complete without them

    async def inventories(self, source: KubeObject) -> list[KubeObject]:
        """Return the inventories of a source."""
        ref, uid = ObjectRef.of(source), _uid(source)
        # The value of a label may be shorter than a name.
        if len(ref.name) <= _MAX_LABEL:
            labels = f"{SOURCE_NAME}={ref.name}"
            return await self._list_or_note(Selection(SOURCE_INVENTORY_KIND, ref.namespace, labels))
        found = []
        for inventory in await self._list_or_note(Selection(SOURCE_INVENTORY_KIND, ref.namespace)):
            owners = mapping(inventory, "metadata").get("ownerReferences") or ()
            if any(text_at(owner, "uid") == uid for owner in owners):
                found.append(inventory)
        return found

    async def applied(self, entries: Iterable[Entry]) -> dict[Entry, KubeObject]:
        """Return the objects that a source applied, as far as they exist."""
        selections: dict[Selection, dict[str, Entry]] = {}
        for entry in entries:
            kind = await self._kind(entry.group_kind)
            if kind is None:
                self._note(f"the cluster does not serve {entry.group_kind} any more")
                continue
            bare = kind in _DATA
            selection = Selection(kind, entry.namespace, metadata_only=bare)
            selections.setdefault(selection, {})[entry.name] = entry
        listed = await asyncio.gather(*map(self._list_or_note, selections))
        found: dict[Entry, KubeObject] = {}
        for by_name, objects in zip(selections.values(), listed, strict=True):
            for each in objects:
                if (name := ObjectRef.of(each).name) in by_name:
                    found[by_name[name]] = each
        return found

    async def family(
        self, roots: Iterable[KubeObject], definitions: Definitions
    ) -> dict[str, list[KubeObject]]:
        """Return the children of instances and of nested instances, by the uid of their parent."""
        found: dict[str, list[KubeObject]] = {}
        level = {_uid(each): each for each in roots}
        for _ in range(DEEPEST):
            if not level:
                break
            # A selector must fit into a URL; for more parents, children of all instances are read.
            is_short = len(level) <= _MAX_IN_SELECTOR
            labels = f"{INSTANCE_ID} in ({','.join(level)})" if is_short else INSTANCE_ID
            listed = [await self._selections(each, labels) for each in level.values()]
            # Each kind and namespace is listed once.
            selections = dict.fromkeys(selection for each in listed for selection in each)
            found |= {uid: [] for uid in level}
            for child in _flat(await asyncio.gather(*map(self._list_or_note, selections))):
                uid = text_at(child, "metadata", "labels", INSTANCE_ID)
                if uid in level:
                    found[uid].append(child)
            children = _flat(found[uid] for uid in level)
            nested = [each for each in children if is_instance(each, definitions)]
            level = {_uid(each): each for each in nested if _uid(each) not in found}
        return found

    async def events(self, obj: KubeObject) -> list[KubeObject]:
        """Return the events about an object."""
        uid = text_at(obj, "metadata", "uid")
        namespace = ObjectRef.of(obj).namespace or "default"
        selection = Selection(EVENT, namespace, fields=f"involvedObject.uid={uid}")
        return await self._list_or_note(selection)

    async def events_in(self, namespace: str) -> list[KubeObject]:
        """Return all events of a namespace; those of cluster-scoped objects are in `default`."""
        return await self._list_or_note(Selection(EVENT, namespace or "default"))

    async def revisions(self, definition: str) -> list[KubeObject]:
        """Return the revisions of a definition, as far as they may be read."""
        listed = await self._list_or_note(Selection(REVISION_KIND))
        return [each for each in listed if revision_row(each).definition == definition]

    async def pods(self, obj: KubeObject) -> list[KubeObject]:
        """Return the pods of a workload; other objects have none."""
        selector = pod_selector(obj)
        if not selector:
            return []
        return await self._list_or_note(Selection(POD, ObjectRef.of(obj).namespace, selector))

    async def _selections(self, instance: KubeObject, labels: str) -> list[Selection]:
        """Return where the children of an instance are, by its inventory."""
        parent = ObjectRef.of(instance)
        try:
            inventory = parse_inventory(mapping(instance, "metadata", "annotations"))
        except RefusedError as error:
            self._note(f"{parent}: {error.message}")
            return []
        found = []
        for group_kind in sorted(inventory.group_kinds):
            kind = await self._kind(group_kind)
            if kind is None:
                self._note(f"{parent}: the cluster does not serve {group_kind} any more")
                continue
            resource = await self._discovery.resource_of(kind)
            places = sorted(inventory.searched_namespaces(parent)) if resource.namespaced else [""]
            # The data of a Secret is not needed.
            bare = kind in _DATA
            found += [Selection(kind, place, labels, metadata_only=bare) for place in places]
        return found

    async def _kind(self, group_kind: GroupKind) -> Kind | None:
        """Return a kind in the preferred version of the server."""
        if not self._by_group_kind:
            for kind in await self._discovery.kinds():
                self._by_group_kind.setdefault(GroupKind.of(kind), kind)
        return self._by_group_kind.get(group_kind)

    async def _list_or_note(self, selection: Selection) -> list[KubeObject]:
        """List objects; a kind that may not be read or is not served is noted and left out."""
        try:
            return list((await self._cluster.list(selection)).items)
        except (Forbidden, NotServed) as error:
            self._note(error.message)
            return []

    def _note(self, text: str) -> None:
        self._notes[text] = None


def _not_installed(kind: Kind) -> NotInstalled:
    is_ours = kind.group == GITOPS_GROUP
    which = "kro-gitops: it has" if is_ours else "kro-gitops or kro: either has"
    text = f"this cluster has no {kind.kind}s"
    return NotInstalled("not-installed", text, hint=f"install {which} the CRD")


def rejected(error: Forbidden, right: Permission) -> RefusedError:
    """Return an error with the role that would allow the request."""
    role = to_yaml(role_for([right])).rstrip("\n").replace("\n", "\n    ")
    return RefusedError(error.code, error.message, hint=f"this role would allow it:\n    {role}")


def _uid(obj: KubeObject) -> str:
    return text_at(obj, "metadata", "uid")


def _flat(lists: Iterable[list[KubeObject]]) -> list[KubeObject]:
    return [each for listed in lists for each in listed]
