"""
Resource quantities: `500m`, `1.5Gi`, `2e3`.

A quantity is mantissa × 10^exponent, exactly, and has a notation in which it is written. Kubernetes
writes quantities in one form (`0.5` becomes `500m`, `1024Mi` becomes `1Gi`), but keeps a text that
its quick reader takes for canonical. Quantities are compared by value.

Kubernetes stores some quantities as machine integers and others as big decimals. The difference is
kept, because only the former become integers in CEL: `1Ki` does, `1.5Ki` and `1000m` do not,
although all three are whole numbers.

Exponents are the user's, and `1e999999999` is a quantity: nothing here writes such a number out.
Sums that would need it raise `QuantityError`.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/resource/quantity.go ParseQuantity,
Quantity.CanonicalizeBytes, Quantity.Cmp, Quantity.Add.
"""

import math
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, total_ordering
from typing import Self

_FORM = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_INVALID_FORMAT = f"quantities must match the regular expression '{_FORM}'"
_INVALID_NUMBER = "unable to parse numeric part of quantity"
_INVALID_SUFFIX = "unable to parse quantity's suffix"

# More than the form above: digits may be missing, as Kubernetes' own scanner lets them.
_PARTS = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {exponent // 10: suffix for suffix, exponent in _BINARY.items()}
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+", re.ASCII)
# What most quantities look like that are canonical as they stand.
_COMMON_CANONICAL = re.compile(r"[1-9][0-9]{0,2}(m|Mi|Gi|Ki|k|M|G)?", re.ASCII)

_NANO = -9
_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_MACHINE_DIGITS = 18
_MAX_DIGITS = 4000  # of a number that is read or computed with
_MAX_WRITTEN_DIGITS = 400
_MAX_AMOUNT_EXPONENT = 31
UNIT: int = 10**-_NANO  # nanos in one


class QuantityError(ValueError):
    """A text is no quantity, with the message of Kubernetes; or a sum has too many digits."""


class Notation(Enum):
    """How a quantity is written: `1G`, `1Gi` or `1e9`; the values are Kubernetes' names."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """
    `mantissa` × 10^`exponent`.

    `is_machine` if Kubernetes holds it as an int64. `kept` is the text it was read from, if that is
    how it is written again.
    """

    mantissa: int
    exponent: int = 0
    is_machine: bool = True
    notation: Notation = Notation.DECIMAL
    kept: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        return hash(self.sign)  # equal quantities may be written in many ways

    def __str__(self) -> str:
        return self.text

    @property
    def sign(self) -> int:
        """Return -1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    @property
    def text(self) -> str:
        """Return it as Kubernetes writes it."""
        if self.kept is not None:
            return self.kept
        scale = self.exponent
        # Write a number with the largest suffix that leaves no fraction.
        if not self.mantissa:
            return "0"
        sign, digits = "-" if self.mantissa < 0 else "", abs(self.mantissa)
        if self.notation is Notation.BINARY:
            whole, rest = (digits, 0) if scale >= 0 else divmod(digits, 10**-scale)
            if not rest and whole >= 1024:
                times = 0
                while whole % 1024 == 0 and times < 6:
                    whole, times = whole // 1024, times + 1
                return f"{sign}{whole}{_BINARY_SUFFIXES.get(times, '')}"
        while digits % 10 == 0:
            digits, scale = digits // 10, scale + 1
        digits, scale = digits * 10 ** (scale % 3), scale - scale % 3
        if self.notation is Notation.EXPONENT:
            return f"{sign}{digits}e{scale}" if scale else f"{sign}{digits}"
        if scale > 18:
            digits, scale = digits * 10 ** min(scale - 18, _MAX_WRITTEN_DIGITS), 18
        return f"{sign}{digits}{_DECIMAL_SUFFIXES[scale]}"

    @property
    def whole(self) -> int:
        """Return the least whole number that is not below it."""
        return self._scaled(0)

    @property
    def milli(self) -> int:
        """Return it in thousandths, rounded up."""
        return self._scaled(3)

    @property
    def nanos(self) -> int:
        """Return it in billionths, rounded up."""
        return self._scaled(-_NANO)

    def compare(self, other: "Quantity") -> int:
        """Return -1, 0 or 1 by value."""
        if self.sign != other.sign or not self.mantissa:
            return (self.sign > other.sign) - (self.sign < other.sign)
        # Numbers with different counts of digits are compared without being expanded.
        length = _digits(self.mantissa) + self.exponent
        difference = length - _digits(other.mantissa) - other.exponent
        if difference:
            return self.sign if difference > 0 else -self.sign
        shared = min(self.exponent, other.exponent)
        one, two = self._at(shared), other._at(shared)
        return (one > two) - (one < two)

    def plus(self, other: "Quantity") -> Self:
        """Return the sum; it has the notation of its first part that is not zero."""
        are_machine = self.is_machine and other.is_machine
        first = self if self.mantissa else other
        if are_machine and not (self.mantissa and other.mantissa):
            last = other if other.mantissa else self
            return type(self)(last.mantissa, last.exponent, True, first.notation)
        shared = min(self.exponent, other.exponent)
        parts = (self._at(shared), other._at(shared))
        fits = are_machine and _fit(*parts, sum(parts))
        return type(self)(sum(parts), shared, fits, first.notation)

    def minus(self, other: "Quantity") -> Self:
        """Return the difference."""
        negative = Quantity(-other.mantissa, other.exponent, other.is_machine, other.notation)
        return self.plus(negative)

    def rounded_up(self) -> Self:
        """Return the least whole number that is not below it, in the same notation."""
        return type(self)(self.whole, 0, self.is_machine, self.notation)

    def as_int64(self) -> int | None:
        """Return it as an integer; None if Kubernetes would have to compute to know."""
        if not self.is_machine or self.exponent < 0:
            return None
        if not self.mantissa:
            return 0
        if self.exponent > _MACHINE_DIGITS:
            return None
        number = self.mantissa * 10**self.exponent
        return number if _fit(number) else None

    def as_approximate_float(self) -> float:
        """Return a double near it: computed as Kubernetes computes it, not always the nearest."""
        try:
            base = float(self.mantissa)
        except OverflowError:
            base = math.inf * self.sign
        if not self.exponent:
            return base
        if self.exponent > 308:
            return base * math.inf
        if self.exponent < -323:
            return base * 0.0
        # Made of two exact powers, as Go makes it.
        rows, rest = divmod(abs(self.exponent), 32)
        if self.exponent >= 0:
            return base * (float(f"1e{32 * rows}") * float(f"1e{rest}"))
        return base * (float(f"1e-{32 * rows}") / float(f"1e{rest}"))

    def _scaled(self, places: int) -> int:
        shift = self.exponent + places
        power: int = 10 ** min(abs(shift), _MAX_WRITTEN_DIGITS)
        return self.mantissa * power if shift >= 0 else -(-self.mantissa // power)

    def _at(self, exponent: int) -> int:
        """Return the mantissa that it has with a smaller exponent."""
        places = self.exponent - exponent
        if not self.mantissa or not places:
            return self.mantissa
        if places + _digits(self.mantissa) > _MAX_DIGITS:
            raise QuantityError(f"quantities are more than {_MAX_DIGITS} digits apart")
        power: int = 10**places
        return self.mantissa * power


ZERO = Quantity(0, kept="0")


def parse_quantity(text: str) -> Quantity:
    """Read a quantity; what is finer than a nano is rounded up, away from zero."""
    if text == "0":
        return ZERO
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise QuantityError(_INVALID_FORMAT)
    sign, zeros, whole, fraction, suffix = match.groups(default="")
    digits, places = (whole or "0") + fraction, len(fraction)
    if len(digits) > _MAX_DIGITS:
        raise QuantityError(_INVALID_NUMBER)
    notation, unit = _parse_suffix(suffix)
    number = -int(digits) if sign == "-" else int(digits)
    if notation is Notation.BINARY:
        # A power of 1024 is allowed as many digits as are certain to fit.
        shifted = number << unit
        if not places and len(digits) <= 14 - unit * 3 // 10 and _fit(shifted):
            kept = text if number & 7 else None
            return Quantity(shifted, 0, True, notation, kept)
    else:
        scale = _int32(unit - places)
        if len(digits) <= _MACHINE_DIGITS and scale >= _NANO:
            is_kept = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
            return Quantity(number, scale, True, notation, text if is_kept else None)
    if not (zeros or whole or fraction):
        raise QuantityError(_INVALID_NUMBER)
    return _big_decimal(number, -places, notation, unit)


def canonical_quantity(text: str) -> str:
    """Return a quantity as Kubernetes writes it."""
    if _COMMON_CANONICAL.fullmatch(text) and not text.endswith("000"):
        return text
    return parse_quantity(text).text


def round_to_milli(text: str) -> str:
    """Round a quantity to thousandths, away from zero; coarser ones stay as they are written."""
    quantity = parse_quantity(text)
    if quantity.exponent >= -3:
        return text
    count = -(-abs(quantity.mantissa) // 10 ** (-3 - quantity.exponent))
    notation = quantity.notation
    if notation is Notation.BINARY:
        notation = Notation.DECIMAL
    return Quantity(-count if quantity.mantissa < 0 else count, -3, True, notation).text


@lru_cache(maxsize=1024)  # the same few are read again and again
def parse_amount(text: str) -> Quantity:
    """
    Read a quantity to count with: a text that is none is worth nothing.

    An exponent above 31 is cut to that, which is as good as infinite and can be added up.
    """
    try:
        found = parse_quantity(text)
    except QuantityError:
        return ZERO
    exponent = min(found.exponent, _MAX_AMOUNT_EXPONENT)
    return Quantity(found.mantissa, exponent, found.is_machine, found.notation, found.kept)


def nanos(text: str) -> int:
    """Return what a quantity is worth in billionths; nothing if the text is none."""
    return parse_amount(text).nanos


def is_whole(text: str) -> bool:
    """Return whether a quantity is a whole number."""
    return nanos(text) % UNIT == 0


def _parse_suffix(suffix: str) -> tuple[Notation, int]:
    """Return the notation, and the exponent of ten or of two."""
    if suffix in _DECIMAL:
        return Notation.DECIMAL, _DECIMAL[suffix]
    if suffix in _BINARY:
        return Notation.BINARY, _BINARY[suffix]
    if not _EXPONENT.fullmatch(suffix) or len(suffix) > _MAX_DIGITS:
        raise QuantityError(_INVALID_SUFFIX)
    exponent = int(suffix[1:])
    if not _fit(exponent):
        raise QuantityError(_INVALID_SUFFIX)
    return Notation.EXPONENT, _int32(exponent)


def _big_decimal(number: int, scale: int, notation: Notation, unit: int) -> Quantity:
    """Return what does not fit a machine integer: in nanos where it can be written out so."""
    if notation is Notation.BINARY:
        number <<= unit
        if abs(number) > _MAX_INT64 * 10**-scale:
            return Quantity(-_MAX_INT64 if number < 0 else _MAX_INT64, 0, False, notation)
    else:
        scale = _int32(scale + unit)
    places = scale - _NANO
    if number and places < 0:
        magnitude = abs(number)
        # With more places than digits nothing but the smallest unit is left.
        kept = 1 if -places >= _digits(magnitude) else -(-magnitude // 10**-places)
        number, scale = -kept if number < 0 else kept, _NANO
    elif number and places + _digits(number) <= _MAX_DIGITS:
        # No value changes here, but a double made of it later does, as in Kubernetes.
        number, scale = number * 10**places, _NANO
    return Quantity(number, scale, False, notation)


def _digits(number: int) -> int:
    return len(str(abs(number)))


def _fit(*numbers: int) -> bool:
    return all(_MIN_INT64 <= number <= _MAX_INT64 for number in numbers)


def _int32(number: int) -> int:
    """Keep the lowest 32 bits, signed: exponents beyond wrap around, as in Go."""
    return (number + 2**31) % 2**32 - 2**31
