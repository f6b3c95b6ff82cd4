"""
Job.

Follows kubernetes 1.35 pkg/registry/batch/job/strategy.go jobStrategy.PrepareForCreate,
generateSelector; pkg/apis/batch/v1/defaults.go SetDefaults_Job;
pkg/apis/batch/validation/validation.go ValidateJob, ValidateJobSpecUpdate; pkg/api/job/warnings.go
WarningsForJobSpec.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.internal_json import format_internal, format_selector
from kube_sandbox.registry.builtin.jobs.status_validation import check_job_status
from kube_sandbox.registry.builtin.jobs.validation import check_job_spec
from kube_sandbox.registry.builtin.pods.defaults import default_template
from kube_sandbox.registry.builtin.pods.template_strategy import (
    TemplateStrategy,
    hostname_warnings,
    is_valid_selector,
    same_selector,
    selects,
)
from kube_sandbox.registry.builtin.pods.warnings import template_warnings
from kube_sandbox.registry.field_errors import invalid, required
from kube_sandbox.registry.name_validation import dns_label
from kube_sandbox.registry.object_meta import IMMUTABLE, immutable, label_selector
from kube_sandbox.registry.strategy import Errors, RequestContext

_UID = "batch.kubernetes.io/controller-uid"
_NAME = "batch.kubernetes.io/job-name"
_NAME_LABELS = ("job-name", _NAME)
_UID_LABELS = ("controller-uid", _UID)
_BACKOFF, _BACKOFF_BY_INDEX = 6, 2**31 - 1
_MISMATCH = "`selector` does not match template `labels`"
_MOST_COMPLETIONS, _MOST_AT_ONCE = 100_000, 10_000
# What may change while a job waits for its start.
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def default_job_spec(spec: KubeObject) -> None:
    """Set defaults of a job that is to run."""
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    if "backoffLimit" not in spec:
        by_index = "backoffLimitPerIndex" in spec
        spec["backoffLimit"] = _BACKOFF_BY_INDEX if by_index else _BACKOFF
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    after_failure = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", after_failure)
    spec.setdefault("manualSelector", False)


def default_conditions(spec: KubeObject) -> None:
    """Default which state of a condition a rule about failed pods means."""
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions", ()):
            pattern["status"] = pattern.get("status") or "True"


class Jobs(TemplateStrategy):
    """Pods that run to an end."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults; the labels of the template are also the job's."""
        spec = obj.setdefault("spec", {})
        default_job_spec(spec)
        default_conditions(spec)
        default_template(spec.setdefault("template", {}))
        _label(obj)

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin with labels and a selector that only this job has."""
        spec = obj["spec"]
        if not spec.get("manualSelector"):
            metadata, spec = obj["metadata"], obj["spec"]
            labels = spec["template"]["metadata"].get("labels", {})
            shared = metadata.get("labels") is labels
            labels = spec["template"]["metadata"]["labels"] = dict(labels)
            for key in _NAME_LABELS:
                labels.setdefault(key, metadata.get("name", ""))
            for key in _UID_LABELS:
                labels.setdefault(key, metadata.get("uid", ""))
            if shared:
                metadata["labels"] = dict(labels)
            spec.setdefault("selector", {}).setdefault("matchLabels", {}).setdefault(
                _UID, metadata.get("uid", "")
            )
        super().prepare_create(obj, occasion)
        _label(obj)

    def check(self, obj: KubeObject) -> Errors:
        """Validate a job by itself."""
        errors: Errors = []
        spec, name, uid = (
            obj["spec"],
            obj["metadata"].get("name", ""),
            obj["metadata"].get("uid", ""),
        )
        selector = spec.get("selector")
        if not spec.get("manualSelector") and selector is not None:
            # The server has generated these labels and the selector.
            labels = spec["template"].get("metadata", {}).get("labels", {})
            generated = {"controller-uid": uid, "job-name": name, _UID: uid, _NAME: name}
            for key, value in generated.items():
                at, message = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
                if key not in labels:
                    errors.append(required(at, message))
                elif labels[key] != value:
                    errors.append(invalid(at, labels, message))
            if is_valid_selector(selector) and not selects(selector, generated):
                message = "`selector` not auto-generated"
                errors.append(invalid("spec.selector", format_selector(selector), message))
        errors += _spec(spec)
        completions = spec.get("completions", 0)
        if spec.get("completionMode") == "Indexed" and completions > 0:
            last = f"{name}-{completions - 1}"
            if dns_label(last):
                message = f"will not able to create pod with invalid DNS label: {last}"
                errors.append(invalid("metadata.name", name, message))
        return errors

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: object
    ) -> Errors:
        """Return the errors in a changed job; the spec is validated twice, as upstream."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            return found + check_job_status(new, old)
        spec, before = new["spec"], old["spec"]
        found = self.checked_meta(new) + self.check(new) + found + _spec(spec)
        at, wanted = "spec.completions", spec.get("completions")
        if wanted != before.get("completions"):
            if spec.get("completionMode") != "Indexed":
                found.append(invalid(at, wanted, IMMUTABLE))
            elif wanted is not None and wanted != spec.get("parallelism"):
                message = "can only be modified in tandem with spec.parallelism"
                found.append(invalid(at, wanted, message))
        found += same_selector(new, old)
        template, former = spec["template"], before["template"]
        if before.get("suspend") and "startTime" not in old.get("status", {}):
            # The former template with what may change of one that has not started.
            pod = {key: value for key, value in former["spec"].items() if key not in _SCHEDULING}
            pod |= {key: template["spec"][key] for key in _SCHEDULING if key in template["spec"]}
            affinity, asked = dict(pod.pop("affinity", {})), template["spec"].get("affinity", {})
            affinity.pop("nodeAffinity", None)
            if "nodeAffinity" in asked:
                affinity["nodeAffinity"] = asked["nodeAffinity"]
            if affinity or "affinity" in template["spec"]:
                pod["affinity"] = affinity
            metadata = {
                key: value
                for key, value in former["metadata"].items()
                if key not in ("labels", "annotations")
            }
            for key in ("labels", "annotations"):
                if key in template["metadata"]:
                    metadata[key] = template["metadata"][key]
            former = {**former, "metadata": metadata, "spec": pod}
        if template != former:
            shown = format_internal(template, "core.PodTemplateSpec")
            found.append(invalid("spec.template", shown, IMMUTABLE))
        found += _check_unchanged(spec, before, "completionMode")
        found += _check_policy_unchanged(spec, before, "podFailurePolicy", "batch.PodFailurePolicy")
        found += _check_unchanged(spec, before, "backoffLimitPerIndex")
        found += _check_unchanged(spec, before, "managedBy")
        return found + _check_policy_unchanged(spec, before, "successPolicy", "batch.SuccessPolicy")

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of a spec that is new."""
        generation = obj["metadata"].get("generation")
        if old is not None and generation == old["metadata"].get("generation"):
            return []
        found = hostname_warnings(obj) if old is None else []
        return found + job_warnings(obj["spec"], "spec")


def job_warnings(spec: KubeObject, at: str) -> list[str]:
    """Return warnings about the spec of a job."""
    found = []
    completions, at_once = spec.get("completions", 0), spec.get("parallelism", 0)
    if (
        spec.get("completionMode") == "Indexed"
        and completions > _MOST_COMPLETIONS
        and at_once > _MOST_AT_ONCE
    ):
        found.append(
            f"{at}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track "
            "completedIndexes when a big number of indexes fail"
        )
    return found + template_warnings(spec["template"], f"{at}.template")


def _label(obj: KubeObject) -> None:
    """Give a job without labels those of its template: the same ones, should they become more."""
    labels = obj["spec"]["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = labels


def _spec(spec: KubeObject) -> Errors:
    found = check_job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        found.append(required("spec.selector"))
    else:
        found += label_selector(selector, "spec.selector")
    labels = spec["template"].get("metadata", {}).get("labels")
    if is_valid_selector(selector) and not selects(selector, labels or {}):
        found.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
    return found


def _check_unchanged(spec: KubeObject, before: KubeObject, key: str) -> Errors:
    return immutable(spec.get(key), before.get(key), f"spec.{key}")


def _check_policy_unchanged(spec: KubeObject, before: KubeObject, key: str, name: str) -> Errors:
    if spec.get(key) == before.get(key):
        return []
    return [invalid(f"spec.{key}", format_internal(spec.get(key), name), IMMUTABLE)]
