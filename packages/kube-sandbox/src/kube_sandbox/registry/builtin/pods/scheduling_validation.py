"""
Validation of affinity, tolerations and topology spread constraints.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go validateAffinity,
ValidateTolerations, validateTopologySpreadConstraints.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, by_rule, choice, positive
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kube_sandbox.registry.name_validation import (
    dns_label,
    dns_subdomain,
    label_value,
    qualified_name,
)
from kube_sandbox.registry.object_meta import label_key, label_selector

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = "must be in the range 1-100"
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_NO_OPERATOR = "not a valid selector operator"


def check_affinity(affinity: Mapping[str, Any] | None, at: str) -> Errors:
    """Return the errors in what a pod wants to be near to, or far from."""
    if not affinity:
        return []
    found: Errors = []
    if (node := affinity.get("nodeAffinity")) is not None:
        if (selector := node.get(_REQUIRED)) is not None:
            where_terms = f"{at}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
            terms = selector.get("nodeSelectorTerms") or ()
            if not terms:
                found.append(required(where_terms, "must have at least one node selector term"))
            for index, term in enumerate(terms):
                found += _node_term(term, f"{where_terms}[{index}]", checks_values=True)
        for index, weighted in enumerate(node.get(_PREFERRED, ())):
            where_terms = f"{at}.nodeAffinity.{_PREFERRED}[{index}]"
            found += _weight(weighted, where_terms)
            term = weighted.get("preference", {})
            found += _node_term(term, f"{where_terms}.preference", checks_values=False)
    for name in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(name) or {}
        for index, term in enumerate(pods.get(_REQUIRED, ())):
            found += _pod_term(term, f"{at}.{name}.{_REQUIRED}[{index}]")
        for index, weighted in enumerate(pods.get(_PREFERRED, ())):
            where = f"{at}.{name}.{_PREFERRED}[{index}]"
            found += _weight(weighted, where)
            found += _pod_term(weighted.get("podAffinityTerm", {}), f"{where}.podAffinityTerm")
    return found


def _weight(term: Mapping[str, Any], at: str) -> Errors:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{at}.weight", weight, _WEIGHT)]


def _node_term(term: Mapping[str, Any], at: str, *, checks_values: bool) -> Errors:
    found: Errors = []
    for index, each in enumerate(term.get("matchExpressions", ())):
        where = f"{at}.matchExpressions[{index}]"
        operator, values = each.get("operator", ""), each.get("values", ())
        if operator in ("In", "NotIn"):
            if not values:
                message = "must be specified when `operator` is 'In' or 'NotIn'"
                found.append(required(f"{where}.values", message))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden(f"{where}.values", message))
        elif operator in ("Gt", "Lt"):
            if len(values) != 1:
                message = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                found.append(required(f"{where}.values", message))
        else:
            found.append(invalid(f"{where}.operator", operator, _NO_OPERATOR))
        found += label_key(each.get("key", ""), f"{where}.key")
        if checks_values:
            for place, value in enumerate(values):
                found += by_rule(value, f"{where}.values[{place}]", label_value)
    for index, each in enumerate(term.get("matchFields", ())):
        where = f"{at}.matchFields[{index}]"
        operator, values = each.get("operator", ""), each.get("values", ())
        if operator not in ("In", "NotIn"):
            found.append(invalid(f"{where}.operator", operator, _NO_OPERATOR))
        elif len(values) != 1:
            message = (
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
            found.append(required(f"{where}.values", message))
        key = each.get("key", "")
        if key != "metadata.name":
            found.append(invalid(f"{where}.key", key, "not a valid field selector key"))
        else:
            for at_value, value in enumerate(values):
                found += by_rule(value, f"{where}.values[{at_value}]", dns_subdomain)
    return found


def _pod_term(term: Mapping[str, Any], at: str) -> Errors:
    found = label_selector(term.get("labelSelector"), f"{at}.labelSelector")
    found += label_selector(term.get("namespaceSelector"), f"{at}.namespaceSelector")
    for name in term.get("namespaces", ()):
        found += by_rule(name, f"{at}.namespace", dns_label)
    found += _label_keys(term, at)
    topology = term.get("topologyKey", "")
    if not topology:
        found.append(required(f"{at}.topologyKey", "can not be empty"))
    return found + label_key(topology, f"{at}.topologyKey")


def _label_keys(term: Mapping[str, Any], at: str) -> Errors:
    """Return the errors in labels whose values are to be those of the pod itself."""
    selector = term.get("labelSelector")
    keys, others = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    found: Errors = []
    for name, listed in (("matchLabelKeys", keys), ("mismatchLabelKeys", others)):
        if listed and selector is None:
            found.append(forbidden(f"{at}.{name}", _NO_SELECTOR))
        elif listed:
            for index, key in enumerate(listed):
                found += by_rule(key, f"{at}.{name}[{index}]", qualified_name)
    seen = set((selector or {}).get("matchLabels", ()))
    for expression in (selector or {}).get("matchExpressions", ()):
        key = expression.get("key", "")
        if key in keys and key in seen:
            where = f"{at}[{list(keys).index(key)}]"
            found.append(invalid(where, key, "exists in both matchLabelKeys and labelSelector"))
        seen.add(key)
    message = "exists in both matchLabelKeys and mismatchLabelKeys"
    return found + [
        invalid(f"{at}.matchLabelKeys[{index}]", key, message)
        for index, key in enumerate(keys)
        if key in others
    ]


def check_tolerations(tolerations: Iterable[KubeObject], at: str) -> Errors:
    """Return the errors in the taints of nodes that a pod puts up with."""
    found: Errors = []
    for index, toleration in enumerate(tolerations):
        where, key = f"{at}[{index}]", toleration.get("key", "")
        operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
        if key:
            found += label_key(key, f"{where}.key")
        elif operator != "Exists":
            message = (
                "operator must be Exists when `key` is empty, which means "
                '"match all values and all keys"'
            )
            found.append(invalid(f"{where}.operator", operator, message))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            message = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(invalid(f"{where}.effect", effect, message))
        value = toleration.get("value", "")
        operator_at = f"{where}.operator"
        if operator in ("", "Equal"):
            wrong = label_value(value)
            found += [invalid(operator_at, value, ";".join(wrong))] if wrong else []
        elif operator == "Exists":
            operator_told = "value must be empty when `operator` is 'Exists'"
            found += [invalid(operator_at, value, operator_told)] if value else []
        else:
            known = (
                ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
            )
            found.append(not_supported(operator_at, operator, known))
        if effect:
            found += choice(effect, _EFFECTS, f"{where}.effect")
    return found


def check_spreading(constraints: Sequence[KubeObject], at: str) -> Errors:
    """Return the errors in how pods are to be spread."""
    found: Errors = []
    for index, constraint in enumerate(constraints):
        where = f"{at}[{index}]"
        topology = constraint.get("topologyKey", "")
        action = constraint.get("whenUnsatisfiable", "")
        found += positive(constraint.get("maxSkew", 0), f"{where}.maxSkew")
        if not topology:
            found.append(required(f"{where}.topologyKey", "can not be empty"))
        actions = ("DoNotSchedule", "ScheduleAnyway")
        found += choice(action, actions, f"{where}.whenUnsatisfiable")
        for other in constraints[index + 1 :]:
            if (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) == (
                topology,
                action,
            ):
                pair = f"{{{topology}, {action}}}"
                found.append(duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", pair))
                break
        count = constraint.get("minDomains")
        if count is not None:
            domains = positive(count, f"{where}.minDomains")
            if action != "DoNotSchedule":
                message = (
                    f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                )
                domains.append(invalid(f"{where}.minDomains", count, message))
            found += domains
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            found += choice(constraint.get(name), ("Honor", "Ignore"), f"{where}.{name}")
        found += _label_keys(constraint, where)
        found += label_selector(constraint.get("labelSelector"), f"{where}.labelSelector")
    return found
