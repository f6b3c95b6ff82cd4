"""
What a revision no longer has, and how it goes.

Deleted is only what is still ours: an object that was made anew by others, or that another source
took over, is forgotten. One that another source wants is left for it to take. What goes, goes group
by group; the next group waits until the one before is gone, which the watch tells.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kro_gitops.engine.instance_metadata import is_going
from kro_gitops.errors import KroGitopsError, NotServed
from kro_gitops.kube.api import DeleteOptions, Propagation
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.source.accounts import Fault
from kro_gitops.source.controllers.errands import Errand, each_of
from kro_gitops.source.controllers.gates import Known
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.live import (
    LiveObjects,
    evidence,
    is_applied,
    kept,
    source_of,
)
from kro_gitops.source.controllers.registry import Held, Registry
from kro_gitops.source.controllers.syncing import Sync
from kro_gitops.source.prune import Candidate, PrunePlan, decide
from kro_gitops.source.spec import Brake
from kro_gitops.source.stages import Stage, generated_kind, stage_of
from kro_gitops.tracking.foreign_owners import find_foreign_owner
from kro_gitops.tracking.inventory import Entry, key_of
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import Kind, KubeObject

_SYNC_LIMIT = 10.0  # seconds
_NO_BRAKE = Brake(percent=100.0, count=1 << 60)
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


@dataclass(frozen=True, slots=True)
class Occasion:
    """Because of which commit things go."""

    revision: str
    message: str
    is_empty: bool = False


class Pruner:
    """Deletes what is no longer wanted."""

    def __init__(
        self,
        live: LiveObjects,
        inventories: Inventories,
        registry: Registry,
        known: Known,
        discovery: Discovery,
        wake: Callable[[Held], None],
    ) -> None:
        self._discovery = discovery
        self._live = live
        self._inventories = inventories
        self._registry = registry
        self._known = known
        self._wake = wake

    async def prune(self, errand: Errand, sync: Sync, occasion: Occasion) -> None:
        """Delete what a revision no longer has, as far as that may be done now."""
        errand.held.lingering = frozenset()
        entries = [each for each in errand.held.inventory if each.key not in sync.keys]
        if not entries:
            return
        candidates = await self._candidates(errand, entries)
        counts = await instance_counts(candidates, self._known.instances_of, self._live.count)
        if errand.spec.prune and candidates:
            plan = decide(
                candidates,
                total=len(errand.held.inventory),
                brake=errand.spec.brake,
                allows_empty=errand.spec.allows_empty,
                is_empty=occasion.is_empty,
                message=occasion.message,
                revision=occasion.revision,
                instances_left=lambda each: _instances_left(each, counts),
                source=errand.held.name,
                wanted=sync.refs,
            )
            errand.account.braked = plan.braked
            errand.held.lingering = frozenset(self._lingering(plan))
            self._tell_kept(errand, plan)
            await self._delete(errand, plan)
        await self._inventories.write(errand.held.source, errand.held.inventory)

    def may_go_on(self, held: Held) -> bool:
        """Say whether the last instance of a definition is gone for which it was kept."""
        return any(self._known.instances_of(kind) == 0 for kind in held.lingering)

    async def take_down(self, errand: Errand) -> bool:
        """Delete everything a source made; say whether nothing is left to do."""
        candidates = await self._candidates(errand, list(errand.held.inventory))
        counts = await instance_counts(candidates, self._known.instances_of, self._live.count)
        plan = decide(
            candidates,
            total=len(candidates),
            brake=_NO_BRAKE,
            allows_empty=True,
            is_empty=False,
            message="",
            revision="",
            instances_left=lambda each: _instances_left(each, counts),
            source=errand.held.name,
        )
        self._tell_kept(errand, plan)
        await self._delete(errand, plan)
        await self._inventories.write(errand.held.source, errand.held.inventory)
        return not plan.delete and not plan.waits and not errand.account.pending

    # Who goes

    async def _candidates(self, errand: Errand, entries: list[Entry]) -> list[Candidate]:
        known = await self._live.known({each.ref.kind for each in entries}, _SYNC_LIMIT)

        async def find(entry: Entry) -> tuple[Entry, KubeObject | None]:
            try:
                return entry, await self._find(errand, entry, known)
            except NotServed:
                other = await self._as_served(entry)
                live = await self._find(errand, other, known) if other is not None else None
                return other or entry, live

        found = []
        for entry, live in await each_of(entries, find):
            errand.held.inventory.put(entry)  # the version may be another
            candidate = self._candidate(errand, entry, live)
            if candidate is not None:
                found.append(candidate)
        return found

    async def _as_served(self, entry: Entry) -> Entry | None:
        """Return an entry in a version that is served, if its own is not any more."""
        kind = entry.ref.kind
        for each in await self._discovery.kinds():
            if (each.group, each.kind) == (kind.group, kind.kind) and each != kind:
                return replace(entry, ref=replace(entry.ref, kind=each))
        return None

    async def _find(
        self, errand: Errand, entry: Entry, known: frozenset[Kind]
    ) -> KubeObject | None:
        kind = entry.ref.kind
        is_told = kind in known and not self._live.is_interrupted(kind)
        watched = self._live.find(entry.ref) if is_told else None
        seen = watched if isinstance(watched, CachedObject) else None
        if seen is None:
            # Not seen, or without our label: looked at before it is forgotten.
            found = await errand.cluster.find(entry.ref)
            seen = kept(found) if found is not None else None
        if seen is not None and stage_of(entry.ref.kind) is Stage.DEFINITIONS:
            # Its kind and what it uses decide the order.
            whole = self._known.definition(entry.ref.name) or await errand.cluster.find(entry.ref)
            return CachedObject({**seen, "spec": whole.get("spec")}, seen.owned) if whole else None
        if seen is not None and (entry.ref.kind.group, entry.ref.kind.kind) == _CRD:
            return await errand.cluster.find(entry.ref)
        return seen

    def _candidate(self, errand: Errand, entry: Entry, live: KubeObject | None) -> Candidate | None:
        held = errand.held
        if live is None or not self._is_ours(errand, entry, live):
            held.inventory.drop(entry.key)
            held.settled.pop(entry.key, None)
            return None
        claimant = self._registry.claimant(entry.key, held)
        if claimant is not None:
            text = f"source {claimant.name} to take over {entry.ref}"
            if held.account is None or text not in held.account.waiting:
                self._wake(claimant)  # once: from then on it tries by itself
            errand.account.waiting.append(text)
            errand.is_held_up = True  # it is struck off when the other one has it
            return None
        return Candidate(entry.ref, live["metadata"]["uid"], _stage(entry), live)

    def _is_ours(self, errand: Errand, entry: Entry, live: KubeObject) -> bool:
        # Anybody can write our marks; what was applied by us, the API server notes itself.
        if source_of(live) != errand.held.name or not is_applied(live):
            return False
        if entry.uid and live["metadata"]["uid"] != entry.uid:
            return False
        owner = find_foreign_owner(evidence(live), argocd=errand.argocd)
        if owner is not None:
            text = f"{entry.ref} belongs to {owner} now, and is left to it"
            errand.account.warnings.append(Fault("foreign-owner", text, str(entry.ref)))
        return owner is None

    def _lingering(self, plan: PrunePlan) -> Iterator[Kind]:
        for candidate, _ in plan.kept:
            if candidate.stage is Stage.DEFINITIONS and candidate.live is not None:
                kind = generated_kind(candidate.live)
                if kind is not None and self._known.instances_of(kind):
                    yield kind

    # How they go

    async def _delete(self, errand: Errand, plan: PrunePlan) -> None:
        for group in plan.delete:
            going = [each for each in group if each.live is not None and is_going(each.live)]
            to_go = [each for each in group if each not in going]
            with errand.account.in_order():
                gone = await each_of(to_go, lambda each: self._delete_one(errand, each))
            errand.account.pruned += sum(gone)
            errand.account.pending += len(group)
            break  # the next waits until these are gone

    async def _delete_one(self, errand: Errand, candidate: Candidate) -> bool:
        # As it was judged: whoever changed it since may want it to stay.
        live = candidate.live or {"metadata": {}}
        version = live["metadata"].get("resourceVersion", "")
        options = DeleteOptions(candidate.uid, version, Propagation.BACKGROUND)
        try:
            await errand.cluster.delete(candidate.ref, options)
        except (NotFound, Conflict):
            return False  # gone, or another one: the watch will tell
        except KroGitopsError as error:
            errand.account.failures.append(
                Fault(error.code, f"not deleted: {error.message}", str(candidate.ref))
            )
            return False
        return True

    def _tell_kept(self, errand: Errand, plan: PrunePlan) -> None:
        for candidate, _ in plan.forget:
            errand.held.inventory.drop(key_of(candidate.ref))
        for candidate, reason in plan.kept:
            text = f"not deleted, though it is no longer in git: {reason}"
            errand.account.warnings.append(Fault("kept", text, str(candidate.ref)))


async def instance_counts(
    candidates: Iterable[Candidate],
    known: Callable[[Kind], int],
    ask: Callable[[Kind], Awaitable[int]],
) -> dict[Kind, int]:
    """
    Count the instances of definitions that may go.

    That none is known may mean that the engine does not watch the kind; and some that are known,
    though they are not about to go, may be gone already: the cluster itself is asked.
    """
    candidates = [each for each in candidates if each.live is not None]
    going = Counter(each.ref.kind for each in candidates)
    counts: dict[Kind, int] = {}
    for each in candidates:
        is_definition = stage_of(each.ref.kind) is Stage.DEFINITIONS
        kind = generated_kind(each.live) if is_definition and each.live is not None else None
        if kind is not None:
            seen = known(kind)
            counts[kind] = seen if 0 < seen <= going[kind] else await ask(kind)
    return counts


def _instances_left(definition: KubeObject, counts: Mapping[Kind, int]) -> int:
    kind = generated_kind(definition)
    return counts.get(kind, 0) if kind is not None else 0


def _stage(entry: Entry) -> Stage:
    return Stage[entry.stage] if entry.stage in Stage.__members__ else stage_of(entry.ref.kind)
