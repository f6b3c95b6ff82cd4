"""
Rows of workloads: Deployments, Jobs, autoscalers and so on.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printDeployment, printJob,
printCronJob, printHorizontalPodAutoscaler, formatHPAMetrics.
"""

from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_span, parse_time
from kube_sandbox.tables import pod_rows
from kube_sandbox.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Clock,
    Printers,
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

# By condition, in the order in which they are looked up; "" stands for a deletionTimestamp.
_JOB_STATES = {
    "Complete": "Complete",
    "Failed": "Failed",
    "": "Terminating",
    "Suspended": "Suspended",
    "FailureTarget": "FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}


ROWS = Printers({"/Pod": pod_rows.cells})


def _template(obj: KubeObject) -> list[str]:
    return containers(at(obj, "spec", "template"))


@ROWS.of("apps/Deployment")
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


@ROWS.of("apps/ReplicaSet")
def _replica_set(obj: KubeObject, clock: Clock) -> Cells:
    return [*_replicas(obj, clock), selector(at(obj, "spec", "selector")) or NONE]


@ROWS.of("/ReplicationController")
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


@ROWS.of("apps/StatefulSet")
def _stateful_set(obj: KubeObject, clock: Clock) -> Cells:
    ready, wanted = number(obj, "status", "readyReplicas"), number(obj, "spec", "replicas")
    return [name_of(obj), f"{ready}/{wanted}", age_of(obj, clock), *_template(obj)]


@ROWS.of("apps/DaemonSet")
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


@ROWS.of("batch/Job")
def _job(obj: KubeObject, clock: Clock) -> Cells:
    state = "Running"
    for condition_type, shown in _JOB_STATES.items():
        is_deleted = at(obj, "metadata", "deletionTimestamp") is not None
        if is_true(obj, condition_type) if condition_type else is_deleted:
            state = shown
            break
    done, wanted = number(obj, "status", "succeeded"), at(obj, "spec", "completions")
    completions = f"{done}/{1 if wanted is None else wanted}"
    parallel = number(obj, "spec", "parallelism")
    if wanted is None and parallel > 1:
        completions += f" of {parallel}"
    start = parse_time(at(obj, "status", "startTime"))
    end = parse_time(at(obj, "status", "completionTime"))
    return [
        name_of(obj),
        state,
        completions,
        format_span((end or clock.now) - start) if start else "",
        age_of(obj, clock),
        *_template(obj),
        selector(at(obj, "spec", "selector")) or NONE,
    ]


@ROWS.of("batch/CronJob")
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


@ROWS.of("autoscaling/HorizontalPodAutoscaler")
def _autoscaler(obj: KubeObject, clock: Clock) -> Cells:
    target = at(obj, "spec", "scaleTargetRef")
    # The first two metrics as `current/target`, and how many more there are.
    specs = items(obj, "spec", "metrics")
    statuses = items(obj, "status", "currentMetrics")
    if text(obj, "apiVersion") == "autoscaling/v1":
        # The one metric of v1, as v2 writes it.
        percent = at(obj, "spec", "targetCPUUtilizationPercentage")
        now = at(obj, "status", "currentCPUUtilizationPercentage")
        resource = {"name": "cpu", "target": {"averageUtilization": percent}}
        specs = [{"type": "Resource", "resource": resource}] if percent is not None else []
        statuses = [{"resource": {"current": {"averageUtilization": now}}}]
    if not specs:
        metrics = NONE
    else:
        shown = [
            _metric(spec, statuses[i] if i < len(statuses) else None)
            for i, spec in enumerate(specs)
        ]
        first = ", ".join(shown[:2])
        metrics = f"{first} + {len(shown) - 2} more..." if len(shown) > 2 else first
    return [
        name_of(obj),
        f"{text(target, 'kind')}/{text(target, 'name')}",
        metrics,
        text(obj, "spec", "minReplicas", absent=UNSET),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age_of(obj, clock),
    ]


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


@ROWS.of("policy/PodDisruptionBudget")
def _disruption_budget(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        text(obj, "spec", "minAvailable", absent="N/A"),
        text(obj, "spec", "maxUnavailable", absent="N/A"),
        number(obj, "status", "disruptionsAllowed"),
        age_of(obj, clock),
    ]


@ROWS.of("/PodTemplate")
def _pod_template(obj: KubeObject, _: Clock) -> Cells:
    template = at(obj, "template")
    return [name_of(obj), *containers(template), labels(at(template, "metadata", "labels"))]


@ROWS.of("apps/ControllerRevision")
def _controller_revision(obj: KubeObject, clock: Clock) -> Cells:
    owners = items(obj, "metadata", "ownerReferences")
    owner = next((each for each in owners if at(each, "controller")), None)
    named = NONE
    if owner:
        group, slash, _ = text(owner, "apiVersion").partition("/")
        kind = f"{text(owner, 'kind')}.{group}" if slash else text(owner, "kind")
        named = f"{kind.lower()}/{text(owner, 'name')}"
    return [name_of(obj), named, number(obj, "revision"), age_of(obj, clock)]


@ROWS.of("autoscaling/Scale")
def _scale(obj: KubeObject, clock: Clock) -> Cells:
    counts = (number(obj, part, "replicas") for part in ("spec", "status"))
    return [name_of(obj), *counts, age_of(obj, clock)]
