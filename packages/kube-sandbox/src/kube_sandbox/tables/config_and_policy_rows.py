"""
The rows of all other built-in kinds that have columns of their own.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printEvent, printSecret,
printResourceQuota, printLease, printFlowSchema.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_span
from kube_sandbox.tables.ages import Clock
from kube_sandbox.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Print,
    age_of,
    at,
    condition,
    items,
    name_of,
    number,
    text,
)


def _named(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), age_of(obj, clock)]


def _namespace(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "status", "phase"), age_of(obj, clock)]


def _config_map(obj: KubeObject, clock: Clock) -> Cells:
    count = len(at(obj, "data") or {}) + len(at(obj, "binaryData") or {})
    return [name_of(obj), count, age_of(obj, clock)]


def _secret(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "type"), len(at(obj, "data") or {}), age_of(obj, clock)]


def _quota(obj: KubeObject, clock: Clock) -> Cells:
    shown: dict[bool, list[str]] = {False: [], True: []}
    hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
    for name in sorted(hard):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [name_of(obj), ", ".join(shown[False]), ", ".join(shown[True]), age_of(obj, clock)]


def _component(obj: KubeObject, _: Clock) -> Cells:
    found = next((each for each in items(obj, "conditions") if at(each, "type") == "Healthy"), None)
    state = "Healthy" if at(found, "status") == "True" else "Unhealthy"
    told = (text(found, "message"), text(found, "error"))
    return [name_of(obj), "Unknown" if found is None else state, *told]


def _event(obj: KubeObject, clock: Clock) -> Cells:
    """Print an Event of either group; their fields differ in name alone."""
    old = obj if "involvedObject" in obj or "regarding" not in obj else _as_core(obj)
    first = clock.since(at(old, "firstTimestamp") or at(old, "eventTime"))
    last_seen = at(old, "lastTimestamp")
    last = clock.since(last_seen) if last_seen else first
    count = number(old, "count") or 1
    series = at(old, "series")
    if series is not None:
        last, count = clock.since(at(series, "lastObservedTime")), number(series, "count")
    target = at(old, "involvedObject")
    kind, name = text(target, "kind").lower(), text(target, "name")
    return [
        last,
        text(old, "type"),
        text(old, "reason"),
        f"{kind}/{name}" if name else kind,
        text(target, "fieldPath"),
        _source(old),
        text(old, "message").strip(),
        first,
        count,
        name_of(old),
    ]


def _as_core(obj: KubeObject) -> dict[str, Any]:
    renamed = {
        "regarding": "involvedObject",
        "note": "message",
        "deprecatedFirstTimestamp": "firstTimestamp",
        "deprecatedLastTimestamp": "lastTimestamp",
        "deprecatedCount": "count",
        "deprecatedSource": "source",
        "reportingController": "reportingComponent",
    }
    return {renamed.get(name, name): value for name, value in obj.items()}


def _source(event: Any) -> str:
    component = text(event, "source", "component") or text(event, "reportingComponent")
    host = text(event, "source", "host") or text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


def _binding(obj: KubeObject, clock: Clock) -> Cells:
    role = f"{text(obj, 'roleRef', 'kind')}/{text(obj, 'roleRef', 'name')}"
    subjects = items(obj, "subjects")
    users, groups = (
        ", ".join(text(each, "name") for each in subjects if at(each, "kind") == kind)
        for kind in ("User", "Group")
    )
    accounts = ", ".join(
        f"{text(each, 'namespace')}/{text(each, 'name')}"
        for each in subjects
        if at(each, "kind") == "ServiceAccount"
    )
    return [name_of(obj), role, age_of(obj, clock), users, groups, accounts]


def _signing_request(obj: KubeObject, clock: Clock) -> Cells:
    seconds = at(obj, "spec", "expirationSeconds")
    return [
        name_of(obj),
        age_of(obj, clock),
        text(obj, "spec", "signerName") or NONE,
        text(obj, "spec", "username"),
        NONE if seconds is None else format_span(timedelta(seconds=seconds)),
        _signing_state(obj),
    ]


def _signing_state(obj: KubeObject) -> str:
    has = {sort: condition(obj, sort) is not None for sort in ("Denied", "Approved", "Failed")}
    state = "Denied" if has["Denied"] else "Approved" if has["Approved"] else "Pending"
    failed = ",Failed" if has["Failed"] else ""
    return f"{state}{failed}{',Issued' if at(obj, 'status', 'certificate') else ''}"


def _lease(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "spec", "holderIdentity"), age_of(obj, clock)]


def _priority_class(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        number(obj, "value"),
        bool(at(obj, "globalDefault")),
        age_of(obj, clock),
        text(obj, "preemptionPolicy"),
    ]


def _runtime_class(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "handler"), age_of(obj, clock)]


def _webhooks(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), len(items(obj, "webhooks")), age_of(obj, clock)]


def _policy(obj: KubeObject, clock: Clock) -> Cells:
    rules = items(obj, "spec", "validations") or items(obj, "spec", "mutations")
    kind = at(obj, "spec", "paramKind")
    shown = UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
    return [name_of(obj), len(rules), shown, age_of(obj, clock)]


def _policy_binding(obj: KubeObject, clock: Clock) -> Cells:
    found = at(obj, "spec", "paramRef")
    shown = UNSET
    if name := text(found, "name"):
        shown = f"{text(found, 'namespace') or '*'}/{name}"
    elif (asked := at(found, "selector")) is not None:
        shown = _go_selector(asked)
    return [name_of(obj), text(obj, "spec", "policyName"), shown, age_of(obj, clock)]


def _go_selector(found: Any) -> str:
    """Print a selector as Go prints the struct; nobody meant it to be seen."""
    pairs = at(found, "matchLabels") or {}
    labels = "".join(f"{key}: {pairs[key]}," for key in sorted(pairs))
    asked = "".join(
        f"LabelSelectorRequirement{{Key:{text(each, 'key')},Operator:{text(each, 'operator')},"
        f"Values:[{' '.join(items(each, 'values'))}],}},"
        for each in items(found, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{asked}}},}}"
    )


def _flow_schema(obj: KubeObject, clock: Clock) -> Cells:
    dangling = condition(obj, "Dangling")
    return [
        name_of(obj),
        text(obj, "spec", "priorityLevelConfiguration", "name"),
        number(obj, "spec", "matchingPrecedence"),
        text(obj, "spec", "distinguisherMethod", "type", absent=NONE),
        age_of(obj, clock),
        "?" if dangling is None else text(dangling, "status"),
    ]


def _priority_level(obj: KubeObject, clock: Clock) -> Cells:
    limited = at(obj, "spec", "limited")
    queuing = at(limited, "limitResponse", "queuing")
    shares = NONE if limited is None else number(limited, "nominalConcurrencyShares")
    counted = ("queues", "handSize", "queueLengthLimit")
    queues = (NONE if queuing is None else number(queuing, each) for each in counted)
    return [name_of(obj), text(obj, "spec", "type"), shares, *queues, age_of(obj, clock)]


def _resource_claim(obj: KubeObject, clock: Clock) -> Cells:
    goes = at(obj, "metadata", "deletionTimestamp") is not None
    states = ["deleted"] if goes else []
    if at(obj, "status", "allocation") is not None:
        states += ["allocated", *(["reserved"] if items(obj, "status", "reservedFor") else [])]
    elif not goes:
        states.append("pending")
    return [name_of(obj), ",".join(states), age_of(obj, clock)]


def _resource_slice(obj: KubeObject, clock: Clock) -> Cells:
    parts = (("nodeName",), ("driver",), ("pool", "name"))
    return [name_of(obj), *(text(obj, "spec", *each) for each in parts), age_of(obj, clock)]


def _api_service(obj: KubeObject, clock: Clock) -> Cells:
    service = at(obj, "spec", "service")
    named = f"{text(service, 'namespace')}/{text(service, 'name')}" if service else "Local"
    found = condition(obj, "Available")
    state = text(found, "status") if found else "Unknown"
    if state != "True" and (reason := text(found, "reason")):
        state = f"{state} ({reason})"
    return [name_of(obj), named, state, age_of(obj, clock)]


_ADMISSION = "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

ROWS: Mapping[tuple[str, str], Print] = {
    ("", "ComponentStatus"): _component,
    ("", "ConfigMap"): _config_map,
    ("", "Event"): _event,
    ("", "Namespace"): _namespace,
    ("", "ResourceQuota"): _quota,
    ("", "Secret"): _secret,
    ("", "ServiceAccount"): _named,
    (_ADMISSION, "MutatingAdmissionPolicy"): _policy,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _policy_binding,
    (_ADMISSION, "MutatingWebhookConfiguration"): _webhooks,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _policy,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _policy_binding,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _webhooks,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("certificates.k8s.io", "CertificateSigningRequest"): _signing_request,
    ("coordination.k8s.io", "Lease"): _lease,
    ("events.k8s.io", "Event"): _event,
    (_FLOW, "FlowSchema"): _flow_schema,
    (_FLOW, "PriorityLevelConfiguration"): _priority_level,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    (_RBAC, "ClusterRoleBinding"): _binding,
    (_RBAC, "RoleBinding"): _binding,
    ("resource.k8s.io", "DeviceClass"): _named,
    ("resource.k8s.io", "ResourceClaim"): _resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): _named,
    ("resource.k8s.io", "ResourceSlice"): _resource_slice,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
}
