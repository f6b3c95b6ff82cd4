"""
Resource lists: the names of resources and the validity of their amounts.

Follows kubernetes 1.35 pkg/apis/core/helper/helpers.go IsStandardQuotaResourceName,
IsNativeResource; pkg/apis/core/validation/validation.go ValidateResourceQuantityValue,
validateContainerResourceName.
"""

from typing import Any

from kube_objects.quantity import parse_quantity, round_to_milli
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.name_validation import qualified_name
from kube_sandbox.registry.strategy import Errors

_COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_MEASURED = frozenset(("cpu", "memory", "ephemeral-storage"))
_LIMITED = frozenset(
    f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _MEASURED
) | {"requests.storage"}
STANDARD = _COUNTED | _MEASURED | _LIMITED | {"storage"}
QUOTA = _COUNTED | _MEASURED | _LIMITED
CONTAINER = _MEASURED
_HUGE = "hugepages-"
_HUGE_IN_QUOTA = (_HUGE, "requests." + _HUGE)


def round_up(amounts: dict[str, Any] | None) -> None:
    """Round amounts up to thousandths; changes them."""
    if amounts:
        for name, text in amounts.items():
            # Others have no more than three places.
            if text[-1:] in "nu" or "." in text or "e" in text or "E" in text:
                amounts[name] = round_to_milli(text)


def is_standard(name: str) -> bool:
    """Return whether a name without a domain is known."""
    return name in STANDARD or name.startswith(_HUGE_IN_QUOTA)


def is_in_quota(name: str) -> bool:
    """Return whether a name without a domain can be limited by a quota."""
    return name in QUOTA or name.startswith(_HUGE_IN_QUOTA)


def is_native(name: str) -> bool:
    """Return whether a resource is one of Kubernetes itself."""
    return "/" not in name or "kubernetes.io/" in name


def is_whole(name: str) -> bool:
    """Return whether a resource comes in whole numbers only."""
    return name in _COUNTED or (
        not is_native(name)
        and not name.startswith("requests.")
        and not qualified_name(f"requests.{name}")
    )


def may_overcommit(name: str) -> bool:
    """Return whether more of a resource may be promised than there is."""
    return is_native(name) and not name.startswith(_HUGE)


def name_errors(name: str, field: str) -> Errors:
    """Validate the name of a resource."""
    found = [invalid(field, name, each) for each in qualified_name(name)]
    if not found and "/" not in name and not is_standard(name):
        return [invalid(field, name, "must be a standard resource type or fully qualified")]
    return found


def container_name_errors(name: str, field: str) -> Errors:
    """Validate the name of a resource that containers use."""
    found = name_errors(name, field)
    if "/" not in name:
        if name not in CONTAINER and not name.startswith(_HUGE):
            found.append(invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and (
        name.startswith("requests.") or qualified_name(f"requests.{name}")
    ):
        message = "doesn't follow extended resource name standard"
        found.append(invalid(field, name, message))
    return found


def amount_errors(name: str, text: str, field: str) -> Errors:
    """Validate an amount."""
    amount = parse_quantity(text)
    found: Errors = []
    if amount.sign < 0:
        found.append(invalid(field, text, "must be greater than or equal to 0"))
    if is_whole(name) and amount.milli % 1000:
        found.append(invalid(field, text, "must be an integer"))
    return found
