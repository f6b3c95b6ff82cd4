"""
The numbers of an indexed Job: which are done, which have failed for good, and which are next.

A pod says how often its number failed before it, so that the pods that did need not be kept.
"""

from collections.abc import Collection, Sequence
from typing import Any

from kro_gitops.apiserver.workloads.plans import is_active
from kro_gitops.objects.refs import KubeObject

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
_LIMIT, _MOST = "backoffLimitPerIndex", "maxFailedIndexes"
_TOO_MANY = (
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
_SOME = ("FailedIndexes", "Job has failed indexes")


def is_indexed(job: KubeObject) -> bool:
    """Say whether each of a Job's pods has a number."""
    spec = job["spec"]
    return spec.get("completionMode") == "Indexed" and spec.get("completions") is not None


def free_indexes(job: KubeObject, pods: Sequence[KubeObject]) -> list[int]:
    """Return the numbers that nobody works at, and that are neither done nor given up."""
    taken = {_number(each, INDEX, -1) for each in pods if is_active(each)}
    over = taken | _done(pods) | _failed(job, pods)
    return [each for each in range(job["spec"]["completions"]) if each not in over]


def index_marks(job: KubeObject, pods: Sequence[KubeObject], index: int) -> dict[str, str]:
    """Return the annotations of the next pod of a number."""
    marks = {INDEX: str(index)}
    if _LIMIT not in job["spec"]:
        return marks
    ended = [each for each in pods if _number(each, INDEX, -1) == index and _has_failed(each)]
    failures = max((_number(each, FAILURES, 0) + 1 for each in ended), default=0)
    return {**marks, FAILURES: str(failures)}


def index_failure(job: KubeObject, pods: Sequence[KubeObject]) -> tuple[str, str] | None:
    """Return why a Job has failed on account of its numbers; `None` if it has not."""
    spec, failed = job["spec"], _failed(job, pods)
    if _MOST in spec and len(failed) > spec[_MOST]:
        return _TOO_MANY
    is_over = bool(failed) and len(failed | _done(pods)) >= spec["completions"]
    return _SOME if is_over else None


def index_status(job: KubeObject, pods: Sequence[KubeObject]) -> dict[str, Any]:
    """Return what a Job's status says of its numbers."""
    if not is_indexed(job):
        return {}
    done = _ranges(_done(pods))
    failed = {"failedIndexes": _ranges(_failed(job, pods))} if _LIMIT in job["spec"] else {}
    return {**({"completedIndexes": done} if done else {}), **failed}


def _done(pods: Sequence[KubeObject]) -> set[int]:
    return {_number(each, INDEX, -1) for each in pods if _phase(each) == "Succeeded"}


def _failed(job: KubeObject, pods: Sequence[KubeObject]) -> set[int]:
    """Return the numbers that failed more often than they may; without a limit, none."""
    limit = job["spec"].get(_LIMIT)
    if limit is None:
        return set()
    spent = (each for each in pods if _has_failed(each) and _number(each, FAILURES, 0) >= limit)
    return {_number(each, INDEX, -1) for each in spent} - _done(pods)


def _has_failed(pod: KubeObject) -> bool:
    return _phase(pod) == "Failed"


def _phase(pod: KubeObject) -> str:
    found: str = (pod.get("status") or {}).get("phase", "")
    return found


def _number(pod: KubeObject, annotation: str, default: int) -> int:
    written = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return int(written) if written.isdecimal() else default


def _ranges(numbers: Collection[int]) -> str:
    """Print numbers as a status has them: `0,2-4`."""
    runs: list[list[int]] = []
    for each in sorted(numbers):
        if runs and runs[-1][-1] == each - 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
