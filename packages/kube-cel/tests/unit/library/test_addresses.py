from typing import Any

import pytest

from kube_cel.library.addresses import CIDR, GLOBALS, IP, MEMBERS
from kube_cel.values import EvaluationError, equals

NETWORK = "network address parse error during conversion from string"


def ip(text: str) -> IP:
    address = GLOBALS["ip"](text)
    assert isinstance(address, IP)
    return address


def cidr(text: str) -> CIDR:
    network = GLOBALS["cidr"](text)
    assert isinstance(network, CIDR)
    return network


def call(name: str, receiver: IP | CIDR, *arguments: Any) -> Any:
    return MEMBERS[name, receiver.KIND](receiver, *arguments)


@pytest.mark.parametrize(
    ("text", "family", "shown"),
    [
        ("192.168.0.1", 4, "192.168.0.1"),
        ("2001:DB8::0:1", 6, "2001:db8::1"),
        ("1:0:0:2:0:0:0:3", 6, "1:0:0:2::3"),
        ("::1.2.3.4", 6, "::102:304"),
    ],
)
def test_addresses_are_printed_in_one_way(text: str, family: int, shown: str) -> None:
    assert call("family", ip(text)) == family
    assert str(ip(text)) == shown
    assert GLOBALS["ip.isCanonical"](text) is (text == shown)
    assert GLOBALS["isIP"](text) is True
    assert equals(ip(text), ip(shown))


PROPERTIES = (
    "isUnspecified",
    "isLoopback",
    "isLinkLocalUnicast",
    "isLinkLocalMulticast",
    "isGlobalUnicast",
)


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("0.0.0.0", {"isUnspecified"}),
        ("::", {"isUnspecified"}),
        ("127.9.9.9", {"isLoopback"}),
        ("::1", {"isLoopback"}),
        ("169.254.1.1", {"isLinkLocalUnicast"}),
        ("febf::1", {"isLinkLocalUnicast"}),
        ("fec0::1", {"isGlobalUnicast"}),
        ("224.0.0.251", {"isLinkLocalMulticast"}),
        ("224.0.1.1", set()),
        ("ff12::1", {"isLinkLocalMulticast"}),
        ("ff05::1", set()),
        ("255.255.255.255", set()),
        ("10.0.0.1", {"isGlobalUnicast"}),
        ("fd00::1", {"isGlobalUnicast"}),
        ("8.8.8.8", {"isGlobalUnicast"}),
    ],
)
def test_what_an_address_is_for(text: str, properties: set[str]) -> None:
    assert {name for name in PROPERTIES if call(name, ip(text))} == properties


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "256.0.0.1",
            'IP Address "256.0.0.1" parse error during conversion from string: '
            'ParseAddr("256.0.0.1"): IPv4 field has value >255',
        ),
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ],
)
def test_what_is_no_address_is_refused(text: str, message: str) -> None:
    assert GLOBALS["isIP"](text) is False
    for function in ("ip", "ip.isCanonical"):
        with pytest.raises(EvaluationError) as caught:
            GLOBALS[function](text)
        assert caught.value.message == message


def test_a_network_keeps_its_host_bits() -> None:
    network = cidr("192.168.1.77/24")
    assert str(network) == "192.168.1.77/24"
    assert str(call("masked", network)) == "192.168.1.0/24"
    assert call("prefixLength", network) == 24
    assert equals(call("ip", network), ip("192.168.1.77"))
    assert not equals(network, cidr("192.168.1.0/24"))
    assert str(call("masked", cidr("ffff::1/0"))) == "::/0"


@pytest.mark.parametrize(
    ("network", "address", "expected"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("10.1.2.3/8", "10.0.0.0", True),
        ("0.0.0.0/0", "1.2.3.4", True),
        ("0.0.0.0/0", "::1", False),
        ("::/0", "1.2.3.4", False),
        ("2001:db8::/32", "2001:db8:1::", True),
        ("1.2.3.4/32", "1.2.3.4", True),
    ],
)
def test_which_addresses_a_network_contains(network: str, address: str, expected: bool) -> None:
    assert call("containsIP", cidr(network), ip(address)) is expected
    assert call("containsIP", cidr(network), address) is expected


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.0.0.0/8", "10.0.0.0/8", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("10.0.0.0/8", "11.0.0.0/16", False),
        ("0.0.0.0/0", "::/0", False),
        ("::/0", "fe80::/10", True),
    ],
)
def test_which_networks_a_network_contains(outer: str, inner: str, expected: bool) -> None:
    assert call("containsCIDR", cidr(outer), cidr(inner)) is expected
    assert call("containsCIDR", cidr(outer), inner) is expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.0.0.0", "no '/'"),
        ("x/8", 'ParseAddr("x"): unable to parse IP'),
        ("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/+8", 'bad bits after slash: "+8"'),
        ("10.0.0.0/x", 'bad bits after slash: "x"'),
        ("10.0.0.0/99999999999999999999", 'bad bits after slash: "99999999999999999999"'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
    ],
)
def test_what_is_no_network_is_refused(text: str, reason: str) -> None:
    assert GLOBALS["isCIDR"](text) is False
    with pytest.raises(EvaluationError) as caught:
        cidr(text)
    assert caught.value.message == f'{NETWORK}: {NETWORK}: netip.ParsePrefix("{text}"): {reason}'


def test_a_mapped_address_makes_no_network() -> None:
    with pytest.raises(EvaluationError) as caught:
        cidr("::ffff:1.2.3.4/96")
    expected = 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/96" is not allowed'
    assert caught.value.message == f"{NETWORK}: {expected}"


def test_a_bad_text_is_refused_where_an_address_or_network_is_due() -> None:
    network = cidr("10.0.0.0/8")
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        call("containsIP", network, "bad")
    with pytest.raises(EvaluationError, match=f"^{NETWORK}: "):
        call("containsCIDR", network, "bad")
    with pytest.raises(EvaluationError, match=r"^no such overload: containsIP\(net.CIDR, int\)$"):
        call("containsIP", network, 1)
