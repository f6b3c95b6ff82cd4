"""
IP addresses and CIDRs in fields.

Legacy fields accept leading zeros; values that are not in canonical form get a warning.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/validation/ip.go IsValidIPForLegacyField,
IsValidCIDRForLegacyField, GetWarningsForIP, GetWarningsForCIDR;
pkg/apis/core/validation/validation.go ValidateEndpointIP.
"""

import ipaddress
import re

from kube_sandbox.registry.field_errors import invalid, quoted
from kube_sandbox.registry.strategy import Errors

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Range = ipaddress.IPv4Network | ipaddress.IPv6Network

_LEADING_ZEROS = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")
_NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_FUTURE = "will be considered invalid in a future Kubernetes release"


def parse_ip(text: str) -> Address | None:
    """Read an address, or return `None`; one of IPv4 inside IPv6 is one of IPv4."""
    try:
        found = ipaddress.ip_address(_LEADING_ZEROS.sub("", text))
    except ValueError:
        return None
    if "%" in text:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found


def parse_cidr(text: str) -> Range | None:
    """Read a range, or return `None`; bits beyond the prefix are forgotten."""
    address, slash, bits = text.partition("/")
    ip = parse_ip(address)
    if ip is None or not slash or not re.fullmatch("[0-9]{1,3}", bits):
        return None
    try:
        return ipaddress.ip_network(f"{ip}/{int(bits)}", strict=False)
    except ValueError:
        return None


def ip_errors(text: str, field: str) -> Errors:
    """Validate an address."""
    return [] if parse_ip(text) is not None else [invalid(field, text, _NOT_AN_IP)]


def cidr_errors(text: str, field: str) -> Errors:
    """Validate a range."""
    return [] if parse_cidr(text) is not None else [invalid(field, text, _NOT_A_CIDR)]


def endpoint_ip_errors(text: str, field: str) -> Errors:
    """Validate an address to which traffic is sent."""
    ip = parse_ip(text)
    if ip is None:
        return [invalid(field, text, "must be a valid IP address")]
    found = []
    if ip.is_unspecified:
        found.append(f"may not be unspecified ({text})")
    if ip.is_loopback:
        found.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip in _LOCAL_MULTICAST[ip.version]:
        message = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        found.append(message)
    return [invalid(field, text, each) for each in found]


_LOCAL_MULTICAST: dict[int, Range] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def ip_warnings(text: str, field: str) -> list[str]:
    """Warn of an address that is not written as it should be."""
    ip = parse_ip(text)
    if ip is None:
        return []
    strict = _strict(text)
    if strict is None or getattr(strict, "ipv4_mapped", None):
        return [f"{field}: non-standard IP address {quoted(text)} {_FUTURE}: use {quoted(str(ip))}"]
    if ip.version == 6 and str(strict) != text:
        right = quoted(str(strict))
        message = f"IPv6 address {quoted(text)} should be in RFC 5952 canonical format ({right})"
        return [f"{field}: {message}"]
    return []


def cidr_warnings(text: str, field: str) -> list[str]:
    """Warn of a range that is not written as it should be."""
    network = parse_cidr(text)
    if network is None:
        return []
    address, _, bits = text.partition("/")
    ip = parse_ip(address)
    found = []
    if ip != network.network_address:
        one = f"{ip}/{network.max_prefixlen}"
        message = (
            f"is ambiguous in this context (should be {quoted(str(network))} or {quoted(one)}?)"
        )
        found.append(f"{field}: CIDR value {quoted(text)} {message}")
    strict = _strict(address)
    if strict is None or getattr(strict, "ipv4_mapped", None) or str(int(bits)) != bits:
        message = f"{quoted(text)} {_FUTURE}: use {quoted(str(network))}"
        found.append(f"{field}: non-standard CIDR value {message}")
    if not found and network.version == 6 and f"{strict}/{bits}" != text:
        message = f"should be in RFC 5952 canonical format ({quoted(f'{strict}/{bits}')})"
        found.append(f"{field}: IPv6 CIDR value {quoted(text)} {message}")
    return found


def _strict(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
