"""
The health of children, summed up for their instance.

`Ready` of an instance has kro's meaning: its children were applied, and `readyWhen` holds. Whether
the children work is another question, and `ChildrenHealthy` answers it. The condition is there only
while some child is not healthy: False if one has failed, Unknown while one is on its way.
"""

from collections.abc import Mapping

from kro_gitops.metadata import READINESS
from kro_gitops.settings.option import Readiness
from kro_gitops.tracking.health import CHILDREN_HEALTHY, Health, HealthStatus, health
from kro_gitops.tracking.workload_health import workload_health
from kube_objects.conditions import FALSE, UNKNOWN, Condition
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.value_checks import did_you_mean

_MAX_NAMED = 3
_MAX_TEXT = 300  # characters of what one child reports: anyone may have written it
_UNHEALTHY = (Health.DEGRADED, Health.PROGRESSING)  # the worst first


class CachedChild(CachedObject):
    """
    A child as it is cached; its health was decided from the whole object.

    `health` is None if it is healthy; `pods` is the label selector of its Pods, if it has any.
    """

    __slots__ = ("health", "pods")

    def __init__(
        self,
        obj: KubeObject,
        owned: bytes,
        added: bytes,
        health: HealthStatus | None,
        pods: str = "",
    ) -> None:
        super().__init__(obj, owned, added)
        self.health = health
        self.pods = pods

    @property
    def is_degraded(self) -> bool:
        """Return whether the child has failed, rather than being on its way."""
        return self.health is not None and self.health.health is Health.DEGRADED


def parse_readiness(annotations: Mapping[str, str]) -> str:
    """Return what a definition says about Ready, empty if nothing; raise `RefusedError`."""
    text = annotations.get(READINESS, "")
    if text and text not in set(Readiness):
        choices = " or ".join(Readiness)
        raise RefusedError(
            "invalid-readiness",
            f"annotation {READINESS}: {text[:60]!r} is not {choices}",
            hint=did_you_mean(text, list(Readiness)) or f"set {choices}, or remove the annotation",
        )
    return text


def child_health(child: KubeObject, *, is_instance: bool) -> HealthStatus | None:
    """Return why a child is not healthy; None if it is."""
    status = health(child) if is_instance else workload_health(child)
    if status.health not in _UNHEALTHY:
        return None
    # What is cached and reported must not change with every Pod that starts.
    return HealthStatus(status.health, status.brief or status.message)


def worst_health(children: Mapping[ObjectRef, HealthStatus]) -> HealthStatus | None:
    """Return the health of an instance whose children are not healthy: the worst are named."""
    if not children:
        return None
    listed = sorted(
        children.items(), key=lambda each: (_UNHEALTHY.index(each[1].health), str(each[0]))
    )
    texts = [
        f"{ref.kind.kind} {ref.place}: {_shortened(status.message or status.health)}"
        for ref, status in listed[:_MAX_NAMED]
    ]
    more = len(listed) - _MAX_NAMED
    message = "; ".join(texts) + (f"; and {more} more" if more > 0 else "")
    return HealthStatus(listed[0][1].health, message)


def health_condition(found: HealthStatus) -> Condition:
    """Return the condition that reports the health of children that are not healthy."""
    status = FALSE if found.health is Health.DEGRADED else UNKNOWN
    return Condition(CHILDREN_HEALTHY, status, str(found.health), found.message)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1]}…"
