"""
Resource quantities: `500m`, `1.5Gi`, `2e3`.

A quantity is mantissa × 10^exponent, exactly. What Kubernetes keeps as a machine integer and
what it keeps as a big decimal is told apart, because only the former turns into an integer:
`1Ki` does, `1.5Ki` and `1000m` do not, although all three are whole numbers.

Exponents are the user's, and `1e999999999` is a quantity: nothing here writes such a number
out. Sums that would need it are refused.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from kube_cel.library.dispatch import accepts, global_functions, member_functions
from kube_cel.values import EvaluationError, Opaque

_FORM = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_WRONG_FORM = f"quantities must match the regular expression '{_FORM}'"
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"

# More than the form above: digits may be missing, as Kubernetes' own scanner lets them.
_PARTS: Final = re.compile(
    r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII
)
_DECIMAL_SUFFIXES = {
    "": 0,
    "n": -9,
    "u": -6,
    "m": -3,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+", re.ASCII)

_NANO = -9
_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1
_MACHINE_DIGITS = 18
_MAX_DIGITS = 4000


@dataclass(frozen=True, slots=True, eq=False)
class Quantity(Opaque):
    """`mantissa` × 10^`exponent`; `is_machine` if Kubernetes holds it as an int64."""

    KIND = "kubernetes.Quantity"

    mantissa: int
    exponent: int = 0
    is_machine: bool = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and compare(self, other) == 0

    def __hash__(self) -> int:
        return hash(sign(self))  # equal quantities may be written in many ways


@dataclass(frozen=True, slots=True)
class _Parts:
    """A quantity's text, taken apart; `whole` has no leading zeros."""

    sign: str
    whole: str
    fraction: str
    has_digits: bool
    base: int
    exponent: int

    @property
    def mantissa(self) -> int:
        digits = int((self.whole + self.fraction) or "0")
        return -digits if self.sign == "-" else digits


def parse_quantity(text: str) -> Quantity:
    """Read a quantity; what is finer than a nano is rounded up, away from zero."""
    parts = _split(text)
    quantity = _machine_quantity(parts)
    return _decimal_quantity(parts) if quantity is None else quantity


def sign(quantity: Quantity) -> int:
    """Return -1, 0 or 1."""
    return (quantity.mantissa > 0) - (quantity.mantissa < 0)


def compare(left: Quantity, right: Quantity) -> int:
    """Return -1, 0 or 1 by value."""
    if sign(left) != sign(right) or not left.mantissa:
        return (sign(left) > sign(right)) - (sign(left) < sign(right))
    # Numbers of different length in digits need not be written out to be told apart.
    length = _digits(left.mantissa) + left.exponent - _digits(right.mantissa) - right.exponent
    if length:
        return sign(left) if length > 0 else -sign(left)
    shared = min(left.exponent, right.exponent)
    one, other = _at(left, shared), _at(right, shared)
    return (one > other) - (one < other)


def add(left: Quantity, right: Quantity) -> Quantity:
    """Add two quantities."""
    are_machine = left.is_machine and right.is_machine
    if are_machine and not (left.mantissa and right.mantissa):
        return right if right.mantissa else left
    shared = min(left.exponent, right.exponent)
    mantissas = (_at(left, shared), _at(right, shared))
    total = sum(mantissas)
    return Quantity(total, shared, are_machine and _fit(*mantissas, total))


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """Subtract the second quantity from the first."""
    return add(left, Quantity(-right.mantissa, right.exponent, right.is_machine))


def is_integer(quantity: Quantity) -> bool:
    """Return whether `as_integer` would succeed."""
    return _integer(quantity) is not None


def as_integer(quantity: Quantity) -> int:
    """Return the value as an int64, if Kubernetes can do so without looking twice."""
    number = _integer(quantity)
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def as_approximate_float(quantity: Quantity) -> float:
    """Return the nearest double, give or take: computed as Kubernetes computes it."""
    try:
        base = float(quantity.mantissa)
    except OverflowError:
        base = math.inf * sign(quantity)
    return base * _power_of_ten(quantity.exponent) if quantity.exponent else base


def _split(text: str) -> _Parts:
    match = _PARTS.fullmatch(text)
    if match is None or not text:
        raise EvaluationError(_WRONG_FORM)
    plus_or_minus, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise EvaluationError(_WRONG_NUMBER)
    base, exponent = _interpret(suffix)
    has_digits = any("0" <= char <= "9" for char in text[: match.start(4)])
    return _Parts(plus_or_minus, whole, fraction, has_digits, base, exponent)


def _interpret(suffix: str) -> tuple[int, int]:
    """Return base and exponent of a suffix."""
    if suffix in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[suffix]
    if suffix in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[suffix]
    if not _EXPONENT.fullmatch(suffix) or len(suffix) > _MAX_DIGITS:
        raise EvaluationError(_WRONG_SUFFIX)
    exponent = int(suffix[1:])
    if not _MIN_INT <= exponent <= _MAX_INT:
        raise EvaluationError(_WRONG_SUFFIX)
    return 10, _int32(exponent)


def _machine_quantity(parts: _Parts) -> Quantity | None:
    """Return what Kubernetes holds as an int64, or None if it must take a big decimal."""
    length = max(len(parts.whole), 1) + len(parts.fraction)
    if parts.base == 10:
        exponent = _int32(parts.exponent - len(parts.fraction))
        if length > _MACHINE_DIGITS or exponent < _NANO:
            return None
        return Quantity(parts.mantissa, exponent)
    # A power of 1024 is allowed as many digits as are certain to fit.
    if parts.fraction or length > 14 - parts.exponent * 3 // 10:
        return None
    mantissa = parts.mantissa << parts.exponent
    return Quantity(mantissa) if _fit(mantissa) else None


def _decimal_quantity(parts: _Parts) -> Quantity:
    if not parts.has_digits:
        raise EvaluationError(_WRONG_NUMBER)
    mantissa, exponent = parts.mantissa, -len(parts.fraction)
    if parts.base == 2:
        mantissa <<= parts.exponent
        if abs(mantissa) > _MAX_INT * 10**-exponent:
            return Quantity(-_MAX_INT if mantissa < 0 else _MAX_INT, is_machine=False)
    else:
        exponent = _int32(exponent + parts.exponent)
    if mantissa:
        mantissa, exponent = _in_nanos(mantissa, exponent)
    return Quantity(mantissa, exponent, is_machine=False)


def _in_nanos(mantissa: int, exponent: int) -> tuple[int, int]:
    """Count in billionths, rounded up; numbers too long for that stay as they are."""
    places = exponent - _NANO
    if places < 0:
        return _rounded_up(mantissa, -places), _NANO
    if places + _digits(mantissa) > _MAX_DIGITS:
        return mantissa, exponent
    # No value changes here, but a double made of it later does, as in Kubernetes.
    return mantissa * 10**places, _NANO


def _rounded_up(mantissa: int, places: int) -> int:
    """Drop decimal places, away from zero."""
    magnitude = abs(mantissa)
    # With more places than digits nothing but the smallest unit is left.
    kept = 1 if places >= _digits(magnitude) else -(-magnitude // 10**places)
    return -kept if mantissa < 0 else kept


def _integer(quantity: Quantity) -> int | None:
    if not quantity.is_machine or quantity.exponent < 0:
        return None
    if not quantity.mantissa:
        return 0
    if quantity.exponent > _MACHINE_DIGITS:
        return None
    number = quantity.mantissa * 10**quantity.exponent
    return number if _fit(number) else None


def _at(quantity: Quantity, exponent: int) -> int:
    """Return the mantissa the quantity has with a smaller exponent."""
    places = quantity.exponent - exponent
    if not quantity.mantissa or not places:
        return quantity.mantissa
    if places + _digits(quantity.mantissa) > _MAX_DIGITS:
        raise EvaluationError(f"quantities are more than {_MAX_DIGITS} digits apart")
    power: int = 10**places
    return quantity.mantissa * power


def _digits(number: int) -> int:
    return len(str(abs(number)))


def _fit(*numbers: int) -> bool:
    return all(_MIN_INT <= number <= _MAX_INT for number in numbers)


def _int32(number: int) -> int:
    """Keep the lowest 32 bits, signed: exponents beyond wrap around, as in Go."""
    return (number + 2**31) % 2**32 - 2**31


def _power_of_ten(exponent: int) -> float:
    # Made of two exact powers, as Go makes it: the product is not always the nearest double.
    if exponent > 308:
        return math.inf
    if exponent < -323:
        return 0.0
    rows, rest = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{32 * rows}") * float(f"1e{rest}")
    return float(f"1e-{32 * rows}") / float(f"1e{rest}")


GLOBALS = global_functions(
    {
        "quantity(string)": parse_quantity,
        "isQuantity(string)": accepts(parse_quantity),
        "sign(kubernetes.Quantity)": sign,
    }
)

_PAIR = "(kubernetes.Quantity, kubernetes.Quantity)"
_WITH_INT = "(kubernetes.Quantity, int)"

MEMBERS = member_functions(
    {
        f"isLessThan{_PAIR}": lambda left, right: compare(left, right) < 0,
        f"isGreaterThan{_PAIR}": lambda left, right: compare(left, right) > 0,
        f"compareTo{_PAIR}": compare,
        f"add{_PAIR}": add,
        f"add{_WITH_INT}": lambda left, number: add(left, Quantity(number)),
        f"sub{_PAIR}": subtract,
        f"sub{_WITH_INT}": lambda left, number: subtract(left, Quantity(number)),
        "isInteger(kubernetes.Quantity)": is_integer,
        "asInteger(kubernetes.Quantity)": as_integer,
        "asApproximateFloat(kubernetes.Quantity)": as_approximate_float,
    }
)
