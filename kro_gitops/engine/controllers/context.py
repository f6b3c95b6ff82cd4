"""
What reconcilers depend on: the cluster, and who decides as whom an instance is reconciled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kro_gitops.control.loop import Observer as LoopObserver
from kro_gitops.engine.authority import CONTROLLER, Authorities, Authority, ControllerAuthority
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.kube.api import Cluster
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.events import EventRecorder
from kube_objects.refs import ObjectRef


@dataclass(frozen=True, slots=True)
class EngineContext:
    """The cluster, who decides about authority, and the observers of metrics and Events."""

    cluster: Cluster
    discovery: Discovery
    observer: Observer = field(default_factory=Observer)
    events: EventRecorder | None = None
    loop_observers: Mapping[str, LoopObserver] = field(default_factory=dict)
    authorities: Authorities = field(default_factory=ControllerAuthority)


@dataclass(frozen=True, slots=True)
class WriteContext:
    """For which instance children are written, and as whom; a new one cannot have children."""

    key: ObjectRef
    cluster: Cluster  # acting with the identity of the authority
    authority: Authority = CONTROLLER
    may_adopt: Callable[[ObjectRef], bool] = lambda _: False
    is_new: bool = False
