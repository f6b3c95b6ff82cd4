"""
Amounts of resources, counted in billionths so that all of them are integers.

Which is more, which is whole, what they sum up to; how quantities are read is somewhere else.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/resource/quantity.go Quantity.Cmp,
Quantity.Add; k8s.io/component-helpers/resource/helpers.go AggregateContainerRequests.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.quantities import QuantityError, parse

_NANO = 9
_MAX_DECIMAL_PLACES = 40  # beyond them an amount is as good as infinite
UNIT: int = 10**_NANO
_MILLI: int = 10 ** (_NANO - 3)


@lru_cache(maxsize=1024)
def nanos(text: str) -> int:
    """Return what a quantity is worth; nothing if it is none."""
    try:
        quantity = parse(text)
    except QuantityError:
        return 0
    places = min(quantity.exponent + _NANO, _MAX_DECIMAL_PLACES)
    power: int = 10 ** abs(places)
    return quantity.mantissa * power if places >= 0 else quantity.mantissa // power


def is_whole(text: str) -> bool:
    """Say whether a quantity is an integer."""
    return nanos(text) % UNIT == 0


def aggregated(spec: KubeObject, part: str) -> dict[str, str]:
    """Return what all containers of a pod ask for together, at its peak."""
    running = _total(spec.get("containers") or (), part)
    sidecars: dict[str, str] = {}
    peak: dict[str, str] = {}
    for container in spec.get("initContainers", ()):
        amounts = container.get("resources", {}).get(part, {})
        if container.get("restartPolicy") == "Always":
            sidecars = _sum(sidecars, amounts)
            peak = _elementwise_max(peak, sidecars)
        else:
            peak = _elementwise_max(peak, _sum(sidecars, amounts))
    return _elementwise_max(_sum(running, sidecars), peak)


def _total(containers: Iterable[KubeObject], part: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for container in containers:
        found = _sum(found, container.get("resources", {}).get(part, {}))
    return found


def _sum(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    found = dict(left)
    for name, text in right.items():
        found[name] = _added(found[name], text) if name in found else text
    return found


def _elementwise_max(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    found = dict(left)
    for name, text in right.items():
        if name not in found or nanos(text) > nanos(found[name]):
            found[name] = text
    return found


def _added(left: str, right: str) -> str:
    """Add two quantities; the sum is written in the way of the first."""
    milli = (nanos(left) + nanos(right)) // _MILLI
    if left.endswith("i") and milli % 1000 == 0:
        # Read as kibibytes where it can be, so that it is written in powers of two.
        kibi, rest = divmod(milli // 1000, 1024)
        return parse(f"{kibi}Ki").text if not rest else str(milli // 1000)
    return parse(f"{milli}m").text
