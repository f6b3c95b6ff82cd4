"""What Services are given."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.registry.builtin.services.ip_allocation import (
    FIRST_PORT,
    LAST_PORT,
    RANGE,
    ServiceAllocations,
)

NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


def test_an_address_is_given_once() -> None:
    book = ServiceAllocations()
    first = book.next_address("default", "web")
    assert first == book.next_address("default", "web")
    book.put("default", "web", {"spec": {"clusterIPs": [first]}})
    assert book.next_address("default", "web") != first
    assert book.address_error(str(first)) == "provided IP is already allocated"


def test_an_address_is_free_when_its_service_is_gone() -> None:
    book = ServiceAllocations()
    book.put("a", "web", {"spec": {"clusterIPs": ["10.0.0.9"], "ports": [{"nodePort": 30001}]}})
    book.put("a", "web", {"spec": {"clusterIPs": ["10.0.0.10"]}})
    assert not book.has_address("10.0.0.9")
    assert not book.has_port(30001)
    book.remove("a", "web")
    book.remove("a", "web")
    assert not book.has_address("10.0.0.10")


def test_ports_of_health_checks_are_in_use_too() -> None:
    book = ServiceAllocations()
    book.put("a", "web", {"spec": {"healthCheckNodePort": 30002}})
    assert book.port_error(30002, set()) == "provided port is already allocated"


def test_what_is_outside_the_ranges_is_refused() -> None:
    book = ServiceAllocations()
    assert book.address_error("192.168.0.1") == (
        "the provided IP (192.168.0.1) is not in the valid range. "
        "The range of valid IPs is 10.0.0.0/16"
    )
    assert book.port_error(80, set()) == (
        "provided port is not in the valid range. The range of valid ports is 30000-32767"
    )


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=40))
def test_all_that_is_given_differs_and_is_in_range(keys: list[tuple[str, str]]) -> None:
    book = ServiceAllocations()
    addresses, ports = set(), set()
    for namespace, name in keys:
        address, port = book.next_address(namespace, name), book.next_port(namespace, name, set())
        assert address is not None
        assert port is not None
        assert ipaddress.ip_address(address) in RANGE
        assert FIRST_PORT <= port <= LAST_PORT
        addresses.add(address)
        ports.add(port)
        book.put(
            namespace, name, {"spec": {"clusterIPs": [address], "ports": [{"nodePort": port}]}}
        )
    assert len(addresses) == len(ports) == len(keys)
