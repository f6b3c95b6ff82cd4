"""
LimitRange and ResourceQuota.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateLimitRange,
ValidateResourceQuota, validateScopeSelector; pkg/apis/core/v1/defaults.go
SetDefaults_LimitRangeItem.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from kube_objects.quantity import parse_quantity
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.resource_lists import (
    amount_errors,
    container_name_errors,
    is_in_quota,
    may_overcommit,
    name_errors,
    round_up,
)
from kube_sandbox.registry.field_errors import duplicate, forbidden, invalid, required
from kube_sandbox.registry.name_validation import qualified_name
from kube_sandbox.registry.strategy import Errors, RequestContext

_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
# Pairs of bounds: the lesser, the greater, the field and the bound in the error, the message.
_ORDER = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)

Part = Mapping[str, Any]


class LimitRanges(BaseStrategy):
    """How much each of something may have."""

    def default(self, obj: KubeObject) -> None:
        """Let what is asked for follow from the limits, for containers."""
        for limit in obj.get("spec", {}).get("limits") or ():
            for part in _LISTS:
                round_up(limit.get(part))
            if limit.get("type") != "Container":
                continue
            default = {**limit.get("max", {}), **limit.get("default", {})}
            request = {**limit.get("min", {}), **default, **limit.get("defaultRequest", {})}
            if default:
                limit["default"] = default
            if request:
                limit["defaultRequest"] = request

    def check(self, obj: KubeObject) -> Errors:
        """Validate each limit."""
        seen: set[str] = set()
        found: Errors = []
        for index, limit in enumerate(obj["spec"].get("limits") or ()):
            field = f"spec.limits[{index}]"
            kind = limit.get("type", "")
            wrong = qualified_name(kind)
            if not wrong and "/" not in kind and kind not in _LIMIT_TYPES:
                wrong = ["must be a standard limit type or fully qualified"]
            found += [invalid(f"{field}.type", kind, each) for each in wrong]
            if kind in seen:
                found.append(duplicate(f"{field}.type", kind))
            seen.add(kind)
            found += _limit_errors(limit, kind, field)
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change like a new one."""
        return self.checked_meta(new) + self.check(new)


def _limit_errors(limit: Part, kind: str, field: str) -> Errors:
    found: Errors = []
    amounts: dict[str, Part] = {}
    for part in _LISTS:
        has_storage = any("storage" in limit.get(bound, {}) for bound in ("min", "max"))
        if part == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim" and not has_storage:
            message = (
                "either minimum or maximum storage value is required, but neither was provided"
            )
            found.append(required(f"{field}.limits", message))
        values = limit.get(part, {})
        if kind == "Pod" and part in ("default", "defaultRequest"):
            if values:
                message = "may not be specified when `type` is 'Pod'"
                found.append(forbidden(f"{field}.{part}", message))
            continue
        amounts[part] = values
        check_resource = container_name_errors if kind in ("Pod", "Container") else name_errors
        for name in values:
            found += check_resource(name, f"{field}.{part}[{name}]")
    names = dict.fromkeys(name for values in amounts.values() for name in values)
    for name in names:
        known = {part: parse_quantity(each[name]) for part, each in amounts.items() if name in each}
        for least, most, where, shown, message in _ORDER:
            if least in known and most in known and known[least] > known[most]:
                words = message.format(known[least].text, known[most].text)
                found.append(invalid(f"{field}.{where}[{name}]", known[shown].text, words))
        ratio_field = f"{field}.maxLimitRequestRatio[{name}]"
        ratio = known.get("maxLimitRequestRatio")
        if ratio is not None:
            if ratio.milli < 1000:
                found.append(invalid(ratio_field, ratio.text, f"ratio {ratio.text} is less than 1"))
            if "min" in known and "max" in known and known["min"].sign > 0:
                highest = known["max"].milli / known["min"].milli
                if ratio.milli / 1000 > highest:
                    words = f"ratio {ratio.text} is greater than max/min = {highest:f}"
                    found.append(invalid(ratio_field, ratio.text, words))
        both = "default" in known and "defaultRequest" in known
        if both and not may_overcommit(name) and known["default"] != known["defaultRequest"]:
            texts = known["default"].text, known["defaultRequest"].text
            words = (
                f"default value {texts[0]} must equal to defaultRequest value {texts[1]} in {name}"
            )
            found.append(invalid(f"{field}.defaultRequest[{name}]", texts[1], words))
    return found


_PODS = frozenset(("pods",))
_COMPUTE = frozenset(
    ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
)
_CLAIMS = frozenset(("persistentvolumeclaims", "requests.storage"))
# The scopes there are, and which resources each can count.
_SCOPES = {
    "Terminating": _PODS | _COMPUTE,
    "NotTerminating": _PODS | _COMPUTE,
    "NotBestEffort": _PODS | _COMPUTE,
    "PriorityClass": _PODS | _COMPUTE,
    "CrossNamespacePodAffinity": _PODS | _COMPUTE,
    "BestEffort": _PODS,
    "VolumeAttributesClass": _CLAIMS,
}
_EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTING = (
    "BestEffort",
    "NotBestEffort",
    "Terminating",
    "NotTerminating",
    "CrossNamespacePodAffinity",
)


class ResourceQuotas(BaseStrategy):
    """How much a namespace may have of something."""

    def default(self, obj: KubeObject) -> None:
        """Round the amounts."""
        round_up(obj.get("spec", {}).get("hard"))
        for part in ("hard", "used"):
            round_up(obj.get("status", {}).get(part))

    def check(self, obj: KubeObject) -> Errors:
        """Validate the amounts and what they are of."""
        spec: Part = obj["spec"]
        found: Errors = []
        found += _amounts_errors(spec.get("hard", {}), "spec.hard")
        scopes = list(spec.get("scopes", ()))
        for scope in scopes:
            if scope not in _SCOPES:
                found.append(invalid("spec.scopes", scopes, "unsupported scope"))
            message = "unsupported scope applied to resource"
            found += [invalid("spec.scopes", scopes, message)] * _misplaced(scope, spec)
        found += _exclusive_errors(set(scopes), "spec.scopes", spec)
        selector = spec.get("scopeSelector")
        if selector is None:
            return found
        field = "spec.scopeSelector.matchExpressions"
        expressions = selector.get("matchExpressions", ())
        listed = [
            {
                "ScopeName": each.get("scopeName", ""),
                "Operator": each.get("operator", ""),
                "Values": each.get("values"),
            }
            for each in expressions
        ]
        shown = orjson.Fragment(orjson.dumps({"MatchExpressions": listed}))
        for expression in expressions:
            scope = expression.get("scopeName", "")
            if scope not in _SCOPES:
                found.append(invalid(f"{field}.scopeName", scope, "unsupported scope"))
            message = "unsupported scope applied to resource"
            found += [invalid(field, shown, message)] * _misplaced(scope, spec)
            operator, values = expression.get("operator", ""), expression.get("values", ())
            if scope in _EXISTING and operator != "Exists":
                message = (
                    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
                )
                found.append(invalid(f"{field}.operator", operator, message))
            if operator in ("In", "NotIn"):
                if not values:
                    message = (
                        "must be at least one value when `operator` is 'In' or 'NotIn' "
                        "for scope selector"
                    )
                    found.append(required(f"{field}.values", message))
            elif operator in ("Exists", "DoesNotExist"):
                if values:
                    message = (
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' "
                        "for scope selector"
                    )
                    found.append(invalid(f"{field}.values", list(values), message))
            else:
                found.append(
                    invalid(f"{field}.operator", operator, "not a valid selector operator")
                )
        named = {each.get("scopeName", "") for each in expressions}
        return found + _exclusive_errors(named, field, spec)

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change; the scopes stay."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            status = new.get("status", {})
            for part in ("hard", "used"):
                found += _amounts_errors(status.get(part, {}), f"status.{part}")
            return found
        found += self.check(new)
        now, then = (list(each["spec"].get("scopes", ())) for each in (new, old))
        if set(now) != set(then):
            found.append(invalid("spec.scopes", now or None, "field is immutable"))
        return found

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of requests above their limits."""
        hard = obj["spec"].get("hard", {})
        found = []
        for name in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
            asked = f"requests.{name}"
            if asked not in hard and name in ("cpu", "memory"):
                asked = name
            most = f"limits.{name}"
            if (
                asked in hard
                and most in hard
                and parse_quantity(hard[asked]) > parse_quantity(hard[most])
            ):
                message = f"should be less than {most} ({hard[most]})"
                found.append(f"ResourceQuota {asked} ({hard[asked]}) {message}")
        return found


def _amounts_errors(amounts: Part, field: str) -> Errors:
    found: Errors = []
    for name, text in amounts.items():
        where = f"{field}[{name}]"
        found += name_errors(name, where)
        if "/" not in name and not is_in_quota(name):
            found.append(invalid(where, name, "must be a standard resource for quota"))
        found += amount_errors(name, text, where)
    return found


def _misplaced(scope: str, spec: Part) -> int:
    """Count the resources that a scope cannot count."""
    counted = _SCOPES.get(scope)
    names = [name for name in spec.get("hard", ()) if is_in_quota(name)]
    return 0 if counted is None else sum(name not in counted for name in names)


def _exclusive_errors(scopes: set[str], field: str, spec: Part) -> Errors:
    """Reject scopes that no Pod can have together, such as BestEffort and NotBestEffort."""
    return [
        invalid(field, spec.get("scopes"), "conflicting scopes")
        for pair in _EXCLUSIVE
        if scopes.issuperset(pair)
    ]


LIMIT_RANGES = LimitRanges(KindOptions(creates_on_update=True))
QUOTAS = ResourceQuotas(KindOptions(has_status=True))
