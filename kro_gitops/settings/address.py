"""
Where to listen, as Go programs write it: `:8078`, `127.0.0.1:8078`, `[::1]:8078`.

No host means every interface. Port 0 lets the system choose; the whole text `0` (or nothing)
means: do not listen at all.
"""

import re
from dataclasses import dataclass

_FORM = re.compile(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([A-Za-z0-9._-]*)):([0-9]{1,5})")
_EVERYWHERE = ("", "0.0.0.0", "::")
_NOWHERE = ("", "0")


@dataclass(frozen=True, slots=True)
class Address:
    """A host, empty for every interface, and a port, 0 for any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def shares_socket_with(self, other: "Address") -> bool:
        """Return whether two servers at these addresses would need the same socket."""
        if self.port != other.port or self.port == 0:
            return False
        everywhere = self.host in _EVERYWHERE and other.host in _EVERYWHERE
        return everywhere or self.host == other.host


def parse_address(text: str) -> Address | None:
    """Read an address; `None` if it says not to listen. Raise `ValueError` if it is none."""
    if text in _NOWHERE:
        return None
    parts = _FORM.fullmatch(text)
    if parts is None or int(parts[3]) > 65535:
        raise ValueError(text)
    return Address(parts[1] or parts[2] or "", int(parts[3]))
