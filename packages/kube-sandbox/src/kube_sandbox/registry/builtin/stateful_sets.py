"""
StatefulSet and ControllerRevision.

Follows kubernetes 1.35 pkg/apis/apps/validation/validation.go ValidateStatefulSetSpec,
ValidateStatefulSetUpdate, ValidateControllerRevisionCreate; pkg/apis/apps/v1/defaults.go
SetDefaults_StatefulSet.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.field_validation import (
    at_most_all,
    by_rule,
    choice,
    int_or_percent,
    int_or_percent_value,
    no_more_than,
    nonnegative,
    nonnegatives,
)
from kube_sandbox.registry.builtin.internal_json import format_internal, format_selector
from kube_sandbox.registry.builtin.persistent_volume_claims import claim_errors
from kube_sandbox.registry.builtin.pods.defaults import default_claim_spec, default_template
from kube_sandbox.registry.builtin.pods.template_strategy import (
    TemplateStrategy,
    check_match,
    check_restart_policy_always,
    check_selector,
    is_valid_selector,
    not_decremented,
)
from kube_sandbox.registry.builtin.pods.validation import check_template
from kube_sandbox.registry.builtin.pods.warnings import template_warnings
from kube_sandbox.registry.field_errors import forbidden, invalid, required
from kube_sandbox.registry.name_validation import dns_label
from kube_sandbox.registry.object_meta import IMMUTABLE, annotations, labels
from kube_sandbox.registry.strategy import Errors, RequestContext

_DEFAULTS = {"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10}
_RETENTION = "persistentVolumeClaimRetentionPolicy"
_CHANGEABLE = frozenset(
    (
        *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
        *(_RETENTION, "minReadySeconds"),
    )
)
_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_COUNTS = (
    *("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    *("observedGeneration", "collisionCount"),
)
_TOO_MANY = "cannot be greater than status.replicas"
_ORDER = (
    ("readyReplicas", "replicas", _TOO_MANY),
    ("currentReplicas", "replicas", _TOO_MANY),
    ("updatedReplicas", "replicas", _TOO_MANY),
    ("availableReplicas", "replicas", _TOO_MANY),
    ("availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"),
)
_HISTORY = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
    "a value >= 0 is recommended"
)


class StatefulSets(TemplateStrategy):
    """Pods with names and storage of their own."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults."""
        spec = obj.setdefault("spec", {})
        for key, value in _DEFAULTS.items():
            spec.setdefault(key, value)
        strategy = spec.setdefault("updateStrategy", {})
        if "type" not in strategy:
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        rolling = strategy.get("rollingUpdate")
        if strategy["type"] == "RollingUpdate" and rolling is not None:
            rolling.setdefault("partition", 0)
        retention = spec.setdefault(_RETENTION, {})
        retention.setdefault("whenDeleted", "Retain")
        retention.setdefault("whenScaled", "Retain")
        default_template(spec.setdefault("template", {}))
        for claim in spec.get("volumeClaimTemplates", ()):
            claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
            claim.setdefault("metadata", {})
            default_claim_spec(claim.setdefault("spec", {}))
            claim.setdefault("status", {}).setdefault("phase", "Pending")

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin without what is switched off."""
        super().prepare_create(obj, occasion)
        _drop_unavailable(obj, {})

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep what this write does not reach."""
        if subresource != "status":
            _drop_unavailable(new, old)
        super().prepare_update(new, old, subresource, occasion)

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Return the status of a new object."""
        return {"replicas": 0, "availableReplicas": 0}

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec of a new object, and what may change of an old one."""
        return _spec(obj["spec"], is_new=True)

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Reject changes beyond a few fields."""
        fixed, before = (
            {key: value for key, value in each["spec"].items() if key not in _CHANGEABLE}
            for each in (new, old)
        )
        return [] if fixed == before else [forbidden("spec", _FORBIDDEN)]

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: object
    ) -> Errors:
        """Return the errors in a changed object; immutable fields are not validated again."""
        if subresource == "status":
            status = self.check_status(new, old)
            return status + self.changed_meta(new, old) + not_decremented(new, old)
        found = self.changed_meta(new, old) + _spec(new["spec"], is_new=False)
        return found + self.check_update(new, old)

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        """Validate the numbers."""
        status = new.get("status", {})
        found = nonnegatives(status, _COUNTS, "status")
        return found + no_more_than(status, _ORDER, "status")

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of the template."""
        found: list[str] = []
        generation = obj["metadata"].get("generation")
        if old is None or generation != old["metadata"].get("generation"):
            found = template_warnings(obj["spec"]["template"], "spec.template")
        if obj["spec"].get("revisionHistoryLimit", 0) < 0:
            found.append(_HISTORY)
        return found


def _drop_unavailable(new: KubeObject, old: KubeObject) -> None:
    """Drop how many may be unavailable at once: a server has to be asked to care for it."""
    strategy, before = (
        each.get("spec", {}).get("updateStrategy", {}).get("rollingUpdate", {})
        for each in (new, old)
    )
    if "maxUnavailable" not in before:
        strategy.pop("maxUnavailable", None)


def _spec(spec: KubeObject, *, is_new: bool) -> Errors:
    policy = spec.get("podManagementPolicy", "")
    found: Errors = []
    if policy not in ("OrderedReady", "Parallel"):
        message = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid("spec.podManagementPolicy", policy, message))
    found += _strategy(spec.get("updateStrategy", {}), "spec.updateStrategy")
    for name in ("whenDeleted", "whenScaled"):
        value = spec.get(_RETENTION, {}).get(name, "")
        found += choice(value, ("Retain", "Delete"), f"spec.{_RETENTION}.{name}")
    if is_new:
        for index, claim in enumerate(spec.get("volumeClaimTemplates", ())):
            where = f"spec.volumeClaimTemplates[{index}].spec"
            found += claim_errors(claim.get("spec", {}), where)
    found += nonnegatives(spec, ("replicas", "minReadySeconds"), "spec")
    found += nonnegative(spec.get("ordinals", {}).get("start"), "spec.ordinals.start")
    if is_new and (service := spec.get("serviceName")):
        found += by_rule(service, "spec.serviceName", dns_label)
    selector, template = spec.get("selector"), spec.get("template", {})
    found += check_selector(selector, "statefulset", "spec.selector")
    if not is_valid_selector(selector):
        found.append(invalid("spec.selector", format_selector(selector), ""))
    else:
        # The template is validated with the volumes that each pod gets.
        at, meta, pod = "spec.template", template.get("metadata", {}), template.get("spec", {})
        seen = {key: value for key, value in pod.items() if key not in ("hostname", "subdomain")}
        templates = spec.get("volumeClaimTemplates", ())
        if claims := {each.get("metadata", {}).get("name", "") for each in templates}:
            seen["volumes"] = [
                *(
                    {"name": name, "persistentVolumeClaim": {"claimName": name}}
                    for name in sorted(claims)
                ),
                *(each for each in pod.get("volumes", ()) if each.get("name", "") not in claims),
            ]
        found += check_match(selector, template, at)
        found += check_template({"metadata": meta, "spec": seen}, at)
        found += labels(meta.get("labels"), f"{at}.labels")
        found += annotations(meta.get("annotations"), f"{at}.annotations")
    return found + check_restart_policy_always(template, "StatefulSet", "spec.template")


def _strategy(strategy: Mapping[str, Any], at: str) -> Errors:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    where = f"{at}.rollingUpdate"
    if kind == "RollingUpdate":
        if rolling is None:
            return []
        found = nonnegative(rolling.get("partition"), f"{where}.partition")
        unavailable, at_unavailable = rolling.get("maxUnavailable"), f"{where}.maxUnavailable"
        if unavailable is None:
            return found
        found += int_or_percent(unavailable, at_unavailable)
        if int_or_percent_value(unavailable) == 0:
            found.append(invalid(at_unavailable, unavailable, "cannot be 0"))
        return found + at_most_all(unavailable, at_unavailable)
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = format_internal(rolling, "apps.RollingUpdateStatefulSetStrategy")
        return [invalid(where, shown, "only allowed for updateStrategy 'RollingUpdate'")]
    shown = format_internal(strategy, "apps.StatefulSetUpdateStrategy")
    return [invalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'")]


class ControllerRevisions(BaseStrategy):
    """What a template was at a time."""

    def default(self, obj: KubeObject) -> None:
        """Default the number, which is always there."""
        obj.setdefault("revision", 0)

    def check(self, obj: KubeObject) -> Errors:
        """Validate the number and the data."""
        found = nonnegative(obj.get("revision"), "revision")
        data = obj.get("data")
        if data is None:
            return [*found, required("data", "data is mandatory")]
        if not isinstance(data, dict):
            return [*found, required("data", "data must be a valid JSON object")]
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: object
    ) -> Errors:
        """Return the errors in a changed object: its data cannot change."""
        found = self.changed_meta(new, old) + self.checked_meta(new)
        found += nonnegative(new.get("revision"), "revision")
        if new.get("data") != old.get("data"):
            found.append(invalid("data", new.get("data"), IMMUTABLE))
        return found
