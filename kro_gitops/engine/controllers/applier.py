"""
Applies and deletes the children of instances.

A child that is ours is applied with force: its fields are ours to set. A child that we do not know
may be an object which another client created: it is not adopted unless that is allowed. So it is
read first, except for a new instance. Its children cannot exist yet, and a read would cost a
request each. So they are applied without force: the managed fields of the response show whether the
object existed before, and then our fields are released at once.

An object that carries the apply-set id of the instance is ours, also if another client created it:
it was restored from a backup. Its id does not depend on uids. A user who can write the
label can write the object, so writing it grants no further rights.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace

from kro_gitops.engine.adoption import NotAdopted
from kro_gitops.engine.applyset import Target, is_member, reject_foreign_member, target_of
from kro_gitops.engine.controllers.contested_children import ContestedChildren
from kro_gitops.engine.controllers.context import WriteContext
from kro_gitops.engine.controllers.drift_repair import Applied, DriftRepair
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.restored_children import apply_restored
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.children import is_same_desire
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.kube.api import DeleteOptions, MergePatch, Propagation, WriteOptions
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.metadata import (
    APPLYSET_PART_OF,
    ARGOCD_INSTALLATION_ID,
    ARGOCD_TRACKING_ID,
    CHILD_MANAGER,
    GITOPS_PREFIX,
    INTERNAL_PREFIX,
    KRO_PREFIX,
    MANAGED_BY,
    SOURCE,
)
from kro_gitops.telemetry.printable import printable
from kro_gitops.tracking.identity import parse_tracking_id
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, other_managers, pack_owned_fields
from kube_objects.refs import KubeObject, ObjectRef

_OWN_MANAGERS = (CHILD_MANAGER,)


class Applier:
    """Applies and deletes children."""

    def __init__(
        self, watches: Watches, observer: Observer, manual_managers: Collection[str] = ()
    ) -> None:
        self._watches = watches
        self._observer = observer
        # Objects being applied right now, and for which instance: two may desire the same one.
        self._claims: dict[Target, ObjectRef] = {}
        # Objects that turned out to be another client's.
        self._foreign: set[Target] = set()
        self._repair = DriftRepair(manual_managers)
        self.contested = ContestedChildren()

    async def apply(self, context: WriteContext, step: Apply) -> Applied:
        """Apply a child; return it as cached."""
        rejection = context.authority.rejection_of(step.ref)
        if rejection:
            raise RefusedError("not-allowed", rejection)
        target = target_of(step.ref)
        key = context.key
        holder = self._claims.setdefault(target, key)
        if holder != key:
            _, namespace, name = target
            place = f"{namespace}/{name}" if namespace else name
            raise RefusedError(
                "foreign-applyset",
                f"{target[0].kind} {place} is being created for {holder}",
                hint="two instances create the same object: give the child another name",
            )
        try:
            # Read again: another instance may have created it since this was planned.
            live = self._watches.child(step.ref)
            if live is not None:
                reject_foreign_member(live, context.key)
            is_applied = isinstance(live, CachedObject) and bool(live.owned)
            if live is not None and not is_applied and is_member(live, context.key):
                applied = Applied(await self._take_over(context, step, target))
            elif is_applied and target not in self._foreign:
                applied = await self._repair.apply(context.cluster, step)
            elif context.may_adopt(step.ref):
                answer = await context.cluster.apply(step.object, _options(force=True))
                applied = Applied(answer)
            elif context.is_new and live is None and target not in self._foreign:
                applied = Applied(await self._apply_to_new(context, step, target))
            else:
                applied = Applied(await self._apply_unowned(context, step, target))
        finally:
            if self._claims.get(target) == context.key:
                del self._claims[target]
        is_repair = step.live is not None and is_same_desire(step.live, step.object)
        self._observer.child_applied(step.ref.kind, is_repair=is_repair)
        return replace(applied, object=self._watches.cache_child(context.key, applied.object))

    async def delete(self, context: WriteContext, member: KubeObject) -> bool:
        """Delete a child; return whether it was the one we knew."""
        ref = ObjectRef.of(member)
        self.contested.forget_child(ref)
        # In the background: the default of a kind may orphan its dependents, as that of Jobs does.
        options = DeleteOptions(uid=member["metadata"]["uid"], propagation=Propagation.BACKGROUND)
        try:
            await context.cluster.delete(ref, options)
        except NotFound:
            return True
        except Conflict:
            return False
        return True

    async def release(self, context: WriteContext, member: KubeObject, owner: str) -> None:
        """Remove our metadata from a child that stays; `owner` is the uid of the instance."""
        ref, metadata = ObjectRef.of(member), member["metadata"]
        prefixes = (KRO_PREFIX, INTERNAL_PREFIX, GITOPS_PREFIX)
        labels = {
            key: None
            for key in metadata.get("labels") or {}
            if key.startswith(prefixes) or key in (APPLYSET_PART_OF, MANAGED_BY)
        }
        # A nested instance keeps the name of its source. Without it, it would pass for one that was
        # created by hand, and get other permissions than it had.
        is_instance = ref.kind in self._watches.served_kinds
        written = metadata.get("annotations") or {}
        annotations = {
            key: None
            for key in written
            if key.startswith(prefixes) and not (is_instance and key == SOURCE)
        }
        # The id of the instance was copied; one of its own names the child.
        claim = parse_tracking_id(written.get(ARGOCD_TRACKING_ID, ""))
        if claim is not None and not claim.names(ref):
            annotations |= dict.fromkeys((ARGOCD_TRACKING_ID, ARGOCD_INSTALLATION_ID))
        owners = [o for o in metadata.get("ownerReferences") or () if o.get("uid") != owner]
        changes = {"labels": labels, "annotations": annotations, "ownerReferences": owners}
        try:
            answer = await context.cluster.patch(ref, MergePatch({"metadata": changes}))
        except NotFound:
            return
        self._watches.cache_child(context.key, answer)

    async def _apply_unowned(
        self, context: WriteContext, step: Apply, target: Target
    ) -> KubeObject:
        """Apply a child we do not know, after reading what exists."""
        found = await context.cluster.find(step.ref)
        if found is None:
            self._foreign.discard(target)
            return await context.cluster.apply(step.object, _options(force=False))
        reject_foreign_member(found, context.key)
        is_applied = bool(pack_owned_fields(found, CHILD_MANAGER))
        if not is_applied and is_member(found, context.key):
            return await self._take_over(context, step, target)
        if target in self._foreign and is_applied:
            await self._release_fields(context, step.ref)
        if target in self._foreign or not is_applied:
            raise NotAdopted(step.ref, other_managers(found, _OWN_MANAGERS))
        # Ours, but it lost its label.
        return await context.cluster.apply(step.object, _options(force=True))

    async def _take_over(self, context: WriteContext, step: Apply, target: Target) -> KubeObject:
        """Apply a child that was restored from a backup."""
        self._foreign.discard(target)
        return await apply_restored(context.cluster, step, context.key)

    async def _apply_to_new(self, context: WriteContext, step: Apply, target: Target) -> KubeObject:
        """Apply a child of a new instance, which only another client can have created."""
        try:
            answer = await context.cluster.apply(step.object, _options(force=False))
        except Conflict as error:
            if not error.fields:
                raise
            self._foreign.add(target)
            return await self._apply_unowned(context, step, target)
        others = other_managers(answer, _OWN_MANAGERS)
        if not others:
            return answer
        self._foreign.add(target)
        await self._release_fields(context, step.ref)
        raise NotAdopted(step.ref, others)

    async def _release_fields(self, context: WriteContext, ref: ObjectRef) -> None:
        """Give up our fields of an object; the fields of other managers stay."""
        metadata = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
        nothing = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}
        await context.cluster.apply(nothing, _options(force=True))


async def last_writer(context: WriteContext, ref: ObjectRef) -> str:
    """
    Return the other field manager that wrote a child last; empty if that is not known.

    Caches keep no managers, so this is a request: only before a repair, to name who caused it.
    """
    try:
        found = await context.cluster.find(ref)
    except KroGitopsError:
        return ""
    entries = [
        entry
        for entry in (found or {"metadata": {}})["metadata"].get("managedFields") or ()
        if not entry.get("subresource") and entry.get("manager") not in _OWN_MANAGERS
    ]
    latest = max(entries, key=lambda entry: str(entry.get("time") or ""), default=None)
    return printable(str(latest.get("manager") or "")) if latest is not None else ""


async def delete_each(
    objects: Iterable[KubeObject], action: Callable[[KubeObject], Awaitable[bool]]
) -> list[str]:
    """Delete each object; return those whose uid had changed."""
    missed = []
    for obj in objects:
        try:
            if not await action(obj):
                missed.append(str(ObjectRef.of(obj)))
        except KroGitopsError as error:
            place = ObjectRef.of(obj).place
            raise Unavailable(error.code, f"delete {place}: {error.message}") from error
    return missed


def _options(*, force: bool) -> WriteOptions:
    return WriteOptions(manager=CHILD_MANAGER, force=force)
