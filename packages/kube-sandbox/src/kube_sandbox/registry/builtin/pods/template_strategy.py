"""
What kinds with a pod template share, and PodTemplate itself.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidatePodTemplate;
pkg/registry/core/podtemplate/strategy.go podTemplateStrategy.PrepareForCreate;
pkg/apis/apps/validation/validation.go ValidatePodTemplateSpecForReplicaSet.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.internal_json import format_selector
from kube_sandbox.registry.builtin.pods.defaults import default_template
from kube_sandbox.registry.builtin.pods.validation import check_template
from kube_sandbox.registry.builtin.pods.warnings import template_warnings
from kube_sandbox.registry.field_errors import forbidden, invalid, not_supported, required
from kube_sandbox.registry.name_validation import dns_label
from kube_sandbox.registry.object_meta import IMMUTABLE, label_selector
from kube_sandbox.registry.strategy import Errors

_MISMATCH = "`selector` does not match template `labels`"


class TemplateStrategy(BaseStrategy):
    """A kind whose spec has a template; its own checks come before those of changes."""

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: object
    ) -> Errors:
        """Return the errors in a changed object."""
        if subresource == "status":
            return self.changed_meta(new, old) + self.check_status(new, old)
        return self.changed_meta(new, old) + self.check(new) + self.check_update(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of the template, of a new one and of one that may have changed."""
        generation = obj["metadata"].get("generation")
        if old is not None and generation == old["metadata"].get("generation"):
            return []
        found = hostname_warnings(obj) if old is None else []
        return found + template_warnings(obj["spec"]["template"], "spec.template")


class PodTemplates(TemplateStrategy):
    """A template that nothing is made of by itself."""

    def default(self, obj: KubeObject) -> None:
        """Default the template."""
        default_template(obj.setdefault("template", {}))

    def check(self, obj: KubeObject) -> Errors:
        """Validate the template."""
        return check_template(obj["template"], "template")

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of the template."""
        return template_warnings(obj["template"], "template")


def hostname_warnings(obj: KubeObject) -> list[str]:
    """Warn of a name that pods cannot have as theirs."""
    wrong = dns_label(obj["metadata"].get("name", ""))
    if not wrong:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising "
        f"behavior; a DNS label is recommended: [{' '.join(wrong)}]"
    ]


def check_selector(selector: Mapping[str, Any] | None, kind: str, at: str) -> Errors:
    """Return the errors in the selector of a kind that needs one."""
    if selector is None:
        return [required(at)]
    found = label_selector(selector, at)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        message = f"empty selector is invalid for {kind}"
        found.append(invalid(at, format_selector(selector), message))
    return found


def is_valid_selector(selector: Mapping[str, Any] | None) -> bool:
    """Return whether a selector can be asked at all."""
    return not label_selector(selector, "")


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether a readable selector matches; one that is absent matches nothing."""
    return selector is not None and Selector.parse(selector).matches(labels)


def check_match(selector: Mapping[str, Any] | None, template: Mapping[str, Any], at: str) -> Errors:
    """Return whether a kind would not find its own pods again."""
    labels = template.get("metadata", {}).get("labels")
    if selects(selector, labels or {}):
        return []
    return [invalid(f"{at}.metadata.labels", labels, _MISMATCH)]


def check_restart_policy_always(template: Mapping[str, Any], kind: str, at: str) -> Errors:
    """Reject what long-running pods cannot have: another restart policy, a deadline."""
    spec = template.get("spec", {})
    found: Errors = []
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        found.append(not_supported(f"{at}.spec.restartPolicy", policy, ("Always",)))
    if "activeDeadlineSeconds" in spec:
        message = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(forbidden(f"{at}.spec.activeDeadlineSeconds", message))
    return found


def check_selected_template(spec: KubeObject, at: str) -> Errors:
    """Return the errors in the template of a kind that keeps a number of pods."""
    selector, template = spec.get("selector"), spec.get("template", {})
    if not is_valid_selector(selector):
        return [invalid(f"{at}.selector", format_selector(selector), "invalid label selector")]
    where = f"{at}.template"
    found = check_match(selector, template, where)
    return (
        found
        + check_template(template, where)
        + check_restart_policy_always(template, "ReplicaSet", where)
    )


def same_selector(new: KubeObject, old: KubeObject) -> Errors:
    """Reject another selector."""
    selector = new["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [invalid("spec.selector", format_selector(selector), IMMUTABLE)]


def not_decremented(new: KubeObject, old: KubeObject) -> Errors:
    """Reject to count fewer collisions than before."""
    count, before = (each.get("status", {}).get("collisionCount") for each in (new, old))
    if before is None or (count is not None and count >= before):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]
