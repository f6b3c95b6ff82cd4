"""
NetworkPolicy.

Follows kubernetes 1.35 pkg/apis/networking/validation/validation.go ValidateNetworkPolicy,
ValidateNetworkPolicySpec, ValidateIPBlock; pkg/apis/networking/v1/defaults.go
SetDefaults_NetworkPolicy.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.ip_validation import cidr_errors, cidr_warnings, parse_cidr
from kube_sandbox.registry.field_errors import forbidden, invalid, not_supported, required
from kube_sandbox.registry.name_validation import port_name, port_number
from kube_sandbox.registry.object_meta import label_selector
from kube_sandbox.registry.strategy import Errors, RequestContext

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("Ingress", "Egress")
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))

Part = Mapping[str, Any]


class NetworkPolicies(BaseStrategy):
    """Who may talk to whom."""

    def default(self, obj: KubeObject) -> None:
        """Mean TCP, and the directions that have rules."""
        spec = obj.setdefault("spec", {})
        for direction, _ in _DIRECTIONS:
            for rule in spec.get(direction, ()):
                for port in rule.get("ports", ()):
                    port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]

    def check(self, obj: KubeObject) -> Errors:
        """Validate rules and selectors."""
        spec: Part = obj["spec"]
        found = label_selector(spec.get("podSelector"), "spec.podSelector")
        for direction, peers in _DIRECTIONS:
            for index, rule in enumerate(spec.get(direction, ())):
                field = f"spec.{direction}[{index}]"
                for place, port in enumerate(rule.get("ports", ())):
                    port_field = f"{field}.ports[{place}]"
                    protocol = port.get("protocol")
                    number, last = port.get("port"), port.get("endPort")
                    if protocol is not None and protocol not in _PROTOCOLS:
                        found.append(not_supported(f"{port_field}.protocol", protocol, _PROTOCOLS))
                    if isinstance(number, int):
                        found += [
                            invalid(f"{port_field}.port", number, each)
                            for each in port_number(number)
                        ]
                        if last is not None:
                            if last < number:
                                message = "must be greater than or equal to `port`"
                                found.append(invalid(f"{port_field}.endPort", number, message))
                            found += [
                                invalid(f"{port_field}.endPort", last, each)
                                for each in port_number(last)
                            ]
                    else:
                        if last is not None:
                            state = "not specified" if number is None else "non-numeric"
                            message = f"may not be specified when `port` is {state}"
                            found.append(invalid(f"{port_field}.endPort", last, message))
                        if number is not None:
                            found += [
                                invalid(f"{port_field}.port", number, each)
                                for each in port_name(number)
                            ]
                for place, peer in enumerate(rule.get(peers, ())):
                    found += _peer_errors(peer, f"{field}.{peers}[{place}]")
        types = spec.get("policyTypes", ())
        if len(types) > len(_TYPES):
            message = "may not specify more than two policyTypes"
            return [*found, invalid("spec.policyTypes", list(types), message)]
        return found + [
            not_supported(f"spec.policyTypes[{index}]", each, _TYPES)
            for index, each in enumerate(types)
            if each not in _TYPES
        ]

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change: everything is validated twice, as new and as changed."""
        errors = self.check(new)
        return self.checked_meta(new) + errors + self.changed_meta(new, old) + errors

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of ranges that are not written as they should be."""
        found: list[str] = []
        for direction, peers in _DIRECTIONS:
            for index, rule in enumerate(obj["spec"].get(direction, ())):
                for place, peer in enumerate(rule.get(peers, ())):
                    field = f"spec.{direction}[{index}].{peers}[{place}].ipBlock"
                    if (block := peer.get("ipBlock")) is not None:
                        found += cidr_warnings(block.get("cidr", ""), f"{field}.cidr")
                        for at, text in enumerate(block.get("except", ())):
                            found += cidr_warnings(text, f"{field}.except[{at}]")
        return found


def _peer_errors(peer: Part, field: str) -> Errors:
    block = peer.get("ipBlock")
    found: Errors = []
    selectors = [part for part in ("podSelector", "namespaceSelector") if part in peer]
    for part in selectors:
        found += label_selector(peer[part], f"{field}.{part}")
    if block is not None:
        cidr, where = block.get("cidr", ""), f"{field}.ipBlock"
        whole = parse_cidr(cidr)
        if whole is None:
            found += cidr_errors(cidr, f"{where}.cidr") if cidr else [required(f"{where}.cidr")]
        for index, text in enumerate(block.get("except", ())):
            excepted = parse_cidr(text)
            if whole is None:
                break
            if excepted is None:
                found += cidr_errors(text, f"{where}.except[{index}]")
            elif excepted.network_address not in whole or whole.prefixlen >= excepted.prefixlen:
                message = "must be a strict subset of `cidr`"
                found.append(invalid(f"{where}.except[{index}]", text, message))
        if selectors:
            found.append(forbidden(field, "may not specify both ipBlock and another peer"))
    elif not selectors:
        found.append(required(field, "must specify a peer"))
    return found


NETWORK_POLICIES = NetworkPolicies(KindOptions(counted=("spec",)))
