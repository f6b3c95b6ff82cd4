"""
Deletes an instance: its children first, wave by wave, then our finalizer.

This needs no graph, and works for kinds whose definition is gone. Members are watched while they
are deleted, so each wave begins when the last object of the one before is gone. An instance that
was removed at once, without our finalizer, may have left children: they are deleted in the same
order.
"""

import asyncio
import logging
from collections.abc import Iterable

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.engine.applyset import validate_inventory
from kro_gitops.engine.child_counts import ChildCounter, ChildCounts
from kro_gitops.engine.controllers.applier import Applier, delete_each
from kro_gitops.engine.controllers.context import WriteContext
from kro_gitops.engine.controllers.find_children import ChildFinder
from kro_gitops.engine.controllers.status_writer import InstanceReport, StatusWriter
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.deletion_policy import is_kept
from kro_gitops.engine.instance_metadata import has_finalizer
from kro_gitops.engine.lost_instances import instance_uid_of
from kro_gitops.engine.plan.deletion import had_reference, teardown, was_orphaned
from kro_gitops.engine.plan.prune_limit import named
from kro_gitops.engine.status import not_managed, under_deletion
from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.metadata import (
    FINALIZER,
)
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

# An instance stays for at least this many seconds after its deletion was seen, so that users and
# tools can see its status.
MIN_VISIBLE_SECONDS = 0.5


class DeletionReconciler:
    """Deletes the children of deleted instances, then releases the instances."""

    def __init__(
        self,
        cluster: Cluster,
        watches: Watches,
        finder: ChildFinder,
        applier: Applier,
        status_writer: StatusWriter,
        counter: ChildCounter,
        *,
        retains_claims: bool,
    ) -> None:
        """`cluster` writes instances; children are written as the identity of the instance."""
        self._cluster = cluster
        self._watches = watches
        self._finder = finder
        self._applier = applier
        self._status_writer = status_writer
        self._counter = counter
        self._retains_claims = retains_claims
        self._seen: dict[ObjectRef, float] = {}  # when the deletion of an instance was seen

    def forget(self, key: ObjectRef) -> None:
        """Drop what is remembered of an instance that is gone."""
        self._seen.pop(key, None)

    async def reconcile(
        self, report: InstanceReport, context: WriteContext, interval: float
    ) -> Result:
        """Advance the deletion by one step."""
        if not has_finalizer(report.instance):
            return DONE  # finalizers of other controllers are left
        now = asyncio.get_running_loop().time()
        since = self._seen.setdefault(report.key, now)
        report.set(under_deletion("deleting resources"))
        try:
            result = await self._delete_next_wave(report, context, interval)
        except KroGitopsError as error:
            report.set(under_deletion(f"deletion blocked: {error.message}"))
            await self._status_writer.write_deleting(report)
            self._status_writer.record_event(report, "Warning", "DeletionBlocked", error.message)
            raise
        if result is not None:
            await self._status_writer.write_deleting(report)
            return result
        await self._status_writer.write_deleting(report)
        left = since + MIN_VISIBLE_SECONDS - now
        if left > 0:
            return Result(left)
        metadata = report.instance["metadata"]
        rest = [each for each in metadata["finalizers"] if each != FINALIZER]
        changes = {"resourceVersion": metadata["resourceVersion"], "finalizers": rest}
        try:
            answer = await self._cluster.patch(context.key, MergePatch({"metadata": changes}))
        except NotFound:
            pass
        except Conflict:
            raise  # another client changed it: its event, and this error, queue the instance
        except KroGitopsError as error:
            report.set(not_managed(f"failed removing finalizer: {error.message}"))
            await self._status_writer.write_deleting(report)
            raise
        else:
            self._watches.router.own_writes.record_write(context.key, answer)
            log.info("instance deleted", extra={"key": str(context.key)})
        return DONE

    async def delete_lost(self, last: KubeObject, context: WriteContext, interval: float) -> Result:
        """Delete what is left of an instance that was removed without our finalizer."""
        # Read from the server: an instance that is only not cached yet keeps its children, and
        # another one of that name takes them over.
        if await self._cluster.find(context.key) is not None:
            self._watches.router.forget_lost(context.key)
            return DONE
        found, is_watched = await self._finder.members(context, validate_inventory(last))
        members = [each for each in found if instance_uid_of(each) == last["metadata"]["uid"]]
        kept = [each for each in members if is_kept(each, retains_claims=self._retains_claims)]
        members = [each for each in members if each not in kept]
        for member in kept:
            await self._applier.release(context, member, last["metadata"]["uid"])
        wave = None if self._keeps_children(last, members) else teardown(members)
        if wave is None:
            self._watches.router.forget_lost(context.key)
            return DONE
        log.info(
            "deleting children of a lost instance",
            extra={"key": str(context.key), "children": len(wave.to_delete)},
        )
        missed = await delete_each(wave.to_delete, lambda obj: self._applier.delete(context, obj))
        if missed:
            return Result(interval or None)
        return Result(None if is_watched else max(interval, 1.0))

    async def _delete_next_wave(
        self, report: InstanceReport, context: WriteContext, interval: float
    ) -> Result | None:
        """Delete the next wave of children; return None if nothing is left."""
        try:
            inventory = validate_inventory(report.instance)
        except KroGitopsError as error:
            raise _with_kro_message(error, "validate deletion inventory") from error
        try:
            members, is_watched = await self._finder.members(context, inventory)
        except KroGitopsError as error:
            raise _with_kro_message(error, "list deletion inventory") from error
        kept = [each for each in members if is_kept(each, retains_claims=self._retains_claims)]
        others = [each for each in members if each not in kept]
        if self._keeps_children(report.instance, others):
            kept, others = members, []
        if kept:
            await self._orphan_children(report, context, kept)
        wave = teardown(others)
        if wave is None:
            return None
        missed = await delete_each(wave.to_delete, lambda obj: self._applier.delete(context, obj))
        source = context.authority.source or report.served.source
        self._counter.add(source, "", ChildCounts(deleted=len(wave.to_delete)))
        if missed:
            report.set(
                under_deletion("deletion blocked: deletion encountered UID conflicts; retrying")
            )
            return Result(interval or None)
        # Their deletion queues the instance; kinds that are not watched are listed again.
        return Result(None if is_watched else max(interval, 1.0))

    def _keeps_children(self, instance: KubeObject, members: Iterable[KubeObject]) -> bool:
        """Return True if the deletion asked to orphan the children (`--cascade=orphan`)."""
        if instance["metadata"]["uid"] in self._watches.router.orphaning:
            return True
        # Children in other namespaces never had an owner reference: the others decide for all.
        found = [member for member in members if had_reference(instance, member)]
        return bool(found) and all(was_orphaned(instance, member) for member in found)

    async def _orphan_children(
        self, report: InstanceReport, context: WriteContext, members: Iterable[KubeObject]
    ) -> None:
        """Remove our labels, annotations and owner references from children that are to stay."""
        # Children without an owner reference first: after an interruption the others still show
        # that the deletion asked to orphan them.
        instance = report.instance
        for member in sorted(members, key=lambda each: had_reference(instance, each)):
            await self._applier.release(context, member, instance["metadata"]["uid"])
        text = f"left in place: {named(str(ObjectRef.of(each)) for each in members)}"
        self._status_writer.record_event(report, "Normal", "Orphaned", text)


def _with_kro_message(error: KroGitopsError, what: str) -> KroGitopsError:
    kind = type(error) if type(error).__init__ is KroGitopsError.__init__ else Unavailable
    return kind(error.code, f"{what}: {error.message}", hint=error.hint)
