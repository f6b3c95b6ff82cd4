"""
IP addresses and networks, parsed strictly.

Rules and error messages are those of Go's `netip`: no leading zeros in IPv4, `::` at most once.
Addresses with a zone and IPv4 addresses written as IPv6 can be parsed, but are rejected as values
of an expression. A network keeps the host bits it was written with, and `==` compares them.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from kube_cel.library.dispatch import accepts, global_functions, member_functions
from kube_cel.library.netip import Address, AddressError, parse_address
from kube_cel.values import EvaluationError, Opaque, no_such_overload
from kube_objects.go_text import quote

_BROADCAST = 2**32 - 1
_NETWORK_PROBLEM = "network address parse error during conversion from string"


@dataclass(frozen=True, slots=True)
class IP(Opaque):
    """An address of 32 or 128 bits."""

    KIND = "net.IP"

    number: int
    bits: int

    def __str__(self) -> str:
        return str(IPv4Address(self.number) if self.bits == 32 else IPv6Address(self.number))


@dataclass(frozen=True, slots=True)
class CIDR(Opaque):
    """An address and how many of its leading bits name the network."""

    KIND = "net.CIDR"

    address: IP
    length: int

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"


def parse_ip(text: str) -> IP:
    """Read an address."""
    try:
        address = parse_address(text)
    except AddressError as error:
        raise EvaluationError(
            f"IP Address {quote(text)} parse error during conversion from string: {error}"
        ) from None
    if address.zone:
        raise EvaluationError(f"IP address {quote(text)} with zone value is not allowed")
    _refuse_mapped(address, text)
    return IP(address.number, address.bits)


def is_canonical(text: str) -> bool:
    """Return whether an address is written as it would be printed."""
    return str(parse_ip(text)) == text


def family(ip: IP) -> int:
    """Return 4 or 6."""
    return 4 if ip.bits == 32 else 6


def is_unspecified(ip: IP) -> bool:
    """Return whether this is `0.0.0.0` or `::`."""
    return ip.number == 0


def is_loopback(ip: IP) -> bool:
    """Return whether this is in `127.0.0.0/8`, or `::1`."""
    return _begins(ip, 127, 8) if ip.bits == 32 else ip.number == 1


def is_link_local_unicast(ip: IP) -> bool:
    """Return whether this is in `169.254.0.0/16` or `fe80::/10`."""
    return _begins(ip, 0xA9FE, 16) if ip.bits == 32 else _begins(ip, 0xFE80 >> 6, 10)


def is_link_local_multicast(ip: IP) -> bool:
    """Return whether this is in `224.0.0.0/24`, or IPv6 multicast with link-local scope."""
    if ip.bits == 32:
        return _begins(ip, 224 << 16, 24)
    return ip.number >> 112 & 0xFF0F == 0xFF02


def is_global_unicast(ip: IP) -> bool:
    """Return whether this names one host beyond its link; private ranges do."""
    is_multicast = _begins(ip, 0xE, 4) if ip.bits == 32 else _begins(ip, 0xFF, 8)
    is_broadcast = ip.bits == 32 and ip.number == _BROADCAST
    return not (
        is_unspecified(ip)
        or is_broadcast
        or is_multicast
        or is_loopback(ip)
        or is_link_local_unicast(ip)
    )


def parse_cidr(text: str) -> CIDR:
    """Read a network: an address, a slash, a number of bits."""
    try:
        written, slash, length = text.rpartition("/")
        if not slash:
            raise _bad_network(text, "no '/'")
        try:
            address = parse_address(written)
        except AddressError as parse_error:
            raise _bad_network(text, str(parse_error)) from None
        if address.zone:
            raise _bad_network(text, "IPv6 zones cannot be present in a prefix")
        is_number = length.isascii() and length.isdigit() and (length == "0" or length[0] != "0")
        if not is_number or len(length) > 18:
            raise _bad_network(text, f"bad bits after slash: {quote(length)}")
        if int(length) > address.bits:
            raise _bad_network(text, "prefix length out of range")
        _refuse_mapped(address, text)
        return CIDR(IP(address.number, address.bits), int(length))
    except EvaluationError as error:
        raise EvaluationError(f"{_NETWORK_PROBLEM}: {error.message}") from None


def contains_ip(cidr: CIDR, ip: IP) -> bool:
    """Return whether an address lies in a network."""
    return cidr.address.bits == ip.bits and _network(cidr, cidr.length) == ip.number >> (
        ip.bits - cidr.length
    )


def contains_ip_text(cidr: CIDR, text: str) -> bool:
    """Do the same for an address yet to be read."""
    try:
        ip = parse_ip(text)
    except EvaluationError:
        raise no_such_overload() from None  # all that Kubernetes says of a bad address here
    return contains_ip(cidr, ip)


def contains_cidr(outer: CIDR, inner: CIDR) -> bool:
    """Return whether a network lies in another, or is the same."""
    return (
        outer.address.bits == inner.address.bits
        and outer.length <= inner.length
        and _network(outer, outer.length) == _network(inner, outer.length)
    )


def masked(cidr: CIDR) -> CIDR:
    """Clear the host bits."""
    bits = cidr.address.bits
    number = _network(cidr, cidr.length) << (bits - cidr.length)
    return CIDR(IP(number, bits), cidr.length)


def _bad_network(text: str, reason: str) -> EvaluationError:
    return EvaluationError(f"{_NETWORK_PROBLEM}: netip.ParsePrefix({quote(text)}): {reason}")


def _refuse_mapped(address: Address, text: str) -> None:
    if address.bits == 128 and address.number >> 32 == 0xFFFF:
        raise EvaluationError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")


def _begins(ip: IP, prefix: int, length: int) -> bool:
    return ip.number >> (ip.bits - length) == prefix


def _network(cidr: CIDR, length: int) -> int:
    return cidr.address.number >> (cidr.address.bits - length)


GLOBALS = global_functions(
    {
        "ip(string)": parse_ip,
        "isIP(string)": accepts(parse_ip),
        "ip.isCanonical(string)": is_canonical,
        "cidr(string)": parse_cidr,
        "isCIDR(string)": accepts(parse_cidr),
    }
)

MEMBERS = member_functions(
    {
        "family(net.IP)": family,
        "isUnspecified(net.IP)": is_unspecified,
        "isLoopback(net.IP)": is_loopback,
        "isLinkLocalUnicast(net.IP)": is_link_local_unicast,
        "isLinkLocalMulticast(net.IP)": is_link_local_multicast,
        "isGlobalUnicast(net.IP)": is_global_unicast,
        "containsIP(net.CIDR, net.IP)": contains_ip,
        "containsIP(net.CIDR, string)": contains_ip_text,
        "containsCIDR(net.CIDR, net.CIDR)": contains_cidr,
        "containsCIDR(net.CIDR, string)": lambda cidr, text: contains_cidr(cidr, parse_cidr(text)),
        "ip(net.CIDR)": lambda cidr: cidr.address,
        "prefixLength(net.CIDR)": lambda cidr: cidr.length,
        "masked(net.CIDR)": masked,
    }
)
