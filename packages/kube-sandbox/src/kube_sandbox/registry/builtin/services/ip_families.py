"""
The families of a Service's addresses.

This cluster has one, IPv4; a headless Service without selector may still name both.

Follows kubernetes 1.35 pkg/registry/core/service/storage/alloc.go Allocators.initIPFamilyFields,
isMatchingPreferDualStackClusterIPFields.
"""

from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.api_errors import invalid as refused
from kube_sandbox.registry.builtin.services.spec_predicates import (
    HEADLESS,
    LOAD_BALANCER,
    NODE_PORT,
    family_of,
    is_external_name,
    set_or_drop,
)
from kube_sandbox.registry.builtin.services.validation import cluster_ip_errors
from kube_sandbox.registry.field_errors import FieldError, invalid
from kube_sandbox.registry.strategy import Errors

Spec = dict[str, Any]
_FAMILIES = ("IPv4",)


def refusal(obj: KubeObject, errors: list[FieldError]) -> StatusError:
    """Say what is wrong with a Service."""
    return refused("", "Service", obj["metadata"].get("name", ""), errors)


def keeps_prefer_dual_stack(spec: Spec, before: Spec) -> bool:
    """Say whether nothing is to be done for one that would take both families if it could."""
    same = ("type", "clusterIPs", "ipFamilies")
    return (
        spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy", "PreferDualStack") == "PreferDualStack"
        and spec["type"] in ("ClusterIP", NODE_PORT, LOAD_BALANCER)
        and all(spec.get(part) == before.get(part) for part in same)
    )


def default_ip_families(obj: KubeObject, old: KubeObject | None) -> None:
    """Fill in families of addresses and their policy, or refuse what cannot be."""
    spec = obj["spec"]
    if is_external_name(spec):
        return
    selects_nothing = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        former = old["spec"].get("ipFamilyPolicy") if old else None
        spec["ipFamilyPolicy"] = former or (
            "RequireDualStack" if selects_nothing else "SingleStack"
        )
    errors = cluster_ip_errors(spec)
    if errors:
        raise refusal(obj, errors)
    errors = _policy_errors(spec, old["spec"] if old else None) + _family_errors(spec)
    if errors:
        raise refusal(obj, errors)
    if selects_nothing:
        families = spec.get("ipFamilies") or [_FAMILIES[0]]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        spec["ipFamilies"] = families
        return
    found: Errors = []
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        told = "this cluster is not configured for dual-stack services"
        found.append(invalid("spec.ipFamilyPolicy", "RequireDualStack", told))
    errors = found + [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(spec.get("ipFamilies", ()))
        if family not in _FAMILIES
    ]
    if errors:
        raise refusal(obj, errors)
    spec["ipFamilies"] = spec.get("ipFamilies") or [_FAMILIES[0]]


def _policy_errors(spec: Spec, before: Spec | None) -> Errors:
    policy = spec["ipFamilyPolicy"]
    field = "spec.ipFamilyPolicy"
    parts = (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family"))
    found: Errors = []
    for part, word in parts if before else ():
        now, then = spec.get(part, []), (before or {}).get(part, [])
        if policy == "SingleStack" and now == then:
            set_or_drop(spec, part, now[:1])
        elif policy != "SingleStack" and 0 < len(now) < len(then):
            told = f"must be 'SingleStack' to release the secondary {word}"
            found.append(invalid(field, policy, told))
    for part, word in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if policy == "SingleStack" and len(spec.get(part, ())) == 2:
            told = "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
            found.append(invalid(field, policy, f"{told}{word} are specified"))
    return found


def _family_errors(spec: Spec) -> Errors:
    """Add the family of each address beyond those that are named."""
    addresses, families = spec.get("clusterIPs", []), list(spec.get("ipFamilies", ()))
    found: Errors = []
    for index, address in enumerate(addresses):
        if address == HEADLESS:
            break
        if index >= len(families):
            family = family_of(address)
            if family in _FAMILIES:
                families.append(family)
            else:
                told = f"{family} is not configured on this cluster"
                found.append(invalid(f"spec.clusterIPs[{index}]", addresses, told))
    set_or_drop(spec, "ipFamilies", families)
    return found
