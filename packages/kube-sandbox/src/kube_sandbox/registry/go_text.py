"""
How Go prints values: parts of messages and of tables.

Follows go 1.25 fmt/print.go pp.printValue, pp.fmtFloat.
"""

from decimal import Decimal
from typing import Any


def format_value(value: Any) -> str:
    """Print a value as Go's %v does."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{format_value(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(format_value, value))}]"
        case float():
            return _format_float(value)
        case int() if not -(2**63) <= value < 2**63:
            # Go has read it as a floating-point number.
            return _format_float(float(value))
        case _:
            return str(value)


def _format_float(value: float) -> str:
    """Print with an exponent what is below 0.0001 or has seven digits before the point."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return str(int(value)) if value.is_integer() else repr(value)
    sign, digits, power = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    exponent = len(digits) + int(power) - 1
    shown = f"{text[0]}.{text[1:]}" if len(text) > 1 else text
    return f"{'-' if sign else ''}{shown}e{exponent:+03d}"
