"""
The text of an IP address → a number, with the rules and error messages of Go's `netip`.

Used for addresses in expressions and for hosts in URLs. Python's `ipaddress` accepts a different
set of texts and has other error messages.
"""

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from kube_objects.go_text import quote

_HEX: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_FIRST_SIGN: Final = re.compile(r"[.:%]")


class AddressError(ValueError):
    """A text that is not an address."""


@dataclass(frozen=True, slots=True)
class Address:
    """What was written: the number, its size (32 or 128 bits) and the zone, if any."""

    number: int
    bits: int
    zone: str = ""


def parse_address(text: str) -> Address:
    """Read an IPv4 or IPv6 address."""
    sign = _FIRST_SIGN.search(text)
    if sign is None:
        _refuse(text, "unable to parse IP")
    if sign[0] == "%":
        _refuse(text, "missing IPv6 address")
    if sign[0] == ".":
        return Address(_parse_ipv4(text, text), 32)
    written, percent, zone = text.partition("%")
    if percent and not zone:
        _refuse(text, "zone must be a non-empty string")
    return Address(_Ipv6(text, written).number(), 128, zone)


def _parse_ipv4(part: str, text: str) -> int:
    """Read four numbers with dots between; `text` is what messages quote."""
    number = 0
    dots = 0
    digits = ""
    for position, char in enumerate(part):
        if "0" <= char <= "9":
            if digits == "0":
                _refuse(text, "IPv4 field has octet with leading zero")
            digits += char
            if int(digits) > 255:
                _refuse(text, "IPv4 field has value >255")
        elif char == ".":
            if not digits or position == len(part) - 1:
                _refuse(text, "IPv4 field must have at least one digit", part[position:])
            if dots == 3:
                _refuse(text, "IPv4 address too long")
            number = number << 8 | int(digits)
            dots += 1
            digits = ""
        else:
            _refuse(text, "unexpected character", part[position:])
    if dots < 3:
        _refuse(text, "IPv4 address too short")
    return number << 8 | int(digits)


class _Ipv6:
    """Groups of up to four digits, read one after the other; `rest` is what is left."""

    def __init__(self, text: str, written: str) -> None:
        self.text = text
        self.rest = written
        self.groups: list[int] = []
        self.gap = -1  # before which group the `::` stands

    def number(self) -> int:
        """Read the whole address."""
        if self.rest.startswith("::"):
            self.gap = 0
            self.rest = self.rest[2:]
            if not self.rest:
                return 0
        while len(self.groups) < 8 and self._group():
            pass
        if self.rest:
            _refuse(self.text, "trailing garbage after address", self.rest)
        # Put zeros where the `::` stands and return the number.
        missing = 8 - len(self.groups)
        if missing and self.gap < 0:
            _refuse(self.text, "address string too short")
        if not missing and self.gap >= 0:
            _refuse(self.text, "the :: must expand to at least one field of zeros")
        filled = self.groups[: self.gap] + [0] * missing + self.groups[self.gap :]
        number = 0
        for group in filled if missing else self.groups:
            number = number << 16 | group
        return number

    def _group(self) -> bool:
        """Read a group and the colon behind it; return whether there is more to read."""
        match = _HEX.match(self.rest)
        digits = match[0] if match else ""
        if len(digits) > 4:
            _refuse(self.text, "each group must have 4 or less digits", self.rest)
        if not digits:
            reason = "each colon-separated field must have at least one digit"
            _refuse(self.text, reason, self.rest)
        if self.rest.startswith(".", len(digits)):
            if self.gap < 0 and len(self.groups) != 6:
                reason = "embedded IPv4 address must replace the final 2 fields of the address"
                _refuse(self.text, reason, self.rest)
            if len(self.groups) > 6:
                reason = "too many hex fields to fit an embedded IPv4 at the end of the address"
                _refuse(self.text, reason, self.rest)
            number = _parse_ipv4(self.rest, self.text)
            self.groups += (number >> 16, number & 0xFFFF)
            self.rest = ""
            return False
        self.groups.append(int(digits, 16))
        self.rest = self.rest[len(digits) :]
        if not bool(self.rest):
            return False
        if self.rest[0] != ":":
            _refuse(self.text, "unexpected character, want colon", self.rest)
        if len(self.rest) == 1:
            _refuse(self.text, "colon must be followed by more characters", self.rest)
        self.rest = self.rest[1:]
        if self.rest[0] == ":":
            if self.gap >= 0:
                _refuse(self.text, "multiple :: in address", self.rest)
            self.gap = len(self.groups)
            self.rest = self.rest[1:]
        return bool(self.rest)


def _refuse(text: str, reason: str, at: str = "") -> NoReturn:
    place = f" (at {quote(at)})" if at else ""
    raise AddressError(f"ParseAddr({quote(text)}): {reason}{place}")
