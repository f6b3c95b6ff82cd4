"""
The health of objects that are neither instances nor definitions.

It follows from the object's own status: by rules for the common workloads, by the conventions of
conditions for all other kinds. An object without a status is healthy as soon as it exists.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kro_gitops.tracking.health import Health, HealthStatus
from kube_objects.conditions import FALSE, TRUE, Condition, parse_conditions
from kube_objects.errors import RefusedError
from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject, ObjectRef

# Conditions that are bad news when they are True.
NEGATIVE_CONDITIONS = frozenset(
    ("Stalled", "Failed", "FailureTarget", "ReplicaFailure", "Degraded", "MemoryPressure")
)
_BROKEN_PODS = frozenset(
    (
        *("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull"),
        *("InvalidImageName", "CreateContainerConfigError", "CreateContainerError"),
        *("RunContainerError", "StartError"),
    )
)
_WITH_PODS = frozenset(
    (
        *(("apps", "Deployment"), ("apps", "StatefulSet"), ("apps", "DaemonSet")),
        *(("apps", "ReplicaSet"), ("batch", "Job")),
    )
)
# The conditions by which objects say that they are done, the first that is there counts.
_SUMMARIES = ("Ready", "Available", "Established", "Synced", "Complete", "Succeeded")

_ROLLOUT = "not all replicas are updated and available"

_HEALTHY = HealthStatus(Health.HEALTHY, "")


def workload_health(obj: KubeObject) -> HealthStatus:
    """Return the health of an object that is neither an instance nor a definition."""
    metadata, status = mapping(obj, "metadata"), mapping(obj, "status")
    kind = ObjectRef.of(obj).kind
    if metadata.get("deletionTimestamp") is not None:
        listed = metadata.get("finalizers")
        names = ", ".join(map(str, listed)) if isinstance(listed, list) else ""
        return _progressing(
            f"being deleted, waiting on finalizers: {names}" if names else "being deleted"
        )
    observed = status.get("observedGeneration")
    if type(observed) is int and observed != metadata.get("generation"):
        brief = _ROLLOUT if kind.group == "apps" else ""
        return HealthStatus(Health.PROGRESSING, "spec change not processed", brief)
    return _BY_KIND.get((kind.group, kind.kind), _by_conditions)(obj)


def pod_selector(workload: KubeObject) -> str:
    """Return the label selector of a workload's pods; empty if it is no workload."""
    kind = ObjectRef.of(workload).kind
    written = mapping(workload, "spec").get("selector")
    if (kind.group, kind.kind) not in _WITH_PODS or not written:
        return ""
    try:
        return str(Selector.parse(written))
    except RefusedError:
        return ""


def find_condition(obj: KubeObject, type_: str) -> Condition | None:
    """Return an object's condition of a type."""
    return next((each for each in parse_conditions(obj) if each.type == type_), None)


def is_failing(condition: Condition) -> bool:
    """Return whether a condition is bad news."""
    return condition.status == (TRUE if condition.type in NEGATIVE_CONDITIONS else FALSE)


def condition_text(condition: Condition | None) -> str:
    """Return the message of a condition, or its reason."""
    return (condition.message or condition.reason or "") if condition else ""


def mapping(value: Any, *path: str) -> dict[str, Any]:
    """Return the mapping at a path, empty if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _progressing(message: str) -> HealthStatus:
    return HealthStatus(Health.PROGRESSING, message)


def _degraded(message: str) -> HealthStatus:
    return HealthStatus(Health.DEGRADED, message)


def _by_conditions(obj: KubeObject) -> HealthStatus:
    for type_ in ("Stalled", "Failed"):
        failed = find_condition(obj, type_)
        if failed is not None and failed.status == TRUE:
            return _degraded(condition_text(failed))
    for type_ in _SUMMARIES:
        summary = find_condition(obj, type_)
        if summary is not None:
            return _HEALTHY if summary.status == TRUE else _progressing(condition_text(summary))
    return _HEALTHY


def _number(section: Mapping[str, Any], key: str, default: int = 0) -> int:
    value = section.get(key)
    return value if type(value) is int else default


def _desired(obj: KubeObject) -> int:
    return _number(mapping(obj, "spec"), "replicas", 1)


def _counted(obj: KubeObject, *needs: tuple[str, int, str]) -> HealthStatus:
    """Compare counts in a workload's status with what they must be; zero is not written there."""
    status = mapping(obj, "status")
    failure = find_condition(obj, "ReplicaFailure")
    if failure is not None and failure.status == TRUE:
        return _degraded(condition_text(failure))
    for key, desired, word in needs:
        if _number(status, key) < desired:
            found = f"{_number(status, key)} of {desired} {word}"
            return HealthStatus(Health.PROGRESSING, found, brief=_ROLLOUT)
    return _HEALTHY


def _deployment(obj: KubeObject) -> HealthStatus:
    progress = find_condition(obj, "Progressing")
    if progress is not None and progress.status == FALSE:
        return _degraded(condition_text(progress))
    if mapping(obj, "spec").get("paused") is True:
        return HealthStatus(Health.SUSPENDED, "the deployment is paused")
    desired = _desired(obj)
    return _unobserved(obj) or _counted(
        obj,
        ("updatedReplicas", desired, "replicas updated"),
        ("availableReplicas", desired, "replicas available"),
    )


def _stateful_set(obj: KubeObject) -> HealthStatus:
    desired, strategy = _desired(obj), mapping(obj, "spec", "updateStrategy")
    kept = _number(mapping(strategy, "rollingUpdate"), "partition")
    updated = 0 if strategy.get("type") == "OnDelete" else desired - kept
    return _unobserved(obj) or _counted(
        obj,
        ("updatedReplicas", updated, "replicas updated"),
        ("readyReplicas", desired, "replicas ready"),
    )


def _replica_set(obj: KubeObject) -> HealthStatus:
    need = ("availableReplicas", _desired(obj), "replicas available")
    return _unobserved(obj) or _counted(obj, need)


def _daemon_set(obj: KubeObject) -> HealthStatus:
    desired = _number(mapping(obj, "status"), "desiredNumberScheduled")
    return _unobserved(obj) or _counted(
        obj,
        ("updatedNumberScheduled", desired, "pods updated"),
        ("numberAvailable", desired, "pods available"),
    )


def _unobserved(obj: KubeObject) -> HealthStatus | None:
    """Return the health of a workload that no controller has observed yet, else None."""
    has_seen = "observedGeneration" in mapping(obj, "status")
    if has_seen:
        return None
    return HealthStatus(Health.PROGRESSING, "not picked up by its controller yet", brief=_ROLLOUT)


def _job(obj: KubeObject) -> HealthStatus:
    failed = find_condition(obj, "Failed")
    if failed is not None and failed.status == TRUE:
        return _degraded(condition_text(failed))
    for type_ in ("Complete", "SuccessCriteriaMet"):
        done = find_condition(obj, type_)
        if done is not None and done.status == TRUE:
            return _HEALTHY
    if mapping(obj, "spec").get("suspend") is True:
        return HealthStatus(Health.SUSPENDED, "the job is suspended")
    return _progressing("not completed yet")


def _pod(obj: KubeObject) -> HealthStatus:
    status = mapping(obj, "status")
    phase = status.get("phase")
    for name, reason, message in _waiting_containers(status):
        if reason in _BROKEN_PODS:
            said = f"{reason}: {message}" if message else reason
            # The API server's text counts the seconds until the next try, and the two reasons of
            # an image that cannot be pulled take turns.
            word = "ImagePullBackOff" if reason == "ErrImagePull" else reason
            text = f"container {name}: {said}"
            return HealthStatus(Health.DEGRADED, text, brief=f"container {name}: {word}")
    if phase == "Succeeded":
        return _HEALTHY
    if phase == "Failed":
        return _degraded(str(status.get("message") or status.get("reason") or "the pod failed"))
    ready = find_condition(obj, "Ready")
    if phase == "Running" and ready is not None and ready.status == TRUE:
        return _HEALTHY
    scheduled = find_condition(obj, "PodScheduled")
    if scheduled is not None and scheduled.status == FALSE:
        return _progressing(condition_text(scheduled))
    return _progressing(condition_text(ready) or str(phase or "not picked up yet"))


def _waiting_containers(status: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    found = []
    for section in ("initContainerStatuses", "containerStatuses"):
        listed = status.get(section)
        for container in listed if isinstance(listed, list) else ():
            waiting = mapping(container, "state", "waiting")
            if not waiting and _is_between_crashes(container):
                waiting = {"reason": "CrashLoopBackOff", "message": "it exits again and again"}
            texts = (container.get("name"), waiting.get("reason"), waiting.get("message"))
            name, reason, message = (str(text or "") for text in texts)
            found.append((name, reason, message))
    return found


def _is_between_crashes(container: Mapping[str, Any]) -> bool:
    """Return whether a container that is not waiting was restarted after it had failed, twice."""
    last = mapping(container, "lastState", "terminated")
    is_failure = _number(last, "exitCode") != 0
    restarts = _number(container, "restartCount")
    return is_failure and restarts > 1 and container.get("ready") is not True


def pod_reasons(obj: KubeObject) -> list[str]:
    """Return why a pod's containers do not run, in Kubernetes' words."""
    waiting = [reason for _, reason, _ in _waiting_containers(mapping(obj, "status")) if reason]
    scheduled = find_condition(obj, "PodScheduled")
    if scheduled is not None and scheduled.status == FALSE and scheduled.reason:
        waiting.append(scheduled.reason)
    return waiting


def _claim(obj: KubeObject) -> HealthStatus:
    phase = mapping(obj, "status").get("phase")
    if phase == "Lost":
        return _degraded("the volume is lost")
    return _HEALTHY if phase == "Bound" else _progressing("no volume is bound yet")


def _service(obj: KubeObject) -> HealthStatus:
    if mapping(obj, "spec").get("type") != "LoadBalancer":
        return _HEALTHY
    given = mapping(obj, "status", "loadBalancer").get("ingress")
    return _HEALTHY if given else _progressing("no load balancer address is assigned yet")


_BY_KIND: Mapping[tuple[str, str], Callable[[KubeObject], HealthStatus]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
}
