"""
Job: creates pods until enough have succeeded, and retries failed ones within its policies.

Follows kubernetes 1.35 pkg/controller/job/job_controller.go Controller.syncJob,
Controller.manageJob, Controller.trackJobStatusAndRemoveFinalizers;
pkg/controller/job/backoff_utils.go getRemainingTimeForFailuresCount;
pkg/controller/ttlafterfinished/ttlafterfinished_controller.go Controller.processJob;
pkg/controller/job/pod_failure_policy.go matchPodFailurePolicy;
pkg/controller/job/success_policy.go matchSuccessPolicy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import parse_time
from kube_sandbox.controllers.workloads import job_pods
from kube_sandbox.controllers.workloads.job_pods import has_failed, parse_indexes
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    Step,
    Update,
    condition_of,
    deletion_rank,
    is_active,
    is_deleting,
    is_ready,
    soonest,
    with_status,
)

BUCKET = "jobs.batch"
_End = tuple[str, str, str]  # the condition's type, reason and message
_REACHED = ("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
_EXCEEDED = ("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
_RESUMED = ("JobResumed", "Job resumed")
_DEADLINE_EXCEEDED = ("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
_FAILED_INDEXES = ("Failed", "FailedIndexes", "Job has failed indexes")
_LOST_TOO_MANY = (
    "Failed",
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)


def plan(job: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the pods to make, to count and to stop, and the status."""
    turn = _JobSync(job, seen.get("pods", ()), moment)
    if is_finished(job):
        counted = turn.counted
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is None or is_deleting(job):
            return Plan(tuple(counted))
        ended = condition_of(job, "Complete") or condition_of(job, "Failed") or {}
        wait = moment.left(ended.get("lastTransitionTime"), seconds)
        if wait:
            return Plan(tuple(counted), wait)
        return Plan((*counted, Remove(BUCKET, job, propagation="Foreground")))
    if is_deleting(job):
        return Plan(tuple(turn.counted))
    return turn.plan()


def is_finished(job: KubeObject) -> bool:
    """Return whether a Job has come to an end, good or bad."""
    found = (condition_of(job, each) for each in ("Complete", "Failed"))
    return any(each is not None and each.get("status") == "True" for each in found)


@dataclass(frozen=True)
class _JobSync:
    """One look at a Job that is at work, or suspended."""

    job: KubeObject
    pods: Sequence[KubeObject]
    moment: PlanContext

    # Observed state

    @property
    def _spec(self) -> dict[str, Any]:
        found: dict[str, Any] = self.job["spec"]
        return found

    @property
    def _before(self) -> dict[str, Any]:
        return self.job.get("status") or {}

    @property
    def _is_suspended(self) -> bool:
        return bool(self._spec.get("suspend"))

    @cached_property
    def _fresh(self) -> list[KubeObject]:
        """Return the pods that have ended and are not counted yet."""
        ended = (job_pods.has_succeeded, job_pods.has_failed)
        return [
            each for each in self.pods if job_pods.is_tracked(each) and any(e(each) for e in ended)
        ]

    @property
    def counted(self) -> list[Step]:
        """Return the steps that let pods go that are counted."""
        return [Update("pods", job_pods.untracked(each)) for each in self._fresh]

    @cached_property
    def _active(self) -> list[KubeObject]:
        return [each for each in self.pods if is_active(each)]

    @cached_property
    def _failed(self) -> int:
        fresh = (each for each in self._fresh if job_pods.has_failed(each))
        more = sum(not is_ignored(self.job, each) for each in fresh)
        found: int = self._before.get("failed", 0)
        return found + more

    @cached_property
    def _succeeded(self) -> int:
        if job_pods.is_indexed(self.job):
            return len(self._done)
        found: int = self._before.get("succeeded", 0)
        return found + sum(map(job_pods.has_succeeded, self._fresh))

    @cached_property
    def _done(self) -> set[int]:
        """Return the numbers that are done."""
        fresh = {job_pods.index_of(each) for each in self._fresh if job_pods.has_succeeded(each)}
        known = job_pods.parse_indexes(self._before.get("completedIndexes", ""))
        return {each for each in known | fresh if 0 <= each < self._spec["completions"]}

    @cached_property
    def _lost(self) -> set[int]:
        """Return the numbers that have failed for good."""
        limit = self._spec.get("backoffLimitPerIndex")
        if limit is None:
            return set()
        fresh = {
            job_pods.index_of(each)
            for each in self._fresh
            if job_pods.has_failed(each)
            and not is_ignored(self.job, each)
            and (job_pods.failures_of(each) >= limit or fails_index(self.job, each))
        }
        known = job_pods.parse_indexes(self._before.get("failedIndexes", ""))
        return {each for each in known | fresh if 0 <= each < self._spec["completions"]}

    @property
    def _start(self) -> str | None:
        """Return when the Job was started, or started again."""
        known: str | None = self._before.get("startTime")
        if self._is_suspended:
            return known
        paused = condition_of(self.job, "Suspended")
        is_resumed = paused is not None and paused["status"] == "True"
        return self.moment.text if is_resumed or known is None else known

    @property
    def _left(self) -> float | None:
        """Return the seconds until it is late; `None` if it never is."""
        deadline = self._spec.get("activeDeadlineSeconds")
        return (
            None if not deadline or self._is_suspended else self.moment.left(self._start, deadline)
        )

    # Result

    @cached_property
    def _end(self) -> _End | None:
        """Say how a Job has ended, if it has, whatever still runs."""
        words = failing(self.job, self.pods)
        if words:
            return "Failed", "PodFailurePolicy", words
        # A restart counts as a failure, and simulated restarts follow each other at once.
        states = (
            container.get("state", {}).get("waiting") or {}
            for pod in self._active
            for container in (pod.get("status") or {}).get("containerStatuses") or ()
        )
        is_restarted = any(state.get("reason") == "CrashLoopBackOff" for state in states)
        if is_restarted or self._failed > self._spec.get("backoffLimit", 6):
            return _EXCEEDED
        if self._left == 0.0:
            return _DEADLINE_EXCEEDED
        if not job_pods.is_indexed(self.job):
            return None
        most = self._spec.get("maxFailedIndexes")
        if most is not None and len(self._lost) > most:
            return _LOST_TOO_MANY
        if self._lost and len(self._lost | self._done) >= self._spec["completions"]:
            return _FAILED_INDEXES
        words = success(self.job, self._done)
        return ("Complete", "SuccessPolicy", words) if words else None

    # Steps

    def plan(self) -> Plan:
        """Return the pods to make, to count and to stop, and the status."""
        end, changed, active = self._end, list[Step](), self._active
        failed = self._failed
        if end is not None:
            changed = [Remove("pods", each) for each in active]
            failed += len(active)  # those that are stopped have failed, too
            active, made = [], 0
        else:
            changed, active, made = self._managed()
            completions = self._spec.get("completions")
            is_reached = self._succeeded >= (1 if completions is None else completions)
            if is_reached and not active and not made:
                end = _REACHED
        counts = {"active": len(active) + made, "succeeded": self._succeeded, "failed": failed}
        indexes: dict[str, str] = {}
        if job_pods.is_indexed(self.job) and self._done:
            indexes["completedIndexes"] = job_pods.format_indexes(self._done)
        if job_pods.is_indexed(self.job) and "backoffLimitPerIndex" in self._spec:
            indexes["failedIndexes"] = job_pods.format_indexes(self._lost)
        terminating = sum(
            is_deleting(each) and not job_pods.has_succeeded(each) for each in self.pods
        )
        found = list(self._before.get("conditions") or ())
        before = condition_of(self.job, "Suspended")
        suspended = "True" if self._is_suspended else "False"
        if end is None and (before or {"status": "False"})["status"] != suspended:
            words = ("JobSuspended", "Job suspended") if self._is_suspended else _RESUMED
            others = [each for each in found if each["type"] != "Suspended"]
            found = [*others, self._condition("Suspended", suspended, *words)]
        if end is None:
            conditions: dict[str, Any] = {"conditions": found} if found else {}
        else:
            sort, *message = end
            first = "SuccessCriteriaMet" if sort == "Complete" else "FailureTarget"
            found += [self._condition(each, "True", *message) for each in (first, sort)]
            done = {"completionTime": self.moment.text} if sort == "Complete" else {}
            conditions = {"conditions": found, **done}
        status = {
            "startTime": self._start,
            **{name: count for name, count in counts.items() if count},
            "terminating": terminating if end is None else 0,
            "uncountedTerminatedPods": {},
            "ready": sum(map(is_ready, active)),
            **indexes,
            **conditions,
        }
        status_steps, counted = with_status(BUCKET, self.job, status), self.counted
        # A pod is counted in the status before its finalizer is removed.
        steps = (*status_steps, *counted, *changed) if counted else (*changed, *status_steps)
        return Plan(steps, soonest(self._left or None))

    def _managed(self) -> tuple[list[Step], list[KubeObject], int]:
        """Return the steps to the desired pods, the pods that stay, and the number created."""
        ordered = sorted(self._active, key=deletion_rank)
        found: list[KubeObject] = []
        if job_pods.is_indexed(self.job):
            best = {job_pods.index_of(each): each for each in ordered}
            kept = [each for index, each in best.items() if index < self._spec["completions"]]
            found = [each for each in ordered if each not in kept]
        more = len(ordered) - len(found) - self._wanted
        surplus = found + [each for each in ordered if each not in found][: max(0, more)]
        if surplus:
            steps: list[Step] = []
            for each in surplus:
                # Not a failure: it is not counted.
                steps += [Update("pods", job_pods.untracked(each))] * job_pods.is_tracked(each)
                steps.append(Remove("pods", each))
            return steps, [each for each in self._active if each not in surplus], 0
        missing = max(0, self._wanted - len(self._active))
        if not job_pods.is_indexed(self.job):
            made: list[Step] = [Create("pods", job_pods.new_pod(self.job)) for _ in range(missing)]
        else:
            taken = {job_pods.index_of(each) for each in self._active} | self._done | self._lost
            free = [each for each in range(self._spec["completions"]) if each not in taken]
            made = []
            for index in free[:missing]:
                failures = None
                if "backoffLimitPerIndex" in self._spec:
                    before = [
                        pod
                        for pod in self.pods
                        if job_pods.index_of(pod) == index and job_pods.has_failed(pod)
                    ]
                    ignored = [pod for pod in before if is_ignored(self.job, pod)]
                    failed = [pod for pod in before if pod not in ignored]
                    failures = job_pods.next_failures(failed, ignored)
                pod = job_pods.new_indexed_pod(self.job, index, failures)
                made.append(Create("pods", pod))
        return made, self._active, 0 if self.moment.refusal else len(made)

    @property
    def _wanted(self) -> int:
        """Return how many pods are to be at work."""
        completions: int | None = self._spec.get("completions")
        room: int = self._spec.get("parallelism", 1)
        if self._is_suspended:
            return 0
        if completions is None:
            return len(self._active) if self._succeeded else room
        return max(0, min(room, completions - self._succeeded))

    # Status

    def _condition(self, sort: str, status: str, reason: str, message: str) -> dict[str, Any]:
        return {
            "type": sort,
            "status": status,
            "lastProbeTime": self.moment.text,
            "lastTransitionTime": self.moment.text,
            "reason": reason,
            "message": message,
        }


def finished_at(job: KubeObject) -> datetime | None:
    """Return when a Job succeeded, or `None`."""
    return parse_time((job.get("status") or {}).get("completionTime"))


def is_ignored(job: KubeObject, pod: KubeObject) -> bool:
    """Return whether a failed pod does not count as one."""
    return _action(job, pod)[0] == "Ignore"


def fails_index(job: KubeObject, pod: KubeObject) -> bool:
    """Return whether a failed pod's number is not tried again."""
    return _action(job, pod)[0] == "FailIndex"


def failing(job: KubeObject, pods: Iterable[KubeObject]) -> str:
    """Return why a pod that failed fails its whole Job; empty if none does."""
    found = (_action(job, each) for each in pods if has_failed(each))
    return next((words for action, words in found if action == "FailJob"), "")


def _action(job: KubeObject, pod: KubeObject) -> tuple[str, str]:
    """Return what the first rule that a failed pod matches has done, and the words for it."""
    metadata = pod["metadata"]
    named = f"{metadata['namespace']}/{metadata['name']}"
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        cause = _cause(rule, pod.get("status") or {}, named)
        if cause:
            return rule["action"], f"{cause} matching {rule['action']} rule at index {number}"
    return "", ""


def _cause(rule: Mapping[str, Any], status: Mapping[str, Any], named: str) -> str:
    """Return what of a pod's status matches a rule; empty if nothing does."""
    codes = rule.get("onExitCodes")
    if codes:
        containers = [
            *(status.get("containerStatuses") or ()),
            *(status.get("initContainerStatuses") or ()),
        ]
        for container in containers:
            name = container["name"]
            code = ((container.get("state") or {}).get("terminated") or {}).get("exitCode")
            is_concerned = code and codes.get("containerName", name) == name
            if is_concerned and (code in codes["values"]) == (codes["operator"] == "In"):
                return f"Container {name} for pod {named} failed with exit code {code}"
        return ""
    patterns = {(each["type"], each["status"]) for each in rule.get("onPodConditions") or ()}
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) in patterns:
            return f"Pod {named} has condition {condition['type']}"
    return ""


def success(job: KubeObject, done: set[int]) -> str:
    """Say by which rule enough numbers of a Job are done; empty if by none."""
    for number, rule in enumerate((job["spec"].get("successPolicy") or {}).get("rules") or ()):
        wanted = parse_indexes(rule["succeededIndexes"]) if "succeededIndexes" in rule else None
        count = rule.get("succeededCount")
        met = len(done if wanted is None else done & wanted)
        if (wanted is not None and met == len(wanted)) or (count is not None and met >= count):
            return f"Matched rules at index {number}"
    return ""


CONTROLLER = Controller(BUCKET, plan, owns=("pods",), adopts=lambda *_: True)
