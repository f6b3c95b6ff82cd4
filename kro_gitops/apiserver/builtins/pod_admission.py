"""
What a real API server's plugins, those that are on by default, make of new pods.

A pod gets the priority of its class, puts up with nodes that fail for five minutes, and has what
its runtime class says. A class that is not there refuses it.
"""

from typing import Any

from kro_gitops.apiserver.statuses import StatusError, forbidden
from kro_gitops.apiserver.strategy import Occasion
from kro_gitops.objects.refs import KubeObject

_PRIORITIES = "priorityclasses.scheduling.k8s.io"
_RUNTIMES = "runtimeclasses.node.k8s.io"
_FAILURES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PATIENCE = 300
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"


def admit_new_pod(pod: KubeObject, occasion: Occasion) -> None:
    """Let a new pod in, or raise a StatusError."""
    _prioritize(pod, occasion)
    _be_patient(pod)
    _run_with_class(pod, occasion)


def keep_priority(new: KubeObject, old: KubeObject) -> None:
    """Put back what a plugin once set, if an update leaves it out, and the tolerations."""
    for key in ("priority", "preemptionPolicy"):
        if key not in new["spec"] and key in old["spec"]:
            new["spec"][key] = old["spec"][key]
    _be_patient(new)


def _refused(pod: KubeObject, why: str) -> StatusError:
    return forbidden("", "pods", pod["metadata"].get("name", ""), why)


def _prioritize(pod: KubeObject, occasion: Occasion) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    priority, policy = 0, "PreemptLowerPriority"
    if name:
        found = occasion.find(_PRIORITIES, "", name)
        if found is None:
            raise _refused(pod, f"no PriorityClass with name {name} was found")
        priority = found.get("value", 0)
        policy = found.get("preemptionPolicy", policy)
    if spec.get("priority", priority) != priority:
        given = spec["priority"]
        why = f"the integer value of priority ({given}) {_COMPUTED} {priority}"
        raise _refused(pod, f"{why} from the given PriorityClass name")
    if spec.get("preemptionPolicy", policy) != policy:
        given = spec["preemptionPolicy"]
        why = f"the string value of PreemptionPolicy ({given}) {_COMPUTED} {policy}"
        raise _refused(pod, f"{why} from the given PriorityClass name")
    spec["priority"], spec["preemptionPolicy"] = priority, policy


def _be_patient(pod: KubeObject) -> None:
    tolerations = pod["spec"].get("tolerations", [])
    added = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _PATIENCE,
        }
        for key in _FAILURES
        if not any(_puts_up(each, key) for each in tolerations)
    ]
    if added:
        pod["spec"]["tolerations"] = [*tolerations, *added]


def _puts_up(toleration: dict[str, Any], key: str) -> bool:
    known, effect = toleration.get("key", ""), toleration.get("effect", "")
    return known in ("", key) and effect in ("", "NoExecute")


def _run_with_class(pod: KubeObject, occasion: Occasion) -> None:
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if name is None:
        return
    found = occasion.find(_RUNTIMES, "", name)
    if found is None:
        raise _refused(pod, f'pod rejected: RuntimeClass "{name}" not found')
    if "overhead" in found:
        overhead = found["overhead"].get("podFixed", {})
        if spec.get("overhead", overhead) != overhead:
            why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise _refused(pod, why)
        spec["overhead"] = dict(overhead)
    _schedule(pod, found.get("scheduling", {}))


def admit_valid_pod(pod: KubeObject, occasion: Occasion) -> None:
    """Let a pod in with which nothing else is wrong, or raise a StatusError."""
    spec = pod["spec"]
    if "overhead" not in spec:
        return
    name = spec.get("runtimeClassName")
    found = occasion.find(_RUNTIMES, "", name) if name else None
    if found is None or "overhead" not in found:
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise _refused(pod, why)


def _schedule(pod: KubeObject, scheduling: dict[str, Any]) -> None:
    spec = pod["spec"]
    selector = dict(spec.get("nodeSelector", {}))
    for key, value in scheduling.get("nodeSelector", {}).items():
        if selector.get(key, value) != value:
            raise _refused(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = list(spec.get("tolerations", ()))
    tolerations += [each for each in scheduling.get("tolerations", ()) if each not in tolerations]
    if tolerations:
        spec["tolerations"] = tolerations
