"""
Kinds that are filled in but not judged: webhooks and policies of admission, drivers, devices,
flows of requests.
"""

from copy import deepcopy
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.registry.builtin.base_strategy import Plain, Ways
from kube_sandbox.registry.name_validation import path_segment
from kube_sandbox.registry.strategy import Occasion

_WEBHOOK: dict[str, Any] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_MATCH: dict[str, Any] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_DRIVER: dict[str, Any] = {
    "attachRequired": True,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "podInfoOnMount": False,
    "requiresRepublish": False,
    "seLinuxMount": False,
    "storageCapacity": False,
    "volumeLifecycleModes": ["Persistent"],
}


def _fill(part: dict[str, Any], defaults: dict[str, Any]) -> None:
    for key, value in defaults.items():
        if part.get(key) is None:
            part[key] = deepcopy(value)


def _fill_rules(rules: list[dict[str, Any]]) -> None:
    for rule in rules:
        _fill(rule, {"scope": "*"})


class WebhookConfigurations(Plain):
    """Whom to ask before something is written."""

    def __init__(self, ways: Ways, *, may_change: bool) -> None:
        super().__init__(ways)
        self._defaults = {**_WEBHOOK, **({"reinvocationPolicy": "Never"} if may_change else {})}

    def default(self, obj: KubeObject) -> None:
        """Mean all objects, and let nothing pass unasked."""
        for webhook in obj.get("webhooks", ()):
            _fill(webhook, self._defaults)
            service = webhook.get("clientConfig", {}).get("service")
            if service is not None:
                _fill(service, {"port": 443})
            _fill_rules(webhook.get("rules", []))


class AdmissionPolicies(Plain):
    """What is asked before something is written."""

    def default(self, obj: KubeObject) -> None:
        """Mean all objects, and let nothing pass unasked."""
        spec = obj.setdefault("spec", {})
        _fill(spec, {"failurePolicy": "Fail"})
        _fill_match(spec.get("matchConstraints"))


class PolicyBindings(Plain):
    """Where a policy holds."""

    def default(self, obj: KubeObject) -> None:
        """Mean all objects."""
        _fill_match(obj.get("spec", {}).get("matchResources"))


def _fill_match(match: dict[str, Any] | None) -> None:
    if match is not None:
        _fill(match, _MATCH)
        for part in ("resourceRules", "excludeResourceRules"):
            _fill_rules(match.get(part, []))


class Drivers(Plain):
    """What a storage driver can do."""

    def default(self, obj: KubeObject) -> None:
        """Be able to do little."""
        _fill(obj.setdefault("spec", {}), _DRIVER)


class Attachments(Plain):
    """A volume at a node."""

    def first_status(self, obj: KubeObject, occasion: Occasion) -> KubeObject:
        """Not be there yet."""
        return {"attached": False}


class Flows(Plain):
    """Which requests belong together."""

    def default(self, obj: KubeObject) -> None:
        """Come late."""
        spec = obj.setdefault("spec", {})
        spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


class PriorityLevels(Plain):
    """How many requests are served at once."""

    def default(self, obj: KubeObject) -> None:
        """Have a share, and lend nothing of it."""
        limited = obj.get("spec", {}).get("limited")
        if limited is not None:
            _fill(limited, {"nominalConcurrencyShares": 30, "lendablePercent": 0})


class ApiServices(Plain):
    """Who serves a group."""

    def default(self, obj: KubeObject) -> None:
        """Be reached by HTTPS."""
        service = obj.get("spec", {}).get("service")
        if service is not None:
            _fill(service, {"port": 443})

    def prepare_create(self, obj: KubeObject, occasion: Occasion) -> None:
        """Be there at once if it is this server that serves the group."""
        super().prepare_create(obj, occasion)
        if obj.get("spec", {}).get("service") is None:
            condition = {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": format_time(occasion.now),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
            obj["status"] = {"conditions": [condition]}


class DeviceClaims(Plain):
    """Devices that somebody wants."""

    def default(self, obj: KubeObject) -> None:
        """Want one of each; a template holds the spec of a claim in its own."""
        spec = obj.get("spec", {})
        for request in (spec.get("spec") or spec).get("devices", {}).get("requests") or ():
            exactly = request.get("exactly")
            for each in (*([exactly] if exactly else []), *request.get("firstAvailable", ())):
                _fill(each, {"allocationMode": "ExactCount"})
                if each["allocationMode"] == "ExactCount":
                    each["count"] = each.get("count") or 1


_HOOKS = Ways(
    namespaced=False,
    counted=("webhooks",),
    allows_unconditional_update=False,
    judges_finalizers=False,
)
_POLICIES = Ways(
    namespaced=False,
    counted=("spec",),
    allows_unconditional_update=False,
    judges_finalizers=False,
)
MUTATING_WEBHOOKS = WebhookConfigurations(_HOOKS, may_change=True)
VALIDATING_WEBHOOKS = WebhookConfigurations(_HOOKS, may_change=False)
ADMISSION_POLICIES = AdmissionPolicies(
    Ways(
        namespaced=False,
        has_status=True,
        counted=("spec",),
        allows_unconditional_update=False,
        judges_finalizers=False,
    )
)
POLICY_BINDINGS = PolicyBindings(_POLICIES)
DRIVERS = Drivers(Ways(namespaced=False, allows_unconditional_update=False))
ATTACHMENTS = Attachments(
    Ways(namespaced=False, has_status=True, allows_unconditional_update=False)
)
ATTRIBUTES_CLASSES = Plain(Ways(namespaced=False))
FLOWS = Flows(Ways(namespaced=False, has_status=True, counted=("spec",)))
PRIORITY_LEVELS = PriorityLevels(Ways(namespaced=False, has_status=True, counted=("spec",)))
API_SERVICES = ApiServices(
    Ways(
        namespaced=False,
        name_rule=path_segment,  # that of the core group is called «v1.»
        has_status=True,
        allows_unconditional_update=False,
        judges_finalizers=False,
    )
)
DEVICE_CLAIMS = DeviceClaims(Ways(has_status=True))
DEVICE_CLAIM_TEMPLATES = DeviceClaims(Ways())
