"""
Rows of network kinds, volumes and nodes.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go printService, printIngress,
printEndpointSlice, printPersistentVolume, printNode.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.tables.cells import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Clock,
    Printers,
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


ROWS = Printers()


@ROWS.of("/Service")
def _service(obj: KubeObject, clock: Clock) -> Cells:
    addresses = items(obj, "spec", "clusterIPs")
    external = items(obj, "spec", "externalIPs")
    match text(obj, "spec", "type"):
        case "ClusterIP" | "NodePort":
            shown = joined(external) or NONE
        case "LoadBalancer":
            balancer = _ingress_points(obj)
            shown = joined([balancer, *external] if balancer else external) or "<pending>"
        case "ExternalName":
            shown = text(obj, "spec", "externalName")
        case _:
            shown = UNKNOWN
    ports = []
    for port in items(obj, "spec", "ports"):
        node = number(port, "nodePort")
        outside = f":{node}" if node else ""
        ports.append(f"{number(port, 'port')}{outside}/{text(port, 'protocol')}")
    return [
        name_of(obj),
        text(obj, "spec", "type"),
        addresses[0] if addresses else NONE,
        shown,
        joined(ports) or NONE,
        age_of(obj, clock),
        labels(at(obj, "spec", "selector")),
    ]


def _ingress_points(obj: KubeObject) -> str:
    found = items(obj, "status", "loadBalancer", "ingress")
    points = {text(each, "ip") or text(each, "hostname") for each in found}
    return joined(sorted(points - {""}))


@ROWS.of("networking.k8s.io/Ingress")
def _ingress(obj: KubeObject, clock: Clock) -> Cells:
    rules = items(obj, "spec", "rules")
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == 3
        if not more and (host := text(rule, "host")):
            hosts.append(host)
    shown = joined(hosts) or "*"
    if more and hosts:
        shown += f" + {len(rules) - 3} more..."
    return [
        name_of(obj),
        text(obj, "spec", "ingressClassName", absent=NONE),
        shown,
        _ingress_points(obj),
        "80, 443" if items(obj, "spec", "tls") else "80",
        age_of(obj, clock),
    ]


@ROWS.of("networking.k8s.io/IngressClass")
def _ingress_class(obj: KubeObject, clock: Clock) -> Cells:
    found = at(obj, "spec", "parameters")
    shown = NONE
    if found is not None:
        group = at(found, "apiGroup")
        kind = text(found, "kind") + ("" if group is None else f".{group}")
        shown = f"{kind}/{text(found, 'name')}"
    return [name_of(obj), text(obj, "spec", "controller"), shown, age_of(obj, clock)]


@ROWS.of("networking.k8s.io/NetworkPolicy")
def _network_policy(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), selector(at(obj, "spec", "podSelector")) or NONE, age_of(obj, clock)]


@ROWS.of("networking.k8s.io/IPAddress")
def _ip_address(obj: KubeObject, clock: Clock) -> Cells:
    parent = at(obj, "spec", "parentRef")
    shown = NONE
    if parent is not None:
        group, resource = text(parent, "group"), text(parent, "resource")
        steps = [f"{resource}.{group}".lower() if group else resource.lower()]
        steps += [text(parent, "namespace")] if text(parent, "namespace") else []
        shown = "/".join([*steps, text(parent, "name")])
    return [name_of(obj), shown, age_of(obj, clock)]


@ROWS.of("networking.k8s.io/ServiceCIDR")
def _service_cidr(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), joined(items(obj, "spec", "cidrs")), age_of(obj, clock)]


@ROWS.of("/Endpoints")
def _endpoints(obj: KubeObject, clock: Clock) -> Cells:
    subsets = items(obj, "subsets")
    shown: list[str] = []
    for subset in subsets:
        for port in items(subset, "ports") or [None]:
            for each in items(subset, "addresses"):
                ip = text(each, "ip")
                host = f"[{ip}]" if ":" in ip else ip
                shown.append(ip if port is None else f"{host}:{number(port, 'port')}")
    printed = cut(shown, 3, empty="") if subsets else NONE
    return [name_of(obj), printed, age_of(obj, clock)]


@ROWS.of("discovery.k8s.io/EndpointSlice")
def _endpoint_slice(obj: KubeObject, clock: Clock) -> Cells:
    ports: list[str] = []
    for each in items(obj, "ports"):
        found = at(each, "port")
        ports.append(text(each, "name", absent="*") if found is None else str(found))
    addresses = [ip for each in items(obj, "endpoints") for ip in items(each, "addresses")]
    shown = (cut(ports, 3), cut(addresses, 3))
    return [name_of(obj), text(obj, "addressType"), *shown, age_of(obj, clock)]


@ROWS.of("/PersistentVolume")
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


@ROWS.of("/PersistentVolumeClaim")
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
    is_deleted = at(obj, "metadata", "deletionTimestamp") is not None
    return "Terminating" if is_deleted else text(obj, "status", "phase")


def _access(modes: list[str]) -> str:
    return joined(short for mode, short in _MODES.items() if mode in modes)


def _storage_class_of(obj: KubeObject) -> str:
    old = at(obj, "metadata", "annotations", _CLASS)
    return text(obj, "spec", "storageClassName") if old is None else str(old)


@ROWS.of("storage.k8s.io/StorageClass")
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


@ROWS.of("storage.k8s.io/VolumeAttachment")
def _volume_attachment(obj: KubeObject, clock: Clock) -> Cells:
    return [
        name_of(obj),
        text(obj, "spec", "attacher"),
        text(obj, "spec", "source", "persistentVolumeName"),
        text(obj, "spec", "nodeName"),
        bool(at(obj, "status", "attached")),
        age_of(obj, clock),
    ]


@ROWS.of("storage.k8s.io/VolumeAttributesClass")
def _attributes_class(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), text(obj, "driverName"), age_of(obj, clock)]


@ROWS.of("storage.k8s.io/CSINode")
def _csi_node(obj: KubeObject, clock: Clock) -> Cells:
    return [name_of(obj), len(items(obj, "spec", "drivers")), age_of(obj, clock)]


@ROWS.of("storage.k8s.io/CSIDriver")
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


@ROWS.of("/Node")
def _node(obj: KubeObject, clock: Clock) -> Cells:
    ready = condition(obj, "Ready")
    state = ["Ready" if at(ready, "status") == "True" else "NotReady" if ready else "Unknown"]
    if at(obj, "spec", "unschedulable"):
        state.append("SchedulingDisabled")
    found = at(obj, "metadata", "labels") or {}
    roles = {key.removeprefix(_ROLE) for key in found if key.startswith(_ROLE)}
    roles |= {found.get("kubernetes.io/role", "")}
    # The first address of a type is shown.
    addresses = {
        text(each, "type"): text(each, "address")
        for each in reversed(items(obj, "status", "addresses"))
    }
    known = ("osImage", "kernelVersion", "containerRuntimeVersion")
    return [
        name_of(obj),
        joined(state),
        joined(sorted(roles - {""})) or NONE,
        age_of(obj, clock),
        text(obj, "status", "nodeInfo", "kubeletVersion"),
        *(addresses.get(sort, NONE) for sort in ("InternalIP", "ExternalIP")),
        *(text(obj, "status", "nodeInfo", each) or UNKNOWN for each in known),
    ]
