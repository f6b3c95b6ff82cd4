"""
Kinds with defaults but without checks: admission webhooks and policies, drivers, devices, API
priority and fairness.

Follows kubernetes 1.35 pkg/apis/admissionregistration/v1/defaults.go
SetDefaults_ValidatingWebhook, SetDefaults_MutatingWebhook, SetDefaults_MatchResources;
pkg/apis/storage/v1/defaults.go SetDefaults_CSIDriver; pkg/apis/flowcontrol/v1/defaults.go
SetDefaults_FlowSchemaSpec; k8s.io/kube-aggregator/pkg/registry/apiservice/strategy.go
apiServerStrategy.PrepareForCreate.
"""

from copy import deepcopy
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.name_validation import path_segment
from kube_sandbox.registry.strategy import RequestContext

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


def _set_defaults(part: dict[str, Any], defaults: dict[str, Any]) -> None:
    for key, value in defaults.items():
        if part.get(key) is None:
            part[key] = deepcopy(value)


def _default_rules(rules: list[dict[str, Any]]) -> None:
    for rule in rules:
        _set_defaults(rule, {"scope": "*"})


class WebhookConfigurations(BaseStrategy):
    """Whom to ask before something is written."""

    def __init__(self, ways: KindOptions, *, may_change: bool) -> None:
        super().__init__(ways)
        self._defaults = {**_WEBHOOK, **({"reinvocationPolicy": "Never"} if may_change else {})}

    def default(self, obj: KubeObject) -> None:
        """Mean all objects, and let nothing pass unasked."""
        for webhook in obj.get("webhooks", ()):
            _set_defaults(webhook, self._defaults)
            service = webhook.get("clientConfig", {}).get("service")
            if service is not None:
                _set_defaults(service, {"port": 443})
            _default_rules(webhook.get("rules", []))


class AdmissionPolicies(BaseStrategy):
    """What is asked before something is written."""

    def default(self, obj: KubeObject) -> None:
        """Mean all objects, and let nothing pass unasked."""
        spec = obj.setdefault("spec", {})
        _set_defaults(spec, {"failurePolicy": "Fail"})
        _default_match(spec.get("matchConstraints"))


class PolicyBindings(BaseStrategy):
    """Where a policy holds."""

    def default(self, obj: KubeObject) -> None:
        """Mean all objects."""
        _default_match(obj.get("spec", {}).get("matchResources"))


def _default_match(match: dict[str, Any] | None) -> None:
    if match is not None:
        _set_defaults(match, _MATCH)
        for part in ("resourceRules", "excludeResourceRules"):
            _default_rules(match.get(part, []))


class CSIDrivers(BaseStrategy):
    """What a storage driver can do."""

    def default(self, obj: KubeObject) -> None:
        """Be able to do little."""
        _set_defaults(obj.setdefault("spec", {}), _DRIVER)


class VolumeAttachments(BaseStrategy):
    """A volume at a node."""

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Not be there yet."""
        return {"attached": False}


class FlowSchemas(BaseStrategy):
    """Which requests belong together."""

    def default(self, obj: KubeObject) -> None:
        """Come late."""
        spec = obj.setdefault("spec", {})
        spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


class PriorityLevels(BaseStrategy):
    """How many requests are served at once."""

    def default(self, obj: KubeObject) -> None:
        """Have a share, and lend nothing of it."""
        limited = obj.get("spec", {}).get("limited")
        if limited is not None:
            _set_defaults(limited, {"nominalConcurrencyShares": 30, "lendablePercent": 0})


class ApiServices(BaseStrategy):
    """Who serves a group."""

    def default(self, obj: KubeObject) -> None:
        """Be reached by HTTPS."""
        service = obj.get("spec", {}).get("service")
        if service is not None:
            _set_defaults(service, {"port": 443})

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
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


class DeviceClaims(BaseStrategy):
    """Requests for devices."""

    def default(self, obj: KubeObject) -> None:
        """Want one of each; a template holds the spec of a claim in its own."""
        spec = obj.get("spec", {})
        for request in (spec.get("spec") or spec).get("devices", {}).get("requests") or ():
            exactly = request.get("exactly")
            for each in (*([exactly] if exactly else []), *request.get("firstAvailable", ())):
                _set_defaults(each, {"allocationMode": "ExactCount"})
                if each["allocationMode"] == "ExactCount":
                    each["count"] = each.get("count") or 1


_HOOKS = KindOptions(
    namespaced=False,
    counted=("webhooks",),
    allows_unconditional_update=False,
    validates_finalizers=False,
)
_POLICIES = KindOptions(
    namespaced=False,
    counted=("spec",),
    allows_unconditional_update=False,
    validates_finalizers=False,
)
MUTATING_WEBHOOKS = WebhookConfigurations(_HOOKS, may_change=True)
VALIDATING_WEBHOOKS = WebhookConfigurations(_HOOKS, may_change=False)
ADMISSION_POLICIES = AdmissionPolicies(
    KindOptions(
        namespaced=False,
        has_status=True,
        counted=("spec",),
        allows_unconditional_update=False,
        validates_finalizers=False,
    )
)
POLICY_BINDINGS = PolicyBindings(_POLICIES)
DRIVERS = CSIDrivers(KindOptions(namespaced=False, allows_unconditional_update=False))
ATTACHMENTS = VolumeAttachments(
    KindOptions(namespaced=False, has_status=True, allows_unconditional_update=False)
)
ATTRIBUTES_CLASSES = BaseStrategy(KindOptions(namespaced=False))
FLOWS = FlowSchemas(KindOptions(namespaced=False, has_status=True, counted=("spec",)))
PRIORITY_LEVELS = PriorityLevels(KindOptions(namespaced=False, has_status=True, counted=("spec",)))
API_SERVICES = ApiServices(
    KindOptions(
        namespaced=False,
        name_rule=path_segment,  # the one of the core group is named "v1."
        has_status=True,
        allows_unconditional_update=False,
        validates_finalizers=False,
    )
)
DEVICE_CLAIMS = DeviceClaims(KindOptions(has_status=True))
DEVICE_CLAIM_TEMPLATES = DeviceClaims(KindOptions())
