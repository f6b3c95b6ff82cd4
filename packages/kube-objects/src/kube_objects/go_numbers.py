"""
Numbers and durations as Go prints them.

The results end up in names and annotations of objects in a cluster, so they must equal Go's to the
last digit.
"""

import math
from decimal import Decimal

_SECOND = 10**9
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_SMALL_UNITS = (("ns", 1), ("µs", 10**3), ("ms", 10**6))


def format_double(number: float) -> str:
    """Print as Go's `%g` with the fewest digits: `1`, `0.1`, `1.23456789e+08`, `+Inf`."""
    if not math.isfinite(number):
        if number != number:
            return "NaN"
        return "+Inf" if number > 0 else "-Inf"
    if number == 0:
        return _zero(number)
    sign, digits, exponent = _shortest_digits(number)
    # Go decides as if the precision were 6 when it is asked for the shortest text.
    if exponent < -4 or exponent >= 6:
        return sign + _scientific(digits, exponent)
    return sign + _positional(digits, exponent)


def format_json_double(number: float) -> str:
    """Print a finite double as Go's `encoding/json` does: `1`, `1e-7`, `1e+21`."""
    if number == 0:
        return _zero(number)
    sign, digits, exponent = _shortest_digits(number)
    if 1e-6 <= abs(number) < 1e21:
        return sign + _positional(digits, exponent)
    # Small exponents come without their leading zero here: 1e-7, not 1e-07.
    return sign + _scientific(digits, exponent).replace("e-0", "e-")


def format_seconds(nanos: int) -> str:
    """Print a duration as CEL's `string()` does, in seconds: `90s`, `-0.5s`."""
    # Through a double, as Go does it: long spans lose their last nanoseconds.
    whole, rest = divmod(abs(nanos), _SECOND)
    _, digits, exponent = _shortest_digits(whole + rest / 1e9)
    sign = "-" if nanos < 0 else ""
    return f"{sign}{_positional(digits, exponent) if digits else 0}s"


def format_duration(nanos: int) -> str:
    """Print a duration as Go does: `1h30m0s`, `1.5s`, `250ms`, `0s`."""
    if nanos == 0:
        return "0s"
    sign, left = ("-", -nanos) if nanos < 0 else ("", nanos)
    if left < _SECOND:
        unit, size = next(u for u in reversed(_SMALL_UNITS) if left >= u[1])
        return f"{sign}{_decimal(left, size)}{unit}"
    hours, left = divmod(left, _HOUR)
    minutes, left = divmod(left, _MINUTE)
    head = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{head}{_decimal(left, _SECOND)}s"


def _zero(number: float) -> str:
    return "-0" if math.copysign(1, number) < 0 else "0"


def _shortest_digits(number: float) -> tuple[str, str, int]:
    """Take a finite number apart: sign, significant digits, exponent of the first one."""
    negative, all_digits, last = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, all_digits))
    return "-" if negative else "", digits.rstrip("0"), len(digits) - 1 + int(last)


def _scientific(digits: str, exponent: int) -> str:
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _positional(digits: str, exponent: int) -> str:
    """Write digits without an exponent, as Go's `%f` does with the fewest digits."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _decimal(count: int, unit: int) -> str:
    """Print count/unit exactly; `unit` is a power of ten."""
    whole, rest = divmod(count, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(unit)) - 1, '0').rstrip('0')}"
