"""
What reconcilers work with: the cluster, and who owns instances.

Sources decide who owns an instance, never the instance itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kro_gitops.control.loop import Observer as LoopObserver
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.kube.api import Cluster, Identity
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.events import EventRecorder
from kube_objects.refs import KubeObject, ObjectRef

FindInstance = Callable[[ObjectRef], KubeObject | None]


class InstanceOwners(Protocol):
    """
    Who acts for the children of an instance, and which children it may have.

    The engine hands in how to look up a parent instance, so that owners need not know the engine.
    """

    def identity_of(self, instance: KubeObject, find: FindInstance) -> Identity | None:
        """Return the identity that acts for the children; None is the controller itself."""

    def refusal_of(self, instance: KubeObject, child: ObjectRef, find: FindInstance) -> str:
        """Return why the instance may not have a child; empty if it may."""


class NoOwners:
    """The controller itself acts for every instance, and every child is allowed."""

    def identity_of(self, _instance: KubeObject, _find: FindInstance) -> Identity | None:
        """Return None: the controller itself."""
        return None

    def refusal_of(self, _instance: KubeObject, _child: ObjectRef, _find: FindInstance) -> str:
        """Return an empty reason."""
        return ""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """The cluster, who owns instances, and who is told what happens."""

    cluster: Cluster
    discovery: Discovery
    observer: Observer = field(default_factory=Observer)
    events: EventRecorder | None = None
    loop_observers: Mapping[str, LoopObserver] = field(default_factory=dict)
    owners: InstanceOwners = field(default_factory=NoOwners)


@dataclass(frozen=True, slots=True)
class WriteContext:
    """For which instance children are written, and as whom; `is_new` while it can have none."""

    key: ObjectRef
    cluster: Cluster
    adopts: bool = False
    is_new: bool = False
    identity: Identity | None = None
    refusal_of: Callable[[ObjectRef], str] = lambda _child: ""  # why a child may not be; or empty
