"""
What checks of the Pod Security Standards share: containers, contexts and messages.

Follows kubernetes 1.35 k8s.io/pod-security-admission/policy/checks.go CheckResult;
k8s.io/pod-security-admission/policy/visitor.go visitContainers;
k8s.io/pod-security-admission/policy/helpers.go joinQuote, pluralize.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.pods.defaults import CONTAINER_LISTS

_SAFE_PROFILES = frozenset(("RuntimeDefault", "Localhost"))


@dataclass(frozen=True, slots=True)
class Violation:
    """What a check has against a pod: what is wrong, and where."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


# From the metadata and the spec of a pod or a template.
PodCheck = Callable[[KubeObject, KubeObject], Violation | None]


def containers_of(spec: KubeObject) -> Iterator[KubeObject]:
    """Return all containers, in the order in which they are named."""
    for name in CONTAINER_LISTS:
        yield from spec.get(name) or ()


def context_of(one: KubeObject) -> Mapping[str, Any]:
    """Return the security context of a pod's spec or a container."""
    found: Mapping[str, Any] = one.get("securityContext") or {}
    return found


def contexts(spec: KubeObject) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the names of containers with their security contexts."""
    return [(each["name"], context_of(each)) for each in containers_of(spec)]


def unsafe_profiles(spec: KubeObject, field: str) -> tuple[str, list[str]]:
    """Return who sets a profile that does not confine, and the types of these profiles."""
    of_pod = context_of(spec).get(field)
    every = [("", of_pod), *((name, context.get(field)) for name, context in contexts(spec))]
    kinds = [(name, each.get("type", "")) for name, each in every if each]
    found = [(name, kind) for name, kind in kinds if kind not in _SAFE_PROFILES]
    names = [name for name, _ in found if name]
    return setters(names, is_pod=len(names) < len(found)), sorted({kind for _, kind in found})


def counted(one: str, many: str, things: Collection[str]) -> str:
    """Return a word for one or for many."""
    return one if len(things) == 1 else many


def listed(texts: Collection[str]) -> str:
    """Return texts in quotes, with nothing escaped."""
    return ", ".join(f'"{text}"' for text in texts)


def format_containers(names: Collection[str]) -> str:
    """Name containers."""
    return f"{counted('container', 'containers', names)} {listed(names)}"


def setters(names: Collection[str], *, is_pod: bool) -> str:
    """Name those that set something: the pod, containers, or both; "" if there are none."""
    return " and ".join(
        [*(["pod"] if is_pod else ()), *([format_containers(names)] if names else ())]
    )


def adding(spec: KubeObject, allowed: Collection[str]) -> str:
    """Say which containers add capabilities that are not allowed; "" if none does."""
    names, found = [], set()
    for name, context in contexts(spec):
        added = (context.get("capabilities") or {}).get("add") or ()
        if more := {each for each in added if each not in allowed}:
            names.append(name)
            found |= more
    message = f"must not include {listed(sorted(found))} in securityContext.capabilities.add"
    return f"{format_containers(names)} {message}" if names else ""
