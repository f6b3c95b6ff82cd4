"""
Events that controllers write: what they say, and when one more is the same once more.

Pure but for what it remembers. As the recorder of real controllers: the same words about the same
object raise the count of the first; after nine that differ only in their words the rest is combined
in one.

Follows kubernetes 1.35 k8s.io/client-go/tools/record/events_cache.go
EventCorrelator.EventCorrelate, EventAggregator.EventAggregate, eventLogger.eventObserve;
pkg/controller/controller_utils.go RealPodControl.createPods;
pkg/controller/statefulset/stateful_pod_control.go StatefulPodControl.recordPodEvent,
StatefulPodControl.recordClaimEvent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.controllers.workloads.plan_steps import Create

_DIFFERENT = 9
_COMBINED = "(combined from similar events): "
_CACHE_SIZE = 1000  # objects


@dataclass(frozen=True, slots=True)
class EventContent:
    """What a controller has to say of an object."""

    component: str
    reason: str
    message: str


# By the kind of what cannot make another: who says so, why, and how for each kind of what is made.
_PODS_ERROR = {"pods": ("Error creating: {error}",)}
_REFUSED: Mapping[str, tuple[str, str, Mapping[str, tuple[str, ...]]]] = {
    "replicasets.apps": ("replicaset-controller", "FailedCreate", _PODS_ERROR),
    "daemonsets.apps": ("daemonset-controller", "FailedCreate", _PODS_ERROR),
    "jobs.batch": ("job-controller", "FailedCreate", _PODS_ERROR),
    "cronjobs.batch": (
        "cronjob-controller",
        "FailedCreate",
        {"jobs.batch": ("Error creating job: {error}",)},
    ),
    "deployments.apps": (
        "deployment-controller",
        "ReplicaSetCreateError",
        {"replicasets.apps": ('Failed to create new replica set "{name}": {error}',)},
    ),
    "statefulsets.apps": (
        "statefulset-controller",
        "FailedCreate",
        {
            "pods": ("Create Pod {name} in StatefulSet {owner} failed error: {error}",),
            "persistentvolumeclaims": (
                "Create Claim {name} for Pod {pod} in StatefulSet {owner} failed error: {error}",
                "Create Pod {pod} in StatefulSet {owner} failed error: "
                "failed to create PVC {name}: {error}",
            ),
        },
    ),
}


def refusal_events(bucket: str, owner: KubeObject, step: Create, error: str) -> list[EventContent]:
    """Return what a controller says when an object that it wants to make is rejected."""
    if bucket not in _REFUSED:
        return []
    component, reason, words = _REFUSED[bucket]
    name, own = step.obj["metadata"].get("name", ""), owner["metadata"]["name"]
    pod = f"{own}-{name.rpartition('-')[2]}"
    return [
        EventContent(component, reason, each.format(name=name, owner=own, pod=pod, error=error))
        for each in words.get(step.bucket, ())
    ]


class EventRecorder:
    """Makes Events of what is said."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], dict[str, KubeObject]] = {}

    def event(self, about: KubeObject, notice: EventContent, now: datetime) -> KubeObject:
        """Return the Event to write, new or once more."""
        key = (about["metadata"]["uid"], notice.reason)
        message = self._told.setdefault(key, {})
        if len(self._told) > _CACHE_SIZE:
            del self._told[next(iter(self._told))]
        words, known = notice.message, notice.message
        if words not in message and len(message) >= _DIFFERENT:
            words, known = _COMBINED + words, _COMBINED
        before = message.get(known)
        if before is None:
            made = event(about, EventContent(notice.component, notice.reason, words), now)
            # Several may be recorded at one moment: each needs a name of its own.
            made["metadata"]["name"] += f"{len(message):x}"
        else:
            count = before["count"] + 1
            time = format_time(now)
            made = {**before, "count": count, "message": words, "lastTimestamp": time}
        message[known] = made
        return made


def event(about: KubeObject, notice: EventContent, now: datetime) -> KubeObject:
    """Return an Event that warns of an object."""
    metadata, text = about["metadata"], format_time(now)
    known = {name: metadata[name] for name in ("namespace", "name", "uid") if metadata.get(name)}
    version = metadata.get("resourceVersion")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name']}.{int(now.timestamp() * 1e9):x}",
            "namespace": metadata.get("namespace") or "default",
        },
        "involvedObject": {
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            **known,
            **({"resourceVersion": version} if version else {}),
        },
        "reason": notice.reason,
        "message": notice.message,
        "source": {"component": notice.component},
        "firstTimestamp": text,
        "lastTimestamp": text,
        "count": 1,
        "type": "Warning",
        "reportingComponent": notice.component,
    }
