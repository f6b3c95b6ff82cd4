"""
The pods of a Job: how they are created, counted and numbered.

A pod keeps a finalizer until the Job's status counts its end, so that it is counted once.

Follows kubernetes 1.35 pkg/controller/job/indexed_job_utils.go addCompletionIndexAnnotation,
getIndexFailureCount, parseIndexesFromString; pkg/controller/job/job_controller.go
appendJobCompletionFinalizerIfNotFound.
"""

from collections.abc import Iterable, Sequence

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.plan_steps import is_deleting, pod_from

TRACKING = "batch.kubernetes.io/job-tracking"
_OWN = "batch.kubernetes.io/job-"
_INDEX = f"{_OWN}completion-index"
_FAILURES, _IGNORED = f"{_OWN}index-failure-count", f"{_OWN}index-ignored-failure-count"
_VARIABLE = "JOB_COMPLETION_INDEX"


def phase_of(pod: KubeObject) -> str:
    """Return a pod's phase; empty if it has none."""
    found: str = (pod.get("status") or {}).get("phase", "")
    return found


def has_succeeded(pod: KubeObject) -> bool:
    """Return whether a pod ended well."""
    return phase_of(pod) == "Succeeded"


def has_failed(pod: KubeObject) -> bool:
    """Return whether a pod counts as failed; one that is deleted before its end does."""
    return phase_of(pod) == "Failed" or (is_deleting(pod) and not has_succeeded(pod))


def is_tracked(pod: KubeObject) -> bool:
    """Return whether a pod waits to be counted."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def untracked(pod: KubeObject) -> KubeObject:
    """Return a pod that need not be counted any more."""
    rest = [each for each in pod["metadata"]["finalizers"] if each != TRACKING]
    metadata = {name: value for name, value in pod["metadata"].items() if name != "finalizers"}
    return {**pod, "metadata": {**metadata, **({"finalizers": rest} if rest else {})}}


# Numbers


def is_indexed(job: KubeObject) -> bool:
    """Return whether a Job's pods have numbers."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: KubeObject) -> int:
    """Return a pod's number; -1 if it has none."""
    return _number(pod, _INDEX, -1)


def _number(pod: KubeObject, name: str, absent: int = 0) -> int:
    written = (pod["metadata"].get("annotations") or {}).get(name, "")
    return int(written) if written.isdigit() else absent


def failures_of(pod: KubeObject) -> int:
    """Return how often pods of a pod's number had failed before it."""
    return _number(pod, _FAILURES)


def format_indexes(numbers: Iterable[int]) -> str:
    """Print numbers as a status has them: `0,2-4,6,7`."""
    runs: list[list[int]] = []
    for each in sorted(numbers):
        if runs and runs[-1][-1] == each - 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    shown = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
    return ",".join(shown)


def parse_indexes(text: str) -> set[int]:
    """Read what `format_indexes` prints; what is no number is none."""
    found: set[int] = set()
    for each in filter(None, text.split(",")):
        first, _, last = each.partition("-")
        if first.isdigit() and (last or first).isdigit():
            found |= set(range(int(first), int(last or first) + 1))
    return found


# Making them


def new_pod(job: KubeObject) -> KubeObject:
    """Return a new pod."""
    name = job["metadata"]["name"]
    return _tracking(pod_from(job["spec"]["template"], job, generateName=f"{name}-"))


def new_indexed_pod(
    job: KubeObject, index: int, failures: tuple[int, int] | None = None
) -> KubeObject:
    """Return a new pod with a number; `failures`: those before it, that count and that do not."""
    name, mark = job["metadata"]["name"], {_INDEX: str(index)}
    pod = _tracking(
        pod_from(job["spec"]["template"], job, generateName=f"{name}-{index}-", labels=mark)
    )
    metadata = pod["metadata"]
    annotations = {**metadata.get("annotations", {}), **mark}
    if failures is not None:
        annotations[_FAILURES] = str(failures[0])
        if failures[1]:
            annotations[_IGNORED] = str(failures[1])
    spec = {**pod["spec"], "hostname": f"{name}-{index}"}
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{_INDEX}']"}}
    variable = {"name": _VARIABLE, "valueFrom": source}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [
                container
                if any(each.get("name") == _VARIABLE for each in container.get("env") or ())
                else {**container, "env": [*(container.get("env") or ()), variable]}
                for container in spec[field]
            ]
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def next_failures(failed: Sequence[KubeObject], ignored: Sequence[KubeObject]) -> tuple[int, int]:
    """Return what stands on the next pod of a number after those that failed, or only seemed to."""
    every = [*failed, *ignored]
    counts = [failures_of(each) + 1 for each in failed] + list(map(failures_of, ignored))
    skipped = [_number(each, _IGNORED) for each in every]
    more = [_number(each, _IGNORED) + 1 for each in ignored]
    return max(counts, default=0), max([*skipped, *more], default=0)


def _tracking(pod: KubeObject) -> KubeObject:
    others = pod["metadata"].get("finalizers") or []
    return {**pod, "metadata": {**pod["metadata"], "finalizers": [*others, TRACKING]}}
