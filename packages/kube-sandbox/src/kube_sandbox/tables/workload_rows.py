"""
The rows of kinds that run something: Deployments, Jobs, autoscalers and their like.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printDeployment, printJob,
printCronJob, printHorizontalPodAutoscaler, formatHPAMetrics.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_span, parse_time
from kube_sandbox.tables import pod_rows
from kube_sandbox.tables.ages import Clock
from kube_sandbox.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Print,
    age_of,
    at,
    containers,
    is_true,
    items,
    labels,
    name_of,
    number,
    selector,
    text,
)

_JOB_STATES = {
    "Complete": "Complete",
    "Failed": "Failed",
    "": "Terminating",
    "Suspended": "Suspended",
    "FailureTarget": "FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}


def _template(obj: KubeObject) -> list[str]:
    return containers(at(obj, "spec", "template"))


def _deployment(obj: KubeObject, clock: Clock) -> Cells:
    ready, wanted = number(obj, "status", "readyReplicas"), number(obj, "spec", "replicas")
    return [
        name_of(obj),
        f"{ready}/{wanted}",
        number(obj, "status", "updatedReplicas"),
        number(obj, "status", "availableReplicas"),
        age_of(obj, clock),
        *_template(obj),
        selector(at(obj, "spec", "selector")),
    ]


def _replica_set(obj: KubeObject, clock: Clock) -> Cells:
    return [*_replicas(obj, clock), selector(at(obj, "spec", "selector")) or NONE]


def _replication_controller(obj: KubeObject, clock: Clock) -> Cells:
    return [*_replicas(obj, clock), labels(at(obj, "spec", "selector"))]


def _replicas(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        number(obj, "spec", "replicas"),
        number(obj, "status", "replicas"),
        number(obj, "status", "readyReplicas"),
        age_of(obj, clock),
        *_template(obj),
    ]


def _stateful_set(obj: KubeObject, clock: Clock) -> Cells:
    ready, wanted = number(obj, "status", "readyReplicas"), number(obj, "spec", "replicas")
    return [name_of(obj), f"{ready}/{wanted}", age_of(obj, clock), *_template(obj)]


def _daemon_set(obj: KubeObject, clock: Clock) -> Cells:
    counted = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        name_of(obj),
        *(number(obj, "status", each) for each in counted),
        labels(at(obj, "spec", "template", "spec", "nodeSelector")),
        age_of(obj, clock),
        *_template(obj),
        selector(at(obj, "spec", "selector")) or NONE,
    ]


def _job(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        _job_state(obj),
        _completions(obj),
        _job_duration(obj, clock),
        age_of(obj, clock),
        *_template(obj),
        selector(at(obj, "spec", "selector")) or NONE,
    ]


def _job_state(obj: KubeObject) -> str:
    goes = at(obj, "metadata", "deletionTimestamp") is not None
    for sort, state in _JOB_STATES.items():
        if is_true(obj, sort) if sort else goes:
            return state
    return "Running"


def _completions(obj: KubeObject) -> str:
    done, wanted = number(obj, "status", "succeeded"), at(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = number(obj, "spec", "parallelism")
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: KubeObject, clock: Clock) -> str:
    start = parse_time(at(obj, "status", "startTime"))
    end = parse_time(at(obj, "status", "completionTime"))
    return format_span((end or clock.now) - start) if start else ""


def _cron_job(obj: KubeObject, clock: Clock) -> Cells:
    last = at(obj, "status", "lastScheduleTime")
    suspend = at(obj, "spec", "suspend")
    job = at(obj, "spec", "jobTemplate", "spec")
    return [
        name_of(obj),
        text(obj, "spec", "schedule"),
        text(obj, "spec", "timeZone", absent=NONE),
        UNSET if suspend is None else str(bool(suspend)),
        len(items(obj, "status", "active")),
        clock.since(last) if last else NONE,
        age_of(obj, clock),
        *containers(at(job, "template")),
        selector(at(job, "selector")) or NONE,
    ]


def _autoscaler(obj: KubeObject, clock: Clock) -> Cells:
    target = at(obj, "spec", "scaleTargetRef")
    return [
        name_of(obj),
        f"{text(target, 'kind')}/{text(target, 'name')}",
        _metrics(obj),
        text(obj, "spec", "minReplicas", absent=UNSET),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age_of(obj, clock),
    ]


def _metrics(obj: KubeObject) -> str:
    wanted, found = items(obj, "spec", "metrics"), items(obj, "status", "currentMetrics")
    if text(obj, "apiVersion") == "autoscaling/v1":
        wanted, found = _first_version(obj)
    if not wanted:
        return NONE
    shown = [_metric(each, found[i] if i < len(found) else None) for i, each in enumerate(wanted)]
    told = ", ".join(shown[:2])
    return f"{told} + {len(shown) - 2} more..." if len(shown) > 2 else told


def _first_version(obj: KubeObject) -> tuple[list[Any], list[Any]]:
    """Return the one metric of version 1 as version 2 has it."""
    target = at(obj, "spec", "targetCPUUtilizationPercentage")
    now = at(obj, "status", "currentCPUUtilizationPercentage")
    if target is None:
        return [], []
    named = {"name": "cpu"}
    wanted = {"type": "Resource", "resource": {**named, "target": {"averageUtilization": target}}}
    found = {"resource": {**named, "current": {"averageUtilization": now}}}
    return [wanted], [found] if now is not None else []


def _metric(wanted: Any, found: Any) -> str:
    sort = text(wanted, "type")
    part = sort[:1].lower() + sort[1:]
    if sort not in ("External", "Pods", "Object", "Resource", "ContainerResource"):
        return "<unknown type>"
    target, current = at(wanted, part, "target"), at(found, part, "current")
    prefix = f"{text(wanted, part, 'name')}: " if sort.endswith("Resource") else ""
    average = at(target, "averageValue")
    if prefix and average is None:
        now = at(current, "averageUtilization")
        goal = at(target, "averageUtilization")
        shown = "<unknown>" if now is None else f"{now}%"
        return f"{prefix}{shown}/{'<auto>' if goal is None else f'{goal}%'}"
    if average is not None:
        now = text(current, "averageValue", absent="<unknown>")
        return f"{prefix}{now}/{average}{' (avg)' if sort in ('External', 'Object') else ''}"
    return f"{text(current, 'value', absent='<unknown>')}/{text(target, 'value', absent='0')}"


def _disruption_budget(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        text(obj, "spec", "minAvailable", absent="N/A"),
        text(obj, "spec", "maxUnavailable", absent="N/A"),
        number(obj, "status", "disruptionsAllowed"),
        age_of(obj, clock),
    ]


def _pod_template(obj: KubeObject, _: Clock) -> Cells:
    template = at(obj, "template")
    return [name_of(obj), *containers(template), labels(at(template, "metadata", "labels"))]


def _controller_revision(obj: KubeObject, clock: Clock) -> Cells:
    owners = items(obj, "metadata", "ownerReferences")
    owner = next((each for each in owners if at(each, "controller")), None)
    named = NONE
    if owner:
        group, slash, _ = text(owner, "apiVersion").partition("/")
        kind = f"{text(owner, 'kind')}.{group}" if slash else text(owner, "kind")
        named = f"{kind.lower()}/{text(owner, 'name')}"
    return [name_of(obj), named, number(obj, "revision"), age_of(obj, clock)]


def _scale(obj: KubeObject, clock: Clock) -> Cells:
    counts = (number(obj, part, "replicas") for part in ("spec", "status"))
    return [name_of(obj), *counts, age_of(obj, clock)]


ROWS: Mapping[tuple[str, str], Print] = {
    ("", "Pod"): pod_rows.cells,
    ("", "PodTemplate"): _pod_template,
    ("", "ReplicationController"): _replication_controller,
    ("apps", "ControllerRevision"): _controller_revision,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("autoscaling", "Scale"): _scale,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("policy", "PodDisruptionBudget"): _disruption_budget,
}
