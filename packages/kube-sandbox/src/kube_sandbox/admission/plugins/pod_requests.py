"""
The requests and limits of a pod as a whole.

Containers run side by side, init containers one after the other, sidecars with both. A pod needs
the greater of what it needs to initialize and what it needs to run.

Follows kubernetes 1.35 k8s.io/component-helpers/resource/helpers.go PodRequests,
AggregateContainerRequests, IsPodLevelResourcesSet.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from kube_objects.refs import KubeObject
from kube_sandbox.admission.plugins.resource_sums import Amount, added, amounts, maximum

Part = Literal["requests", "limits"]
_OF_PODS = frozenset(("cpu", "memory"))  # what a pod may ask for besides its containers
HUGE_PAGES = "hugepages-"


def containers_of(spec: KubeObject) -> Iterable[KubeObject]:
    """Return the containers of a pod, then those that prepare it."""
    return (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))


def container_requests(container: Mapping[str, Any], part: Part) -> dict[str, Amount]:
    """Return what a container asks for."""
    return amounts((container.get("resources") or {}).get(part))


def pod_requests(spec: KubeObject, part: Part, *, pages: bool = False) -> dict[str, Amount]:
    """
    Return what a pod asks for, without overhead.

    What it asks for as a pod counts instead of what its containers do; huge pages only if asked.
    """
    found: dict[str, Amount] = {}
    for container in spec.get("containers") or ():
        found = added(found, container_requests(container, part))
    sidecars: dict[str, Amount] = {}
    peak: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        own = container_requests(container, part)
        if container.get("restartPolicy") == "Always":
            found = added(found, own)
            sidecars = added(sidecars, own)
            peak = maximum(peak, sidecars)
        else:
            peak = maximum(peak, added(own, sidecars))
    own = container_requests(spec, part)
    overruled = {name: own[name] for name in own if _is_of_pods(name, pages=pages)}
    return {**maximum(found, peak), **overruled}


def with_overhead(spec: KubeObject, part: Part) -> dict[str, Amount]:
    """Return what a pod takes altogether; overhead raises only limits that there are."""
    found = pod_requests(spec, part, pages=True)
    overhead = amounts(spec.get("overhead"))
    if part == "limits":
        overhead = {name: overhead[name] for name in overhead if name in found}
        overhead = {name: each for name, each in overhead.items() if found[name].nanos}
    return added(found, overhead)


def is_set_for_pod(spec: KubeObject) -> bool:
    """Return whether a pod asks for anything besides its containers."""
    found = spec.get("resources") or {}
    names = (*(found.get("requests") or ()), *(found.get("limits") or ()))
    return any(_is_of_pods(name, pages=True) for name in names)


def _is_of_pods(name: str, *, pages: bool) -> bool:
    return name in _OF_PODS or (pages and name.startswith(HUGE_PAGES))
