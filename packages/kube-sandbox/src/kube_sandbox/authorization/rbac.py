"""
Who may do what: role-based access control, as the API server's own authorizer decides it.

Rules only ever allow. They come from Roles and ClusterRoles through bindings; the bindings are
indexed by whom they name, since most requests come from the same few. Members of
`system:masters` are allowed everything before anything is looked up.

Follows kubernetes 1.35 plugin/pkg/auth/authorizer/rbac/rbac.go RBACAuthorizer.Authorize,
RuleAllows; pkg/registry/rbac/validation/rule.go DefaultRuleResolver.VisitRulesFor, appliesTo;
k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go ForbiddenStatusError.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kube_objects.go_text import quote
from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.user_info import MASTERS, UserInfo

Rule = Mapping[str, Any]
_Grant = tuple[str | StatusError, Rule]

RBAC = "rbac.authorization.k8s.io"
_CACHE_SIZE = 1024  # askers in a namespace


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for: something of a resource, or a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # if it is not about a resource

    @property
    def parted_resource(self) -> str:
        """Return the resource with the part that is meant: `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request is allowed, and the reason."""

    allowed: bool
    reason: str = ""


class RBACAuthorizer:
    """Decides by the objects there are; `objects` gives those of a plural with group."""

    def __init__(self, objects: Callable[[str], Iterable[KubeObject]]) -> None:
        self._objects = objects
        self._policy: _Policy | None = None

    def forget(self) -> None:
        """Read the RBAC objects again at the next request, because one has changed."""
        self._policy = None

    def decide(self, user: UserInfo, attributes: Attributes) -> Decision:
        """Return whether something is allowed."""
        if MASTERS in user.groups:
            return Decision(True)
        errors = []
        for source, rule in self._policy_now().granted(user, attributes.namespace):
            if isinstance(source, StatusError):
                errors.append(source.message)
            elif _allows(rule, attributes):
                return Decision(True, f"RBAC: allowed by {source}")
        return Decision(False, f"RBAC: {aggregate(errors)}" if errors else "")

    def check(self, user: UserInfo, attributes: Attributes) -> None:
        """Reject what is not allowed."""
        decision = self.decide(user, attributes)
        if not decision.allowed:
            raise forbidden(user, attributes, decision.reason)

    def rules(self, user: UserInfo, namespace: str) -> tuple[list[Rule], list[str]]:
        """Return the rules granted to a user in a namespace, and errors for missing roles."""
        rules, errors = [], []
        for source, rule in self._policy_now().granted(user, namespace):
            if isinstance(source, StatusError):
                errors.append(source.message)
            else:
                rules.append(rule)
        return rules, errors

    def role_rules(self, role: Mapping[str, Any], namespace: str) -> list[Rule] | None:
        """Return the rules of the role that a binding refers to, `None` if it is not there."""
        return self._policy_now().role(role, namespace)

    def _policy_now(self) -> "_Policy":
        if self._policy is None:
            self._policy = _Policy(self._objects)
        return self._policy


class _Policy:
    """The roles and bindings of one moment."""

    def __init__(self, objects: Callable[[str], Iterable[KubeObject]]) -> None:
        self._objects = objects
        self._bindings: list[KubeObject] = []
        # By namespace and subject: which bindings name it. Cluster-wide ones have no namespace.
        self._named: dict[tuple[str, str, str], list[int]] = {}
        self._granted: dict[tuple[str, tuple[str, ...], str], list[_Grant]] = {}
        for kind in ("clusterrolebindings", "rolebindings"):
            for binding in self._objects(f"{kind}.{RBAC}"):
                number = len(self._bindings)
                self._bindings.append(binding)
                namespace = binding["metadata"].get("namespace", "")
                for subject in binding.get("subjects") or ():
                    key = (namespace, *_subject_key(subject, namespace))
                    self._named.setdefault(key, []).append(number)

    def granted(self, user: UserInfo, namespace: str) -> Sequence[_Grant]:
        """Return every rule with the binding it comes from, or what is missing."""
        key = (user.user, user.groups, namespace)
        if key not in self._granted:
            if len(self._granted) >= _CACHE_SIZE:
                self._granted.clear()
            self._granted[key] = list(self._grants(user, namespace))
        return self._granted[key]

    def _grants(self, user: UserInfo, namespace: str) -> Iterator[_Grant]:
        for place in ("", namespace) if namespace else ("",):
            subjects = [("User", user.user), *(("Group", group) for group in user.groups)]
            found = {n for each in subjects for n in self._named.get((place, *each), ())}
            for number in sorted(found):
                binding = self._bindings[number]
                rules = self.role(binding["roleRef"], place)
                if rules is None:
                    role = binding["roleRef"]
                    yield api_errors.not_found(RBAC, role["kind"].lower(), role["name"]), {}
                    continue
                # Which binding grants something, and to whom.
                metadata, role = binding["metadata"], binding["roleRef"]
                keys = {("User", user.user), *(("Group", group) for group in user.groups)}
                subject = next(
                    each for each in binding["subjects"] if _subject_key(each, place) in keys
                )
                name = subject["name"]
                if subject["kind"] == "ServiceAccount":
                    name = f"{name}/{subject.get('namespace') or place}"
                is_local = "namespace" in metadata
                bound = metadata["name"]
                bound = f"{bound}/{metadata['namespace']}" if is_local else bound
                kind = "RoleBinding" if is_local else "ClusterRoleBinding"
                what = f"{role['kind']} {quote(role['name'])}"
                source = f"{kind} {quote(bound)} of {what} to {subject['kind']} {quote(name)}"
                for rule in rules:
                    yield source, rule

    def role(self, role: Mapping[str, Any], namespace: str) -> list[Rule] | None:
        """Return the rules of a role, `None` if it is not there."""
        if role["kind"] == "ClusterRole":
            return self._cluster_roles.get(role["name"])
        return self._roles.get((namespace, role["name"]))

    @cached_property
    def _cluster_roles(self) -> dict[str, list[Rule]]:
        roles = self._objects(f"clusterroles.{RBAC}")
        return {each["metadata"]["name"]: each.get("rules") or [] for each in roles}

    @cached_property
    def _roles(self) -> dict[tuple[str, str], list[Rule]]:
        return {
            (each["metadata"]["namespace"], each["metadata"]["name"]): each.get("rules") or []
            for each in self._objects(f"roles.{RBAC}")
        }


def forbidden(user: UserInfo, attributes: Attributes, reason: str) -> StatusError:
    """Return the error for a request that is not allowed."""
    who = f"User {quote(user.user)} cannot {attributes.verb}"
    if not attributes.resource:
        text = f"{who} path {quote(attributes.path)}"
    else:
        scope = "at the cluster scope"
        if attributes.namespace:
            scope = f"in the namespace {quote(attributes.namespace)}"
        what = f"resource {quote(attributes.parted_resource)}"
        text = f"{who} {what} in API group {quote(attributes.group)} {scope}"
    # It must not be read as HTML.
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = f"{text}: {reason}" if reason else text
    return api_errors.forbidden(attributes.group, attributes.resource, attributes.name, text)


def aggregate(texts: Iterable[str]) -> str:
    """Format several errors on one line; equal errors appear once."""
    found = list(dict.fromkeys(texts))
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]"


def _allows(rule: Rule, wanted: Attributes) -> bool:
    if not _rule_contains(rule.get("verbs"), wanted.verb):
        return False
    if not wanted.resource:
        return any(covers_path(each, wanted.path) for each in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _rule_contains(rule.get("apiGroups"), wanted.group)
        and any(
            allowed in ("*", wanted.parted_resource)
            or (bool(wanted.subresource) and allowed == f"*/{wanted.subresource}")
            for allowed in rule.get("resources") or ()
        )
        and (not names or wanted.name in names)
    )


def _rule_contains(allowed: Iterable[str] | None, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in allowed or ())


def covers_path(allowed: str, path: str) -> bool:
    """Return whether a path, or all that begin as it does, are among those allowed."""
    return allowed == path or (allowed.endswith("*") and path.startswith(allowed.rstrip("*")))


def _subject_key(subject: Mapping[str, str], namespace: str) -> tuple[str, str]:
    """Return as whom a subject would ask."""
    if subject["kind"] != "ServiceAccount":
        return subject["kind"], subject["name"]
    home = subject.get("namespace") or namespace
    return "User", f"system:serviceaccount:{home}:{subject['name']}"
