"""
What is known about an object when its fields are traced.

A `Case` is an object with its text in git. If it is a child, the case of its instance comes
with it, and so on upwards; if it is an instance, so does its definition with its children.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.engine.definition import ResourceSpec, parse
from kro_gitops.engine.graph.nodes import Graph, Node
from kro_gitops.engine.labels import label_value
from kro_gitops.engine.plan.fields import NOTHING_KNOWN, DesiredFields, plan_fields, visible_values
from kro_gitops.inspect.provenance.git_location import Page
from kro_gitops.inspect.provenance.template_match import Template
from kro_gitops.inspect.views.instances import Written, text_at
from kro_gitops.metadata import COLLECTION_INDEX, INSTANCE_ID, NODE_ID
from kro_gitops.tracking.workload_health import mapping
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.schemas import Schema


@dataclass(frozen=True, slots=True)
class Own:
    """
    The definition of an instance's kind, and the live objects of its nodes, by node id.

    `graph` is missing if the definition does not compile; then templates can be read, but no
    expression evaluated.
    """

    page: Page
    graph: Graph | None = field(default=None, repr=False)
    children: Mapping[str, Sequence[KubeObject]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Return the definition's name."""
        return ObjectRef.of(self.page.object).name

    def resource(self, node: str) -> ResourceSpec | None:
        """Return an entry of `spec.resources`, as it is written; labels shorten a long id."""
        listed = parse(self.page.object).definition.resources
        return next((each for each in listed if node in (each.id, label_value(each.id))), None)

    def node(self, name: str) -> Node | None:
        """Return a node, compiled."""
        found = self.resource(name)
        if self.graph is None or found is None:
            return None
        return self.graph.nodes.get(found.id)

    def names(self) -> frozenset[str]:
        """Return the ids of all nodes."""
        return frozenset(each.id for each in parse(self.page.object).definition.resources)


@dataclass(frozen=True, slots=True)
class Parent:
    """The instance and the node that a child belongs to; `index` is its place in a collection."""

    node: str
    instance: "Case"
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """An object and everything that may explain its fields."""

    page: Page
    parent: Parent | None = None
    own: Own | None = None  # if it is an instance
    schema: Schema | None = field(default=None, repr=False)
    salt: bytes = field(default=b"", repr=False)  # of the hashes that stand for values of Secrets

    @property
    def object(self) -> KubeObject:
        """Return the live object."""
        return self.page.object

    @property
    def ref(self) -> ObjectRef:
        """Name the object."""
        return ObjectRef.of(self.page.object)

    @property
    def written(self) -> Written | None:
        """Return where the object itself is written; a child names the file of its instance."""
        return None if self.parent is not None or is_child(self.object) else self.page.written

    def values(self) -> dict[str, Any]:
        """Return the values that expressions of the definition see for this instance."""
        if self.own is None or self.own.graph is None:
            return {}
        return visible_values(self.own.graph, self.object, self.own.children)


def is_child(obj: KubeObject) -> bool:
    """Return True if the labels name the instance and node that the object belongs to."""
    labels = mapping(obj, "metadata", "labels")
    return bool(text_at(labels, NODE_ID) and text_at(labels, INSTANCE_ID))


def parent_of(obj: KubeObject, instance: Case) -> Parent:
    """Return the node of an instance that a child belongs to, from its labels."""
    labels = mapping(obj, "metadata", "labels")
    index = text_at(labels, COLLECTION_INDEX)
    number = int(index) if index.isascii() and index.isdigit() else None
    return Parent(text_at(labels, NODE_ID), instance, number)


@dataclass(frozen=True, slots=True)
class Origin:
    """The template of a child, and its values."""

    resource: ResourceSpec
    template: Template
    desired: DesiredFields

    def path(self, below: Path) -> Path:
        """Return the path in the definition of a field of the template."""
        return (*self.resource.body_path, *below)


def template_of(parent: Parent) -> Origin | None:
    """Return the template of a child; `None` if the definition does not have the node any more."""
    own = parent.instance.own
    resource = own.resource(parent.node) if own is not None else None
    if own is None or resource is None:
        return None
    node = own.node(parent.node)
    desired = NOTHING_KNOWN
    if node is not None:
        desired = plan_fields(node, parent.instance.values(), parent.index)
    schema = node.served.schema if node is not None else None
    return Origin(resource, Template(resource.body, desired, schema), desired)
