"""
The rows of kinds that are about the network, volumes and nodes.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printService, printIngress,
printEndpointSlice, printPersistentVolume, printNode.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.tables.ages import UNKNOWN, Clock
from kube_sandbox.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Print,
    age_of,
    at,
    condition,
    cut,
    items,
    joined,
    labels,
    name_of,
    number,
    selector,
    text,
)

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS = "volume.beta.kubernetes.io/storage-class"
_ROLE = "node-role.kubernetes.io/"


def _service(obj: KubeObject, clock: Clock) -> Cells:
    addresses = items(obj, "spec", "clusterIPs")
    return [
        name_of(obj),
        text(obj, "spec", "type"),
        addresses[0] if addresses else NONE,
        _external(obj),
        joined(map(_port, items(obj, "spec", "ports"))) or NONE,
        age_of(obj, clock),
        labels(at(obj, "spec", "selector")),
    ]


def _external(obj: KubeObject) -> str:
    given = items(obj, "spec", "externalIPs")
    match text(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return joined(given) or NONE
        case "LoadBalancer":
            balancer = _ingress_points(obj)
            return joined([balancer, *given] if balancer else given) or "<pending>"
        case "ExternalName":
            return text(obj, "spec", "externalName")
        case _:
            return UNKNOWN


def _ingress_points(obj: KubeObject) -> str:
    found = items(obj, "status", "loadBalancer", "ingress")
    points = {text(each, "ip") or text(each, "hostname") for each in found}
    return joined(sorted(points - {""}))


def _port(port: Any) -> str:
    node = number(port, "nodePort")
    outside = f":{node}" if node else ""
    return f"{number(port, 'port')}{outside}/{text(port, 'protocol')}"


def _ingress(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        text(obj, "spec", "ingressClassName", absent=NONE),
        _hosts(items(obj, "spec", "rules")),
        _ingress_points(obj),
        "80, 443" if items(obj, "spec", "tls") else "80",
        age_of(obj, clock),
    ]


def _hosts(rules: list[Any]) -> str:
    shown: list[str] = []
    more = False
    for rule in rules:
        more = more or len(shown) == 3
        if not more and (host := text(rule, "host")):
            shown.append(host)
    if not shown:
        return "*"
    return f"{joined(shown)} + {len(rules) - 3} more..." if more else joined(shown)


def _ingress_class(obj: KubeObject, clock: Clock) -> Cells:
    found = at(obj, "spec", "parameters")
    shown = NONE
    if found is not None:
        group = at(found, "apiGroup")
        kind = text(found, "kind") + ("" if group is None else f".{group}")
        shown = f"{kind}/{text(found, 'name')}"
    return [name_of(obj), text(obj, "spec", "controller"), shown, age_of(obj, clock)]


def _network_policy(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), selector(at(obj, "spec", "podSelector")) or NONE, age_of(obj, clock)]


def _ip_address(obj: KubeObject, clock: Clock) -> Cells:
    parent = at(obj, "spec", "parentRef")
    shown = NONE
    if parent is not None:
        group, resource = text(parent, "group"), text(parent, "resource")
        steps = [f"{resource}.{group}".lower() if group else resource.lower()]
        steps += [text(parent, "namespace")] if text(parent, "namespace") else []
        shown = "/".join([*steps, text(parent, "name")])
    return [name_of(obj), shown, age_of(obj, clock)]


def _service_cidr(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), joined(items(obj, "spec", "cidrs")), age_of(obj, clock)]


def _endpoints(obj: KubeObject, clock: Clock) -> Cells:
    subsets = items(obj, "subsets")
    shown = list(_addresses(subsets))
    told = cut(shown, 3, empty="") if subsets else NONE
    return [name_of(obj), told, age_of(obj, clock)]


def _addresses(subsets: list[Any]) -> Iterable[str]:
    for subset in subsets:
        for port in items(subset, "ports") or [None]:
            for each in items(subset, "addresses"):
                ip = text(each, "ip")
                host = f"[{ip}]" if ":" in ip else ip
                yield ip if port is None else f"{host}:{number(port, 'port')}"


def _endpoint_slice(obj: KubeObject, clock: Clock) -> Cells:
    ports = [_slice_port(each) for each in items(obj, "ports")]
    addresses = [ip for each in items(obj, "endpoints") for ip in items(each, "addresses")]
    shown = (cut(ports, 3), cut(addresses, 3))
    return [name_of(obj), text(obj, "addressType"), *shown, age_of(obj, clock)]


def _slice_port(port: Any) -> str:
    found = at(port, "port")
    return text(port, "name", absent="*") if found is None else str(found)


def _volume(obj: KubeObject, clock: Clock) -> Cells:
    claim = at(obj, "spec", "claimRef")
    return [
        name_of(obj),
        text(obj, "spec", "capacity", "storage", absent="0"),
        _access(items(obj, "spec", "accessModes")),
        text(obj, "spec", "persistentVolumeReclaimPolicy"),
        _phase(obj),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim is not None else "",
        _storage_class_of(obj),
        text(obj, "spec", "volumeAttributesClassName", absent=UNSET),
        text(obj, "status", "reason"),
        age_of(obj, clock),
        text(obj, "spec", "volumeMode", absent=UNSET),
    ]


def _claim(obj: KubeObject, clock: Clock) -> Cells:
    bound = text(obj, "spec", "volumeName")
    return [
        name_of(obj),
        _phase(obj),
        bound,
        text(obj, "status", "capacity", "storage", absent="0") if bound else "",
        _access(items(obj, "status", "accessModes")) if bound else "",
        _storage_class_of(obj),
        text(obj, "spec", "volumeAttributesClassName", absent=UNSET),
        age_of(obj, clock),
        text(obj, "spec", "volumeMode", absent=UNSET),
    ]


def _phase(obj: KubeObject) -> str:
    goes = at(obj, "metadata", "deletionTimestamp") is not None
    return "Terminating" if goes else text(obj, "status", "phase")


def _access(modes: list[str]) -> str:
    return joined(short for mode, short in _MODES.items() if mode in modes)


def _storage_class_of(obj: KubeObject) -> str:
    old = at(obj, "metadata", "annotations", _CLASS)
    return text(obj, "spec", "storageClassName") if old is None else str(old)


def _storage_class(obj: KubeObject, clock: Clock) -> Cells:
    annotations = at(obj, "metadata", "annotations") or {}
    marks = (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    )
    is_default = any(annotations.get(each) == "true" for each in marks)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        text(obj, "provisioner"),
        text(obj, "reclaimPolicy", absent="Delete"),
        text(obj, "volumeBindingMode", absent="Immediate"),
        bool(at(obj, "allowVolumeExpansion")),
        age_of(obj, clock),
    ]


def _volume_attachment(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        text(obj, "spec", "attacher"),
        text(obj, "spec", "source", "persistentVolumeName"),
        text(obj, "spec", "nodeName"),
        bool(at(obj, "status", "attached")),
        age_of(obj, clock),
    ]


def _attributes_class(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "driverName"), age_of(obj, clock)]


def _csi_node(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), len(items(obj, "spec", "drivers")), age_of(obj, clock)]


def _csi_driver(obj: KubeObject, clock: Clock) -> Cells:
    attach = at(obj, "spec", "attachRequired")
    tokens = at(obj, "spec", "tokenRequests")
    return [
        name_of(obj),
        True if attach is None else attach,
        bool(at(obj, "spec", "podInfoOnMount")),
        bool(at(obj, "spec", "storageCapacity")),
        UNSET if tokens is None else joined(text(each, "audience") for each in tokens),
        bool(at(obj, "spec", "requiresRepublish")),
        joined(items(obj, "spec", "volumeLifecycleModes")) or NONE,
        age_of(obj, clock),
    ]


def _node(obj: KubeObject, clock: Clock) -> Cells:
    ready = condition(obj, "Ready")
    state = ["Ready" if at(ready, "status") == "True" else "NotReady" if ready else "Unknown"]
    if at(obj, "spec", "unschedulable"):
        state.append("SchedulingDisabled")
    known = ("osImage", "kernelVersion", "containerRuntimeVersion")
    return [
        name_of(obj),
        joined(state),
        joined(sorted(_roles(obj))) or NONE,
        age_of(obj, clock),
        text(obj, "status", "nodeInfo", "kubeletVersion"),
        *(_node_address(obj, sort) for sort in ("InternalIP", "ExternalIP")),
        *(text(obj, "status", "nodeInfo", each) or UNKNOWN for each in known),
    ]


def _roles(obj: KubeObject) -> set[str]:
    found = at(obj, "metadata", "labels") or {}
    roles = {key.removeprefix(_ROLE) for key in found if key.startswith(_ROLE)}
    return (roles | {found.get("kubernetes.io/role", "")}) - {""}


def _node_address(obj: KubeObject, sort: str) -> str:
    found = items(obj, "status", "addresses")
    return next((text(each, "address") for each in found if at(each, "type") == sort), NONE)


ROWS: Mapping[tuple[str, str], Print] = {
    ("", "Endpoints"): _endpoints,
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "IngressClass"): _ingress_class,
    ("networking.k8s.io", "IPAddress"): _ip_address,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("networking.k8s.io", "ServiceCIDR"): _service_cidr,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
    ("storage.k8s.io", "CSINode"): _csi_node,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("storage.k8s.io", "VolumeAttachment"): _volume_attachment,
    ("storage.k8s.io", "VolumeAttributesClass"): _attributes_class,
}
