"""
Which IP addresses belong to the public internet.

A name in a URL may resolve to any address, internal ones included: the metadata service of a cloud,
a database in our network. Python's `ipaddress` knows the registries; added is what they leave open
(addresses that carry another one inside, and a public one that only a cloud answers).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_IPAddress = IPv4Address | IPv6Address

_SPECIAL: tuple[tuple[IPv4Network | IPv6Network, str], ...] = (
    (IPv4Network("168.63.129.16/32"), "a service of the cloud platform"),  # public, but Azure's own
    (IPv4Network("100.64.0.0/10"), "private (shared address space)"),
    (IPv4Network("192.0.0.0/24"), "private (protocol assignments)"),  # a cloud's metadata, too
    (IPv6Network("3fff::/20"), "private (documentation)"),  # older Pythons do not know it
    (IPv6Network("fec0::/10"), "private (site-local)"),
    (IPv6Network("64:ff9b:1::/48"), "private (local NAT64)"),
)
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")


def refused_address(ip: str) -> str:
    """Return why an IP address is not on the public internet; empty if it is."""
    try:
        address = ip_address(ip)
    except ValueError:
        return "not an IP address"
    reason = _plain_reason(address)
    if reason or isinstance(address, IPv4Address):
        return reason
    # The IPv4 addresses that an IPv6 address leads to.
    found: list[tuple[IPv4Address, str]] = []
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64:
        found.append((low, "NAT64"))
    if address in _COMPATIBLE:
        found.append((low, "IPv4-compatible"))
    if address.sixtofour is not None:
        found.append((address.sixtofour, "6to4"))
    if address.teredo is not None:
        found.extend((each, "Teredo") for each in address.teredo)
    for inner, form in found:
        inner_reason = _plain_reason(inner)
        if inner_reason:
            return f"{inner_reason}, as {form}"
    return ""


def _plain_reason(address: _IPAddress) -> str:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    if mapped is not None:
        reason = _plain_reason(mapped)
        return f"{reason}, as IPv4-mapped" if reason else ""
    for network, reason in _SPECIAL:
        if address.version == network.version and address in network:
            return reason
    flags = (
        (address.is_unspecified, "unspecified"),
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local"),
        (address.is_multicast, "multicast"),
    )
    for holds, reason in flags:
        if holds:
            return reason
    # Of these, the IPv4 address inside decides.
    if isinstance(address, IPv6Address) and (address in _NAT64 or address in _COMPATIBLE):
        return ""
    if isinstance(address, IPv6Address) and (address.sixtofour or address.teredo):
        return ""
    if address.is_private:
        return "private"
    return "" if address.is_global and not address.is_reserved else "reserved"
