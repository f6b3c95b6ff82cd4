"""
Quantities as an object holds them: `500m`, `1Gi`.

An API server writes them in one form (`0.5` becomes `500m`, `1024Mi` becomes `1Gi`), but for
those that its quick reader takes for canonical as they stand. A quantity is compared by value.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/resource/quantity.go ParseQuantity,
Quantity.CanonicalizeBytes.
"""

import re
from dataclasses import dataclass
from functools import total_ordering

_FORM = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_INVALID_FORMAT = f"quantities must match the regular expression '{_FORM}'"
_INVALID_NUMBER = "unable to parse numeric part of quantity"
_INVALID_SUFFIX = "unable to parse quantity's suffix"

_PARTS = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: name for name, exponent in _DECIMAL.items()}
_BINARY_NAMES = {exponent // 10: name for name, exponent in _BINARY.items()}
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{1,9}", re.ASCII)
_MAX_INT64 = 2**63 - 1
_NANO = -9
_MAX_DIGITS = 400  # of what is written out
_COMMON_CANONICAL = re.compile(r"[1-9][0-9]{0,2}(m|Mi|Gi|Ki|k|M|G)?", re.ASCII)


class QuantityError(ValueError):
    """A text is no quantity; the message is the API server's."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`mantissa` × 10^`exponent`; `text` is how it is written."""

    mantissa: int
    exponent: int
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self._against(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self._against(other) < 0

    def __hash__(self) -> int:
        return hash(self.mantissa > 0)

    @property
    def sign(self) -> int:
        """Return -1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    @property
    def milli(self) -> int:
        """Return thousandths, rounded up."""
        return self._scaled(3)

    @property
    def whole(self) -> int:
        """Return the whole number at or above it."""
        return self._scaled(0)

    def _scaled(self, places: int) -> int:
        shift = self.exponent + places
        power: int = 10 ** min(abs(shift), _MAX_DIGITS)
        return self.mantissa * power if shift >= 0 else -(-self.mantissa // power)

    def _against(self, other: "Quantity") -> int:
        if self.sign != other.sign or not self.mantissa:
            return self.sign - other.sign
        reach = self._reach() - other._reach()
        if reach:
            return self.sign if reach > 0 else -self.sign
        least = min(self.exponent, other.exponent)
        difference: int = self._at(least) - other._at(least)
        return difference

    def _at(self, exponent: int) -> int:
        power: int = 10 ** (self.exponent - exponent)
        return self.mantissa * power

    def _reach(self) -> int:
        return len(str(abs(self.mantissa))) + self.exponent


ZERO = Quantity(0, 0, "0")


def canonical(text: str) -> str:
    """Return a quantity as an API server writes it."""
    return (
        text if _COMMON_CANONICAL.fullmatch(text) and not text.endswith("000") else parse(text).text
    )


def parse(text: str) -> Quantity:
    """Read a quantity; raise `QuantityError`."""
    if text == "0":
        return ZERO
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise QuantityError(_INVALID_FORMAT)
    sign, zeros, whole, fraction, suffix = match.groups()
    base, exponent, is_si = _interpreted(suffix)
    digits = (whole or "0") + (fraction or "")
    if len(digits) > 4000:
        raise QuantityError(_INVALID_NUMBER)
    number = int(digits) * (-1 if sign == "-" else 1)
    places = len(fraction or "")
    scaled = _machine(number, digits, places, (base, exponent))
    if scaled is not None:
        stays = number & 7 if base == 2 else _is_canonical(digits, scaled[1])
        return Quantity(*scaled, text) if stays else _format_canonical(*scaled, base, is_si)
    if not (zeros or whole or fraction):
        raise QuantityError(_INVALID_NUMBER)
    return _round_to_canonical(number, -places, (base, exponent), is_si)


def format_quantity(number: int, scale: int, *, binary: bool, exponents: bool) -> str:
    """Write `number` × 10^`scale` with binary suffixes, exponents, or decimal suffixes."""
    return _format_canonical(number, scale, 2 if binary else 10, not exponents).text


def in_thousandths(text: str) -> str:
    """Round a quantity to thousandths, away from zero."""
    amount = parse(text)
    if amount.exponent >= -3:
        return text
    unit = 10 ** (-3 - amount.exponent)
    count = -(-abs(amount.mantissa) // unit)
    is_si = _EXPONENT.search(text) is None
    return _format_canonical(-count if amount.mantissa < 0 else count, -3, 10, is_si).text


def _interpreted(suffix: str) -> tuple[int, int, bool]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], True
    if suffix in _BINARY:
        return 2, _BINARY[suffix], True
    if not _EXPONENT.fullmatch(suffix):
        raise QuantityError(_INVALID_SUFFIX)
    return 10, int(suffix[1:]), False


def _machine(
    number: int, digits: str, places: int, unit: tuple[int, int]
) -> tuple[int, int] | None:
    """Return mantissa and exponent of what fits a machine's integer, or `None`."""
    base, exponent = unit
    if base == 10:
        scale = exponent - places
        return None if len(digits) > 18 or scale < _NANO else (number, scale)
    if places or len(digits) > 14 - exponent * 3 // 10:
        return None
    value = number << exponent
    return (value, 0) if abs(value) <= _MAX_INT64 else None


def _is_canonical(digits: str, scale: int) -> bool:
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _round_to_canonical(number: int, scale: int, unit: tuple[int, int], is_si: bool) -> Quantity:
    base, exponent = unit
    negative, number = number < 0, abs(number)
    if base == 2:
        number <<= exponent
    else:
        scale += exponent
    if number and scale < _NANO:
        shift = 10 ** min(_NANO - scale, 4400)
        number, scale = -(-number // shift), _NANO
    if base == 2 and number > _MAX_INT64 * 10 ** max(-scale, 0):
        number, scale = _MAX_INT64, 0
    return _format_canonical(-number if negative else number, scale, base, is_si)


def _format_canonical(number: int, scale: int, base: int, is_si: bool) -> Quantity:
    if not number:
        return ZERO
    if base == 2:
        whole, rest = (number, 0) if scale >= 0 else divmod(abs(number), 10**-scale)
        if not rest and abs(whole) >= 1024:
            times = 0
            while whole % 1024 == 0 and times < 6:
                whole, times = whole // 1024, times + 1
            signed = -abs(whole) if number < 0 else whole
            name = _BINARY_NAMES.get(times, "")
            return Quantity(number, scale, f"{signed}{name}")
    return Quantity(number, scale, _decimal_text(number, scale, is_si))


def _decimal_text(number: int, scale: int, is_si: bool) -> str:
    digits = abs(number)
    while digits % 10 == 0:
        digits, scale = digits // 10, scale + 1
    digits, scale = digits * 10 ** (scale % 3), scale - scale % 3
    if is_si and scale > 18:
        digits, scale = digits * 10 ** min(scale - 18, _MAX_DIGITS), 18
    sign = "-" if number < 0 else ""
    if is_si:
        return f"{sign}{digits}{_DECIMAL_NAMES[scale]}"
    return f"{sign}{digits}e{scale}" if scale else f"{sign}{digits}"
