"""
What is wrong with the devices that pods claim.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go validatePodResourceClaims.
"""

from collections.abc import Sequence

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, by_rule, check_name
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.field_errors import duplicate, invalid
from kube_sandbox.registry.name_validation import dns_label, dns_subdomain


def check_resource_claims(claims: Sequence[KubeObject], at: str) -> Errors:
    """Return what is wrong with the claims of devices that a pod has."""
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
            told = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if given
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            found.append(invalid(where, format_internal(claim, "core.PodResourceClaim"), told))
        for key in given:
            found += by_rule(claim[key], f"{where}.{key}", dns_subdomain)
    return found
