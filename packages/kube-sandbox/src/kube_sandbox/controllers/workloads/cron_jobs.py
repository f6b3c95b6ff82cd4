"""
CronJob: creates a Job whenever its schedule is due.

Follows kubernetes 1.35 pkg/controller/cronjob/cronjob_controllerv2.go ControllerV2.syncCronJob,
ControllerV2.cleanupFinishedJobs; pkg/controller/cronjob/utils.go nextScheduleTime,
mostRecentScheduleTime.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from kube_objects.refs import KubeObject
from kube_objects.times import format_time, parse_time
from kube_sandbox.controllers.workloads import jobs
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    Step,
    condition_of,
    is_deleting,
    reference_to,
    with_status,
)
from kube_sandbox.registry.cron_schedule import Schedule, parse_schedule

BUCKET = "cronjobs.batch"
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MAX_MISSED_RUNS = 100  # more than so many missed times, and only the last is looked for


def plan(cron: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the Job that is due, those that are too old, and the status."""
    if is_deleting(cron):
        return Plan()
    found = list(seen.get(jobs.BUCKET, ()))
    steps: list[Step] = []
    limits = (
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    )
    for sort, field, default in limits:
        ended = [each for each in found if condition_of(each, sort) and not is_deleting(each)]
        ended.sort(key=lambda each: each["metadata"].get("creationTimestamp", ""))
        kept = cron["spec"].get(field, default)
        steps += [Remove(jobs.BUCKET, each) for each in ended[: max(0, len(ended) - kept)]]
    try:
        schedule = parse_schedule(cron["spec"]["schedule"])
    except ValueError:
        return Plan(tuple(steps))
    due = _due(cron, schedule, moment)
    made = _create_job(cron, found, due, moment) if due else []
    started = due if made and not moment.refusal else None
    before = cron.get("status") or {}
    active = [
        {
            "kind": "Job",
            "namespace": each["metadata"]["namespace"],
            "name": each["metadata"]["name"],
            "uid": each["metadata"]["uid"],
            "apiVersion": "batch/v1",
            "resourceVersion": each["metadata"].get("resourceVersion", ""),
        }
        for each in found
        if not jobs.is_finished(each) and not is_deleting(each)
    ]
    known = {each["uid"]: each for each in before.get("active") or ()}
    done = [each for each in map(jobs.finished_at, found) if each is not None]
    last = before.get("lastSuccessfulTime")
    if done and (last is None or format_time(max(done)) > last):
        last = format_time(max(done))
    status = {
        "active": [known.get(each["uid"], each) for each in active] or None,
        "lastScheduleTime": format_time(started) if started else before.get("lastScheduleTime"),
        "lastSuccessfulTime": last,
    }
    following = schedule.after(_local(cron, moment.now))
    later = (following - moment.now).total_seconds() if following else None
    return Plan((*steps, *made, *with_status(BUCKET, cron, status)), later)


def _local(cron: KubeObject, moment: datetime) -> datetime:
    return moment.astimezone(ZoneInfo(cron["spec"].get("timeZone") or "UTC"))


def _due(cron: KubeObject, schedule: Schedule, moment: PlanContext) -> datetime | None:
    """Return the last time that has come since a Job was last made."""
    if cron["spec"].get("suspend"):
        return None
    last = (cron.get("status") or {}).get("lastScheduleTime")
    since = parse_time(last) or parse_time(cron["metadata"].get("creationTimestamp"))
    limit = cron["spec"].get("startingDeadlineSeconds")
    if since is None:
        return None
    if limit is not None:
        since = max(since, moment.now - timedelta(seconds=limit))
    due: datetime | None = None
    for _ in range(_MAX_MISSED_RUNS):
        following = schedule.after(_local(cron, due or since))
        if following is None or following > moment.now:
            return due.astimezone(UTC) if due else None
        due = following
    # Look back only a little when too much was missed.
    late_due: datetime | None = None
    here = moment.now - timedelta(minutes=_MAX_MISSED_RUNS)
    while (following := schedule.after(_local(cron, late_due or here))) and following <= moment.now:
        late_due = following
    return late_due.astimezone(UTC) if late_due else None


def _create_job(
    cron: KubeObject, found: Sequence[KubeObject], due: datetime, _: PlanContext
) -> list[Step]:
    policy = cron["spec"].get("concurrencyPolicy", "Allow")
    active = [each for each in found if not jobs.is_finished(each) and not is_deleting(each)]
    if active and policy == "Forbid":
        return []
    steps: list[Step] = [Remove(jobs.BUCKET, each) for each in active if policy == "Replace"]
    name = f"{cron['metadata']['name']}-{int(due.timestamp()) // 60}"
    if any(each["metadata"]["name"] == name for each in found):
        return steps
    template = cron["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    labels = {"labels": given["labels"]} if given.get("labels") else {}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": cron["metadata"]["namespace"],
            **labels,
            "annotations": {**given.get("annotations", {}), _SCHEDULED: format_time(due)},
            "ownerReferences": [reference_to(cron)],
        },
        "spec": template["spec"],
    }
    return [*steps, Create(jobs.BUCKET, job)]


CONTROLLER = Controller(BUCKET, plan, owns=(jobs.BUCKET,))
