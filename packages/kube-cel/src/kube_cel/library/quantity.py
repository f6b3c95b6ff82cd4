"""
Kubernetes' CEL library for quantities: `quantity('500m').add(quantity('1'))`.

Follows apiserver/pkg/cel/library/quantity.go (Kubernetes 1.35). What quantities are and how they
are computed with is in `kube_objects.quantity`; here they are values of CEL.
"""

from kube_cel.library.dispatch import accepts, global_functions, member_functions
from kube_cel.values import EvaluationError, Opaque
from kube_objects import quantity as quantities


class Quantity(quantities.Quantity, Opaque):
    """A quantity as a value of CEL."""

    __slots__ = ()
    KIND = "kubernetes.Quantity"


def parse_quantity(text: str) -> Quantity:
    """Read a quantity; what is finer than a nano is rounded up, away from zero."""
    try:
        found = quantities.parse_quantity(text)
    except quantities.QuantityError as error:
        raise EvaluationError(str(error)) from error
    return Quantity(found.mantissa, found.exponent, found.is_machine, found.notation)


def add(left: Quantity, right: Quantity) -> Quantity:
    """Add two quantities."""
    try:
        return left.plus(right)
    except quantities.QuantityError as error:
        raise EvaluationError(str(error)) from error


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """Subtract the second quantity from the first."""
    try:
        return left.minus(right)
    except quantities.QuantityError as error:
        raise EvaluationError(str(error)) from error


def as_integer(quantity: Quantity) -> int:
    """Return the value as an int64, if Kubernetes can do so without computing."""
    number = quantity.as_int64()
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


GLOBALS = global_functions(
    {
        "quantity(string)": parse_quantity,
        "isQuantity(string)": accepts(parse_quantity),
        "sign(kubernetes.Quantity)": lambda quantity: quantity.sign,
    }
)

_PAIR = "(kubernetes.Quantity, kubernetes.Quantity)"
_WITH_INT = "(kubernetes.Quantity, int)"

MEMBERS = member_functions(
    {
        f"isLessThan{_PAIR}": lambda left, right: left.compare(right) < 0,
        f"isGreaterThan{_PAIR}": lambda left, right: left.compare(right) > 0,
        f"compareTo{_PAIR}": Quantity.compare,
        f"add{_PAIR}": add,
        f"add{_WITH_INT}": lambda left, number: add(left, Quantity(number)),
        f"sub{_PAIR}": subtract,
        f"sub{_WITH_INT}": lambda left, number: subtract(left, Quantity(number)),
        "isInteger(kubernetes.Quantity)": lambda quantity: quantity.as_int64() is not None,
        "asInteger(kubernetes.Quantity)": as_integer,
        "asApproximateFloat(kubernetes.Quantity)": Quantity.as_approximate_float,
    }
)
