"""
Amounts of resources that add up and are still written as an API server writes them.

An amount is an integer count of billionths and the way it is written (`1Gi`, `1G`, `1e9`). A sum is
written as its first part that is not zero.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/resource/quantity.go Quantity.Add,
Quantity.String; k8s.io/apiserver/pkg/quota/v1/resources.go Add, Max, Mask.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kube_sandbox.registry.builtin.nano_amounts import UNIT as UNIT
from kube_sandbox.registry.builtin.nano_amounts import nanos
from kube_sandbox.registry.builtin.quantities import format_quantity

_NANO = -9


@dataclass(frozen=True, slots=True)
class Amount:
    """So much of something."""

    nanos: int
    binary: bool = False
    exponents: bool = False

    def __str__(self) -> str:
        return format_quantity(self.nanos, _NANO, binary=self.binary, exponents=self.exponents)

    def plus(self, other: "Amount") -> "Amount":
        """Add another."""
        shape = self if self.nanos else other
        return Amount(self.nanos + other.nanos, shape.binary, shape.exponents)

    def minus(self, other: "Amount") -> "Amount":
        """Take another away; there is never less than nothing."""
        left = self.nanos - other.nanos
        return Amount(left, self.binary, self.exponents) if left > 0 else NOTHING

    def rounded_up(self) -> "Amount":
        """Return the whole number at or above it."""
        return Amount(-(-self.nanos // UNIT) * UNIT, self.binary, self.exponents)


@lru_cache(maxsize=1024)
def amount(text: str) -> Amount:
    """Read a quantity; the same few are read again and again."""
    binary = text.endswith("i")
    exponents = not binary and "E" in text[:-1].upper()
    return Amount(nanos(text), binary, exponents)


NOTHING = Amount(0)
ONE = Amount(UNIT)
Amounts = Mapping[str, Amount]


def amounts(texts: Mapping[str, str] | None) -> dict[str, Amount]:
    """Read quantities by name."""
    return {name: amount(text) for name, text in texts.items()} if texts else {}


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
        if name not in found or each.nanos > found[name].nanos:
            found[name] = each
    return found


def increased(now: Amounts, before: Amounts) -> dict[str, Amount]:
    """Return how much more there is than before; what went down is nothing."""
    names: Iterable[str] = dict.fromkeys((*now, *before))
    return {each: now.get(each, NOTHING).minus(before.get(each, NOTHING)) for each in names}


def restricted_to(found: Amounts, names: Container[str]) -> dict[str, Amount]:
    """Return the amounts of some names."""
    return {name: each for name, each in found.items() if name in names}


def listed(found: Amounts) -> str:
    """Write amounts as refusals do: `pods=1,requests.cpu=500m`."""
    return ",".join(f"{name}={text}" for name, text in texts(found).items())
