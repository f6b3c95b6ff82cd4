"""
Validation of a changed Job status: a finished Job stays finished.

Follows kubernetes 1.35 pkg/apis/batch/validation/validation.go ValidateJobUpdateStatus,
validateJobStatus; pkg/registry/batch/job/strategy.go getStatusValidationOptions.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, nonnegatives
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.builtin.jobs.completion_indexes import (
    WrongIndexesError,
    count_indexes,
    overlap,
)
from kube_sandbox.registry.field_errors import ErrorType, FieldError, duplicate, invalid, required
from kube_sandbox.registry.object_meta import IMMUTABLE

_NUMBERS = ("active", "succeeded", "failed", "ready", "terminating")
_UNCOUNTED = "uncountedTerminatedPods"
# Conditions that exclude one another, or need one another, and what is said.
_TERMINAL = ("Failed", "Complete", "FailureTarget")


def check_job_status(new: KubeObject, old: KubeObject) -> Errors:
    """Return the errors in a changed status."""
    status, before = new.get("status", {}), old.get("status", {})
    found: Errors = []
    found += nonnegatives(status, _NUMBERS, "status")
    pods = status.get(_UNCOUNTED, {})
    seen: set[str] = set()
    for part in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(part, ())):
            where = f"status.{_UNCOUNTED}.{part}[{index}]"
            if not uid:
                found.append(invalid(where, uid, "must not be empty"))
            elif uid in seen:
                found.append(duplicate(where, uid))
            seen.add(uid)
    change = _Change(new["spec"], status, before)
    return [
        *found,
        *change.conditions(),
        *change.finished(),
        *change.indexes(),
        *change.pods(),
        *change.success(),
        *change.transition(),
    ]


def _is_condition_true(status: Mapping[str, Any], kind: str, state: str = "True") -> bool:
    return any(
        each.get("type") == kind and each.get("status") == state
        for each in status.get("conditions", ())
    )


def _invalid(message: str) -> FieldError:
    return FieldError(ErrorType.INVALID, "status.conditions", detail=message)


class _Change:
    """A job's status before and after."""

    def __init__(
        self, spec: KubeObject, status: Mapping[str, Any], before: Mapping[str, Any]
    ) -> None:
        self.spec, self.status, self.before = spec, status, before
        self.is_complete, self.is_failed = (
            _is_condition_true(status, "Complete"),
            _is_condition_true(status, "Failed"),
        )
        self.is_failing = _is_condition_true(status, "FailureTarget")
        self.is_met = _is_condition_true(status, "SuccessCriteriaMet")
        self.is_finished = self.is_complete or self.is_failed
        self.is_indexed = spec.get("completionMode") == "Indexed"

    def turned(self, *kinds: str) -> bool:
        """Return whether one of these conditions came or went."""
        return any(
            _is_condition_true(self.status, each) != _is_condition_true(self.before, each)
            for each in kinds
        )

    def changed(self, *keys: str) -> bool:
        """Return whether one of these fields changed."""
        return any(self.status.get(key) != self.before.get(key) for key in keys)

    @property
    def finish_changed(self) -> bool:
        """Return whether the job is finished now and was not, or was and is not."""
        was = _is_condition_true(self.before, "Complete") or _is_condition_true(
            self.before, "Failed"
        )
        return was != self.is_finished

    def conditions(self) -> Iterator[FieldError]:
        """Validate which conditions stand together."""
        if self.is_complete and self.is_failed and self.turned("Complete", "Failed"):
            yield _invalid("cannot set Complete=True and Failed=true conditions")
        if self.is_complete and self.is_failing and self.turned("Complete", "FailureTarget"):
            yield _invalid("cannot set Complete=True and FailureTarget=true conditions")
        completion, start = self.status.get("completionTime"), self.status.get("startTime")
        at = "status.completionTime"
        if self.turned("Complete") or self.changed("completionTime"):
            if completion is not None and not self.is_complete:
                message = "cannot set completionTime when there is no Complete=True condition"
                yield invalid(at, completion, message)
            if completion is None and self.is_complete:
                yield required(at, "completionTime is required for Complete jobs")
        moved = self.changed("startTime", "completionTime")
        if moved and start and completion and completion < start:
            yield invalid(at, completion, "must be equal to or after `startTime`")
        fails = self.turned("Failed") or self.changed("failedIndexes")
        if self.is_failed and not self.is_failing and fails:
            message = "cannot set Failed=True condition without the FailureTarget=true condition"
            yield _invalid(message)
        if self.is_complete and not self.is_met and self.turned("Complete", "SuccessCriteriaMet"):
            message = (
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            )
            yield _invalid(message)

    def finished(self) -> Iterator[FieldError]:
        """Validate what a finished job cannot have, or must have."""
        if not self.is_finished:
            return
        status = self.status
        if status.get("active", 0) > 0 and self._finishes("active"):
            yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
        waits = self.spec.get("suspend") and self.spec.get("completions") == 0
        if "startTime" not in status and not waits and self._finishes("startTime"):
            yield required("status.startTime", "startTime is required for finished job")
        pods = status.get(_UNCOUNTED, {})
        if (pods.get("failed") or pods.get("succeeded")) and self._finishes(_UNCOUNTED):
            shown = format_internal(pods, "batch.UncountedTerminatedPods")
            yield invalid(f"status.{_UNCOUNTED}", shown, "must be empty for finished job")

    def _finishes(self, key: str) -> bool:
        """Return whether the job finishes by this change, or a field of it changes."""
        return self.finish_changed or self.changed(key)

    def indexes(self) -> Iterator[FieldError]:
        """Validate which indexes are said to be done, and which to have failed."""
        done, failed = self.status.get("completedIndexes", ""), self.status.get("failedIndexes")
        completions = self.spec.get("completions")
        by_index = "backoffLimitPerIndex" in self.spec
        done_changed, failed_changed = (
            self.changed("completedIndexes"),
            self.changed("failedIndexes"),
        )
        if completions is not None and done_changed:
            yield from _unreadable("completedIndexes", done, completions)
        if completions is not None and by_index and failed is not None and failed_changed:
            yield from _unreadable("failedIndexes", failed, completions)
        if done and not self.is_indexed and done_changed:
            message = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield invalid("status.completedIndexes", done, message)
        if failed is not None and not by_index and failed_changed:
            message = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield invalid("status.failedIndexes", failed, message)
        if completions is not None and failed is not None and (done_changed or failed_changed):
            shared = overlap(done, failed, completions)
            if shared is not None:
                message = f"failedIndexes and completedIndexes overlap at index: {shared}"
                yield invalid("status.failedIndexes", failed, message)

    def pods(self) -> Iterator[FieldError]:
        """Validate the numbers of pods."""
        status = self.status
        terminating = status.get("terminating", 0)
        if self.is_finished and terminating > 0 and self._finishes("terminating"):
            message = "terminating>0 is invalid for finished job"
            yield invalid("status.terminating", terminating, message)
        ready = status.get("ready")
        if (
            ready is not None
            and ready > status.get("active", 0)
            and self.changed("ready", "active")
        ):
            message = "cannot set more ready pods than active"
            yield invalid("status.ready", ready, message)

    def success(self) -> Iterator[FieldError]:
        """Validate SuccessCriteriaMet against the other conditions."""
        if self.is_met and self.is_failed:
            yield _invalid("cannot set SuccessCriteriaMet=True and Failed=true conditions")
        if self.is_met and self.is_failing:
            yield _invalid("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
        if "successPolicy" in self.spec and not self.is_met and self.is_complete:
            yield _invalid(
                "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
            )

    def transition(self) -> Iterator[FieldError]:
        """Validate what cannot be taken back."""
        status, before = self.status, self.before
        for kind in _TERMINAL:
            if _is_condition_true(before, kind) and not _is_condition_true(status, kind):
                yield _invalid(f"cannot disable the terminal {kind}=True condition")
        if status.get("failed", 0) < before.get("failed", 0):
            message = "cannot decrease the failed counter"
            yield invalid("status.failed", status.get("failed", 0), message)
        elastic = self.is_indexed and self.spec.get("completions") == self.spec.get("parallelism")
        if status.get("succeeded", 0) < before.get("succeeded", 0) and not elastic:
            message = "cannot decrease the succeeded counter"
            yield invalid("status.succeeded", status.get("succeeded", 0), message)
        completion = status.get("completionTime")
        if completion and before.get("completionTime") not in (None, completion):
            yield invalid("status.completionTime", completion, IMMUTABLE)
        resumes = _is_condition_true(before, "Suspended") and _is_condition_true(
            status, "Suspended", "False"
        )
        is_start_changed = "startTime" in before and self.changed("startTime") and not resumes
        if is_start_changed and not self.spec.get("suspend"):
            yield required("status.startTime", "startTime cannot be removed for unsuspended job")
        was_met = _is_condition_true(before, "SuccessCriteriaMet")
        if was_met and not self.is_met:
            yield _invalid("cannot disable the SuccessCriteriaMet=True condition")
        if _is_condition_true(before, "Complete") and not was_met and self.is_met:
            yield _invalid(
                "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
            )


def _unreadable(key: str, text: str, completions: int) -> Iterator[FieldError]:
    try:
        count_indexes(text, completions)
    except WrongIndexesError as error:
        yield invalid(f"status.{key}", text, f"error parsing {key}: {error}")
