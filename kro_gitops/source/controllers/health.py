"""
The health of a source's objects: ready, progressing or degraded.

Instances and definitions are known from the engine's watches, so checking them costs nothing. Kinds
without a status are healthy when they exist. Only the rest is read, and again only if it changed
since it was healthy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Reader
from kro_gitops.source.controllers.context import ControllerContext, each_of
from kro_gitops.source.controllers.readiness import definition_health
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.result import SyncResult
from kro_gitops.source.plan.stages import Stage
from kro_gitops.tracking.health import Health, HealthStatus, health
from kro_gitops.tracking.inventory import Key
from kro_gitops.tracking.workload_health import workload_health
from kube_objects.refs import Kind, KubeObject, ObjectRef

_RBAC = "rbac.authorization.k8s.io"

# Kinds without a status: healthy as soon as they exist.
_WITHOUT_STATUS = frozenset(
    {
        *(("", kind) for kind in ("ConfigMap", "Secret", "ServiceAccount", "LimitRange")),
        *((_RBAC, kind) for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
        ("networking.k8s.io", "NetworkPolicy"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "StorageClass"),
    }
)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The health of objects; `healthy` are the versions that were found healthy just now."""

    result: SyncResult = field(default_factory=SyncResult)
    healthy: Mapping[Key, object] = field(default_factory=dict)

    @property
    def is_healthy(self) -> bool:
        """Return True if all objects are healthy."""
        return not self.result.waiting and not self.result.degraded


class HealthChecker:
    """Checks the health of a source's objects."""

    def __init__(self, controller: ControllerContext) -> None:
        self._live = controller.live
        self._engine = controller.engine

    async def check(
        self,
        reader: Reader,
        current: Sequence[Desired],
        generations: Mapping[Key, int],
        known: Mapping[Key, object],
    ) -> HealthReport:
        """
        Return the health of objects that are as desired.

        `generations` are the least ones to be seen of instances: those that our applies led to.
        `known` are versions that were healthy before.
        """
        verdicts: list[tuple[Desired, HealthStatus]] = []
        healthy: dict[Key, object] = {}  # versions
        unread: list[Desired] = []
        ready, kind, is_instance = 0, None, False
        for each in current:
            if each.ref.kind is not kind:
                kind = each.ref.kind
                is_instance = self._is_instance(kind, each.stage)
            if is_instance:
                found = self._engine.instance(each.ref)
                if found is not None and known.get(each.key) is found:
                    ready += 1  # nearly always
                    continue
                verdict = _instance_health(found, generations.get(each.key, 0))
                if verdict.health is Health.HEALTHY:
                    healthy[each.key] = found
                verdicts.append((each, verdict))
            elif (kind.group, kind.kind) in _WITHOUT_STATUS:
                ready += 1
            elif each.stage is Stage.DEFINITIONS:
                verdicts.append((each, definition_health(self._engine, each.ref)))
            else:
                is_known = known.get(each.key, "") == self._version(each.ref)
                ready += is_known
                if not is_known:
                    unread.append(each)
        read = await each_of(unread, lambda each: _read(reader, each))
        verdicts += [(each, verdict) for each, verdict, _ in read]
        healthy |= {each.key: version for each, _, version in read if version}
        by_health: dict[Health, list[str]] = {}
        for each, verdict in verdicts:
            text = f"{each.ref}: {verdict.message}" if verdict.message else str(each.ref)
            by_health.setdefault(verdict.health, []).append(text)
        ready += sum(len(by_health.get(each, ())) for each in (Health.HEALTHY, Health.SUSPENDED))
        result = SyncResult(
            ready=ready,
            waiting=tuple(by_health.get(Health.PROGRESSING, ())),
            degraded=tuple(by_health.get(Health.DEGRADED, ())),
        )
        return HealthReport(result, healthy)

    def _version(self, ref: ObjectRef) -> str | None:
        """Return the version of an object that was last seen; None if it is not watched."""
        live = self._live.find(ref)
        return live["metadata"].get("resourceVersion") if live is not None else None

    def _is_instance(self, kind: Kind, stage: Stage) -> bool:
        if (kind.group, kind.kind) in _WITHOUT_STATUS or stage is Stage.DEFINITIONS:
            return False
        return self._engine.is_instance(kind)


def _instance_health(found: KubeObject | None, least: int) -> HealthStatus:
    if found is None or (found["metadata"].get("generation") or 0) < least:
        return HealthStatus(Health.PROGRESSING, "not picked up yet")
    return health(found)


async def _read(reader: Reader, desired: Desired) -> tuple[Desired, HealthStatus, str]:
    """Read an object; return its health, and its version if it is healthy."""
    try:
        found = await reader.find(desired.ref)
    except KroGitopsError as error:
        text = f"it cannot be looked at: {error.message}"
        return desired, HealthStatus(Health.PROGRESSING, text), ""
    if found is None:
        return desired, HealthStatus(Health.PROGRESSING, "it is not there"), ""
    verdict = workload_health(found)
    is_healthy = verdict.health is Health.HEALTHY
    return desired, verdict, found["metadata"]["resourceVersion"] if is_healthy else ""
