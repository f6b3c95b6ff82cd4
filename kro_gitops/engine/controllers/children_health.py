"""
Checks the health of instances' children, and reads from their Pods what is wrong.

Children are watched, so their health costs no request. A child that becomes healthy soon, as nearly
all do after a change, costs nothing else either: no reconcile and no write. What lasts longer is
reported in the instance. Pods are not watched: only those of workloads that stay unhealthy are
listed, less often the longer it lasts.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from kro_gitops.engine.child_health import CachedChild, health_condition, worst_health
from kro_gitops.engine.controllers.context import WriteContext
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Reader, Selection
from kro_gitops.kube.responses import Forbidden
from kro_gitops.settings.option import Readiness
from kro_gitops.tracking.health import CHILDREN_HEALTHY, Health, HealthStatus
from kro_gitops.tracking.workload_health import find_condition, workload_health
from kube_objects.conditions import Condition
from kube_objects.refs import Kind, KubeObject, ObjectRef

REPORT_DELAY = 10.0  # seconds that children may take before an instance reports that they do

_POD = Kind("", "v1", "Pod")
_MIN_INTERVAL = 3.0  # seconds between two lists of the Pods of a workload
_MAX_INTERVAL = 300.0
_BACKOFF = 0.5  # of the time since the workload became unhealthy: the pause until the next list
_MAX_NESTING = 16  # levels of nested instances


@dataclass(slots=True)
class _Observation:
    """Unhealthy children of one instance, in these generations."""

    generations: Mapping[ObjectRef, int]
    since: float
    next_read: float
    pods: dict[ObjectRef, HealthStatus] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None


class ChildrenHealthChecker:
    """Checks the health of the children of instances."""

    def __init__(self, watches: Watches, readiness: Readiness) -> None:
        """`readiness` is what Ready means for definitions that do not say."""
        self._watches = watches
        self._readiness = readiness
        self._observations: dict[ObjectRef, _Observation] = {}

    def decides_ready(self, served: ServedKind) -> bool:
        """Return whether instances of a kind are ready only if their children are healthy."""
        return (served.readiness or self._readiness) == Readiness.CHILDREN

    def forget(self, key: ObjectRef) -> None:
        """Drop what is known of an instance that is gone, or whose children are healthy."""
        seen = self._observations.pop(key, None)
        if seen is not None and seen.timer is not None:
            seen.timer.cancel()

    def needs_reconcile(self, key: ObjectRef) -> bool:
        """Return whether a change of the health of children must be reported now."""
        instance, served = self._watches.instance(key), self._watches.served_kinds.get(key.kind)
        if instance is None or served is None:
            return False
        if find_condition(instance, CHILDREN_HEALTHY) is not None or self.decides_ready(served):
            return True
        unhealthy = self._watches.unhealthy_children(instance)
        if not unhealthy:
            self.forget(key)
            return False
        # Without an observation there is no timer yet.
        is_degraded = any(each.is_degraded for each in unhealthy.values())
        return key not in self._observations or is_degraded

    def current(self, instance: KubeObject, depth: int = 0) -> HealthStatus | None:
        """Return why children are not healthy now, also what is not reported; None: they are."""
        statuses = _statuses(self._watches.unhealthy_children(instance))
        if depth < _MAX_NESTING:
            for nested in self._watches.nested_instances(instance):
                inner = self.current(nested, depth + 1)
                if inner is not None:
                    statuses.setdefault(ObjectRef.of(nested), inner)
        return worst_health(statuses)

    async def check(
        self, context: WriteContext, served: ServedKind, instance: KubeObject
    ) -> Condition | None:
        """Return the condition to report after a pass; None: there is nothing to report yet."""
        key, unhealthy = context.key, self._watches.unhealthy_children(instance)
        if not unhealthy:
            self.forget(key)
            return None
        now = asyncio.get_running_loop().time()
        was_reported = find_condition(instance, CHILDREN_HEALTHY) is not None
        seen = self._observe(key, unhealthy, now, was_reported=was_reported)
        selectors = {ref: child.pods for ref, child in unhealthy.items() if child.pods}
        if now >= seen.next_read:
            seen.pods = await _read_pods(context.cluster, selectors)
            pause = (now - seen.since) * _BACKOFF
            seen.next_read = now + min(max(pause, _MIN_INTERVAL), _MAX_INTERVAL)
        is_late = now >= seen.since + REPORT_DELAY
        if selectors or not is_late:
            wake = self._watches.router.wake
            seen.timer = asyncio.get_running_loop().call_later(seen.next_read - now, wake, key)
        pods = {ref: status for ref, status in seen.pods.items() if ref in selectors}
        found = worst_health(_statuses(unhealthy) | pods)
        is_due = was_reported or is_late or self.decides_ready(served)
        if found is None or not (is_due or found.health is Health.DEGRADED):
            return None
        return health_condition(found)

    def _observe(
        self,
        key: ObjectRef,
        unhealthy: Mapping[ObjectRef, CachedChild],
        now: float,
        *,
        was_reported: bool,
    ) -> _Observation:
        """Return since when these children are not healthy, with its timer stopped."""
        generations = {ref: each["metadata"].get("generation") for ref, each in unhealthy.items()}
        seen = self._observations.get(key)
        self.forget(key)
        if seen is None:
            # After a restart, what is reported already is read at once: it would seem to have
            # become better for a moment.
            seen = _Observation(generations, now, now if was_reported else now + REPORT_DELAY)
        elif not generations.items() <= seen.generations.items():
            # A rollout has begun. What is known of other workloads still holds.
            kept = seen.generations.items() & generations.items()
            pods = {ref: seen.pods[ref] for ref, _ in kept if ref in seen.pods}
            seen = _Observation(generations, now, now + REPORT_DELAY, pods)
        self._observations[key] = seen
        return seen


def _statuses(unhealthy: Mapping[ObjectRef, CachedChild]) -> dict[ObjectRef, HealthStatus]:
    return {ref: child.health for ref, child in unhealthy.items() if child.health is not None}


async def _read_pods(
    reader: Reader, selectors: Mapping[ObjectRef, str]
) -> dict[ObjectRef, HealthStatus]:
    """Return what the worst Pod of each workload reports; nothing where all are healthy."""
    found: dict[ObjectRef, HealthStatus] = {}
    for ref, selector in selectors.items():
        try:
            listing = await reader.list(Selection(_POD, ref.namespace, selector))
        except Forbidden:
            text = "not all Pods are available; why is not known: its Pods must not be listed"
            found[ref] = HealthStatus(Health.PROGRESSING, text)
            continue
        except (KroGitopsError, OSError):
            continue
        # By name, so that the same Pod is named as long as it has the same problem.
        pods = sorted(listing.items, key=lambda pod: str(pod["metadata"]["name"]))
        statuses = [(pod["metadata"]["name"], workload_health(pod)) for pod in pods]
        for health in (Health.DEGRADED, Health.PROGRESSING):
            named = next((each for each in statuses if each[1].health is health), None)
            if named is not None:
                name, status = named
                text = f"Pod {name}: {status.brief or status.message}"
                found[ref] = HealthStatus(status.health, text)
                break
    return found
