"""
Children made, changed and deleted.

A child that is ours is applied with force: its fields are ours to set. The first apply is not,
because there may be an object of that name which somebody else made: if it is theirs, nothing is
taken over unless that is allowed. Whether it was there before, the answer itself tells, in the list
of who set which field; so asking first is not needed.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from kro_gitops.engine.applyset import GroupKind
from kro_gitops.engine.controllers.observing import Observer
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.plan.children import is_same_desire
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.errors import KroGitopsError, RefusedError, Unavailable
from kro_gitops.kube.api import Cluster, DeleteOptions, Identity, Propagation, WriteOptions
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.objects.metadata import ADOPT, CHILD_MANAGER
from kro_gitops.objects.owned_fields import other_managers
from kro_gitops.objects.refs import KubeObject, ObjectRef

_OURS = (CHILD_MANAGER,)
Target = tuple[GroupKind, str, str]


@dataclass(frozen=True, slots=True)
class Errand:
    """For which instance, and as whom."""

    key: ObjectRef
    cluster: Cluster
    adopts: bool = False
    identity: Identity | None = None


class Applier:
    """Makes children what they should be."""

    def __init__(self, watches: Watches, observer: Observer) -> None:
        self._watches = watches
        self._observer = observer
        # Objects being made right now, and for whom: two instances may want the same one.
        self._claims: dict[Target, ObjectRef] = {}
        # Objects that turned out to be somebody else's: looked at before they are tried again.
        self._foreign: set[Target] = set()

    async def apply(self, errand: Errand, step: Apply) -> KubeObject:
        """Apply a child; return it as it is then."""
        target = target_of(step.ref)
        self._claim(target, errand.key)
        try:
            if step.live is not None or errand.adopts:
                answer = await errand.cluster.apply(step.object, _options(force=True))
            else:
                answer = await self._apply_first(errand, step, target)
        finally:
            if self._claims.get(target) == errand.key:
                del self._claims[target]
        self._foreign.discard(target)
        is_repair = step.live is not None and is_same_desire(step.live, step.object)
        self._observer.child_applied(step.ref.kind, is_repair=is_repair)
        return self._watches.saw_child(errand.key, answer)

    async def delete(self, errand: Errand, member: KubeObject) -> bool:
        """Delete a child; say whether it was the one we knew."""
        ref = ObjectRef.of(member)
        # In the background: the default of a kind may leave behind what it made, as Jobs do.
        options = DeleteOptions(uid=member["metadata"]["uid"], propagation=Propagation.BACKGROUND)
        try:
            await errand.cluster.delete(ref, options)
        except NotFound:
            return True
        except Conflict:
            return False
        return True

    def _claim(self, target: Target, key: ObjectRef) -> None:
        holder = self._claims.setdefault(target, key)
        if holder != key:
            _, namespace, name = target
            place = f"{namespace}/{name}" if namespace else name
            raise RefusedError(
                "foreign-applyset",
                f"{target[0].kind} {place} is being made for {holder}",
                hint="two instances want the same object: give the child another name",
            )

    async def _apply_first(self, errand: Errand, step: Apply, target: Target) -> KubeObject:
        if target in self._foreign:
            await self._require_absent(errand, step.ref)
        try:
            answer = await errand.cluster.apply(step.object, _options(force=False))
        except Conflict as error:
            if not error.fields:
                raise
            self._foreign.add(target)
            owners = await self._owners(errand, step.ref)
            raise _refusal(step.ref, owners or ("somebody else",)) from None
        others = other_managers(answer, _OURS)
        if not others or self._watches.has_lost(answer["metadata"]["uid"]):
            return answer
        self._foreign.add(target)
        await errand.cluster.apply(_nothing(step.ref), _options(force=True))
        raise _refusal(step.ref, others)

    async def _require_absent(self, errand: Errand, ref: ObjectRef) -> None:
        owners = await self._owners(errand, ref)
        if owners:
            raise _refusal(ref, owners)

    async def _owners(self, errand: Errand, ref: ObjectRef) -> tuple[str, ...]:
        found = await errand.cluster.find(ref)
        return other_managers(found, _OURS) if found is not None else ()


async def each(
    wanted: Iterable[KubeObject], action: Callable[[KubeObject], Awaitable[bool]]
) -> list[str]:
    """Do something with each object; return those that were not what they seemed to be."""
    missed = []
    for obj in wanted:
        try:
            if not await action(obj):
                missed.append(str(ObjectRef.of(obj)))
        except KroGitopsError as error:
            ref = ObjectRef.of(obj)
            place = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
            raise Unavailable(error.code, f"delete {place}: {error.message}") from error
    return missed


def adopts(instance: KubeObject) -> bool:
    """Say whether an instance may take over what it finds."""
    annotations = instance["metadata"].get("annotations") or {}
    return annotations.get(ADOPT) == "true"


def _options(*, force: bool) -> WriteOptions:
    return WriteOptions(manager=CHILD_MANAGER, force=force)


def _nothing(ref: ObjectRef) -> KubeObject:
    """Return what is applied to give up every field of an object."""
    metadata = {"name": ref.name, **({"namespace": ref.namespace} if ref.namespace else {})}
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}


def _refusal(ref: ObjectRef, owners: tuple[str, ...]) -> RefusedError:
    return RefusedError(
        "not-ours",
        f"{ref} exists already and was made by {', '.join(owners)}: it is not taken over; "
        f'remove or rename it, or set {ADOPT}: "true" on the instance',
    )


def target_of(ref: ObjectRef) -> Target:
    """Name an object whatever the version it is seen through."""
    return GroupKind.of(ref.kind), ref.namespace, ref.name
