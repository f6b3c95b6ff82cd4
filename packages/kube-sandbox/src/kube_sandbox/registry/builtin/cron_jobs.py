"""
CronJob.

Follows kubernetes 1.35 pkg/apis/batch/validation/validation.go ValidateCronJobCreate,
ValidateCronJobUpdate, validateCronJobSpec; pkg/registry/batch/cronjob/strategy.go
cronJobStrategy.PrepareForCreate; pkg/apis/batch/v1/defaults.go SetDefaults_CronJob.
"""

import re
import zoneinfo

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import choice, nonnegative
from kube_sandbox.registry.builtin.internal_json import format_selector
from kube_sandbox.registry.builtin.jobs.strategy import default_conditions, job_warnings
from kube_sandbox.registry.builtin.jobs.validation import check_job_spec
from kube_sandbox.registry.builtin.pods.defaults import default_template
from kube_sandbox.registry.builtin.pods.template_strategy import TemplateStrategy, hostname_warnings
from kube_sandbox.registry.cron_schedule import ScheduleError, parse_schedule
from kube_sandbox.registry.field_errors import invalid, not_supported, required
from kube_sandbox.registry.strategy import Errors, RequestContext

_DEFAULTS = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}
_POLICIES = ("Allow", "Forbid", "Replace")
_MAX_NAME_LENGTH = 52  # eleven characters are appended for every job
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_ZONE_IN_SCHEDULE = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
_ZONE_WARNING = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobs(TemplateStrategy):
    """Jobs by the clock."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults; of the job itself only the template of its pods."""
        spec = obj.setdefault("spec", {})
        for key, value in _DEFAULTS.items():
            spec.setdefault(key, value)
        template = spec.setdefault("jobTemplate", {})
        template.setdefault("metadata", {})
        job = template.setdefault("spec", {})
        default_conditions(job)
        default_template(job.setdefault("template", {}))

    def validate_create(self, obj: KubeObject, occasion: RequestContext) -> Errors:
        """Return the errors in a new object."""
        found = self.checked_meta(obj) + _spec(obj["spec"], None)
        name = obj["metadata"].get("name", "")
        if len(name) > _MAX_NAME_LENGTH:
            message = f"must be no more than {_MAX_NAME_LENGTH} characters"
            found.append(invalid("metadata.name", name, message))
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: object
    ) -> Errors:
        """Return the errors in a changed object; a status may be anything."""
        if subresource == "status":
            return []
        return self.changed_meta(new, old) + _spec(new["spec"], old["spec"])

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of a spec that is new."""
        found: list[str] = []
        job = obj["spec"]["jobTemplate"]["spec"]
        if old is None:
            return hostname_warnings(obj) + job_warnings(job, "spec.jobTemplate.spec")
        if obj["metadata"].get("generation") != old["metadata"].get("generation"):
            found = job_warnings(job, "spec.jobTemplate.spec")
        if "TZ" in obj["spec"].get("schedule", ""):
            found.append(_ZONE_WARNING)
        return found


def _spec(spec: KubeObject, before: KubeObject | None) -> Errors:
    schedule_before = before or {}
    schedule, schedule_at = spec.get("schedule", ""), "spec.schedule"
    if not schedule:
        found = [required(schedule_at)]
    else:
        found = []
        try:
            parse_schedule(schedule)
        except ScheduleError as error:
            found.append(invalid(schedule_at, schedule, str(error)))
        if "TZ" in schedule:
            if "TZ" not in schedule_before.get("schedule", ""):
                found.append(invalid(schedule_at, schedule, _ZONE_IN_SCHEDULE))
            elif "timeZone" in spec:
                schedule_told = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
                found.append(invalid(schedule_at, schedule, schedule_told))
    found += nonnegative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and (before is None or zone != before.get("timeZone")):
        found += _zone(zone, "spec.timeZone")
    found += choice(spec.get("concurrencyPolicy"), _POLICIES, "spec.concurrencyPolicy")
    job, at = spec["jobTemplate"]["spec"], "spec.jobTemplate.spec"
    found += check_job_spec(job, at)
    if (selector := job.get("selector")) is not None:
        message = "`selector` will be auto-generated"
        found.append(invalid(f"{at}.selector", format_selector(selector), message))
    if job.get("manualSelector"):
        found.append(not_supported(f"{at}.manualSelector", True, ("nil", "false")))
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        found += nonnegative(spec.get(key), f"spec.{key}")
    return found


def _zone(zone: str, at: str) -> Errors:
    if not zone:
        return [invalid(at, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            return [invalid(at, zone, f"unknown time zone {zone}")]
    if zone.lower() == "local":
        message = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        found = [invalid(at, zone, message)]
        return (
            found if zone == "Local" else [*found, invalid(at, zone, f"unknown time zone {zone}")]
        )
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return [invalid(at, zone, f"unknown time zone {zone}")]
    return []
