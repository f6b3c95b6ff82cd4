"""
The row of a Pod: how many containers are ready, and its state in one word.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printPod.
"""

from datetime import UTC, datetime
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_span, parse_time
from kube_sandbox.tables.cells import (
    NONE,
    Cells,
    Clock,
    age_of,
    at,
    is_true,
    items,
    name_of,
    number,
    text,
)

_NEVER = datetime.min.replace(tzinfo=UTC)
_ENDED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def conditions(pod: KubeObject) -> list[dict[str, str]]:
    """Return the conditions of a pod's row."""
    phase = text(pod, "status", "phase")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]


class _Tally:
    """Counts over the containers of a pod."""

    def __init__(self, reason: str, total: int) -> None:
        self.reason = reason
        self.total = total
        self.ready = 0
        self.restarts = 0
        self.last = _NEVER

    def restarted(self, container: Any) -> None:
        """Count a container's restarts."""
        self.restarts += number(container, "restartCount")
        ended = parse_time(at(container, "lastState", "terminated", "finishedAt"))
        if ended and self.last < ended:
            self.last = ended


def cells(pod: KubeObject, clock: Clock) -> Cells:
    """Return the cells of a pod."""
    reason = text(pod, "status", "reason") or text(pod, "status", "phase")
    for each in items(pod, "status", "conditions"):
        if at(each, "type") == "PodScheduled" and at(each, "reason") == "SchedulingGated":
            reason = "SchedulingGated"
    sidecars = {
        text(each, "name")
        for each in items(pod, "spec", "initContainers")
        if at(each, "restartPolicy") == "Always"
    }
    tally = _Tally(reason, len(items(pod, "spec", "containers")) + len(sidecars))
    kept = _Tally("", 0)
    if not _initialize(pod, tally, kept, sidecars) or is_true(pod, "Initialized"):
        tally.restarts, tally.last = kept.restarts, kept.last
        runs, failure = False, ""
        for container in reversed(items(pod, "status", "containerStatuses")):
            tally.restarted(container)
            ended = at(container, "state", "terminated")
            if waits := text(container, "state", "waiting", "reason"):
                tally.reason = waits
            elif ended is not None:
                tally.reason = _termination_reason(ended)
                failure = tally.reason if number(ended, "exitCode") else failure
            elif at(container, "ready") and at(container, "state", "running") is not None:
                runs = True
                tally.ready += 1
        if tally.reason == "Completed":
            if runs and is_any_ready(pod):
                tally.reason = "Running"
            else:
                tally.reason = failure or ("NotReady" if runs else tally.reason)
    # Terminating takes precedence over every other reason but the end of the pod.
    if at(pod, "metadata", "deletionTimestamp") is not None:
        if text(pod, "status", "reason") == "NodeLost":
            tally.reason = "Unknown"
        elif text(pod, "status", "phase") not in _ENDED:
            tally.reason = "Terminating"
    restarts = str(tally.restarts)
    if tally.restarts and tally.last != _NEVER:
        restarts = f"{restarts} ({format_span(clock.now - tally.last)} ago)"
    addresses = items(pod, "status", "podIPs") or [{}]
    gates = items(pod, "spec", "readinessGates")
    met = sum(is_true(pod, text(gate, "conditionType")) for gate in gates)
    return [
        name_of(pod),
        f"{tally.ready}/{tally.total}",
        tally.reason,
        restarts,
        age_of(pod, clock),
        text(addresses[0], "ip") or NONE,
        text(pod, "spec", "nodeName") or NONE,
        text(pod, "status", "nominatedNodeName") or NONE,
        f"{met}/{len(gates)}" if gates else NONE,
    ]


def _initialize(pod: KubeObject, tally: _Tally, kept: _Tally, sidecars: set[str]) -> bool:
    """Count the init containers; return whether one of them still runs."""
    for index, container in enumerate(items(pod, "status", "initContainerStatuses")):
        is_sidecar = text(container, "name") in sidecars
        tally.restarted(container)
        if is_sidecar:
            kept.restarted(container)
        ended = at(container, "state", "terminated")
        if ended is not None and not number(ended, "exitCode"):
            continue
        if is_sidecar and at(container, "started"):
            tally.ready += bool(at(container, "ready"))
            continue
        waits = text(container, "state", "waiting", "reason")
        if ended is not None:
            tally.reason = f"Init:{_termination_reason(ended)}"
        elif waits and waits != "PodInitializing":
            tally.reason = f"Init:{waits}"
        else:
            tally.reason = f"Init:{index}/{len(items(pod, 'spec', 'initContainers'))}"
        return True
    return False


def _termination_reason(ended: Any) -> str:
    if reason := text(ended, "reason"):
        return reason
    signal = number(ended, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(ended, 'exitCode')}"


def is_any_ready(pod: KubeObject) -> bool:
    """Return whether a pod has the condition Ready."""
    found = items(pod, "status", "conditions")
    return any(at(each, "type") == "Ready" and at(each, "status") == "True" for each in found)
