"""
What `why` reads about an object: its instance, the definition, and the objects that the expressions
of its template refer to.

Only what the answer needs is read. What may not be read is left out with a note: an answer without
a value is better than none.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from secrets import token_bytes
from typing import Any

from kro_gitops.cli.argument_types import Target
from kro_gitops.cli.cluster_reading import NotInstalled
from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.why.texts import Texts
from kro_gitops.engine.api import DEFINITION_KIND, own_kinds
from kro_gitops.engine.applyset import GroupKind, parse_inventory
from kro_gitops.engine.definition import parse
from kro_gitops.engine.graph.build import try_build
from kro_gitops.engine.graph.nodes import Graph, Node
from kro_gitops.engine.kinds import CRD_KIND
from kro_gitops.engine.labels import label_value
from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.fields import plan_fields, visible_values
from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.inspect.kind_lookup import Offer, find_offer, unknown_kind
from kro_gitops.inspect.provenance.context import Case, Own, is_child, parent_of
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
    """Reads cases from one cluster; `notes` list what could not be read."""

    def __init__(self, session: Session, texts: Texts) -> None:
        self.notes: dict[str, None] = {}
        self._session = session
        self._texts = texts
        self._definitions: list[KubeObject] = []
        self._offers: list[Offer] = []
        self._graphs: dict[str, Graph | None] = {}
        self._salt = token_bytes()

    async def find(self, target: Target, *, with_children: bool) -> Case:
        """Return the object that was asked for, with everything that may explain it."""
        reading, namespace = self._session.reading, self._session.namespace
        try:
            self._definitions = await reading.definitions()
        except NotInstalled:
            self._definitions = []
        for each in await reading.all_offers():
            kind = (each.resource.kind.group, each.resource.kind.kind)
            self._offers.append(Offer(each.resource, _SHORT_NAMES.get(kind, each.short_names)))
        defined = await reading.offers(self._definitions)
        offer = find_offer(target.kind, defined) or find_offer(target.kind, self._offers)
        if offer is None:
            raise unknown_kind(target.kind, defined)
        found = await reading.find(offer.resource, namespace, target.name)
        if found is None:
            listed = await reading.objects([offer], namespace)
            names = sorted(ObjectRef.of(each).name for each in listed)
            near = get_close_matches(target.name, names, n=3, cutoff=0.6) or names[:10]
            place = f" in {self._session.place}" if offer.resource.namespaced else ""
            hint = f"there are: {', '.join(near)}" if near else "there is none of this kind there"
            text = f"there is no {offer.resource.kind.kind} '{target.name}'{place}"
            raise UserError("no-such-object", text, hint=hint)
        return await self.case(found, with_children=with_children)

    async def case(self, obj: KubeObject, depth: int = 0, *, with_children: bool = False) -> Case:
        """Return everything that may explain an object."""
        ref = ObjectRef.of(obj)
        # A child has the annotations of its instance's file, but is written in no file itself.
        page = Page(obj) if is_child(obj) else await self._texts.open(obj)
        definitions = by_kind_made(self._definitions)
        own, parent = None, None
        definition = definitions.get(GroupKind.of(ref.kind))
        if definition is not None:
            own = await self._own(obj, definition, None if with_children else ())
        instance = await self._instance(obj) if depth < DEEPEST else None
        if instance is not None:
            above = await self.case(instance, depth + 1)
            kind = GroupKind.of(ObjectRef.of(instance).kind)
            definition = definitions.get(kind)
            if definition is None:
                self._note(f"no definition defines {kind} (any more)")
            else:  # with the children that the node of this object reads
                node = text_at(_labels(obj), NODE_ID)
                above = replace(above, own=await self._own(instance, definition, (node,)))
            parent = parent_of(obj, above)
        known = await self._kind_schema(ref.kind)
        return Case(page, parent, own, known.schema if known is not None else None, self._salt)

    async def _instance(self, obj: KubeObject) -> KubeObject | None:
        """Return the instance of a child; labels name it, unless its name is too long."""
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

    async def _own(
        self, instance: KubeObject, definition: KubeObject, nodes: Sequence[str] | None
    ) -> Own:
        """Return the definition of an instance, and the objects that some of its nodes need."""
        graph = await self._graph(definition)
        page = await self._texts.open(definition)
        if graph is None:
            return Own(page)
        needed: set[str] = set()
        waiting = [name for name in graph.nodes if nodes is None or label_value(name) in nodes]
        waiting += [name for name in nodes or () if name in graph.nodes]
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += [each.id for each in graph.nodes[name].dependencies]
        children: dict[str, list[KubeObject]] = {}
        for name in graph.order:  # an external reference may read the nodes before it
            if name in needed:
                node = graph.nodes[name]
                if node.kind.is_external:
                    values = visible_values(graph, instance, children)
                    children[name] = await self._external(node, instance, values)
                else:
                    children[name] = await self._children(node, instance)
        return Own(page, graph, children)

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
        crd = await self._read(ObjectRef(CRD_KIND, "", offer.full_name))
        try:
            kinds = kinds_of_crd(crd) if crd is not None else []
        except SchemaError:
            return None
        return next((each for each in kinds if each.kind == kind), None)

    async def _children(self, node: Node, instance: KubeObject) -> list[KubeObject]:
        """Read the objects of a node, in the order of a collection."""
        ref, uid = ObjectRef.of(instance), text_at(instance, "metadata", "uid")
        labels = f"{INSTANCE_ID}={uid},{NODE_ID}={label_value(node.id)}"
        places = [""]
        if node.served.namespaced:
            try:
                inventory = parse_inventory(mapping(instance, "metadata", "annotations"))
                places = sorted(inventory.searched_namespaces(ref))
            except RefusedError:
                places = [ref.namespace]
        found: list[KubeObject] = []
        for place in places:
            try:
                selection = Selection(node.resource, place, labels)
                found += (await self._session.cluster.list(selection)).items
            except KroGitopsError as error:
                self._note(error.message)
        return sorted(found, key=_index)

    async def _external(
        self, node: Node, instance: KubeObject, values: dict[str, Any]
    ) -> list[KubeObject]:
        """Read the object that an external reference names."""
        ref = ObjectRef.of(plan_fields(node, values, None).body)
        if not ref.name:
            return []  # a selector, or a name that is not known
        namespace = ref.namespace or ObjectRef.of(instance).namespace
        place = namespace if node.served.namespaced else ""
        found = await self._read(ObjectRef(ref.kind, place, ref.name))
        return [found] if found is not None else []

    async def _read(self, ref: ObjectRef) -> KubeObject | None:
        """Read an object; return None, with a note, if it may not be read."""
        try:
            return await self._session.cluster.find(ref)
        except (Forbidden, NotServed) as error:
            self._note(error.message)
            return None

    def _note(self, text: str) -> None:
        self.notes[text] = None


_KIND_LABELS = (INSTANCE_GROUP, INSTANCE_VERSION, INSTANCE_KIND)


def _labels(obj: KubeObject) -> dict[str, str]:
    return mapping(obj, "metadata", "labels")


def _index(obj: KubeObject) -> int:
    text = text_at(_labels(obj), COLLECTION_INDEX)
    return int(text) if text.isascii() and text.isdigit() else 0
