"""Names are judged by all addresses they stand for, proxies included."""

import socket

import pytest

from kro_gitops.errors import Unavailable
from kro_gitops.source.api.url_policy import Address
from kro_gitops.source.git.credentials import Proxy
from kro_gitops.source.git.resolve import Pin, pin
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError

NAMES = {
    "public.example": ("93.184.216.34", "2606:2800:220:1::1"),
    "mixed.example": ("93.184.216.34", "10.0.0.1"),
    "inside.example": ("10.1.2.3",),
    "metadata.example": ("169.254.169.254",),
    "mapped.example": ("::ffff:127.0.0.1",),
    "proxy.example": ("93.184.216.35",),
}
PUBLIC = FetchRules()
PRIVATE = FetchRules(allow_private_networks=True)


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if host not in NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in NAMES[host]]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


def https(host: str) -> Address:
    return Address("https", host, 443, "/repo")


def test_all_addresses_of_a_name_are_pinned() -> None:
    (found,) = pin(https("public.example"), None, PUBLIC)
    assert found.for_curl() == "public.example:443:93.184.216.34,[2606:2800:220:1::1]"


@pytest.mark.parametrize(
    ("host", "rules"),
    [
        ("inside.example", PUBLIC),
        ("mixed.example", PUBLIC),
        ("mapped.example", PUBLIC),
        ("metadata.example", PUBLIC),
        ("metadata.example", PRIVATE),
    ],
)
def test_names_that_lead_inside_are_refused(host: str, rules: FetchRules) -> None:
    with pytest.raises(RefusedError) as caught:
        pin(https(host), None, rules)
    assert caught.value.code == "private-network"
    assert host in caught.value.message


def test_private_networks_can_be_allowed() -> None:
    assert pin(https("inside.example"), None, PRIVATE) == (
        Pin("inside.example", 443, ("10.1.2.3",)),
    )


def test_an_unknown_name_is_tried_again_later() -> None:
    with pytest.raises(Unavailable) as caught:
        pin(https("unknown.example"), None, PUBLIC)
    assert caught.value.code == "git-host-unknown"


def test_files_need_no_address() -> None:
    assert pin(Address("file", "", 0, "/x"), None, PUBLIC) == ()


def test_a_proxy_is_judged_as_well_as_what_is_behind_it() -> None:
    proxy = Proxy("http://proxy.example:3128")
    found = pin(https("public.example"), proxy, PUBLIC)
    assert [each.host for each in found] == ["proxy.example", "public.example"]
    with pytest.raises(RefusedError):
        pin(https("inside.example"), proxy, PUBLIC)
    with pytest.raises(RefusedError):
        pin(https("public.example"), Proxy("http://inside.example:80"), PUBLIC)


def test_an_http_proxy_may_know_names_that_we_do_not() -> None:
    found = pin(https("unknown.example"), Proxy("http://proxy.example"), PUBLIC)
    assert [each.host for each in found] == ["proxy.example"]
    with pytest.raises(Unavailable):
        pin(https("unknown.example"), Proxy("socks5://proxy.example"), PUBLIC)


@pytest.mark.parametrize(
    "address",
    [
        "proxy.example:3128",
        "ftp://proxy.example",
        "http://user:secretword@proxy.example",
        "http://proxy.example:99999",
        "http://",
        "http://proxy.example/path",
    ],
)
def test_addresses_that_are_no_proxys_are_refused(address: str) -> None:
    with pytest.raises(RefusedError) as caught:
        pin(https("public.example"), Proxy(address), PUBLIC)
    assert caught.value.code == "bad-proxy"
    assert "secretword" not in caught.value.message


def test_ssh_does_not_go_through_a_proxy() -> None:
    ssh = Address("ssh", "public.example", 22, "/repo", "git")
    with pytest.raises(RefusedError) as caught:
        pin(ssh, Proxy("http://proxy.example"), PUBLIC)
    assert caught.value.code == "proxy-not-for-ssh"
