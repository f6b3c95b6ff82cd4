"""
What is known when somebody asks where a field comes from.

A `Case` is an object with its text in git. If an instance made it, the case of that instance comes
with it, and so on upwards; if it is an instance, so does its definition with its other children.
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
    The definition of an instance's kind, and what is there of its nodes, by their id.

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
class Made:
    """Which node of which instance made an object; `index` is its place in a collection."""

    node: str
    instance: "Case"
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """An object and all that may explain it."""

    page: Page
    made: Made | None = None
    own: Own | None = None  # if it is an instance
    schema: Schema | None = field(default=None, repr=False)

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
        """Return where the object itself is written; a child says only where its instance is."""
        return None if self.made is not None or is_child(self.object) else self.page.written

    def values(self) -> dict[str, Any]:
        """Return what expressions of the definition see for this instance."""
        if self.own is None or self.own.graph is None:
            return {}
        return visible_values(self.own.graph, self.object, self.own.children)


def is_child(obj: KubeObject) -> bool:
    """Say whether an instance made an object, by its labels."""
    labels = mapping(obj, "metadata", "labels")
    return bool(text_at(labels, NODE_ID) and text_at(labels, INSTANCE_ID))


def made_by(obj: KubeObject, instance: Case) -> Made:
    """Read off the labels which node of an instance made an object."""
    labels = mapping(obj, "metadata", "labels")
    index = text_at(labels, COLLECTION_INDEX)
    number = int(index) if index.isascii() and index.isdigit() else None
    return Made(text_at(labels, NODE_ID), instance, number)


@dataclass(frozen=True, slots=True)
class Origin:
    """The template of a child, and its values."""

    resource: ResourceSpec
    template: Template
    wanted: DesiredFields

    def path(self, below: Path) -> Path:
        """Return where in the definition a field of the template stands."""
        return (*self.resource.body_path, *below)


def template_of(made: Made) -> Origin | None:
    """Return the template that an object was made from; `None` if the definition has it no more."""
    own = made.instance.own
    resource = own.resource(made.node) if own is not None else None
    if own is None or resource is None:
        return None
    node = own.node(made.node)
    wanted = NOTHING_KNOWN
    if node is not None:
        wanted = plan_fields(node, made.instance.values(), made.index)
    schema = node.served.schema if node is not None else None
    return Origin(resource, Template(resource.body, wanted, schema), wanted)
