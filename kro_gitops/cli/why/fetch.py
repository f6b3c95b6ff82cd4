"""
What `why` reads about an object: its instance, the definition, and the objects that the expressions
of its template refer to.

Only what the answer needs is read. What may not be read is left out with a note: an answer without
a value is better than none.
"""

import asyncio
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from kro_gitops.cli.argument_types import Target
from kro_gitops.cli.cluster_reading import NotInstalled
from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.why.texts import Texts
from kro_gitops.engine.api import DEFINITION_KIND, own_kinds
from kro_gitops.engine.applyset import GroupKind, parse_inventory
from kro_gitops.engine.definition import parse
from kro_gitops.engine.graph.build import try_build
from kro_gitops.engine.graph.nodes import Graph, Node
from kro_gitops.engine.labels import label_value
from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.fields import plan_fields, visible_values
from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.inspect.kind_lookup import Offer, find_offer, unknown_kind
from kro_gitops.inspect.provenance.context import Case, Own, is_child, made_by
from kro_gitops.inspect.provenance.git_location import Page
from kro_gitops.inspect.views.instances import DEEPEST, by_kind_made, text_at
from kro_gitops.kube.api import Selection
from kro_gitops.kube.responses import Forbidden
from kro_gitops.metadata import (
    COLLECTION_INDEX,
    INSTANCE_GROUP,
    INSTANCE_ID,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    NODE_ID,
)
from kro_gitops.tracking.workload_health import mapping
from kube_objects.builtins.catalog import catalog
from kube_objects.crds import kinds_of_crd
from kube_objects.errors import RefusedError, SchemaError
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.schemas import KindSchema, LayeredSchemas, SchemaSet

_CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_DEFINITION_NAMES = ("rgd", "rgds")
# Aggregated discovery has no short names; these are kubectl's.
_SHORT_NAMES = {
    ("apps", "Deployment"): ("deploy",),
    ("apps", "StatefulSet"): ("sts",),
    ("apps", "DaemonSet"): ("ds",),
    ("apps", "ReplicaSet"): ("rs",),
    ("", "ConfigMap"): ("cm",),
    ("", "Service"): ("svc",),
    ("", "ServiceAccount"): ("sa",),
    ("", "PersistentVolumeClaim"): ("pvc",),
    ("", "PersistentVolume"): ("pv",),
    ("", "Namespace"): ("ns",),
    ("", "Pod"): ("po",),
    ("networking.k8s.io", "Ingress"): ("ing",),
    ("networking.k8s.io", "NetworkPolicy"): ("netpol",),
    ("autoscaling", "HorizontalPodAutoscaler"): ("hpa",),
    ("policy", "PodDisruptionBudget"): ("pdb",),
    ("batch", "CronJob"): ("cj",),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("crd", "crds"),
    (DEFINITION_KIND.group, DEFINITION_KIND.kind): _DEFINITION_NAMES,
}


class CaseReader:
    """Reads cases from one cluster; `notes` tell what could not be read."""

    def __init__(self, session: Session, texts: Texts) -> None:
        self.notes: dict[str, None] = {}
        self._session = session
        self._texts = texts
        self._definitions: list[KubeObject] = []
        self._offers: list[Offer] = []
        self._graphs: dict[str, Graph | None] = {}

    async def find(self, target: Target, *, with_children: bool) -> Case:
        """Return the object that was asked for, with everything that may explain it."""
        try:
            self._definitions = await self._session.reading.definitions()
        except NotInstalled:
            self._definitions = []
        for each in await self._session.reading.all_offers():
            kind = (each.resource.kind.group, each.resource.kind.kind)
            self._offers.append(Offer(each.resource, _SHORT_NAMES.get(kind, each.short_names)))
        made = await self._session.reading.offers(self._definitions)
        offer = find_offer(target.kind, made) or find_offer(target.kind, self._offers)
        if offer is None:
            raise unknown_kind(target.kind, made)
        reading, namespace = self._session.reading, self._session.namespace
        found = await reading.find(offer.resource, namespace, target.name)
        if found is None:
            raise await self._no_such_object(offer, target.name)
        return await self.case(found, with_children=with_children)

    async def case(self, obj: KubeObject, depth: int = 0, *, with_children: bool = False) -> Case:
        """Return everything that may explain an object."""
        ref = ObjectRef.of(obj)
        # A child has the annotations of its instance's file, but is written in no file itself.
        page = Page(obj) if is_child(obj) else await self._texts.open(obj)
        definition = by_kind_made(self._definitions).get(GroupKind.of(ref.kind))
        own = None
        if definition is not None:
            own = await self._own(obj, definition, None if with_children else ())
        made = None
        instance = await self._instance(obj) if depth < DEEPEST else None
        if instance is not None:
            parent = await self._parent(instance, text_at(_labels(obj), NODE_ID), depth)
            made = made_by(obj, parent)
        known = await self._kind_schema(ref.kind)
        return Case(page, made, own, known.schema if known is not None else None)

    async def _no_such_object(self, offer: Offer, name: str) -> UserError:
        listed = await self._session.reading.objects([offer], self._session.namespace)
        names = sorted(ObjectRef.of(each).name for each in listed)
        near = get_close_matches(name, names, n=3, cutoff=0.6) or names[:10]
        kind = offer.resource
        place = f" in {self._session.place}" if kind.namespaced else ""
        hint = f"there are: {', '.join(near)}" if near else "there is none of this kind there"
        text = f"there is no {kind.kind.kind} '{name}'{place}"
        return UserError("no-such-object", text, hint=hint)

    # Who made it

    async def _instance(self, obj: KubeObject) -> KubeObject | None:
        """Return the instance that made an object; labels name it, unless its name is too long."""
        labels = _labels(obj)
        uid = text_at(labels, INSTANCE_ID)
        if not uid or not text_at(labels, NODE_ID):
            return None
        kind = Kind(*(text_at(labels, each) for each in _KIND_LABELS))
        namespace, name = text_at(labels, INSTANCE_NAMESPACE), text_at(labels, INSTANCE_NAME)
        for owner in mapping(obj, "metadata").get("ownerReferences") or ():
            if text_at(owner, "uid") == uid:
                kind = Kind.of(text_at(owner, "apiVersion"), text_at(owner, "kind"))
                name = text_at(owner, "name")
        found = await self._read(ObjectRef(kind, namespace, name))
        if found is None or text_at(found, "metadata", "uid") != uid:
            self._note(f"its instance, {kind.kind} {namespace}/{name}, does not exist any more")
            return None
        return found

    async def _parent(self, instance: KubeObject, node: str, depth: int) -> Case:
        """Return the case of an instance, with the children that one of its nodes reads."""
        above = await self.case(instance, depth + 1)
        kind = GroupKind.of(ObjectRef.of(instance).kind)
        definition = by_kind_made(self._definitions).get(kind)
        if definition is None:
            self._note(f"no definition defines {kind} (any more)")
            return above
        own = await self._own(instance, definition, (node,))
        return Case(above.page, above.made, own, above.schema)

    # Definitions

    async def _own(
        self, instance: KubeObject, definition: KubeObject, nodes: Sequence[str] | None
    ) -> Own:
        """Return the definition of an instance, and the objects that some of its nodes need."""
        graph = await self._graph(definition)
        page = await self._texts.open(definition)
        if graph is None:
            return Own(page)
        names = set(graph.nodes) if nodes is None else _needed(graph, nodes)
        return Own(page, graph, await self._children(graph, instance, names))

    async def _graph(self, definition: KubeObject) -> Graph | None:
        name = ObjectRef.of(definition).name
        if name not in self._graphs:
            schemas = SchemaSet()
            for resource in parse(definition).definition.resources:
                known = await self._kind_schema(ObjectRef.of(resource.body).kind)
                if known is not None:
                    schemas.add(known)
            known_kinds = LayeredSchemas(schemas, own_kinds())
            built = await asyncio.to_thread(try_build, definition, known_kinds, Options(omit=True))
            if built.graph is None:
                reason = built.problems[0].summary if built.problems else "unknown"
                self._note(
                    f"definition '{name}' does not compile, so no value can be computed: {reason}"
                )
            self._graphs[name] = built.graph
        return self._graphs[name]

    async def _kind_schema(self, kind: Kind) -> KindSchema | None:
        found = catalog.find(kind) or own_kinds().schema_of(kind)
        if found is not None:
            return found
        offer = next((each for each in self._offers if each.resource.kind == kind), None)
        if offer is None:
            return None
        crd = await self._read(ObjectRef(_CRD, "", offer.full_name))
        try:
            kinds = kinds_of_crd(crd) if crd is not None else []
        except SchemaError:
            return None
        return next((each for each in kinds if each.kind == kind), None)

    # Children

    async def _children(
        self, graph: Graph, instance: KubeObject, names: Iterable[str]
    ) -> dict[str, list[KubeObject]]:
        """Read the objects of nodes in graph order, so that each name can be evaluated."""
        found: dict[str, list[KubeObject]] = {}
        needed = set(names)
        for name in graph.order:
            if name in needed:
                node = graph.nodes[name]
                read = self._external if node.kind.is_external else self._made
                found[name] = await read(graph, node, instance, found)
        return found

    async def _made(
        self, _graph: Graph, node: Node, instance: KubeObject, _: dict[str, list[KubeObject]]
    ) -> list[KubeObject]:
        parent, uid = ObjectRef.of(instance), text_at(instance, "metadata", "uid")
        labels = f"{INSTANCE_ID}={uid},{NODE_ID}={label_value(node.id)}"
        places = [""]
        if node.served.namespaced:
            try:
                inventory = parse_inventory(mapping(instance, "metadata", "annotations"))
                places = sorted(inventory.searched_namespaces(parent))
            except RefusedError:
                places = [parent.namespace]
        found: list[KubeObject] = []
        for place in places:
            found += await self._list(Selection(node.resource, place, labels))
        return sorted(found, key=_index)

    async def _external(
        self,
        graph: Graph,
        node: Node,
        instance: KubeObject,
        known: dict[str, list[KubeObject]],
    ) -> list[KubeObject]:
        body = plan_fields(node, visible_values(graph, instance, known), None).body
        ref = ObjectRef.of(body)
        namespace = ref.namespace or ObjectRef.of(instance).namespace
        if not ref.name:
            return []  # a selector, or a name that is not known
        found = await self._read(
            ObjectRef(ref.kind, namespace if node.served.namespaced else "", ref.name)
        )
        return [found] if found is not None else []

    # The cluster

    async def _read(self, ref: ObjectRef) -> KubeObject | None:
        try:
            return await self._session.cluster.find(ref)
        except (Forbidden, NotServed) as error:
            self._note(error.message)
            return None

    async def _list(self, selection: Selection) -> list[KubeObject]:
        try:
            return list((await self._session.cluster.list(selection)).items)
        except KroGitopsError as error:
            self._note(error.message)
            return []

    def _note(self, text: str) -> None:
        self.notes[text] = None


_KIND_LABELS = (INSTANCE_GROUP, INSTANCE_VERSION, INSTANCE_KIND)


def _labels(obj: KubeObject) -> dict[str, str]:
    return mapping(obj, "metadata", "labels")


def _index(obj: KubeObject) -> int:
    text = text_at(_labels(obj), COLLECTION_INDEX)
    return int(text) if text.isascii() and text.isdigit() else 0


def _needed(graph: Graph, nodes: Sequence[str]) -> set[str]:
    """Return nodes, as labels name them, and all they depend on."""
    found: set[str] = set()
    waiting = [name for name in graph.nodes if name in nodes or label_value(name) in nodes]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each.id for each in graph.nodes[name].dependencies]
    return found
