"""
Roles, ClusterRoles and their bindings.

Follows kubernetes 1.35 pkg/apis/rbac/validation/validation.go ValidateRole, ValidateClusterRole,
ValidateRoleBinding, ValidateRoleBindingUpdate.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.field_errors import invalid, not_supported, required
from kube_sandbox.registry.name_validation import name_is_subdomain, path_segment
from kube_sandbox.registry.object_meta import label_selector
from kube_sandbox.registry.strategy import Errors, RequestContext

GROUP = "rbac.authorization.k8s.io"
# As a message shows a reference.
_REFERENCE = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))


def _name_rule(name: str, is_prefix: bool) -> list[str]:
    # A prefix is validated like a name.
    return path_segment(name)


class _Rbac(BaseStrategy):
    """In this group the update's own checks come after those of the whole."""

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change."""
        found = self.checked_meta(new) + self.check(new)
        return found + self.changed_meta(new, old) + self.check_update(new, old)


class Roles(_Rbac):
    """Roles and ClusterRoles."""

    def check(self, obj: KubeObject) -> Errors:
        """Validate the rules, and whose rules are taken over."""
        found: Errors = []
        for index, rule in enumerate(obj.get("rules") or ()):
            rule_at = f"rules[{index}]"
            if not rule.get("verbs"):
                found.append(required(f"{rule_at}.verbs", "verbs must contain at least one value"))
            urls = rule.get("nonResourceURLs")
            if urls:
                where = f"{rule_at}.nonResourceURLs"
                if self.ways.namespaced:
                    message = "namespaced rules cannot apply to non-resource URLs"
                    found.append(invalid(where, urls, message))
                if any(rule.get(part) for part in ("apiGroups", "resources", "resourceNames")):
                    message = "rules cannot apply to both regular resources and non-resource URLs"
                    found.append(invalid(where, urls, message))
            else:
                if not rule.get("apiGroups"):
                    message = "resource rules must supply at least one api group"
                    found.append(required(f"{rule_at}.apiGroups", message))
                if not rule.get("resources"):
                    message = "resource rules must supply at least one resource"
                    found.append(required(f"{rule_at}.resources", message))
        aggregation_rule = obj.get("aggregationRule")
        if aggregation_rule is None:
            return found
        field = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation_rule.get("clusterRoleSelectors", ())
        if not selectors:
            message = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            found.append(required(field, message))
        for index, selector in enumerate(selectors):
            wrong = label_selector(selector, f"{field}[{index}]")
            found += wrong
            if wrong:
                found.append(invalid(f"{field}[{index}]", None, "invalid label selector."))
        return found


class Bindings(_Rbac):
    """Who may do it."""

    def default(self, obj: KubeObject) -> None:
        """Default the groups."""
        reference = obj.setdefault("roleRef", {})
        if not reference.get("apiGroup"):
            reference["apiGroup"] = GROUP
        for subject in obj.get("subjects", ()):
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP

    def check(self, obj: KubeObject) -> Errors:
        """Validate the role's name and the subjects."""
        kinds = ("Role", "ClusterRole") if self.ways.namespaced else ("ClusterRole",)
        reference = obj["roleRef"]
        group, kind = reference.get("apiGroup", ""), reference.get("kind", "")
        found: Errors = []
        if group != GROUP:
            found.append(not_supported("roleRef.apiGroup", group, [GROUP]))
        if kind not in kinds:
            found.append(not_supported("roleRef.kind", kind, kinds))
        name = reference.get("name", "")
        if not name:
            found.append(required("roleRef.name"))
        else:
            found += [invalid("roleRef.name", name, each) for each in path_segment(name)]
        for index, subject in enumerate(obj.get("subjects", ())):
            field = f"subjects[{index}]"
            name, group = subject.get("name", ""), subject.get("apiGroup", "")
            if not name:
                found.append(required(f"{field}.name"))
            match subject.get("kind", ""):
                case "ServiceAccount":
                    if name:
                        wrong = name_is_subdomain(name, False)
                        found += [invalid(f"{field}.name", name, each) for each in wrong]
                    if group:
                        found.append(not_supported(f"{field}.apiGroup", group, [""]))
                    if not self.ways.namespaced and not subject.get("namespace"):
                        found.append(required(f"{field}.namespace"))
                case "User" | "Group":
                    if group != GROUP:
                        found.append(not_supported(f"{field}.apiGroup", group, [GROUP]))
                case other:
                    subjects = ("ServiceAccount", "User", "Group")
                    found.append(not_supported(f"{field}.kind", other, subjects))
        return found

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Let the role not change: what a binding gave would change under its name."""
        if new["roleRef"] == old["roleRef"]:
            return []
        reference = new["roleRef"]
        shown = {name: reference.get(key, "") for name, key in _REFERENCE}
        return [invalid("roleRef", shown, "cannot change roleRef")]


_NAMESPACED = KindOptions(name_rule=_name_rule, creates_on_update=True)
_CLUSTER = KindOptions(namespaced=False, name_rule=_name_rule, creates_on_update=True)
ROLES, CLUSTER_ROLES = Roles(_NAMESPACED), Roles(_CLUSTER)
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = Bindings(_NAMESPACED), Bindings(_CLUSTER)
