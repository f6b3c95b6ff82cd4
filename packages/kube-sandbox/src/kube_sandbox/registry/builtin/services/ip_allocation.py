"""
Allocation of cluster IPs and node ports.

`ServiceAllocations` records what each Service holds. Which free address a Service gets depends
only on its name and on the addresses in use, so that it is the same in every run.

Follows kubernetes 1.35 pkg/registry/core/service/storage/alloc.go Allocators.allocateCreate,
Allocators.allocateUpdate; pkg/registry/core/service/portallocator/allocator.go
PortAllocator.Allocate; pkg/registry/core/service/ipallocator/interfaces.go ErrNotInRange.
"""

import ipaddress
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

RANGE = ipaddress.IPv4Network("10.0.0.0/16")
FIRST_PORT, LAST_PORT = 30000, 32767
ALLOCATED = "provided port is already allocated"
_OUT_OF_PORTS = (
    f"provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
)


class ServiceAllocations:
    """What Services hold."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[tuple[str, ...], tuple[int, ...]]] = {}
        self._addresses: Counter[str] = Counter()
        self._ports: Counter[int] = Counter()

    def put(self, namespace: str, name: str, service: Mapping[str, Any]) -> None:
        """Note what a Service holds now."""
        self.remove(namespace, name)
        spec = service.get("spec", {})
        addresses = tuple(each for each in spec.get("clusterIPs", ()) if each != "None")
        ports = tuple(node_ports(spec))
        self._held[namespace, name] = addresses, ports
        self._addresses.update(addresses)
        self._ports.update(ports)

    def remove(self, namespace: str, name: str) -> None:
        """Note that a Service is gone."""
        addresses, ports = self._held.pop((namespace, name), ((), ()))
        self._addresses.subtract(addresses)
        self._ports.subtract(ports)

    def has_address(self, address: str) -> bool:
        """Return whether an address is in use."""
        return self._addresses[address] > 0

    def has_port(self, port: int) -> bool:
        """Return whether a node port is in use."""
        return self._ports[port] > 0

    def next_address(self, namespace: str, name: str) -> str | None:
        """Return a free address, or `None` if there is none."""
        # The first is the API server's own; the lower part of the range is for those who choose.
        reserved = 256
        count = RANGE.num_addresses - 1 - reserved
        start = zlib.crc32(f"{namespace}/{name}".encode()) % count
        for step in range(count):
            found = str(RANGE[reserved + (start + step) % count])
            if not self.has_address(found):
                return found
        return None

    def next_port(self, namespace: str, name: str, taken: set[int]) -> int | None:
        """Return a free node port that is not `taken`, or `None` if there is none."""
        reserved = 86
        count = LAST_PORT - FIRST_PORT - reserved + 1
        start = zlib.crc32(f"{name}.{namespace}".encode()) % count
        for step in range(count):
            found = FIRST_PORT + reserved + (start + step) % count
            if not self.has_port(found) and found not in taken:
                return found
        return None

    def port_error(self, port: int, taken: set[int], dry_run: bool = False) -> str:
        """Return why a node port cannot be allocated, or nothing; a dry-run ignores the range."""
        if not dry_run and not FIRST_PORT <= port <= LAST_PORT:
            return _OUT_OF_PORTS
        return ALLOCATED if self.has_port(port) or port in taken else ""

    def address_error(self, address: str, dry_run: bool = False) -> str:
        """Return why an address cannot be allocated, or nothing; a dry-run checks the range."""
        ip = ipaddress.ip_address(address)
        if ip not in RANGE or ip in (RANGE.network_address, RANGE.broadcast_address):
            return (
                f"the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {RANGE}"
            )
        is_free = dry_run or not self.has_address(address)
        return "" if is_free else "provided IP is already allocated"


def node_ports(spec: Mapping[str, Any]) -> list[int]:
    """Return the node ports that a Service holds."""
    found = [port["nodePort"] for port in spec.get("ports", ()) if port.get("nodePort")]
    health = spec.get("healthCheckNodePort")
    return [*found, health] if health else found
