"""
DaemonSet.

Follows kubernetes 1.35 pkg/apis/apps/validation/validation.go ValidateDaemonSetSpec,
ValidateDaemonSetUpdate; pkg/registry/apps/daemonset/strategy.go
daemonSetStrategy.PrepareForUpdate; pkg/apis/apps/v1/defaults.go SetDefaults_DaemonSet.
"""

import re

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import bad_request
from kube_sandbox.registry.builtin.field_validation import (
    at_most_all,
    int_or_percent,
    int_or_percent_value,
    nonnegative,
    nonnegatives,
)
from kube_sandbox.registry.builtin.internal_json import format_internal, format_selector
from kube_sandbox.registry.builtin.pods.defaults import default_template
from kube_sandbox.registry.builtin.pods.template_strategy import (
    TemplateStrategy,
    check_match,
    check_restart_policy_always,
    is_valid_selector,
    not_decremented,
    same_selector,
)
from kube_sandbox.registry.builtin.pods.validation import check_template
from kube_sandbox.registry.builtin.pods.warnings import template_warnings
from kube_sandbox.registry.field_errors import invalid, not_supported, quoted, required
from kube_sandbox.registry.object_meta import label_selector
from kube_sandbox.registry.strategy import Errors, RequestContext

# Counts the changes of the template; a field in versions that are gone.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_INTEGER = re.compile("[+-]?[0-9]+", re.ASCII)
_COUNTS = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"),
    "collisionCount",
)
_FIRST_STATUS = _COUNTS[:4]


class DaemonSets(TemplateStrategy):
    """A pod on every node."""

    def default(self, obj: KubeObject) -> None:
        """Set defaults; raise a StatusError for a count that is none."""
        _set_template_generation(obj, _template_generation(obj))
        spec = obj.setdefault("spec", {})
        strategy = spec.setdefault("updateStrategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)
        default_template(spec.setdefault("template", {}))

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin with the first generation of the template."""
        super().prepare_create(obj, occasion)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep what this write does not reach, and count changes of the template."""
        super().prepare_update(new, old, subresource, occasion)
        count = _template_generation(old)
        if subresource != "status" and new["spec"]["template"] != old["spec"]["template"]:
            count += 1
        _set_template_generation(new, count)

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Return the status of a new object."""
        return dict.fromkeys(_FIRST_STATUS, 0)

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec."""
        spec = obj["spec"]
        selector, template = spec.get("selector"), spec.get("template", {})
        found = label_selector(selector, "spec.selector")
        if is_valid_selector(selector):
            found += check_match(selector, template, "spec.template")
        if selector is not None and not selector:
            message = "empty selector is invalid for daemonset"
            found.append(invalid("spec.selector", format_selector(selector), message))
        found += check_template(template, "spec.template")
        found += check_restart_policy_always(template, "DaemonSet", "spec.template")
        found += nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
        strategy = spec.get("updateStrategy", {})
        at = "spec.updateStrategy"
        kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
        if kind != "OnDelete":
            if kind != "RollingUpdate":
                shown = format_internal(strategy, "apps.DaemonSetUpdateStrategy")
                found.append(not_supported(at, shown, ("RollingUpdate", "OnDelete")))
            elif rolling is None:
                found.append(required(f"{at}.rollingUpdate"))
            else:
                unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
                at_unavailable = f"{at}.rollingUpdate.maxUnavailable"
                at_surge = f"{at}.rollingUpdate.maxSurge"
                found += int_or_percent(unavailable, at_unavailable)
                found += int_or_percent(surge, at_surge)
                found += at_most_all(unavailable, at_unavailable) + at_most_all(surge, at_surge)
                if int_or_percent_value(unavailable) and int_or_percent_value(surge):
                    message = "may not be set when maxUnavailable is non-zero"
                    found.append(invalid(at_surge, surge, message))
                elif not int_or_percent_value(unavailable) and not int_or_percent_value(surge):
                    found.append(required(at_unavailable, "cannot be 0 when maxSurge is 0"))
        return found + nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: object
    ) -> Errors:
        """Return the errors in a changed object: first what may not change."""
        if subresource == "status":
            return self.changed_meta(new, old) + self.check_status(new, old)
        return self.changed_meta(new, old) + same_selector(new, old) + self.check(new)

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        """Validate the numbers."""
        found = nonnegatives(new.get("status", {}), _COUNTS, "status")
        return found + not_decremented(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of a template that is new."""
        if old is not None and _template_generation(old) == _template_generation(obj):
            return []
        return template_warnings(obj["spec"]["template"], "spec.template")


def _template_generation(obj: KubeObject) -> int:
    text = obj.get("metadata", {}).get("annotations", {}).get(TEMPLATE_GENERATION)
    if text is None:
        return 0
    if not _INTEGER.fullmatch(text):
        reason = f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax"
        message = f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {reason}'
        raise bad_request(message)
    return int(text)


def _set_template_generation(obj: KubeObject, count: int) -> None:
    metadata = obj.setdefault("metadata", {})
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {**annotations, TEMPLATE_GENERATION: str(count)}
