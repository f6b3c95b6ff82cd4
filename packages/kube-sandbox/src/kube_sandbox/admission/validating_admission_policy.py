"""
ValidatingAdmissionPolicies: expressions that decide which writes are admitted.

A policy says what it is about and what must hold; a binding puts it into force, for a part of the
cluster, with parameters, and selects whether to deny or to warn. Pure, except for the functions it
gets to read objects; the code that changes policies calls `forget`. The variable `authorizer` of
real expressions is not supported, and a policy is matched with the version of the request only.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go
dispatcher.Dispatch; k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go
CollectParams; k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go Matcher.Matches.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kube_objects.label_selectors import Selector
from kube_objects.refs import Kind, KubeObject
from kube_sandbox import api_errors
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry.kinds import Served

if TYPE_CHECKING:
    from kube_sandbox.admission import policy_expressions
else:
    policy_expressions = lazy_module("kube_sandbox.admission.policy_expressions")

GROUP = "admissionregistration.k8s.io"
_POLICIES = f"validatingadmissionpolicies.{GROUP}"
_BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


@dataclass(frozen=True, slots=True)
class Sources:
    """Where policies, and what they look at, are looked up."""

    all: Callable[[str], Iterable[KubeObject]]  # by bucket
    namespace: Callable[[str], KubeObject | None]
    served: Callable[[Kind], Served | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a write is denied."""

    message: str
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class _Bound:
    """A policy and what puts it into force."""

    policy: KubeObject
    bindings: Sequence[KubeObject]
    compiled: "policy_expressions.Compiled"


class ValidatingAdmissionPolicies:
    """Lets writes in, or not."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._known: list[_Bound] | None = None

    def forget(self) -> None:
        """Hear that policies or bindings changed."""
        self._known = None

    @property
    def are_any(self) -> bool:
        """Return whether a policy is in force."""
        return bool(self._in_force())

    def admit(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject what a policy denies; return what its author is warned of."""
        known = self._in_force()
        if not known or attributes.served.kind.group == GROUP:
            return []
        warnings: list[str] = []
        denied: list[api_errors.StatusError] = []
        for bound in known:
            if not self._matches(bound.policy["spec"].get("matchConstraints"), attributes):
                continue
            for binding in bound.bindings:
                if self._matches(binding["spec"].get("matchResources"), attributes):
                    name, bound_by = bound.policy["metadata"]["name"], binding["metadata"]["name"]
                    who = f"ValidatingAdmissionPolicy '{name}' with binding '{bound_by}'"
                    actions = binding["spec"].get("validationActions") or ()
                    for decision, is_flaw in self._decisions(bound, binding, attributes):
                        if is_flaw or "Deny" in actions:
                            served = attributes.served
                            message = f"{who} denied request: {decision.message}"
                            error = api_errors.forbidden(
                                served.kind.group, served.plural, attributes.name, message
                            )
                            error.reason = decision.reason
                            error.code = _CODES.get(decision.reason, 422)
                            error.details["causes"] = [{"message": message}]
                            denied.append(error)
                        if not is_flaw and "Warn" in actions:
                            warnings.append(f"Validation failed for {who}: {decision.message}")
        if denied:
            denied[0].warnings = warnings
            raise denied[0]
        return warnings

    def _in_force(self) -> list[_Bound]:
        if self._known is None:
            bound: list[_Bound] = []
            bindings = list(self._sources.all(_BINDINGS))
            for policy in self._sources.all(_POLICIES):
                name = policy["metadata"]["name"]
                mine = [each for each in bindings if each["spec"].get("policyName") == name]
                if mine:
                    bound.append(_Bound(policy, mine, policy_expressions.Compiled(policy["spec"])))
            self._known = bound
        return self._known

    def _decisions(
        self, bound: _Bound, binding: KubeObject, attributes: AdmissionAttributes
    ) -> Iterator[tuple[Decision, bool]]:
        """Return the violations of a write, and whether the binding itself is invalid."""
        try:
            found = list(self._params(bound.policy, binding, attributes))
        except _UnusableBindingError as violation:
            if bound.compiled.fails:
                yield Decision(f"failed to configure binding: {violation}"), True
            return
        known: dict[str, Any] = {
            "object": attributes.obj,
            "oldObject": attributes.old,
            "request": attributes.request(),
            "namespaceObject": (
                self._sources.namespace(attributes.namespace) if attributes.namespace else None
            ),
        }
        for params in found:
            for message, reason in bound.compiled.complaints({**known, "params": params}):
                yield Decision(message, reason), False

    # What is matched

    def _matches(self, criteria: KubeObject | None, attributes: AdmissionAttributes) -> bool:
        if not criteria:
            return True
        in_selector = criteria.get("namespaceSelector")
        is_namespace = attributes.served.bucket == "namespaces"
        if not in_selector or not (attributes.namespace or is_namespace):
            is_in = True
        else:
            if is_namespace and not attributes.subresource and attributes.obj is not None:
                labels = _labels(attributes.obj)
            else:
                labels = _labels(self._sources.namespace(attributes.namespace or attributes.name))
            is_in = Selector.parse(in_selector).matches(labels)
        if not is_in:
            return False
        selector = criteria.get("objectSelector")
        if not selector:
            has_labels = True
        else:
            wanted = Selector.parse(selector)
            has_labels = any(
                wanted.matches(_labels(each))
                for each in (attributes.obj, attributes.old)
                if each is not None
            )
        if not has_labels:
            return False
        if any(_applies(rule, attributes) for rule in criteria.get("excludeResourceRules") or ()):
            return False
        rules = criteria.get("resourceRules") or ()
        return not rules or any(_applies(rule, attributes) for rule in rules)

    # Parameters

    def _params(
        self, policy: KubeObject, binding: KubeObject, attributes: AdmissionAttributes
    ) -> Iterator[KubeObject | None]:
        kind, ref = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
        if not kind or not ref:
            yield None
            return
        served = self._sources.served(Kind.of(kind["apiVersion"], kind["kind"]))
        if served is None:
            message = f"&ParamKind{{APIVersion:{kind['apiVersion']},Kind:{kind['kind']},}}"
            raise _UnusableBindingError(f"paramKind kind `{message}` not known")
        given: str = ref.get("namespace", "")
        if not served.namespaced:
            if given:
                raise _UnusableBindingError(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                )
            namespace = ""
        else:
            if not (given or attributes.namespace):
                raise _UnusableBindingError(
                    "cannot use namespaced paramRef in policy binding that matches "
                    "cluster-scoped resources"
                )
            namespace = given or attributes.namespace
        found = [
            each
            for each in self._sources.all(served.bucket)
            if each["metadata"].get("namespace", "") == namespace and _matches_param_ref(ref, each)
        ]
        if not found and ref.get("parameterNotFoundAction") == "Deny":
            raise _UnusableBindingError(
                "no params found for policy binding with `Deny` parameterNotFoundAction"
            )
        yield from found


class _UnusableBindingError(Exception):
    """A binding cannot be used."""


def _matches_param_ref(ref: KubeObject, params: KubeObject) -> bool:
    if ref.get("name"):
        return bool(params["metadata"]["name"] == ref["name"])
    return Selector.parse(ref.get("selector") or {}).matches(_labels(params))


def _applies(rule: KubeObject, attributes: AdmissionAttributes) -> bool:
    """Return whether a rule is about a write."""
    kind = attributes.served.kind
    names = rule.get("resourceNames") or ()
    scope = rule.get("scope", "*")
    return (
        (scope == "*" or (scope == "Namespaced") == attributes.served.namespaced)
        and _names(rule.get("operations"), attributes.operation)
        and _names(rule.get("apiGroups"), kind.group)
        and _names(rule.get("apiVersions"), kind.version)
        and any(
            plural in ("*", attributes.served.plural) and part in ("*", attributes.subresource)
            for plural, _, part in (each.partition("/") for each in rule.get("resources") or ())
        )
        and (not names or attributes.name in names)
    )


def _names(given: Sequence[str] | None, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in given or ())


def _labels(obj: KubeObject | None) -> Mapping[str, str]:
    return (obj["metadata"].get("labels") or {}) if obj is not None else {}
