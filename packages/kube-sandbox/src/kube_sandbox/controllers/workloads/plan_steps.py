"""
Steps, settings and helpers that all simulated controllers share.

Follows kubernetes 1.35 pkg/controller/controller_utils.go GetPodFromTemplate, IsPodActive,
ActivePodsWithRanks; pkg/api/v1/pod/util.go IsPodReady, IsPodAvailable.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kube_objects.refs import KubeObject
from kube_objects.times import format_time, parse_time
from kube_sandbox.controllers.workloads.indexes import RelatedBucket
from kube_sandbox.controllers.workloads.simulated_outcomes import OUTCOME_ANNOTATION, Outcome


@dataclass(frozen=True, slots=True)
class Settings:
    """
    Settings of the simulation.

    `step` is the time in seconds that each thing takes (to schedule, to start, to end, to give an
    address). `outcomes` says by image how its pods fare; an annotation of the pod overrules it. A
    pod of a Job succeeds, any other runs, if nothing else is said. An image without a tag means
    each of its tags.
    """

    step: float = 1.0
    node: str = "embedded"
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    namespace_delay: float = 0.0
    outcome_annotation: str = OUTCOME_ANNOTATION  # of a Pod; overrides the outcome of its image


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object, in the bucket that is named; `generateName` is the server's to finish."""

    bucket: str
    obj: KubeObject


@dataclass(frozen=True, slots=True)
class Update:
    """Replace an object, all but its status."""

    bucket: str
    obj: KubeObject


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply these fields of an object with force."""

    bucket: str
    obj: KubeObject


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Replace an object's status, and its annotations: a status may bring those."""

    bucket: str
    obj: KubeObject


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete an object, if it is still that one; `grace` in seconds, `None` for its own."""

    bucket: str
    obj: KubeObject
    grace: int | None = None
    propagation: Literal["Background", "Foreground"] = "Background"


@dataclass(frozen=True, slots=True)
class Bind:
    """Place a pod on a node."""

    obj: KubeObject
    node: str


@dataclass(frozen=True, slots=True)
class Finalize:
    """Replace the finalizers of a Namespace's spec."""

    obj: KubeObject
    finalizers: tuple[str, ...]


Step = Create | Update | Apply | SetStatus | Remove | Bind | Finalize


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done now, and in how many seconds to ask again; `None`: on the next change."""

    steps: tuple[Step, ...] = ()
    next: float | None = None


@dataclass(frozen=True, slots=True)
class PlanContext:
    """
    When a plan is made, and by which settings.

    `refusal`: what was said when the plan's objects could not be made just now; of such a plan
    nothing is carried out but the status.
    """

    now: datetime
    settings: Settings
    refusal: str = ""

    @property
    def text(self) -> str:
        """Return the time as objects have it."""
        return format_time(self.now)

    def left(self, since: Any, seconds: float) -> float:
        """Return how long it is until so many seconds after a time; 0 if that is past."""
        start = parse_time(since)
        return max(0.0, seconds - (self.now - start).total_seconds()) if start else 0.0


# Objects by bucket: those that the object owns, and those that it looks at.
RelatedObjects = Mapping[str, Sequence[KubeObject]]
Planner = Callable[[KubeObject, RelatedObjects, PlanContext], Plan]


@dataclass(frozen=True, slots=True)
class Controller:
    """
    The controller of the objects of a bucket.

    `owns`: the buckets of objects that it controls; `sees`: other buckets that it reads. A change
    in either requeues it. `looks` returns the namespaced buckets that it reads as a whole for an
    object; another part decides which changes there requeue it. It makes no plans for objects that
    it does not `mind`, and a change of an object that `is_settled` does not requeue it. `adopts`
    returns whether an object without a controller that matches the selector of an owner is
    adopted; without it, none is.
    """

    bucket: str
    plan: Planner
    owns: tuple[str, ...] = ()
    sees: tuple[RelatedBucket, ...] = ()
    manager: str = "kube-controller-manager"  # in whose name it writes
    minds: Callable[[KubeObject], bool] = lambda _: True
    looks: Callable[[KubeObject, Iterable[str]], Iterable[str]] | None = None
    is_settled: Callable[[KubeObject], bool] = lambda _: False
    adopts: Callable[[KubeObject, KubeObject], bool] | None = None


def is_deleting(obj: KubeObject) -> bool:
    """Return whether an object is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def controller_of(obj: KubeObject) -> Mapping[str, Any] | None:
    """Return the reference to an object's controller, or `None`."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), None)


def owned_by(owner: KubeObject, objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Return the objects that an object is the controller of."""
    uid = owner["metadata"]["uid"]
    found = []
    for each in objects:
        reference = controller_of(each)
        if reference is not None and reference.get("uid") == uid:
            found.append(each)
    return found


def reference_to(owner: KubeObject) -> dict[str, Any]:
    """Return the reference by which a controller marks what is its own."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition_of(obj: KubeObject, sort: str) -> dict[str, Any] | None:
    """Return a condition of an object, or `None`."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each.get("type") == sort), None)


def with_status(bucket: str, obj: KubeObject, status: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the step that sets a status; none if it is that already."""
    kept = {name: value for name, value in status.items() if value is not None}
    return () if obj.get("status") == kept else (SetStatus(bucket, {**obj, "status": kept}),)


def is_ready(pod: KubeObject) -> bool:
    """Return whether a pod is ready."""
    found = condition_of(pod, "Ready")
    return found is not None and found.get("status") == "True" and not is_deleting(pod)


def available_in(pod: KubeObject, seconds: int, moment: PlanContext) -> float | None:
    """Return in how long a pod has been ready for so many seconds; `None` if it is not ready."""
    found = condition_of(pod, "Ready")
    if found is None or not is_ready(pod):
        return None
    return moment.left(found.get("lastTransitionTime"), seconds) if seconds else 0.0


def is_active(pod: KubeObject) -> bool:
    """Return whether a pod has not ended and is not being deleted."""
    return (pod.get("status") or {}).get("phase") not in (
        "Succeeded",
        "Failed",
    ) and not is_deleting(pod)


def deletion_rank(pod: KubeObject) -> tuple[Any, ...]:
    """Order pods by what is lost with them: those that do not run, or not for long, come first."""
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}
    status = pod.get("status") or {}
    created = pod["metadata"].get("creationTimestamp", "")
    is_placed = bool(pod["spec"].get("nodeName"))
    age = tuple(-ord(each) for each in created)
    return (is_placed, phases.get(status.get("phase", ""), 0), is_ready(pod), age)


def soonest(*waits: float | None) -> float | None:
    """Return the shortest of some times; `None` if there is none."""
    known = [each for each in waits if each is not None]
    return min(known) if known else None


def pod_from(template: Mapping[str, Any], owner: KubeObject, **metadata: Any) -> KubeObject:
    """Return a pod of a template, for its controller."""
    given = template.get("metadata") or {}
    kept = {
        name: given[name] for name in ("labels", "annotations", "finalizers") if given.get(name)
    }
    labels = {**kept.get("labels", {}), **metadata.pop("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **kept,
            **({"labels": labels} if labels else {}),
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [reference_to(owner)],
            **metadata,
        },
        "spec": dict(template.get("spec") or {}),
    }
