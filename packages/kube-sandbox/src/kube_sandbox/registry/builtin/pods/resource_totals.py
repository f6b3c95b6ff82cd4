"""
What all containers of a Pod request together, at its peak.

Follows kubernetes 1.35 k8s.io/component-helpers/resource/helpers.go AggregateContainerRequests.
"""

from collections.abc import Mapping

from kube_objects.quantity import Quantity, parse_amount
from kube_objects.refs import KubeObject


def aggregated(spec: KubeObject, part: str) -> dict[str, str]:
    """Return the `requests` or `limits` of a Pod: a sidecar runs beside all containers after it."""
    running: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        running = _sum(running, _amounts(container, part))
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers", ()):
        starting = _sum(sidecars, _amounts(container, part))
        if container.get("restartPolicy") == "Always":
            sidecars = starting
        peak = _maximum(peak, starting)
    total = _maximum(_sum(running, sidecars), peak)
    return {name: quantity.text for name, quantity in total.items()}


def _amounts(container: KubeObject, part: str) -> dict[str, Quantity]:
    texts: Mapping[str, str] = container.get("resources", {}).get(part, {})
    return {name: parse_amount(text) for name, text in texts.items()}


def _sum(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> dict[str, Quantity]:
    found = dict(left)
    for name, quantity in right.items():
        found[name] = found[name].plus(quantity) if name in found else quantity
    return found


def _maximum(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Return the larger quantity of each resource; init containers run one after another."""
    found = dict(left)
    for name, quantity in right.items():
        if name not in found or quantity > found[name]:
            found[name] = quantity
    return found
