"""
Objects of one stage, made as git wants them: looked at, rehearsed, applied, recorded.

All of them are rehearsed first (a dry run on the server), so that everything that is wrong shows
together, and what is wrong with one keeps nobody else waiting. Fields that a kind does not have are
refused rather than dropped. The inventory knows of an object before it is made.

An object that is ours is taken back by force, because that is what correcting drift means. One that
is not ours is tried without force; the answer tells, in the list of who set which field, whether it
was there before and whose it is.
"""

import asyncio
from collections.abc import Iterable, Sequence

from kro_gitops.errors import KroGitopsError, NotServed
from kro_gitops.kube.api import DeleteOptions, Propagation, WriteOptions
from kro_gitops.kube.responses import ApiError, Invalid, NotFound
from kro_gitops.metadata import FORCE, SOURCE_MANAGER
from kro_gitops.source.controllers.comparing import Comparer
from kro_gitops.source.controllers.errands import Errand, Target, each_of
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.live import LiveObjects
from kro_gitops.source.controllers.refusing import note_refusal, refuse_foreign
from kro_gitops.source.controllers.registry import Registry
from kro_gitops.source.desired import Wanted
from kro_gitops.source.kind_order import apply_key
from kro_gitops.source.misfits import misfits
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject

_SCHEMA_LIMIT = 10.0  # seconds for every API server to serve a schema that was just changed
_GONE_LIMIT = 60.0  # seconds for an object to go that is made anew
_GLANCE = 0.05
_FORCED = ("enabled", "true")
_NEVER_RECREATED = frozenset({("", "Namespace"), ("", "PersistentVolumeClaim")})


class Applier:
    """Makes objects what git wants."""

    def __init__(self, live: LiveObjects, inventories: Inventories, registry: Registry) -> None:
        self._live = live
        self._inventories = inventories
        self._comparer = Comparer(live, registry)

    async def carry_out(self, errand: Errand, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Have objects as they are wanted; return those that are."""
        if not wanted:
            return []
        with errand.account.in_order():
            return await self._carry_out(errand, wanted)

    async def _carry_out(self, errand: Errand, wanted: Sequence[Wanted]) -> list[Wanted]:
        with errand.step("compare"):
            looked = await self._comparer.compare(errand, wanted)
        current = [each for each in looked if isinstance(each, Wanted)]
        errand.done += len(current)
        targets = [each for each in looked if isinstance(each, Target)]
        if targets:
            current += await self._correct(errand, targets)
        with errand.step("inventory"):
            await self._inventories.write(errand.held.source, errand.held.inventory)
        return current

    async def _correct(self, errand: Errand, targets: list[Target]) -> list[Wanted]:
        targets = sorted(targets, key=lambda each: apply_key(each.wanted.ref))
        with errand.step("rehearse"):
            passed = await self._rehearse(errand, targets)
        with errand.step("inventory"):
            await self._announce(errand, passed)
        with errand.step("apply"):
            applied = await each_of(passed, lambda each: self._apply(errand, each))
        return [each for each in applied if each is not None]

    async def _announce(self, errand: Errand, targets: Iterable[Target]) -> None:
        """
        Put into the inventory what is about to be made, without a uid: that is yet to come.

        Also what is made anew: under its former uid it would be taken for somebody else's, should
        we die before the new one is written.
        """
        inventory = errand.held.inventory
        for target in targets:
            entry = inventory.find(target.wanted.key)
            if entry is None or (entry.uid and target.gets_another_uid(entry.uid)):
                inventory.put(target.wanted.entry())
        await self._inventories.write(errand.held.source, inventory)

    async def _rehearse(self, errand: Errand, targets: list[Target]) -> list[Target]:
        async def rehearse(target: Target) -> Target | None:
            try:
                answer = await self._send(errand, target, dry_run=True)
                refuse_foreign(errand, target, answer)
            except KroGitopsError as error:
                if not _may_recreate(errand, target, error):
                    await note_refusal(errand, target, error)
                    return None
                target.is_replaced = True
            return target

        return [each for each in await each_of(targets, rehearse) if each is not None]

    async def _apply(self, errand: Errand, target: Target) -> Wanted | None:
        wanted, account = target.wanted, errand.account
        try:
            answer = await self._make(errand, target)
        except KroGitopsError as error:
            await note_refusal(errand, target, error)
            return None
        errand.held.inventory.put(wanted.entry(answer["metadata"]["uid"]))
        errand.done += 1
        errand.held.generations[wanted.key] = answer["metadata"].get("generation") or 0
        self._live.saw(answer)
        if target.live is None:
            account.created += 1
        else:
            account.changed += 1
        return wanted

    async def _make(self, errand: Errand, target: Target) -> KubeObject:
        try:
            return await self._send(errand, target, dry_run=False)
        except Invalid as error:
            if not _may_recreate(errand, target, error):
                raise
        await self._remove(errand, target)
        return await self._send(errand, target, dry_run=False)

    async def _send(self, errand: Errand, target: Target, *, dry_run: bool) -> KubeObject:
        options = WriteOptions(SOURCE_MANAGER, target.force, dry_run, strict=True)
        until = asyncio.get_running_loop().time() + _SCHEMA_LIMIT
        while True:
            try:
                return await errand.cluster.apply(target.wanted.object, options)
            except (ApiError, NotServed) as error:
                # Right after a schema changed, a server may not know its new fields yet.
                is_fresh = target.wanted.ref.kind in errand.fresh
                is_schema = isinstance(error, NotServed) or _is_unknown_field(error, target.wanted)
                late = asyncio.get_running_loop().time() > until
                if not is_fresh or not is_schema or late:
                    raise
            await asyncio.sleep(_GLANCE)

    async def _remove(self, errand: Errand, target: Target) -> None:
        """Delete an object that cannot be changed, and wait until it is gone."""
        ref, live = target.wanted.ref, target.live
        assert live is not None, "only what is there is made anew"
        options = DeleteOptions(live["metadata"]["uid"], propagation=Propagation.BACKGROUND)
        until = asyncio.get_running_loop().time() + _GONE_LIMIT
        try:
            await errand.cluster.delete(ref, options)
            while asyncio.get_running_loop().time() < until:
                found = await errand.cluster.get(ref)
                if found["metadata"]["uid"] != live["metadata"]["uid"]:
                    return
                await asyncio.sleep(_GLANCE)
        except NotFound:
            return
        raise RefusedError("not-gone", f"{ref} cannot be changed, and does not go to be made anew")


def _is_unknown_field(error: KroGitopsError, wanted: Wanted) -> bool:
    # A refused field has no reason or cause of its own: it is a bad request like any other, or
    # looks like trouble of the server.
    is_bad_request = isinstance(error, ApiError) and error.status.http_code == 400
    return is_bad_request or bool(misfits(error.message, wanted.object))


def _may_recreate(errand: Errand, target: Target, error: KroGitopsError) -> bool:
    """Say whether an object may be deleted and made anew because it cannot be changed."""
    annotations = target.wanted.object["metadata"].get("annotations") or {}
    is_asked = errand.spec.force or annotations.get(FORCE) in _FORCED
    kind = target.wanted.ref.kind
    if not is_asked or not target.is_ours or target.live is None or not isinstance(error, Invalid):
        return False
    if (kind.group, kind.kind) in _NEVER_RECREATED or target.live["metadata"].get("finalizers"):
        return False
    return "immutable" in error.message
