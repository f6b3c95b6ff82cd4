"""
What a compiled graph is made of.

Everything here is frozen and complete: expressions are programs, dependencies say what they
are for. How it came about is the business of the files below `build`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kro_gitops.engine.definition import Definition
from kube_cel.environment import Environment
from kube_cel.interpolation import Template
from kube_cel.program import Program
from kube_objects.problems import Path
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema

SCHEMA = "schema"
EACH = "each"
RUNTIME = "runtime"


class NodeKind(StrEnum):
    """What a node stands for."""

    RESOURCE = "Resource"
    COLLECTION = "Collection"
    EXTERNAL = "External"
    EXTERNAL_COLLECTION = "ExternalCollection"

    @property
    def is_list(self) -> bool:
        """Return whether other expressions see this node as a list."""
        return self in (NodeKind.COLLECTION, NodeKind.EXTERNAL_COLLECTION)

    @property
    def is_external(self) -> bool:
        """Return whether this node is only read."""
        return self in (NodeKind.EXTERNAL, NodeKind.EXTERNAL_COLLECTION)


class FieldKind(StrEnum):
    """What a field's value depends on, at most."""

    STATIC = "static"  # the instance, or nothing
    DYNAMIC = "dynamic"  # another node
    ITERATION = "iteration"  # an iterator of its own node


@dataclass(frozen=True, slots=True)
class Expression:
    """
    A compiled expression.

    `text` is CEL, `shown` what its author wrote (they differ for string templates). `names` are
    the identifiers it reads, `reads` the dotted paths below them. `place` is a path in the
    definition object. `is_confidential` means that its values may be those of a Secret.
    """

    text: str
    shown: str
    place: Path
    template: Template
    names: tuple[str, ...]
    reads: tuple[str, ...]
    program: Program
    environment: Environment
    uses_omit: bool = False
    is_confidential: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a template that an expression fills."""

    path: Path
    kind: FieldKind
    expression: Expression


@dataclass(frozen=True, slots=True)
class Dimension:
    """One `forEach` dimension."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Use:
    """Why one node needs another: the place that reads it, and what it reads there."""

    where: str
    reads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another node that must come first."""

    id: str
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """
    One entry of `spec.resources`, compiled.

    `copies` are the dicts and lists inside `body` that hold a field, and metadata: each by the
    number of the one that contains it (0 is the body, 1 the first copy) and its key there.
    `holders` are the numbers of those that hold the `fields`.
    """

    id: str
    index: int
    kind: NodeKind
    served: KindSchema
    body: KubeObject
    fields: tuple[Field, ...] = ()
    include_when: tuple[Expression, ...] = ()
    ready_when: tuple[Expression, ...] = ()
    for_each: tuple[Dimension, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    copies: tuple[tuple[int, str | int], ...] = field(default=(), repr=False)
    holders: tuple[int, ...] = field(default=(), repr=False)

    @property
    def resource(self) -> Kind:
        """Return the kind of the objects this node makes or reads."""
        return self.served.kind


@dataclass(frozen=True, slots=True)
class StatusField:
    """A field of the instance's status that an expression fills."""

    path: Path
    expression: Expression


@dataclass(frozen=True, slots=True)
class Graph:
    """
    A definition, compiled.

    `instance_schema` is what expressions see as `schema`: the generated kind without its status and
    with full metadata. `served` is the generated kind as the API server will know it. `read` has
    the parts of each node that others read, `ready_when_reads` those that its own `readyWhen`
    reads.
    `secret_fields` are the fields of instances whose values become data of a Secret.
    """

    definition: Definition
    nodes: Mapping[str, Node]
    order: tuple[str, ...]
    waves: Mapping[str, int]
    crd: KubeObject
    served: KindSchema
    instance_schema: dict[str, Any]
    environment: Environment
    status: tuple[StatusField, ...] = ()
    conditions: tuple[Expression, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)
    ready_when_reads: Mapping[str, Any] = field(default_factory=dict)
    secret_fields: frozenset[Path] = frozenset()
