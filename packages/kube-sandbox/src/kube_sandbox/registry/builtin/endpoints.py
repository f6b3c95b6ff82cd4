"""
Endpoints and EndpointSlice.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateEndpoints,
validateEndpointSubsets; pkg/apis/discovery/validation/validation.go ValidateEndpointSlice;
pkg/registry/discovery/endpointslice/strategy.go dropTopologyOnV1.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.ip_validation import (
    endpoint_ip_errors,
    ip_errors,
    ip_warnings,
    parse_ip,
)
from kube_sandbox.registry.field_errors import (
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from kube_sandbox.registry.name_validation import (
    dns_label,
    dns_subdomain,
    label_value,
    port_number,
    qualified_name,
)
from kube_sandbox.registry.object_meta import immutable
from kube_sandbox.registry.strategy import Errors, RequestContext, set_generation

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_HINTS = 1000, 100, 20000, 8
_MANAGED_BY = "endpoints.kubernetes.io/managed-by"

Part = Mapping[str, Any]


def _invalid_all(field: str, value: str, wrong: list[str]) -> Errors:
    return [invalid(field, value, each) for each in wrong]


class Endpoints(BaseStrategy):
    """Where a Service's Pods are, in one object."""

    def default(self, obj: KubeObject) -> None:
        """Mean TCP."""
        for subset in obj.get("subsets", ()):
            for port in subset.get("ports", ()):
                port["protocol"] = port.get("protocol") or "TCP"

    def check(self, obj: KubeObject) -> Errors:
        """Validate addresses and ports."""
        found: Errors = []
        for index, subset in enumerate(obj.get("subsets", ())):
            field = f"subsets[{index}]"
            lists = ("addresses", "notReadyAddresses")
            if not any(subset.get(part) for part in lists):
                message = "must specify `addresses` or `notReadyAddresses`"
                found.append(required(field, message))
            for part in lists:
                for place, address in enumerate(subset.get(part, ())):
                    where, ip = f"{field}.{part}[{place}]", address.get("ip", "")
                    found += ip_errors(ip, f"{where}.ip")
                    if host := address.get("hostname"):
                        found += _invalid_all(f"{where}.hostname", host, dns_label(host))
                    if (node := address.get("nodeName")) is not None:
                        found += _invalid_all(f"{where}.nodeName", node, dns_subdomain(node))
                    found += endpoint_ip_errors(ip, f"{where}.ip")
            ports = subset.get("ports", ())
            for place, port in enumerate(ports):
                where, name = f"{field}.ports[{place}]", port.get("name", "")
                if name:
                    found += _invalid_all(f"{where}.name", name, dns_label(name))
                elif len(ports) > 1:
                    found.append(required(f"{where}.name"))
                number, protocol = port.get("port", 0), port.get("protocol", "")
                found += [invalid(f"{where}.port", number, each) for each in port_number(number)]
                if protocol not in _PROTOCOLS:
                    found.append(not_supported(f"{where}.protocol", protocol, _PROTOCOLS))
                if (name := port.get("appProtocol")) is not None:
                    found += _invalid_all(f"{where}.appProtocol", name, qualified_name(name))
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change; what was accepted once is accepted again."""
        found = self.changed_meta(new, old) + self.checked_meta(new)
        return found if new.get("subsets") == old.get("subsets") else found + self.check(new)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of addresses that are not written as they should be."""
        if obj["metadata"].get("labels", {}).get(_MANAGED_BY) == "endpoint-controller":
            return []
        return [
            message
            for index, subset in enumerate(obj.get("subsets", ()))
            for part in ("addresses", "notReadyAddresses")
            for place, each in enumerate(subset.get(part, ()))
            for message in ip_warnings(each.get("ip", ""), f"subsets[{index}].{part}[{place}].ip")
        ]


class EndpointSlices(BaseStrategy):
    """Where some of a Service's Pods are."""

    def default(self, obj: KubeObject) -> None:
        """Mean TCP, and a port without a name."""
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin with the first generation."""
        set_generation(obj, 1)
        _drop_topology(obj)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Count changes of anything but metadata, and of labels."""
        _drop_topology(new)
        parts = ("addressType", "endpoints", "ports")
        changed = any(new.get(part) != old.get(part) for part in parts)
        labelled = (each["metadata"].get("labels", {}) for each in (new, old))
        before = old["metadata"].get("generation", 0)
        set_generation(new, before + (changed or len({*map(repr, labelled)}) > 1))

    def check(self, obj: KubeObject) -> Errors:
        """Validate addresses and ports."""
        kind = obj.get("addressType", "")
        found: Errors = []
        if not kind:
            found.append(required("addressType"))
        elif kind not in _ADDRESS_TYPES:
            found.append(not_supported("addressType", kind, _ADDRESS_TYPES))
        ports = obj.get("ports") or ()
        if len(ports) > _MOST_PORTS:
            found.append(too_many("ports", len(ports), _MOST_PORTS))
        else:
            names: set[str] = set()
            for index, port in enumerate(ports):
                field = f"ports[{index}]"
                name, protocol = port.get("name", ""), port.get("protocol")
                if name:
                    found += _invalid_all(f"{field}.name", name, dns_label(name))
                if name in names:
                    found.append(duplicate(f"{field}.name", name))
                names.add(name)
                if protocol not in _PROTOCOLS:
                    found.append(not_supported(f"{field}.protocol", protocol, _PROTOCOLS))
                if "appProtocol" in port:
                    wanted = port["appProtocol"]
                    found += _invalid_all(f"{field}.appProtocol", wanted, qualified_name(wanted))
        endpoints = obj.get("endpoints") or ()
        if len(endpoints) > _MOST_ENDPOINTS:
            return [*found, too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)]
        for index, endpoint in enumerate(endpoints):
            found += _endpoint_errors(endpoint, kind, f"endpoints[{index}]")
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change; endpoints that were accepted once are accepted again."""
        same = new.get("endpoints") == old.get("endpoints")
        found = self.checked_meta(new) + self.check({**new, "endpoints": None} if same else new)
        now, then = new.get("addressType", ""), old.get("addressType", "")
        return found + immutable(now, then, "addressType")

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of addresses that are names."""
        if obj.get("addressType") != "FQDN":
            return []
        return ["spec.addressType: FQDN endpoints are deprecated"]


def _drop_topology(obj: KubeObject) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _endpoint_errors(endpoint: Part, kind: str, field: str) -> Errors:
    addresses = endpoint.get("addresses") or ()
    where = f"{field}.addresses"
    found: Errors = []
    if not addresses:
        found.append(required(where, "must contain at least 1 address"))
    elif len(addresses) > _MOST_ADDRESSES:
        found.append(too_many(where, len(addresses), _MOST_ADDRESSES))
    for index, address in enumerate(addresses):
        found += _slice_address_errors(address, kind, where, index)
    if "nodeName" in endpoint:
        name = endpoint["nodeName"]
        found += _invalid_all(f"{field}.nodeName", name, dns_subdomain(name))
    if "hostname" in endpoint:
        name = endpoint["hostname"]
        found += _invalid_all(f"{field}.hostname", name, dns_label(name))
    hints = endpoint.get("hints", {})
    for part, rule in (("forZones", label_value), ("forNodes", dns_subdomain)):
        entries = hints.get(part, ())
        if len(entries) > _MOST_HINTS:
            found.append(too_many(f"{field}.hints.{part}", len(entries), _MOST_HINTS))
            break
        names: set[str] = set()
        for index, entry in enumerate(entries):
            where, name = f"{field}.hints.{part}[{index}].name", entry.get("name", "")
            if name in names:
                found.append(duplicate(where, name))
            names.add(name)
            found += _invalid_all(where, name, rule(name))
    return found


def _slice_address_errors(address: str, kind: str, where: str, index: int) -> Errors:
    field = f"{where}[{index}]"
    if kind == "FQDN":
        if not address:
            return [required(field)]
        name = address.removesuffix(".")
        if wrong_name := dns_subdomain(name):
            return [invalid(field, name, ",".join(wrong_name))]
        parts = name.split(".")
        if len(parts) < 2:
            message = "should be a domain with at least two segments separated by dots"
            return [invalid(field, name, message)]
        for part in parts:
            if wrong_part := dns_label(part):
                return [invalid(field, part, ",".join(wrong_part))]
        return []
    if kind not in _ADDRESS_TYPES:
        return []
    wrong = ip_errors(address, field)
    if wrong:
        return wrong
    ip = parse_ip(address)
    found: Errors = []
    if kind == "IPv6" and str(ip) != address:
        return [invalid(field, address, f'must be in canonical form ("{ip}")')]
    if ip is not None and f"IPv{ip.version}" != kind:
        found.append(invalid(where, address, f"must be an {kind} address"))
    return found + endpoint_ip_errors(address, field)


ENDPOINTS = Endpoints(KindOptions(creates_on_update=True))
ENDPOINT_SLICES = EndpointSlices(KindOptions(counted=("endpoints",)))
