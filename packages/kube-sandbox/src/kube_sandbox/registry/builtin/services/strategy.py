"""
Service: defaults, allocated addresses and ports, IP families.

Addresses and node ports come from `ServiceAllocations`. The cluster has one IP family, IPv4; a
headless Service without selector may still name both.

Follows kubernetes 1.35 pkg/registry/core/service/storage/storage.go REST.beginCreate,
REST.beginUpdate, patchAllocatedValues, normalizeClusterIPs; pkg/registry/core/service/strategy.go
svcStrategy.PrepareForUpdate, dropTypeDependentFields; pkg/apis/core/v1/defaults.go
SetDefaults_Service; pkg/registry/core/service/storage/alloc.go Allocators.txnAllocNodePorts,
Allocators.txnAllocClusterIPs, Allocators.initIPFamilyFields,
isMatchingPreferDualStackClusterIPFields.
"""

from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError, internal_error
from kube_sandbox.api_errors import invalid as invalid_object
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin.services.spec_predicates import (
    HEADLESS,
    LOAD_BALANCER,
    NODE_PORT,
    family_of,
    has_cluster_ip,
    has_health_port,
    has_node_ports,
    is_external_name,
    is_reachable,
    set_or_drop,
)
from kube_sandbox.registry.builtin.services.validation import (
    cluster_ip_errors,
    service_errors,
    service_warnings,
    status_errors,
    update_errors,
)
from kube_sandbox.registry.field_errors import FieldError, invalid
from kube_sandbox.registry.name_validation import name_is_1035_label
from kube_sandbox.registry.strategy import Errors, RequestContext

Spec = dict[str, Any]
_AFFINITY_SECONDS = 10800
_FAMILIES = ("IPv4",)


class Services(BaseStrategy):
    """An address for some Pods."""

    def __init__(self, book: ServiceAllocations) -> None:
        super().__init__(
            KindOptions(name_rule=name_is_1035_label, has_status=True, creates_on_update=True)
        )
        self._book = book

    def default(self, obj: KubeObject) -> None:
        """Set defaults."""
        spec = obj.setdefault("spec", {})
        kind = spec.setdefault("type", "ClusterIP")
        affinity = spec.setdefault("sessionAffinity", "None")
        if affinity == "None":
            spec.pop("sessionAffinityConfig", None)
        elif affinity == "ClientIP":
            by_ip = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
            if by_ip.get("timeoutSeconds") is None:
                spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
        for port in spec.get("ports", ()):
            port["protocol"] = port.get("protocol") or "TCP"
            if port.get("targetPort", 0) in (0, ""):
                port["targetPort"] = port.get("port", 0)
        if is_reachable(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind in ("ClusterIP", NODE_PORT, LOAD_BALANCER):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if kind == LOAD_BALANCER:
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for each in obj.get("status", {}).get("loadBalancer", {}).get("ingress", ()):
                if each.get("ip"):
                    each.setdefault("ipMode", "VIP")

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Give it addresses and ports."""
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        default_ip_families(obj, None)
        self._allot_addresses(obj, occasion)
        taken: set[int] = set()
        if spec["type"] in (NODE_PORT, LOAD_BALANCER):
            given: dict[int, int] = {}
            for index, port in enumerate(spec.get("ports", ())):
                wanted = port.get("nodePort", 0)
                if not wanted and not has_node_ports(spec):
                    continue
                number = port.get("port", 0)
                known = given.get(number, 0)
                if not known:
                    # Entries of one port number share a node port: the first that is requested.
                    requests = [each for each in spec["ports"] if each.get("port") == number]
                    asked = next((each["nodePort"] for each in requests if each.get("nodePort")), 0)
                    port["nodePort"] = self._port(obj, index, asked, taken, occasion)
                    given[number] = port["nodePort"]
                elif not wanted:
                    port["nodePort"] = known
                elif wanted != known:
                    self._port(obj, index, wanted, taken, occasion)
        if has_health_port(spec):
            self._allot_health_port(obj, taken, occasion)
        obj["status"] = {"loadBalancer": {}}
        _drop_internal_traffic_policy(spec)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep what it was given, and give what it needs now."""
        if subresource != "status":
            self._reallot(new, old, occasion)
        super().prepare_update(new, old, subresource, occasion)
        if subresource != "status":
            # Drop what only made sense for the former type, unless it was changed as well.
            spec = new["spec"]
            before = old["spec"]
            if has_cluster_ip(before) and not has_cluster_ip(spec):
                if all(spec.get(part) == before.get(part) for part in ("clusterIP", "clusterIPs")):
                    spec.pop("clusterIP", None)
                    spec.pop("clusterIPs", None)
                _drop_unchanged(spec, before, "ipFamilies")
                _drop_unchanged(spec, before, "ipFamilyPolicy")
            had_ports = before["type"] in (NODE_PORT, LOAD_BALANCER)
            if had_ports and spec["type"] not in (NODE_PORT, LOAD_BALANCER):
                held = {port.get("nodePort") for port in before.get("ports", ())} | {None}
                if all(port.get("nodePort") in held for port in spec.get("ports", ())):
                    for port in spec.get("ports", ()):
                        port.pop("nodePort", None)
            if has_health_port(before) and not has_health_port(spec):
                _drop_unchanged(spec, before, "healthCheckNodePort")
            if before["type"] == LOAD_BALANCER and spec["type"] != LOAD_BALANCER:
                _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts")
                _drop_unchanged(spec, before, "loadBalancerClass")
            if is_reachable(before) and not is_reachable(spec):
                _drop_unchanged(spec, before, "externalTrafficPolicy")
            _drop_internal_traffic_policy(new["spec"])
            if new["spec"]["type"] != LOAD_BALANCER:
                new["status"] = {**new.get("status", {}), "loadBalancer": {}}

    def _reallot(self, new: KubeObject, old: KubeObject, occasion: RequestContext) -> None:
        spec, before = new["spec"], old["spec"]
        _keep_allocated(spec, before)
        # clusterIP and clusterIPs must agree, whichever of them the client wrote.
        address = spec.get("clusterIP", "")
        if before.get("clusterIP", "") == address:
            if before.get("clusterIPs") and not spec.get("clusterIPs"):
                spec["clusterIPs"] = before["clusterIPs"]
        elif spec.get("clusterIPs", []) == before.get("clusterIPs", []):
            set_or_drop(spec, "clusterIPs", [address] if address else None)
        if not keeps_prefer_dual_stack(spec, before):
            default_ip_families(new, old)
            if is_external_name(before) and not is_external_name(spec):
                self._allot_addresses(new, occasion)
        taken: set[int] = set()
        if spec["type"] in (NODE_PORT, LOAD_BALANCER):
            held = {port.get("nodePort") for port in old["spec"].get("ports", ())}
            for index, port in enumerate(spec.get("ports", ())):
                wanted = port.get("nodePort", 0)
                if not wanted and has_node_ports(spec):
                    port["nodePort"] = self._port(new, index, 0, taken, occasion)
                elif wanted and wanted not in held and wanted not in taken:
                    self._port(new, index, wanted, taken, occasion)
        if has_health_port(spec) and not has_health_port(before):
            self._allot_health_port(new, taken, occasion)

    def _allot_addresses(self, obj: KubeObject, occasion: RequestContext) -> None:
        spec, meta = obj["spec"], obj["metadata"]
        addresses = spec.get("clusterIPs", [])
        if is_external_name(spec) or addresses[:1] == [HEADLESS]:
            return
        if not addresses:
            found = self._book.next_address(meta.get("namespace", ""), meta["name"])
            if found is None:
                raise internal_error("failed to allocate a serviceIP: range is full")
            spec["clusterIP"], spec["clusterIPs"] = found, [found]
            return
        why = self._book.address_error(addresses[0], occasion.dry_run)
        if why:
            message = f"failed to allocate IP {addresses[0]}: {why}"
            raise refusal(obj, [invalid("spec.clusterIPs", addresses, message)])
        spec["clusterIP"] = addresses[0]

    def _port(
        self, obj: KubeObject, index: int, wanted: int, taken: set[int], occasion: RequestContext
    ) -> int:
        if wanted:
            why = self._book.port_error(wanted, taken, occasion.dry_run)
            if why:
                field = f"spec.ports[{index}].nodePort"
                raise refusal(obj, [invalid(field, wanted, why)])
        found = wanted or self._free_port(obj, taken, "nodePort")
        taken.add(found)
        return found

    def _free_port(self, obj: KubeObject, taken: set[int], word: str) -> int:
        """Allocate a node port; the same Service gets the same port as long as it is free."""
        meta = obj["metadata"]
        found = self._book.next_port(meta.get("namespace", ""), meta["name"], taken)
        if found is None:
            raise internal_error(f"failed to allocate a {word}: range is full")
        return found

    def _allot_health_port(
        self, obj: KubeObject, taken: set[int], occasion: RequestContext
    ) -> None:
        wanted = obj["spec"].get("healthCheckNodePort", 0)
        if wanted:
            why = self._book.port_error(wanted, taken, occasion.dry_run)
            if why:
                message = f"failed to allocate requested HealthCheck NodePort {wanted}: {why}"
                raise internal_error(message)
        else:
            port = self._free_port(obj, taken, "HealthCheck NodePort")
            obj["spec"]["healthCheckNodePort"] = port

    def check(self, obj: KubeObject) -> Errors:
        """Validate a new one."""
        return service_errors(obj, None)

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            return found + status_errors(new)
        return found + update_errors(new, old) + service_errors(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Tell what has no effect or is out of use."""
        return service_warnings(obj)


def _drop_internal_traffic_policy(spec: Spec) -> None:
    # An ExternalName has no internal traffic; an unknown policy is left for validation.
    if is_external_name(spec) and spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
        del spec["internalTrafficPolicy"]


def _keep_allocated(spec: Spec, before: Spec) -> None:
    """Keep the addresses and ports of the stored Service that the client left out."""
    if has_cluster_ip(spec) and has_cluster_ip(before):
        if not spec.get("clusterIP"):
            set_or_drop(spec, "clusterIP", before.get("clusterIP"))
        if not spec.get("clusterIPs"):
            set_or_drop(spec, "clusterIPs", before.get("clusterIPs"))
    if has_node_ports(spec) and has_node_ports(before):
        ports = spec.get("ports", ())
        old_ports = before.get("ports", ())
        used = {each.get("nodePort") for each in old_ports} - {None}
        used &= {each.get("nodePort") for each in ports}
        by_name = {each.get("name", ""): each.get("nodePort", 0) for each in old_ports}
        for port in ports:
            if not port.get("nodePort"):
                former = by_name.get(port.get("name", ""), 0)
                if former and former not in used:
                    port["nodePort"] = former
    both_have = has_health_port(spec) and has_health_port(before)
    if both_have and not spec.get("healthCheckNodePort"):
        set_or_drop(spec, "healthCheckNodePort", before.get("healthCheckNodePort"))


def _drop_unchanged(spec: Spec, before: Spec, part: str) -> None:
    if spec.get(part) == before.get(part):
        spec.pop(part, None)


def refusal(obj: KubeObject, errors: list[FieldError]) -> StatusError:
    """Return the error of an invalid Service."""
    return invalid_object("", "Service", obj["metadata"].get("name", ""), errors)


def keeps_prefer_dual_stack(spec: Spec, before: Spec) -> bool:
    """Return whether nothing is to be done for one that would take both families if it could."""
    same = ("type", "clusterIPs", "ipFamilies")
    return (
        spec.get("ipFamilyPolicy") == "PreferDualStack"
        and before.get("ipFamilyPolicy", "PreferDualStack") == "PreferDualStack"
        and spec["type"] in ("ClusterIP", NODE_PORT, LOAD_BALANCER)
        and all(spec.get(part) == before.get(part) for part in same)
    )


def default_ip_families(obj: KubeObject, old: KubeObject | None) -> None:
    """Default the IP families and their policy, or reject impossible ones."""
    spec = obj["spec"]
    if is_external_name(spec):
        return
    selects_nothing = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        former = old["spec"].get("ipFamilyPolicy") if old else None
        spec["ipFamilyPolicy"] = former or (
            "RequireDualStack" if selects_nothing else "SingleStack"
        )
    errors = cluster_ip_errors(spec)
    if errors:
        raise refusal(obj, errors)
    errors = _family_errors(spec, old["spec"] if old else None)
    if errors:
        raise refusal(obj, errors)
    if selects_nothing:
        families = spec.get("ipFamilies") or [_FAMILIES[0]]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]
        spec["ipFamilies"] = families
        return
    found: Errors = []
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        message = "this cluster is not configured for dual-stack services"
        found.append(invalid("spec.ipFamilyPolicy", "RequireDualStack", message))
    errors = found + [
        invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(spec.get("ipFamilies", ()))
        if family not in _FAMILIES
    ]
    if errors:
        raise refusal(obj, errors)
    spec["ipFamilies"] = spec.get("ipFamilies") or [_FAMILIES[0]]


def _family_errors(spec: Spec, before: Spec | None) -> Errors:
    """Check the policy; add the family of each address beyond the named families."""
    policy = spec["ipFamilyPolicy"]
    field = "spec.ipFamilyPolicy"
    parts = (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family"))
    found: Errors = []
    for part, word in parts if before else ():
        now, then = spec.get(part, []), (before or {}).get(part, [])
        if policy == "SingleStack" and now == then:
            set_or_drop(spec, part, now[:1])
        elif policy != "SingleStack" and 0 < len(now) < len(then):
            message = f"must be 'SingleStack' to release the secondary {word}"
            found.append(invalid(field, policy, message))
    for part, word in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if policy == "SingleStack" and len(spec.get(part, ())) == 2:
            message = "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
            found.append(invalid(field, policy, f"{message}{word} are specified"))
    addresses, families = spec.get("clusterIPs", []), list(spec.get("ipFamilies", ()))
    for index, address in enumerate(addresses):
        if address == HEADLESS:
            break
        if index >= len(families):
            family = family_of(address)
            if family in _FAMILIES:
                families.append(family)
            else:
                message = f"{family} is not configured on this cluster"
                found.append(invalid(f"spec.clusterIPs[{index}]", addresses, message))
    set_or_drop(spec, "ipFamilies", families)
    return found
