import re

import pytest

from kro_gitops.settings.address import Address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8078", Address("", 8078)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("localhost:80", Address("localhost", 80)),
        ("[::1]:8079", Address("::1", 8079)),
        ("[fe80::1%eth0]:8079", Address("fe80::1%eth0", 8079)),
        ("0", None),
        ("", None),
    ],
)
def test_addresses_are_read_as_go_writes_them(text: str, address: Address | None) -> None:
    assert parse_address(text) == address
    if address is not None:
        assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["8078", "localhost", "::1:80", ":65536", ":-1", ":http", "a b:1", "http://x:80", "[]:1"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_address(text)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (":80", ":80", True),
        (":80", "0.0.0.0:80", True),
        ("[::]:80", ":80", True),
        ("127.0.0.1:80", "127.0.0.1:80", True),
        (":80", ":81", False),
        ("127.0.0.1:80", ":80", False),  # metrics for this host only must not become everybody's
        ("127.0.0.1:0", "127.0.0.1:0", False),
    ],
)
def test_equal_addresses_share_a_socket(one: str, other: str, shared: bool) -> None:
    first, second = parse_address(one), parse_address(other)
    assert first is not None
    assert second is not None
    assert first.shares_socket_with(second) is shared
    assert second.shares_socket_with(first) is shared
