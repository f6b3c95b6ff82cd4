"""
Predicates on a Service's spec.

Follows kubernetes 1.35 pkg/registry/core/service/storage/storage.go needsClusterIP, needsNodePort,
needsHCNodePort; pkg/api/service/util.go ExternallyAccessible.
"""

from typing import Any

from kube_sandbox.registry.builtin.ip_validation import parse_ip

Spec = dict[str, Any]
HEADLESS = "None"
NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "NodePort", "LoadBalancer", "ExternalName"


def is_external_name(spec: Spec) -> bool:
    """Return whether it is only another name."""
    return spec.get("type") == EXTERNAL_NAME


def has_cluster_ip(spec: Spec) -> bool:
    """Return whether it has an address, or none of its own will."""
    return not is_external_name(spec)


def is_headless(spec: Spec) -> bool:
    """Return whether it has no address of its own will."""
    return list(spec.get("clusterIPs", ())) == [HEADLESS]


def is_reachable(spec: Spec) -> bool:
    """Return whether it is reached from outside the cluster."""
    kind = spec.get("type")
    return kind in (NODE_PORT, LOAD_BALANCER) or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def has_node_ports(spec: Spec) -> bool:
    """Return whether its ports are given ports on nodes."""
    kind = spec.get("type")
    wanted = spec.get("allocateLoadBalancerNodePorts", True)
    return kind == NODE_PORT or (kind == LOAD_BALANCER and wanted is not False)


def has_health_port(spec: Spec) -> bool:
    """Return whether it has a port on nodes that tells where its Pods are."""
    is_local = spec.get("externalTrafficPolicy") == "Local"
    return spec.get("type") == LOAD_BALANCER and is_local


def family_of(address: str) -> str:
    """Return the family of an address."""
    ip = parse_ip(address)
    return f"IPv{ip.version}" if ip else "unknown"


def set_or_drop(spec: Spec, part: str, value: Any) -> None:
    """Set a part; nothing is written as no part."""
    if value:
        spec[part] = value
    else:
        spec.pop(part, None)
