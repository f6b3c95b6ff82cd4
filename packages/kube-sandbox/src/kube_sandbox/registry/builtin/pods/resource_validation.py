"""
Validation of resource requirements and resource claims.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go
ValidateContainerResourceRequirements, validatePodResources, validatePodResourceConsistency,
validatePodResourceClaims.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kube_objects.quantity import UNIT, nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, by_rule, check_name
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.builtin.pods.resource_totals import aggregated
from kube_sandbox.registry.builtin.resource_lists import (
    amount_errors,
    container_name_errors,
    may_overcommit,
    name_errors,
)
from kube_sandbox.registry.field_errors import (
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kube_sandbox.registry.name_validation import dns_label, dns_subdomain

_COMPUTE = frozenset(("cpu", "memory"))
_HUGE = "hugepages-"

NameCheck = Callable[[str, str], Errors]


def check_container_resources(
    resources: Mapping[str, Any], claims: Iterable[str], at: str
) -> Errors:
    """Return the errors in the resources of a container."""
    if not resources:
        return []
    return _requirements(resources, container_name_errors, claims, at)


def _pod_name(name: str, at: str) -> Errors:
    found = name_errors(name, at)
    if found or name in _COMPUTE or name.startswith(_HUGE):
        return found
    return [not_supported(at, name, ("cpu", _HUGE, "memory"))]


def _check_huge_pages(name: str, text: str, at: str) -> Errors:
    if not name.startswith(_HUGE):
        return []
    size = nanos(name.removeprefix(_HUGE))
    if size > 0 and size % UNIT == 0 and nanos(text) % size == 0:
        return []
    return [invalid(at, text, f"{text} is not positive integer multiple of {name}")]


def _requirements(
    resources: Mapping[str, Any], name_check: NameCheck, claims: Iterable[str], at: str
) -> Errors:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    found: Errors = []
    for name, text in limits.items():
        where = f"{at}.limits[{name}]"
        found += (
            name_check(name, where)
            + amount_errors(name, text, where)
            + _check_huge_pages(name, text, where)
        )
    for name, text in requests.items():
        where = f"{at}.requests[{name}]"
        found += name_check(name, where) + amount_errors(name, text, where)
        limit = limits.get(name)
        if limit is None:
            if not may_overcommit(name):
                found.append(
                    required(f"{at}.limits", "Limit must be set for non overcommitable resources")
                )
        elif not may_overcommit(name) and nanos(text) != nanos(limit):
            found.append(
                invalid(f"{at}.requests", text, f"must be equal to {name} limit of {limit}")
            )
        elif nanos(text) > nanos(limit):
            message = f"must be less than or equal to {name} limit of {limit}"
            found.append(invalid(f"{at}.requests", text, message))
        found += _check_huge_pages(name, text, where)
    names = limits.keys() | requests.keys()
    if not names & _COMPUTE and any(name.startswith(_HUGE) for name in names):
        found.append(forbidden(at, "HugePages require cpu or memory"))
    return found + _claims(resources.get("claims", ()), sorted(set(claims)), f"{at}.claims")


def _claims(claims: Iterable[Mapping[str, Any]], known: list[str], at: str) -> Errors:
    found: Errors = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name, request = f"{at}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            found.append(required(where))
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            found.append(duplicate(where, name))
        else:
            if request:
                found += by_rule(request, f"{where}.request", dns_label)
            if key in seen:
                found.append(duplicate(where, key))
            elif not request and any(each.partition("/")[0] == name for each in seen):
                found.append(duplicate(where, name))
            seen.add(key)
        if name not in known:
            listed = f": {', '.join(known)}" if known else " which is empty"
            message = f"must be one of the names in pod.spec.resourceClaims{listed}"
            found.append(FieldError(ErrorType.NOT_FOUND, where, name, message))
    return found


def check_overhead(overhead: Mapping[str, str], at: str) -> Errors:
    """Return the errors in what a pod costs beside its containers."""
    return _requirements({"limits": overhead}, container_name_errors, (), at)


def check_pod_resources(spec: KubeObject, claims: Iterable[str], at: str) -> Errors:
    """Return the errors in the resources of a pod as a whole."""
    resources = spec.get("resources")
    if resources is None:
        return []
    if spec.get("os", {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    found: Errors = []
    if "claims" in resources:
        message = "claims may not be set for Resources at pod-level"
        found.append(forbidden(f"{at}.claims", message))
    found += _requirements(resources, _pod_name, claims, at)
    resources = spec["resources"]
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, text in aggregated(spec, "requests").items():
        if name in requests and nanos(text) > nanos(requests[name]):
            message = f"must be greater than or equal to aggregate container requests of {text}"
            found.append(invalid(f"{at}.requests[{name}]", requests[name], message))
    for name, text in aggregated(spec, "limits").items():
        if name.startswith(_HUGE) and name in limits and nanos(text) > nanos(limits[name]):
            message = f"must be greater than or equal to aggregate container limits of {text}"
            found.append(invalid(f"{at}.limits[{name}]", limits[name], message))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, text in container.get("resources", {}).get("limits", {}).items():
            if name in limits and nanos(text) > nanos(limits[name]):
                message = f"must be less than or equal to pod limits of {limits[name]}"
                found.append(invalid(f"{at}.containers[{index}][{name}].limits", text, message))
    return found


def check_resource_claims(claims: Sequence[KubeObject], at: str) -> Errors:
    """Return the errors in the claims of devices that a pod has."""
    found: Errors = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        where, name = f"{at}[{index}]", claim.get("name", "")
        if name and name in seen:
            found.append(duplicate(f"{where}.name", name))
        else:
            found += check_name(name, f"{where}.name", dns_label)
            seen.add(name)
        given = [
            key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key)
        ]
        if len(given) != 1:
            message = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if given
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            found.append(invalid(where, format_internal(claim, "core.PodResourceClaim"), message))
        for key in given:
            found += by_rule(claim[key], f"{where}.{key}", dns_subdomain)
    return found
