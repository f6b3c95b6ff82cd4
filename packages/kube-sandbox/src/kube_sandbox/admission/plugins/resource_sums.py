"""
Amounts of resources by name: sums, maxima, and how messages list them.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/resource/quantity.go Quantity.Add,
Quantity.String; k8s.io/apiserver/pkg/quota/v1/resources.go Add, Max, Mask.
"""

from collections.abc import Container, Iterable, Mapping

from kube_objects.quantity import Quantity, parse_amount

Amount = Quantity
NOTHING = Amount(0)
ONE = Amount(1)
Amounts = Mapping[str, Amount]


def amounts(texts: Mapping[str, str] | None) -> dict[str, Amount]:
    """Read quantities by name."""
    return {name: parse_amount(text) for name, text in texts.items()} if texts else {}


def texts(found: Amounts) -> dict[str, str]:
    """Write amounts, in the order of their names."""
    return {name: str(found[name]) for name in sorted(found)}


def added(left: Amounts, right: Amounts) -> dict[str, Amount]:
    """Add amounts by name."""
    found = dict(left)
    for name, each in right.items():
        found[name] = found[name].plus(each) if name in found else each
    return found


def maximum(left: Amounts, right: Amounts) -> dict[str, Amount]:
    """Return the greater of two amounts, by name."""
    found = dict(left)
    for name, each in right.items():
        if name not in found or each > found[name]:
            found[name] = each
    return found


def increased(now: Amounts, before: Amounts) -> dict[str, Amount]:
    """Return how much more there is than before; what went down is nothing."""
    names: Iterable[str] = dict.fromkeys((*now, *before))
    differences = {name: now.get(name, NOTHING).minus(before.get(name, NOTHING)) for name in names}
    return {name: max(difference, NOTHING) for name, difference in differences.items()}


def restricted_to(found: Amounts, names: Container[str]) -> dict[str, Amount]:
    """Return the amounts of some names."""
    return {name: each for name, each in found.items() if name in names}


def listed(found: Amounts) -> str:
    """Format amounts as in messages: `pods=1,requests.cpu=500m`."""
    return ",".join(f"{name}={text}" for name, text in texts(found).items())
