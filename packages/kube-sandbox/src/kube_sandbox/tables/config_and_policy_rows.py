"""
Rows of configuration, policy and all other built-in kinds with columns of their own.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printEvent, printSecret,
printResourceQuota, printLease, printFlowSchema.
"""

from datetime import timedelta

from kube_objects.refs import KubeObject
from kube_objects.times import format_span
from kube_sandbox.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Clock,
    Printers,
    age_of,
    at,
    condition,
    items,
    name_of,
    number,
    text,
)

ROWS = Printers()


@ROWS.of("/ServiceAccount", "resource.k8s.io/DeviceClass", "resource.k8s.io/ResourceClaimTemplate")
def _named(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), age_of(obj, clock)]


@ROWS.of("/Namespace")
def _namespace(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "status", "phase"), age_of(obj, clock)]


@ROWS.of("/ConfigMap")
def _config_map(obj: KubeObject, clock: Clock) -> Cells:
    count = len(at(obj, "data") or {}) + len(at(obj, "binaryData") or {})
    return [name_of(obj), count, age_of(obj, clock)]


@ROWS.of("/Secret")
def _secret(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "type"), len(at(obj, "data") or {}), age_of(obj, clock)]


@ROWS.of("/ResourceQuota")
def _quota(obj: KubeObject, clock: Clock) -> Cells:
    """Print a quota as `used/hard`, limits in a column of their own, as kubectl does."""
    shown: dict[bool, list[str]] = {False: [], True: []}
    hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
    for name in sorted(hard):
        shown[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [name_of(obj), ", ".join(shown[False]), ", ".join(shown[True]), age_of(obj, clock)]


@ROWS.of("/ComponentStatus")
def _component(obj: KubeObject, _: Clock) -> Cells:
    found = next((each for each in items(obj, "conditions") if at(each, "type") == "Healthy"), None)
    state = "Healthy" if at(found, "status") == "True" else "Unhealthy"
    message = (text(found, "message"), text(found, "error"))
    return [name_of(obj), "Unknown" if found is None else state, *message]


@ROWS.of("/Event", "events.k8s.io/Event")
def _event(obj: KubeObject, clock: Clock) -> Cells:
    """Print an Event of either group; their fields differ in name alone."""
    if "involvedObject" in obj or "regarding" not in obj:
        old = obj
    else:
        renamed = {
            "regarding": "involvedObject",
            "note": "message",
            "deprecatedFirstTimestamp": "firstTimestamp",
            "deprecatedLastTimestamp": "lastTimestamp",
            "deprecatedCount": "count",
            "deprecatedSource": "source",
            "reportingController": "reportingComponent",
        }
        old = {renamed.get(name, name): value for name, value in obj.items()}
    first = clock.since(at(old, "firstTimestamp") or at(old, "eventTime"))
    last_seen = at(old, "lastTimestamp")
    last = clock.since(last_seen) if last_seen else first
    count = number(old, "count") or 1
    series = at(old, "series")
    if series is not None:
        last, count = clock.since(at(series, "lastObservedTime")), number(series, "count")
    target = at(old, "involvedObject")
    component = text(old, "source", "component") or text(old, "reportingComponent")
    host = text(old, "source", "host") or text(old, "reportingInstance")
    kind, name = text(target, "kind").lower(), text(target, "name")
    return [
        last,
        text(old, "type"),
        text(old, "reason"),
        f"{kind}/{name}" if name else kind,
        text(target, "fieldPath"),
        f"{component}, {host}" if host else component,
        text(old, "message").strip(),
        first,
        count,
        name_of(old),
    ]


@ROWS.of("rbac.authorization.k8s.io/ClusterRoleBinding", "rbac.authorization.k8s.io/RoleBinding")
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


@ROWS.of("certificates.k8s.io/CertificateSigningRequest")
def _signing_request(obj: KubeObject, clock: Clock) -> Cells:
    seconds = at(obj, "spec", "expirationSeconds")
    has = {sort: condition(obj, sort) is not None for sort in ("Denied", "Approved", "Failed")}
    state = "Denied" if has["Denied"] else "Approved" if has["Approved"] else "Pending"
    state += ",Failed" if has["Failed"] else ""
    state += ",Issued" if at(obj, "status", "certificate") else ""
    return [
        name_of(obj),
        age_of(obj, clock),
        text(obj, "spec", "signerName") or NONE,
        text(obj, "spec", "username"),
        NONE if seconds is None else format_span(timedelta(seconds=seconds)),
        state,
    ]


@ROWS.of("coordination.k8s.io/Lease")
def _lease(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "spec", "holderIdentity"), age_of(obj, clock)]


@ROWS.of("scheduling.k8s.io/PriorityClass")
def _priority_class(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        number(obj, "value"),
        bool(at(obj, "globalDefault")),
        age_of(obj, clock),
        text(obj, "preemptionPolicy"),
    ]


@ROWS.of("node.k8s.io/RuntimeClass")
def _runtime_class(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "handler"), age_of(obj, clock)]


@ROWS.of(
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
)
def _webhooks(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), len(items(obj, "webhooks")), age_of(obj, clock)]


@ROWS.of(
    "admissionregistration.k8s.io/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
)
def _policy(obj: KubeObject, clock: Clock) -> Cells:
    rules = items(obj, "spec", "validations") or items(obj, "spec", "mutations")
    kind = at(obj, "spec", "paramKind")
    shown = UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
    return [name_of(obj), len(rules), shown, age_of(obj, clock)]


@ROWS.of(
    "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
)
def _policy_binding(obj: KubeObject, clock: Clock) -> Cells:
    found = at(obj, "spec", "paramRef")
    shown = UNSET
    if name := text(found, "name"):
        shown = f"{text(found, 'namespace') or '*'}/{name}"
    elif (wanted := at(found, "selector")) is not None:
        # The struct as Go's %v prints it.
        pairs = at(wanted, "matchLabels") or {}
        labels = "".join(f"{key}: {pairs[key]}," for key in sorted(pairs))
        go_wanted = "".join(
            f"LabelSelectorRequirement{{Key:{text(each, 'key')},Operator:{text(each, 'operator')},"
            f"Values:[{' '.join(items(each, 'values'))}],}},"
            for each in items(wanted, "matchExpressions")
        )
        shown = (
            f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
            f"MatchExpressions:[]LabelSelectorRequirement{{{go_wanted}}},}}"
        )
    return [name_of(obj), text(obj, "spec", "policyName"), shown, age_of(obj, clock)]


@ROWS.of("flowcontrol.apiserver.k8s.io/FlowSchema")
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


@ROWS.of("flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration")
def _priority_level(obj: KubeObject, clock: Clock) -> Cells:
    limited = at(obj, "spec", "limited")
    queuing = at(limited, "limitResponse", "queuing")
    shares = NONE if limited is None else number(limited, "nominalConcurrencyShares")
    counted = ("queues", "handSize", "queueLengthLimit")
    queues = (NONE if queuing is None else number(queuing, each) for each in counted)
    return [name_of(obj), text(obj, "spec", "type"), shares, *queues, age_of(obj, clock)]


@ROWS.of("resource.k8s.io/ResourceClaim")
def _resource_claim(obj: KubeObject, clock: Clock) -> Cells:
    is_deleted = at(obj, "metadata", "deletionTimestamp") is not None
    states = ["deleted"] if is_deleted else []
    if at(obj, "status", "allocation") is not None:
        states += ["allocated", *(["reserved"] if items(obj, "status", "reservedFor") else [])]
    elif not is_deleted:
        states.append("pending")
    return [name_of(obj), ",".join(states), age_of(obj, clock)]


@ROWS.of("resource.k8s.io/ResourceSlice")
def _resource_slice(obj: KubeObject, clock: Clock) -> Cells:
    parts = (("nodeName",), ("driver",), ("pool", "name"))
    return [name_of(obj), *(text(obj, "spec", *each) for each in parts), age_of(obj, clock)]


@ROWS.of("apiregistration.k8s.io/APIService")
def _api_service(obj: KubeObject, clock: Clock) -> Cells:
    service = at(obj, "spec", "service")
    named = f"{text(service, 'namespace')}/{text(service, 'name')}" if service else "Local"
    found = condition(obj, "Available")
    state = text(found, "status") if found else "Unknown"
    if state != "True" and (reason := text(found, "reason")):
        state = f"{state} ({reason})"
    return [name_of(obj), named, state, age_of(obj, clock)]
