"""
Prevents privilege escalation: a check on every write of a role or a binding.

A user who writes a role must hold each of its rules already, or the right to `escalate` the role; a
user who binds one must hold its rules, or the right to `bind` it. The error lists the missing rules
in the API server's words.

Follows kubernetes 1.35 pkg/registry/rbac/role/policybased/storage.go Storage.Create;
pkg/registry/rbac/rolebinding/policybased/storage.go Storage.Create;
pkg/registry/rbac/validation/rule.go ConfirmNoEscalation; pkg/registry/rbac/escalation_check.go
EscalationAllowed; k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go Covers;
pkg/registry/rbac/clusterrole/policybased/storage.go Storage.Create.
"""

from collections.abc import Iterable, Iterator, Sequence

from kube_objects.go_text import quote
from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.authentication.user_info import MASTERS, UserInfo
from kube_sandbox.authorization.rbac import RBAC, Attributes, RBACAuthorizer, Rule, covers_path

ROLES = frozenset(("roles", "clusterroles"))
BINDINGS = frozenset(("rolebindings", "clusterrolebindings"))

_EVERYTHING: tuple[Rule, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
# Fields that the garbage collector changes grant no rights.
_MAINTENANCE_FIELDS = frozenset(("ownerReferences", "finalizers", "managedFields"))
_RULE_FIELD_NAMES = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


def check_grant(
    access: RBACAuthorizer,
    user: UserInfo,
    plural: str,
    new: KubeObject,
    old: KubeObject | None = None,
) -> None:
    """Reject a role or binding that would grant more than its author has; `old` is before."""
    if MASTERS in user.groups or (old is not None and _without_upkeep(new) == _without_upkeep(old)):
        return
    if plural in ROLES:
        metadata = new["metadata"]
        namespace = metadata.get("namespace", "")
        name = metadata["name"] if old is not None else ""
        escalating = Attributes("escalate", RBAC, plural, namespace=namespace, name=name)
        if access.decide(user, escalating).allowed:
            return
        missing = _missing(access, user, namespace, new.get("rules") or ())
        if missing:
            raise api_errors.forbidden(RBAC, plural, metadata.get("name", ""), missing)
        gathering = (each.get("aggregationRule") for each in (new, old or {}))
        is_gathering = any(
            isinstance(rule, dict) and rule.get("clusterRoleSelectors") for rule in gathering
        )
        if is_gathering and _missing(access, user, namespace, _EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise api_errors.forbidden(RBAC, plural, metadata.get("name", ""), why)
    elif plural in BINDINGS:
        metadata, role = new["metadata"], new["roleRef"]
        namespace = metadata.get("namespace", "")
        roles = f"{role['kind'].lower()}s"
        binding = Attributes(
            "bind", role.get("apiGroup", ""), roles, namespace=namespace, name=role["name"]
        )
        if roles in ROLES and access.decide(user, binding).allowed:
            return
        rules = access.role_rules(role, namespace)
        if rules is None:
            raise api_errors.not_found(RBAC, plural, role["name"])
        missing = _missing(access, user, namespace, rules)
        if missing:
            raise api_errors.forbidden(RBAC, plural, metadata.get("name", ""), missing)


def _missing(access: RBACAuthorizer, user: UserInfo, namespace: str, rules: Iterable[Rule]) -> str:
    """Return the rules that a user does not hold; empty if they hold all."""
    held, errors = access.rules(user, namespace)
    wanted = (single for rule in rules for single in _single_rules(rule))
    lacking = [each for each in wanted if not any(_covers(own, each) for own in held)]
    if not lacking:
        return ""
    # Join single rules that differ by verb only.
    found: dict[object, Rule] = {}
    for rule in lacking:
        parts = tuple(tuple(rule.get(key, ())) for key, _ in _RULE_FIELD_NAMES[:-1])
        key = (*parts, *rule["verbs"]) if "nonResourceURLs" in rule else parts
        known = found.get(key)
        verbs = [*known["verbs"], *rule["verbs"]] if known is not None else rule["verbs"]
        found[key] = {**rule, "verbs": verbs}
    lines = set()
    for rule in found.values():
        named = [f"{name}:{_texts(rule[key])}" for key, name in _RULE_FIELD_NAMES if rule.get(key)]
        lines.add("{" + ", ".join(named) + "}")
    message = "\n".join(sorted(lines))
    groups = _texts(user.groups)
    text = (
        f"user {quote(user.user)} (groups={groups}) is attempting to grant RBAC permissions "
        f"not currently held:\n{message}"
    )
    return f"{text}; resolution errors: [{' '.join(errors)}]" if errors else text


def _single_rules(rule: Rule) -> Iterator[Rule]:
    """Take a rule apart into those of one group, resource, verb and name."""
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                single = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                yield from ({**single, "resourceNames": [name]} for name in names or ())
                if not names:
                    yield single
    for path in rule.get("nonResourceURLs") or ():
        yield from ({"nonResourceURLs": [path], "verbs": [verb]} for verb in verbs)


def _covers(own: Rule, single: Rule) -> bool:
    names, wanted = own.get("resourceNames") or (), single.get("resourceNames") or ()
    return (
        _has_all(own.get("verbs"), single["verbs"])
        and _has_all(own.get("apiGroups"), single.get("apiGroups"))
        and all(_has_resource(own, each) for each in single.get("resources") or ())
        and (not names or (bool(wanted) and set(wanted) <= set(names)))
        and all(
            any(covers_path(allowed, path) for allowed in own.get("nonResourceURLs") or ())
            for path in single.get("nonResourceURLs") or ()
        )
    )


def _has_all(own: Sequence[str] | None, wanted: Iterable[str] | None) -> bool:
    return "*" in (own or ()) or set(wanted or ()) <= set(own or ())


def _has_resource(own: Rule, resource: str) -> bool:
    resources = own.get("resources") or ()
    _, slash, part = resource.partition("/")
    return "*" in resources or resource in resources or bool(slash and f"*/{part}" in resources)


def _texts(texts: Iterable[str]) -> str:
    return f"[{' '.join(map(quote, texts))}]"


def _without_upkeep(obj: KubeObject) -> KubeObject:
    metadata = {
        key: each for key, each in obj["metadata"].items() if key not in _MAINTENANCE_FIELDS
    }
    return {**obj, "metadata": metadata}
