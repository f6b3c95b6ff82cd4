"""
The steps that a pass over an instance requests, and their results.

A pass never accesses the cluster. It returns steps; the caller executes them and passes their
results back, and the pass continues with those.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kube_objects.label_selectors import Selector
from kube_objects.refs import Kind, KubeObject, ObjectRef


class NodeState(StrEnum):
    """How far a node has come."""

    IN_PROGRESS = "IN_PROGRESS"
    WAITING = "WAITING_FOR_READINESS"
    SYNCED = "SYNCED"
    SKIPPED = "SKIPPED"
    ERROR = "ERROR"
    DELETING = "DELETING"


@dataclass(frozen=True, slots=True)
class Apply:
    """
    Have a child as it is desired; `live` is what is there now of ours.

    `added` are fields that people added and that are removed, `ignored` are JSON pointers of fields
    that others may set.
    """

    node: str
    index: int
    ref: ObjectRef
    object: KubeObject
    live: KubeObject | None
    added: Mapping[str, Any] = field(default_factory=dict, compare=False)
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """Read one object that the instance does not own; `body` is its external reference."""

    node: str
    ref: ObjectRef
    body: KubeObject = field(default_factory=dict, compare=False)

    def failure(self, reason: str) -> str:
        """Return the message for an object that cannot be read, in kro's words."""
        ref = self.ref
        return f"external ref get {ref.kind} {ref.namespace}/{ref.name}: {reason}"


@dataclass(frozen=True, slots=True)
class Select:
    """Read all objects with certain labels; an empty namespace means all namespaces."""

    node: str
    kind: Kind
    namespace: str
    selector: Selector


Step = Apply | Read | Select
