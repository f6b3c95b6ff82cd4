"""
The health of a source's objects: ready, progressing or degraded.

Instances and definitions are known from the engine's watches, so checking them costs nothing. Kinds
without a status are healthy when they exist. Only the rest is read, and again only if it changed
since it was healthy.

A definition is ready when the engine reports so for the generation that was applied: then the API
server serves its kind with the schema of this revision. A definition that the engine rejects keeps
what it generated before, and holds back the instances of this revision.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kro_gitops.engine.crd.update import is_served
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Reader
from kro_gitops.source.controllers.context import ControllerContext, EngineCache, each_of
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.result import SyncResult
from kro_gitops.source.plan.stages import Stage
from kro_gitops.tracking.health import Health, HealthStatus, health
from kro_gitops.tracking.inventory import Key
from kro_gitops.tracking.workload_health import workload_health
from kube_objects.refs import ObjectRef

_POLL_INTERVAL = 0.02  # seconds
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
    """
    The health of objects.

    `healthy` are the versions that were found healthy just now, `degraded` the objects that failed.
    """

    result: SyncResult = field(default_factory=SyncResult)
    healthy: Mapping[Key, object] = field(default_factory=dict)
    degraded: tuple[Desired, ...] = ()

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
        ready, kind, is_instance, has_status = 0, None, False, True
        for each in current:
            if each.ref.kind is not kind:
                kind = each.ref.kind
                has_status = (kind.group, kind.kind) not in _WITHOUT_STATUS
                is_instance = (
                    has_status
                    and each.stage is not Stage.DEFINITIONS
                    and self._engine.is_instance(kind)
                )
            if is_instance:
                found = self._engine.instance(each.ref)
                if found is not None and known.get(each.key) is found:
                    ready += 1  # nearly always
                    continue
                least = generations.get(each.key, 0)
                verdict = HealthStatus(Health.PROGRESSING, "not picked up yet")
                if found is not None and (found["metadata"].get("generation") or 0) >= least:
                    verdict = health(found)
                if verdict.health is Health.HEALTHY:
                    # The instance itself does not report what may pass in a moment.
                    verdict = self._engine.children_health(each.ref) or verdict
                if verdict.health is Health.HEALTHY:
                    healthy[each.key] = found
                verdicts.append((each, verdict))
            elif not has_status:
                ready += 1
            elif each.stage is Stage.DEFINITIONS:
                verdicts.append((each, definition_health(self._engine, each.ref)))
            else:
                live = self._live.find(each.ref)
                version = live["metadata"].get("resourceVersion") if live is not None else None
                is_known = known.get(each.key, "") == version
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
        bad = tuple(each for each, verdict in verdicts if verdict.health is Health.DEGRADED)
        return HealthReport(result, healthy, bad)


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


def definition_health(engine: EngineCache, ref: ObjectRef, generation: int = 0) -> HealthStatus:
    """Return the health of a definition, of this generation or a later one."""
    found = engine.definition(ref.name)
    if found is None or (found["metadata"].get("generation") or 0) < generation:
        return HealthStatus(Health.PROGRESSING, "not picked up yet")
    return health(found)


async def wait_for_definitions(
    engine: EngineCache, applied: dict[ObjectRef, int], limit: float
) -> dict[ObjectRef, HealthStatus]:
    """Wait until the engine has seen each definition in its generation; return their health."""
    until = asyncio.get_running_loop().time() + limit
    while True:
        verdicts = {ref: definition_health(engine, ref, gen) for ref, gen in applied.items()}
        if not any(verdict.health is Health.PROGRESSING for verdict in verdicts.values()):
            return verdicts
        if asyncio.get_running_loop().time() > until:
            return verdicts
        await asyncio.sleep(_POLL_INTERVAL)


async def wait_established(
    reader: Reader, refs: Iterable[ObjectRef], limit: float
) -> dict[ObjectRef, str]:
    """Wait for namespaces and CRDs; return those that are not ready in time, and why."""
    until = asyncio.get_running_loop().time() + limit
    waiting = dict.fromkeys(refs, "")
    while waiting:
        for ref in list(waiting):
            try:
                found = await reader.find(ref)
            except KroGitopsError as error:
                why = error.message
            else:
                phase = ((found or {}).get("status") or {}).get("phase", "Active")
                if found is None:
                    why = "it is not there"
                elif found["kind"] == "Namespace":
                    why = "" if phase == "Active" else f"it is {phase}"
                else:
                    why = "" if is_served(found) else "it is not established yet"
            if why:
                waiting[ref] = why
            else:
                del waiting[ref]
        if not waiting or asyncio.get_running_loop().time() > until:
            break
        await asyncio.sleep(_POLL_INTERVAL)
    return waiting
