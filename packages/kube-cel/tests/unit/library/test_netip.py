from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.library.netip import AddressError, parse_address


@pytest.mark.parametrize(
    ("text", "number", "bits"),
    [
        ("1.2.3.4", 0x01020304, 32),
        ("255.255.255.255", 2**32 - 1, 32),
        ("::", 0, 128),
        ("::1", 1, 128),
        ("1::", 1 << 112, 128),
        ("1:2:3:4:5:6:7:8", 0x00010002000300040005000600070008, 128),
        ("1:2:3:4:5:6:7::", 0x00010002000300040005000600070000, 128),
        ("::ffff:1.2.3.4", 0xFFFF01020304, 128),
        ("1:2:3:4:5:6:1.2.3.4", 0x00010002000300040005000601020304, 128),
        ("FE80::A", (0xFE80 << 112) + 10, 128),
    ],
)
def test_addresses_are_numbers(text: str, number: int, bits: int) -> None:
    address = parse_address(text)
    assert (address.number, address.bits, address.zone) == (number, bits, "")


def test_an_ipv6_address_may_have_a_zone() -> None:
    assert parse_address("fe80::1%eth0").zone == "eth0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unable to parse IP"),
        ("abc", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("256.1.1.1", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.x.4", 'unexpected character (at "x.4")'),
        ("fe80::1%", "zone must be a non-empty string"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1:2:3", "address string too short"),
        ("1:x::", 'each colon-separated field must have at least one digit (at "x::")'),
        ("1:2x::", 'unexpected character, want colon (at "x::")'),
        ("1::2:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros"),
        (
            "1:2:3:1.2.3.4",
            'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
        ),
        (
            "::1:2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
        ("::1.2.3.456", "IPv4 field has value >255"),
    ],
)
def test_complaints_are_those_of_go(text: str, reason: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {reason}'


@settings(max_examples=100)
@given(st.integers(0, 2**128 - 1))
def test_every_address_python_writes_is_read(number: int) -> None:
    for shown in (IPv6Address(number).compressed, IPv6Address(number).exploded):
        assert parse_address(shown).number == number
    assert parse_address(str(IPv4Address(number % 2**32))).number == number % 2**32
