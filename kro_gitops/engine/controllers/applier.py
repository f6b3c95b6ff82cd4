"""
Applies and deletes the children of instances.

A child that is ours is applied with force: its fields are ours to set. One that we do not know may
be an object which another client made: it is not adopted unless that is allowed. So it is looked
at first; but not for an instance that is new. Its children cannot be there, and asking would cost a
request each, so it is tried without force: the answer tells, in the list of who set which field,
whether the object was there before, and then it is given back at once.
"""

from collections.abc import Awaitable, Callable, Iterable

from kro_gitops.engine.applyset import GroupKind, reject_foreign_member
from kro_gitops.engine.controllers.context import WriteContext
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.children import is_same_desire
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.kube.api import DeleteOptions, Propagation, WriteOptions
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.metadata import ADOPT, CHILD_MANAGER
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, other_managers, pack_owned_fields
from kube_objects.refs import KubeObject, ObjectRef

_OWN_MANAGERS = (CHILD_MANAGER,)
Target = tuple[GroupKind, str, str]


class Applier:
    """Applies and deletes children."""

    def __init__(self, watches: Watches, observer: Observer) -> None:
        self._watches = watches
        self._observer = observer
        # Objects being made right now, and for whom: two instances may want the same one.
        self._claims: dict[Target, ObjectRef] = {}
        # Objects that turned out to be another client's.
        self._foreign: set[Target] = set()

    async def apply(self, context: WriteContext, step: Apply) -> KubeObject:
        """Apply a child; return it as cached."""
        refusal = context.refusal_of(step.ref)
        if refusal:
            raise RefusedError("not-allowed", refusal)
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
            # Asked again: another instance may have made it since this was planned.
            live = self._watches.child(step.ref)
            if live is not None:
                reject_foreign_member(live, context.key)
            if context.adopts or (_is_ours(live) and target not in self._foreign):
                answer = await context.cluster.apply(step.object, _options(force=True))
            elif context.is_new and live is None and target not in self._foreign:
                answer = await self._apply_to_new(context, step, target)
            else:
                answer = await self._apply_unowned(context, step, target)
        finally:
            if self._claims.get(target) == context.key:
                del self._claims[target]
        is_repair = step.live is not None and is_same_desire(step.live, step.object)
        self._observer.child_applied(step.ref.kind, is_repair=is_repair)
        return self._watches.cache_child(context.key, answer)

    async def delete(self, context: WriteContext, member: KubeObject) -> bool:
        """Delete a child; return whether it was the one we knew."""
        ref = ObjectRef.of(member)
        # In the background: the default of a kind may leave behind what it made, as Jobs do.
        options = DeleteOptions(uid=member["metadata"]["uid"], propagation=Propagation.BACKGROUND)
        try:
            await context.cluster.delete(ref, options)
        except NotFound:
            return True
        except Conflict:
            return False
        return True

    async def _apply_unowned(
        self, context: WriteContext, step: Apply, target: Target
    ) -> KubeObject:
        """Apply a child we do not know, after a look at what is there."""
        found = await context.cluster.find(step.ref)
        if found is None:
            self._foreign.discard(target)
            return await context.cluster.apply(step.object, _options(force=False))
        reject_foreign_member(found, context.key)
        is_ours = bool(pack_owned_fields(found, CHILD_MANAGER))
        if target in self._foreign and is_ours:
            await self._release_fields(context, step.ref)
        if target in self._foreign or not is_ours:
            raise _refusal(step.ref, other_managers(found, _OWN_MANAGERS) or ("another client",))
        # Ours, but it lost its label.
        return await context.cluster.apply(step.object, _options(force=True))

    async def _apply_to_new(self, context: WriteContext, step: Apply, target: Target) -> KubeObject:
        """Apply a child of a new instance, which is not there unless another client made it."""
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
        raise _refusal(step.ref, others)

    async def _release_fields(self, context: WriteContext, ref: ObjectRef) -> None:
        """Give up our fields of an object; the fields of other managers stay."""
        metadata = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
        nothing = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}
        await context.cluster.apply(nothing, _options(force=True))


async def delete_each(
    wanted: Iterable[KubeObject], action: Callable[[KubeObject], Awaitable[bool]]
) -> list[str]:
    """Delete each object; return those whose uid had changed."""
    missed = []
    for obj in wanted:
        try:
            if not await action(obj):
                missed.append(str(ObjectRef.of(obj)))
        except KroGitopsError as error:
            place = ObjectRef.of(obj).place
            raise Unavailable(error.code, f"delete {place}: {error.message}") from error
    return missed


def has_adopt_annotation(instance: KubeObject) -> bool:
    """Return whether an instance may take over what it finds."""
    annotations = instance["metadata"].get("annotations") or {}
    return annotations.get(ADOPT) == "true"


def _options(*, force: bool) -> WriteOptions:
    return WriteOptions(manager=CHILD_MANAGER, force=force)


def _is_ours(live: KubeObject | None) -> bool:
    """Return whether we applied an object: the label alone may have other reasons."""
    return isinstance(live, CachedObject) and bool(live.owned)


def _refusal(ref: ObjectRef, owners: tuple[str, ...]) -> RefusedError:
    return RefusedError(
        "not-ours",
        f"{ref} already exists and was created by {', '.join(owners)}: it is not adopted; "
        f'remove or rename it, or set {ADOPT}: "true" on the instance',
    )


def target_of(ref: ObjectRef) -> Target:
    """Return the key of an object, independent of its version."""
    return GroupKind.of(ref.kind), ref.namespace, ref.name
