"""
How the objects of a source are: ready, on their way, or broken.

Instances and definitions are known from the engine's watches, so asking costs nothing. Kinds that
say nothing of themselves are fine when they are there. Only the rest is read, and again only when
it changed since it was fine.
"""

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.controllers.errands import Errand, each_of
from kro_gitops.source.controllers.gates import Gates, is_silent
from kro_gitops.source.controllers.live import LiveObjects
from kro_gitops.source.desired import Wanted
from kro_gitops.source.stages import Stage
from kro_gitops.tracking.health import Health, HealthStatus, health
from kro_gitops.tracking.workload_health import workload_health
from kube_objects.refs import KubeObject, ObjectRef

_FINE = HealthStatus(Health.HEALTHY, "")


class Vitals:
    """Takes them."""

    def __init__(self, live: LiveObjects, gates: Gates) -> None:
        self._live = live
        self._gates = gates

    async def take(self, errand: Errand, current: list[Wanted], *, count: bool = True) -> None:
        """Note in the account what is ready, what is not, and why."""
        unknown = []
        kind, is_instance = None, False
        for wanted in current:
            if wanted.ref.kind is not kind:
                kind = wanted.ref.kind
                is_instance = self._is_instance(wanted)
            if is_instance and self._is_fine(errand, wanted):
                errand.account.ready += 1 if count else 0
                continue
            verdict = self._known(errand, wanted)
            if verdict is None:
                unknown.append(wanted)
            else:
                _note(errand, wanted.ref, verdict, count)

        async def look(wanted: Wanted) -> tuple[Wanted, HealthStatus]:
            return wanted, await self._look(errand, wanted)

        for wanted, verdict in await each_of(unknown, look):
            _note(errand, wanted.ref, verdict, count)

    def _is_instance(self, wanted: Wanted) -> bool:
        if is_silent(wanted.ref.kind) or wanted.stage is Stage.DEFINITIONS:
            return False
        return self._gates.is_instance(wanted.ref.kind)

    def _is_fine(self, errand: Errand, wanted: Wanted) -> bool:
        """Say whether an instance is as it was when it was found healthy."""
        fine = errand.held.fine.get(wanted.key)
        return fine is not None and fine is self._gates.instance(wanted.ref)

    def _known(self, errand: Errand, wanted: Wanted) -> HealthStatus | None:
        """Say how an object is if that is known already; `None` if it must be read."""
        if is_silent(wanted.ref.kind):
            return _FINE
        if wanted.stage is Stage.DEFINITIONS:
            return self._gates.definition(wanted.ref)
        if not self._gates.is_instance(wanted.ref.kind):
            live = self._live.find(wanted.ref)
            seen = live["metadata"].get("resourceVersion") if live is not None else None
            return _FINE if seen and errand.held.fine.get(wanted.key) == seen else None
        return self._instance(errand, wanted, self._gates.instance(wanted.ref))

    def _instance(self, errand: Errand, wanted: Wanted, found: KubeObject | None) -> HealthStatus:
        least = errand.held.generations.get(wanted.key, 0)
        if found is None or (found["metadata"].get("generation") or 0) < least:
            return HealthStatus(Health.PROGRESSING, "not picked up yet")
        verdict = health(found)
        if verdict.health is Health.HEALTHY:
            errand.held.fine[wanted.key] = found
        return verdict

    async def _look(self, errand: Errand, wanted: Wanted) -> HealthStatus:
        try:
            found = await errand.cluster.find(wanted.ref)
        except KroGitopsError as error:
            return HealthStatus(Health.PROGRESSING, f"it cannot be looked at: {error.message}")
        if found is None:
            return HealthStatus(Health.PROGRESSING, "it is not there")
        verdict = workload_health(found)
        if verdict.health is Health.HEALTHY:
            errand.held.fine[wanted.key] = found["metadata"]["resourceVersion"]
        return verdict


def _note(errand: Errand, ref: ObjectRef, verdict: HealthStatus, count: bool) -> None:
    account = errand.account
    match verdict.health:
        case Health.HEALTHY | Health.SUSPENDED:
            account.ready += 1 if count else 0
        case Health.PROGRESSING:
            account.waiting.append(_text(ref, verdict))
        case Health.DEGRADED:
            account.degraded.append(_text(ref, verdict))


def _text(ref: ObjectRef, verdict: HealthStatus) -> str:
    return f"{ref}: {verdict.message}" if verdict.message else str(ref)
