"""
A Job: pods that are to succeed so many times, and are tried again when they fail.

A pod that has ended is counted once: it carries a finalizer until its end stands in the status.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kro_gitops.apiserver.workloads.plans import (
    Controller,
    Create,
    Moment,
    Plan,
    Remove,
    Seen,
    Step,
    Update,
    condition_of,
    is_active,
    is_going,
    is_ready,
    pod_from,
    soonest,
    with_status,
)
from kro_gitops.objects.refs import KubeObject
from kro_gitops.objects.times import parse_time

BUCKET = "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
_INDEX = "batch.kubernetes.io/job-completion-index"
_REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
_EXCEEDED = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_LATE = ("DeadlineExceeded", "Job was active longer than specified deadline")


def plan(job: KubeObject, seen: Seen, moment: Moment) -> Plan:
    """Return the pods to make, to count and to stop, and the status."""
    pods = seen.get("pods", ())
    counted: list[Step] = [
        Update("pods", _untracked(each)) for each in pods if _is_tracked(each) and _has_ended(each)
    ]
    if is_finished(job):
        return _after(job, counted, moment)
    if is_going(job):
        return Plan(tuple(counted))
    if job["spec"].get("suspend"):
        return _suspended(job, pods, moment)
    return _at_work(job, pods, counted, moment)


def is_finished(job: KubeObject) -> bool:
    """Say whether a Job has come to an end, good or bad."""
    found = (condition_of(job, each) for each in ("Complete", "Failed"))
    return any(each is not None and each.get("status") == "True" for each in found)


def _phase(pod: KubeObject) -> str:
    found: str = (pod.get("status") or {}).get("phase", "")
    return found


def _has_ended(pod: KubeObject) -> bool:
    return _phase(pod) in ("Succeeded", "Failed") or is_going(pod)


def _is_tracked(pod: KubeObject) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def _untracked(pod: KubeObject) -> KubeObject:
    rest = [each for each in pod["metadata"]["finalizers"] if each != TRACKING]
    metadata = {name: value for name, value in pod["metadata"].items() if name != "finalizers"}
    return {**pod, "metadata": {**metadata, **({"finalizers": rest} if rest else {})}}


def _after(job: KubeObject, counted: list[Step], moment: Moment) -> Plan:
    """Delete a Job that has ended, if it is to live no longer than that."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None or is_going(job):
        return Plan(tuple(counted))
    ended = next(
        found for each in ("Complete", "Failed") if (found := condition_of(job, each)) is not None
    )
    wait = moment.left(ended.get("lastTransitionTime"), seconds)
    return (
        Plan(tuple(counted), wait)
        if wait
        else Plan((*counted, Remove(BUCKET, job, propagation="Foreground")))
    )


def _suspended(job: KubeObject, pods: Sequence[KubeObject], moment: Moment) -> Plan:
    stopped: list[Step] = [Remove("pods", each) for each in pods if is_active(each)]
    condition = _condition("Suspended", ("JobSuspended", "Job suspended"), moment)
    before = condition_of(job, "Suspended")
    known = before if before and before.get("status") == "True" else condition
    kept = {
        name: value
        for name, value in (job.get("status") or {}).items()
        if name in ("succeeded", "failed")
    }
    status = {**kept, **_idle(), "conditions": [known]}
    return Plan((*stopped, *with_status(BUCKET, job, status)))


def _idle() -> dict[str, Any]:
    return {"terminating": 0, "uncountedTerminatedPods": {}, "ready": 0}


def _condition(sort: str, told: tuple[str, str], moment: Moment) -> dict[str, Any]:
    return {
        "type": sort,
        "status": "True",
        "lastProbeTime": moment.text,
        "lastTransitionTime": moment.text,
        "reason": told[0],
        "message": told[1],
    }


def _at_work(
    job: KubeObject, pods: Sequence[KubeObject], counted: list[Step], moment: Moment
) -> Plan:
    spec, before = job["spec"], job.get("status") or {}
    fresh = [each for each in pods if _is_tracked(each) and _has_ended(each)]
    succeeded = before.get("succeeded", 0) + sum(_phase(each) == "Succeeded" for each in fresh)
    failed = before.get("failed", 0) + sum(_phase(each) == "Failed" for each in fresh)
    active = [each for each in pods if is_active(each)]
    start = before.get("startTime", moment.text)
    deadline = spec.get("activeDeadlineSeconds")
    left = moment.left(start, deadline) if deadline else None
    end = _end(job, (succeeded, failed), left, is_restarted=any(map(_is_restarted, active)))
    changed: list[Step] = []
    made = 0
    if end is None:
        changed = _made(job, active, succeeded, pods)
        made = 0 if moment.refusal else len(changed)
    elif end[0] != "Complete":
        changed = [Remove("pods", each) for each in active]
        failed += len(active)  # those that are stopped have failed, too
    status = {
        "startTime": start,
        **_counts(len(active) + made if end is None else 0, succeeded, failed),
        **_idle(),
        "ready": sum(map(is_ready, active)) if end is None else 0,
        **_indexes(job, pods),
        **_ended(job, end, moment),
    }
    told = with_status(BUCKET, job, status)
    # What is counted stands in the status before the pod is let go; what is made, only then.
    steps = (*told, *counted, *changed) if counted else (*changed, *told)
    return Plan(steps, soonest(left or None))


def _counts(active: int, succeeded: int, failed: int) -> dict[str, int]:
    found = {"active": active, "succeeded": succeeded, "failed": failed}
    return {name: count for name, count in found.items() if count}


def _is_restarted(pod: KubeObject) -> bool:
    """Say whether a pod's containers fail, and are started again and again."""
    found = (pod.get("status") or {}).get("containerStatuses") or ()
    states = (each.get("state", {}).get("waiting") or {} for each in found)
    return any(each.get("reason") == "CrashLoopBackOff" for each in states)


def _end(
    job: KubeObject, counts: tuple[int, int], left: float | None, *, is_restarted: bool
) -> tuple[str, tuple[str, str]] | None:
    """Say how a Job has ended, if it has."""
    succeeded, failed = counts
    wanted = job["spec"].get("completions")
    if succeeded >= (wanted if wanted is not None else 1) and (wanted is not None or succeeded):
        return "Complete", _REACHED
    if left == 0.0:
        return "Failed", _LATE
    # Restarts count as failures, and the pretended ones take no time.
    if is_restarted or failed > job["spec"].get("backoffLimit", 6):
        return "Failed", _EXCEEDED
    return None


def _ended(
    job: KubeObject, end: tuple[str, tuple[str, str]] | None, moment: Moment
) -> dict[str, Any]:
    known = [
        each
        for each in (job.get("status") or {}).get("conditions") or ()
        if each["type"] != "Suspended"
    ]
    resumed = condition_of(job, "Suspended")
    if resumed is not None and resumed["status"] == "True":
        back = _condition("Suspended", ("JobResumed", "Job resumed"), moment)
        known.append({**back, "status": "False"})
    elif resumed is not None:
        known.append(resumed)
    if end is None:
        return {"conditions": known} if known else {}
    sort, told = end
    first = "SuccessCriteriaMet" if sort == "Complete" else "FailureTarget"
    found = [*known, _condition(first, told, moment), _condition(sort, told, moment)]
    done = {"completionTime": moment.text} if sort == "Complete" else {}
    return {"conditions": found, **done}


def _made(
    job: KubeObject, active: Sequence[KubeObject], succeeded: int, pods: Sequence[KubeObject]
) -> list[Step]:
    spec = job["spec"]
    wanted = spec.get("completions")
    room = spec.get("parallelism", 1)
    if wanted is not None:
        room = min(room, wanted - succeeded)
    elif succeeded:
        room = 0
    missing = max(0, room - len(active))
    if spec.get("completionMode") == "Indexed" and wanted is not None:
        taken = {_index(each) for each in pods if is_active(each) or _phase(each) == "Succeeded"}
        free = [each for each in range(wanted) if each not in taken][:missing]
        return [Create("pods", _pod(job, each)) for each in free]
    return [Create("pods", _pod(job)) for _ in range(missing)]


def _index(pod: KubeObject) -> int:
    return int((pod["metadata"].get("annotations") or {}).get(_INDEX, -1))


def _indexes(job: KubeObject, pods: Sequence[KubeObject]) -> dict[str, str]:
    """Print the numbers of an indexed Job that are done: `0,2-4`."""
    if job["spec"].get("completionMode") != "Indexed":
        return {}
    done = sorted({_index(each) for each in pods if _phase(each) == "Succeeded"})
    runs: list[list[int]] = []
    for each in done:
        if runs and runs[-1][-1] == each - 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    shown = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return {"completedIndexes": ",".join(shown)} if shown else {}


def _pod(job: KubeObject, index: int | None = None) -> KubeObject:
    name = job["metadata"]["name"]
    numbered = {} if index is None else {_INDEX: str(index)}
    prefix = f"{name}-" if index is None else f"{name}-{index}-"
    pod = pod_from(job["spec"]["template"], job, generateName=prefix, labels=numbered)
    metadata: dict[str, Any] = {**pod["metadata"], "finalizers": [TRACKING]}
    if index is None:
        return {**pod, "metadata": metadata}
    metadata["annotations"] = {**metadata.get("annotations", {}), **numbered}
    spec = {**pod["spec"], "hostname": f"{name}-{index}"}
    return {**pod, "metadata": metadata, "spec": spec}


def finished_at(job: KubeObject) -> datetime | None:
    """Return when a Job succeeded, or `None`."""
    return parse_time((job.get("status") or {}).get("completionTime"))


CONTROLLER = Controller(BUCKET, plan, owns=("pods",), adopts=lambda *_: True)
