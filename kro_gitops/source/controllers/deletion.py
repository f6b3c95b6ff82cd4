"""
Deletes objects: those that a revision no longer has, and all of them when the source is deleted.

Only our own objects are deleted: one that was created again by another client, or that another
source took over, leaves the inventory. Deletion goes group by group; the next one waits until the
watch reports that the one before is gone.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.errors import KroGitopsError, NotServed, NotYet
from kro_gitops.kube.api import DeleteOptions, MergePatch, Propagation
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.metadata import SOURCE_FINALIZER
from kro_gitops.source.api.types import DeletionPolicy, SourceSpec
from kro_gitops.source.controllers.context import ControllerContext, SyncContext, each_of
from kro_gitops.source.controllers.reporter import Reporter
from kro_gitops.source.controllers.state import SourceState, Trigger
from kro_gitops.source.plan import status
from kro_gitops.source.plan.claims import Claimant, Claims, follows_same_ref, postpone
from kro_gitops.source.plan.live_metadata import kept
from kro_gitops.source.plan.model import Prune
from kro_gitops.source.plan.prune import (
    NO_LIMIT,
    Candidate,
    Candidates,
    PruneFacts,
    PrunePlan,
    find_candidates,
    generated_kinds,
    handover_text,
    instances_left,
    kept_warnings,
    plan_prune,
)
from kro_gitops.source.plan.result import NOTHING, Fault, Phase, SyncResult
from kro_gitops.source.plan.stages import Stage, stage_of
from kro_gitops.tracking.inventory import Entry, Key, key_of
from kube_objects.conditions import FALSE, TRUE
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import Kind, KubeObject, ObjectRef

_SYNC_TIMEOUT = 10.0  # seconds for a kind to be listed
_RETRY_DELAY = 0.5
_ERROR_DELAY = 5.0
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
_NO_COMMIT = ""  # in place of the commit that pruning waits for: the source itself is deleted


class Pruner:
    """Reads the objects that may be pruned, and executes the plan."""

    def __init__(self, controller: ControllerContext) -> None:
        self._controller = controller

    async def observe(
        self, context: SyncContext, entries: Iterable[Entry]
    ) -> dict[Key, tuple[Entry, KubeObject | None]]:
        """Return the live object of each entry, and the entry in a version that is served."""
        entries = list(entries)
        live = self._controller.live
        known = await live.sync({entry.ref.kind for entry in entries}, _SYNC_TIMEOUT)

        async def find(entry: Entry) -> tuple[Entry, KubeObject | None]:
            try:
                return entry, await self._find(context, entry, known)
            except NotServed:
                kind = entry.ref.kind
                for served in await self._controller.discovery.kinds():
                    if (served.group, served.kind) == (kind.group, kind.kind) and served != kind:
                        other = replace(entry, ref=replace(entry.ref, kind=served))
                        return other, await self._find(context, other, known)
                return entry, None

        return {entry.key: (entry, found) for entry, found in await each_of(entries, find)}

    async def count(self, candidates: Iterable[Candidate]) -> dict[Kind, int]:
        """Count the instances of definitions that may be deleted."""
        controller = self._controller
        return await instance_counts(
            candidates, controller.engine.instances_of, controller.live.count
        )

    async def execute(self, context: SyncContext, prune: Prune) -> SyncResult:
        """Update the inventory, and delete the first group; the next waits until it is gone."""
        inventory, group = context.inventory, next(iter(prune.plan.delete), ())
        for entry in prune.entries:
            inventory.put(entry)  # the version may be another one now
        for key in prune.candidates.forgotten:
            inventory.drop(key)
        for candidate, _ in prune.plan.forget:
            inventory.drop(key_of(candidate.ref))

        async def delete(candidate: Candidate) -> SyncResult:
            # With the version that was observed: the client that changed it since may need it.
            metadata = (candidate.live or {}).get("metadata") or {}
            version = metadata.get("resourceVersion", "")
            options = DeleteOptions(candidate.uid, version, Propagation.BACKGROUND)
            try:
                await context.cluster.delete(candidate.ref, options)
            except (NotFound, Conflict):
                return NOTHING  # gone, or another object: the watch will report it
            except KroGitopsError as error:
                text = f"not deleted: {error.message}"
                return SyncResult(failures=(Fault(error.code, text, str(candidate.ref)),))
            return SyncResult(pruned=1)

        rest = [each for each in group if each.live is None or not is_deleting(each.live)]
        results = await each_of(rest, delete)
        await self._controller.inventories.write(context.state.source, inventory)
        return SyncResult.total(results).in_order() + SyncResult(pending=len(group))

    def lingering(self, plan: PrunePlan) -> frozenset[Kind]:
        """Return the kinds whose definition is kept for their last instances."""
        kinds = generated_kinds(candidate for candidate, _ in plan.kept)
        return frozenset(kind for kind in kinds if self._controller.engine.instances_of(kind))

    def can_continue(self, state: SourceState) -> bool:
        """Return True if the last instance of a kind is gone whose definition was kept for it."""
        return any(self._controller.engine.instances_of(kind) == 0 for kind in state.lingering)

    async def _find(
        self, context: SyncContext, entry: Entry, known: frozenset[Kind]
    ) -> KubeObject | None:
        ref, live = entry.ref, self._controller.live
        is_watched = ref.kind in known and not live.is_interrupted(ref.kind)
        watched = live.find(ref) if is_watched else None
        seen = watched if isinstance(watched, CachedObject) else None
        if seen is None:
            # Not watched, or without our label: read before it is forgotten.
            found = await context.cluster.find(ref)
            seen = kept(found) if found is not None else None
        if seen is None:
            return None
        if stage_of(ref.kind) is Stage.DEFINITIONS:
            # The kinds that it generates and uses decide about the order.
            whole = self._controller.engine.definition(ref.name) or await context.cluster.find(ref)
            return CachedObject({**seen, "spec": whole.get("spec")}, seen.owned) if whole else None
        if (ref.kind.group, ref.kind.kind) == _CRD:
            return await context.cluster.find(ref)
        return seen


class SourceDeletion:
    """Deletes what a source applied, if that is its policy, then removes its finalizer."""

    def __init__(self, controller: ControllerContext, pruner: Pruner, reporter: Reporter) -> None:
        self._controller = controller
        self._pruner = pruner
        self._reporter = reporter

    async def reconcile_lost(self, state: SourceState) -> Result:
        """Delete what is left of a source that the API server removed without our finalizer."""
        # Read from the server: a source of that name takes the objects over.
        if await self._controller.cluster.find(state.key) is not None:
            return DONE
        return await self.reconcile(state, is_lost=True)

    async def reconcile(self, state: SourceState, *, is_lost: bool = False) -> Result:
        """Delete the next group of objects, or the source if none is left."""
        if not has_finalizer(state.source) and not is_lost:
            return DONE  # other finalizers hold it
        store, now = self._controller.store, asyncio.get_running_loop().time()
        state = store.put(replace(state, claims=Claims(frozenset())))
        # By the raw spec, valid or not.
        policy = state.raw_spec.get("deletionPolicy") or DeletionPolicy.MIRROR_PRUNE
        deletes_objects = policy != DeletionPolicy.ORPHAN
        if policy == DeletionPolicy.MIRROR_PRUNE:
            deletes_objects = state.raw_spec.get("prune", True) is not False
        result = SyncResult()
        try:
            if deletes_objects:
                # A source of the same repository that was never read may claim objects.
                postponed = postpone(state.postponed, _NO_COMMIT, now)
                if (
                    state.spec is not None
                    and not postponed.is_over(now)
                    and any(
                        other.claims.applied is None and other.fetched is None
                        for other in same_ref(self._controller, state, state.spec)
                    )
                ):
                    state = store.put(replace(state, postponed=postponed))
                    await self._report(state, result)
                    return Result(_RETRY_DELAY)
                result, is_done = await self._delete_all(state)
                if not is_done or result.failures:
                    await self._report(state, result)
                    return Result(_RETRY_DELAY)
            if not await self._controller.inventories.release(state.key):
                return Result(_RETRY_DELAY)
            if not is_lost:
                await remove_finalizer(self._controller, state.source)
        except KroGitopsError as error:
            result += SyncResult(failures=(Fault(error.code, error.full_text),))
            await self._report(state, result)
            return Result(_ERROR_DELAY)
        return DONE

    async def _delete_all(self, state: SourceState) -> tuple[SyncResult, bool]:
        """Delete the next group; return whether nothing is left."""
        controller, pruner = self._controller, self._pruner
        cluster = controller.cluster.acting_as(controller.store.identity(state))
        context = SyncContext(state, state.spec or SourceSpec(url=""), cluster)
        recorded = (await pruner.observe(context, state.inventory)).values()
        candidates = find_candidates(
            recorded,
            source=state.name,
            claimant=lambda key: other_claimant(controller, state, key),
            argocd=controller.argocd,
        )
        counts = await pruner.count(candidates.own)
        facts = PruneFacts(
            total=len(candidates.own),
            brake=NO_LIMIT,
            allows_empty=True,
            instances_left=lambda definition: instances_left(definition, counts),
            source=state.name,
        )
        plan = plan_prune(candidates.own, facts)
        wake_heirs(controller, state, candidates)
        prune = Prune(tuple(entry for entry, _ in recorded), candidates, plan)
        result = await pruner.execute(context, prune)
        result += SyncResult(warnings=(*candidates.warnings, *kept_warnings(plan)))
        is_done = not plan.delete and not plan.waits and not result.pending
        return result, is_done

    async def _report(self, state: SourceState, result: SyncResult) -> None:
        result = replace(result, objects=len(state.inventory))
        report = self._reporter.draft(state, Phase.DELETING)
        report.result = result
        text = (
            status.describe_failures(result.failures)
            or f"{result.objects} objects are left to delete"
        )
        reason = "DeletionFailed" if result.failures else "Deleting"
        report.set_condition(status.READY, FALSE, reason, text)
        report.set_condition(status.RECONCILING, TRUE, reason, text)
        await self._reporter.write(state, report)


def was_lost(last: KubeObject) -> bool:
    """
    Return True if a source was removed despite our finalizer, by its last state.

    A deletion that began before the finalizer was there may remove the source at once, though the
    API server accepted the finalizer meanwhile (kubernetes/kubernetes#77988).
    """
    return has_finalizer(last) and not is_deleting(last)


def has_finalizer(source: KubeObject) -> bool:
    """Return True if a source has our finalizer."""
    return SOURCE_FINALIZER in (source["metadata"].get("finalizers") or ())


async def ensure_finalizer(controller: ControllerContext, source: KubeObject) -> KubeObject | None:
    """Set our finalizer before anything is created; return the source, None if it is gone."""
    if has_finalizer(source):
        return source
    present = source["metadata"].get("finalizers") or []
    return await _set_finalizers(controller, source, [*present, SOURCE_FINALIZER])


async def remove_finalizer(controller: ControllerContext, source: KubeObject) -> None:
    """Remove our finalizer, so that the source can be deleted."""
    present = source["metadata"].get("finalizers") or []
    rest = [each for each in present if each != SOURCE_FINALIZER]
    await _set_finalizers(controller, source, rest)


async def _set_finalizers(
    controller: ControllerContext, source: KubeObject, finalizers: list[str]
) -> KubeObject | None:
    # With the resourceVersion: a finalizer that is added meanwhile must not be lost.
    version = source["metadata"]["resourceVersion"]
    changes = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
    try:
        answer = await controller.cluster.patch(ObjectRef.of(source), MergePatch(changes))
    except NotFound:
        return None
    except Conflict as error:
        raise NotYet(error.code, error.message) from error
    answer["metadata"].pop("managedFields", None)
    controller.sources.record_write(answer)
    return answer


async def instance_counts(
    candidates: Iterable[Candidate],
    known: Callable[[Kind], int],
    ask: Callable[[Kind], Awaitable[int]],
) -> dict[Kind, int]:
    """
    Count the instances of definitions that may be deleted.

    If the engine knows none, it may not watch the kind; and some that it knows, though they are not
    candidates, may be gone already. In both cases the cluster is asked.
    """
    candidates = [each for each in candidates if each.live is not None]
    deleting = Counter(each.ref.kind for each in candidates)
    counts: dict[Kind, int] = {}
    for kind in generated_kinds(candidates):
        seen = known(kind)
        counts[kind] = seen if 0 < seen <= deleting[kind] else await ask(kind)
    return counts


def same_ref(
    controller: ControllerContext, state: SourceState, spec: SourceSpec
) -> list[SourceState]:
    """Return the other sources that follow the same ref, and are neither suspended nor deleted."""
    return [
        other
        for other in controller.store
        if other.name != state.name
        and other.spec is not None
        and not other.spec.suspend
        and not is_deleting(other.source)
        and follows_same_ref(spec, other.spec)
    ]


def wake_heirs(controller: ControllerContext, state: SourceState, candidates: Candidates) -> None:
    """Have the sources synced that take objects over; once, from then on they retry themselves."""
    known = state.result.waiting if state.result is not None else ()
    for ref, claimant in candidates.handed_over:
        heir = controller.store.find(claimant.name)
        if heir is not None and handover_text(ref, claimant) not in known:
            controller.request(heir.key, Trigger.SYNC)


def other_claimant(controller: ControllerContext, state: SourceState, key: Key) -> Claimant | None:
    """Return another source that claims an object, one that can take it over if there is any."""
    found: Claimant | None = None
    now, since = datetime.now(UTC), state.handovers.get(key)
    for other in controller.store.claimants(key, state.name):
        trouble = ""
        if other.raw_spec.get("suspend"):
            trouble = "it is suspended"
        elif other.spec is None:
            trouble = "its spec is invalid"
        elif other.fetch_error is not None:
            trouble = "it cannot read its repository"
        elif other.result is not None and other.result.failures:
            trouble = "it fails"
        claimant = Claimant.of(other.name, trouble, since, controller.claim_timeout, now)
        if not trouble:
            return claimant
        found = found or claimant
    return found
