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
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kro_gitops.errors import KroGitopsError, NotServed, RefusedError, UserError
from kro_gitops.kube.api import Cluster, DeleteOptions, Propagation, WriteOptions
from kro_gitops.kube.responses import ApiError, Conflict, Invalid, NotFound
from kro_gitops.objects.metadata import FORCE, SOURCE_HASH, SOURCE_MANAGER
from kro_gitops.objects.owned_fields import Kept, other_managers
from kro_gitops.objects.refs import Kind, KubeObject, ObjectRef
from kro_gitops.source.accounts import Account, Fault
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.live import (
    LiveObjects,
    evidence,
    is_applied,
    kept,
    source_of,
)
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.registry import Held, Registry
from kro_gitops.source.desired import State, Wanted, assess
from kro_gitops.source.drift import concerns, without_ignored
from kro_gitops.source.kind_order import apply_key
from kro_gitops.source.misfits import Misfit, misfits
from kro_gitops.source.spec import DriftMode, IgnoreRule, SourceSpec
from kro_gitops.tracking.foreign import Tool, owner_of
from kro_gitops.tracking.methods import ArgoCD

_AT_ONCE = 16
_SYNC_LIMIT = 10.0  # seconds for a kind to be listed
_SCHEMA_LIMIT = 10.0  # seconds for every API server to serve a schema that was just changed
_GONE_LIMIT = 60.0  # seconds for an object to go that is made anew
_GLANCE = 0.05
_OURS = (SOURCE_MANAGER,)
_T = TypeVar("_T")
_R = TypeVar("_R")
_FORCED = ("enabled", "true")
_NEVER_RECREATED = frozenset({("", "Namespace"), ("", "PersistentVolumeClaim")})


@dataclass(slots=True)
class Errand:
    """For which source, as whom, and what came of it."""

    held: Held
    spec: SourceSpec
    cluster: Cluster  # acting as the source's account
    account: Account
    argocd: ArgoCD = field(default_factory=ArgoCD)
    observer: SourceObserver = field(default_factory=SourceObserver)
    # Kinds whose schema changed just now: another API server may still have the old one.
    fresh: set[Kind] = field(default_factory=set)
    is_held_up: bool = False  # something must go before it can be made anew
    done: int = 0  # objects that are as they should be

    def step(self, name: str) -> AbstractContextManager[None]:
        """Take the time of a step."""
        return self.observer.step(self.held.name, name)


@dataclass(slots=True)
class _Target:
    wanted: Wanted
    live: KubeObject | None
    is_ours: bool
    adopts: bool
    is_replaced: bool = False  # it cannot be changed: it is deleted and made anew

    def gets_another_uid(self, than: str) -> bool:
        """Say whether the object will not be the one that has this uid."""
        return self.live is None or self.is_replaced or self.live["metadata"]["uid"] != than

    @property
    def force(self) -> bool:
        return self.is_ours or self.adopts


class _Unsure:
    """Said of an object that must be looked at itself."""


_UNSURE = _Unsure()
_Looked = Wanted | _Target | _Unsure | None


class Applier:
    """Makes objects what git wants."""

    def __init__(self, live: LiveObjects, inventories: Inventories, registry: Registry) -> None:
        self._live = live
        self._inventories = inventories
        self._registry = registry

    async def carry_out(self, errand: Errand, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Have objects as they are wanted; return those that are."""
        if not wanted:
            return []
        with errand.account.in_order():
            return await self._carry_out(errand, wanted)

    async def _carry_out(self, errand: Errand, wanted: Sequence[Wanted]) -> list[Wanted]:
        with errand.step("compare"):
            looked = await self._compare(errand, wanted)
        current = [each for each in looked if isinstance(each, Wanted)]
        errand.done += len(current)
        targets = [each for each in looked if isinstance(each, _Target)]
        if targets:
            current += await self._correct(errand, targets)
        with errand.step("inventory"):
            await self._inventories.write(errand.held.source, errand.held.inventory)
        return current

    async def _compare(self, errand: Errand, wanted: Sequence[Wanted]) -> list[_Looked]:
        kinds = {each.ref.kind for each in wanted}
        unknown = kinds - await self._live.known(kinds, _SYNC_LIMIT)
        looked = [self._glance(errand, each, unknown) for each in wanted]
        unsure = [each for each, found in zip(wanted, looked, strict=True) if found is _UNSURE]
        return looked + await each_of(unsure, lambda each: self._look(errand, each))

    async def _correct(self, errand: Errand, targets: list[_Target]) -> list[Wanted]:
        targets = sorted(targets, key=lambda each: apply_key(each.wanted.ref))
        with errand.step("rehearse"):
            passed = await self._rehearse(errand, targets)
        with errand.step("inventory"):
            await self._announce(errand, passed)
        with errand.step("apply"):
            applied = await each_of(passed, lambda each: self._apply(errand, each))
        return [each for each in applied if each is not None]

    # Looking

    def _glance(self, errand: Errand, wanted: Wanted, unknown: set[Kind]) -> _Looked:
        """Look at an object of which the watch tells all there is to know."""
        if (unknown and wanted.ref.kind in unknown) or _rules_for(errand, wanted):
            return _UNSURE
        live = self._live.find(wanted.ref)
        entry = errand.held.inventory.find(wanted.key)
        if live is None and entry is not None and entry.uid:
            return _UNSURE  # it was deleted, or our label was taken away
        mark = (live.owned, wanted.hash) if isinstance(live, Kept) else None
        # The label must say so, too: who owns which fields is the same after a revert.
        is_applied_last = live is not None and _applied_hash(live) == wanted.hash
        if is_applied_last and errand.held.settled.get(wanted.key) == mark:
            return wanted
        return self._judge(errand, wanted, live)

    async def _look(self, errand: Errand, wanted: Wanted) -> _Looked:
        """Look at an object itself."""
        try:
            found = await errand.cluster.find(wanted.ref)
        except KroGitopsError as error:
            self._failed(errand, wanted, error)
            return None
        rules = _rules_for(errand, wanted)
        if rules:
            stripped = without_ignored(wanted.object, found, rules, SOURCE_MANAGER)
            wanted = replace(wanted, object=stripped)
        return self._judge(errand, wanted, kept(found) if found is not None else None)

    def _judge(self, errand: Errand, wanted: Wanted, live: KubeObject | None) -> _Looked:
        """Return the object if it is as wanted, what is to be done, or nothing if it must wait."""
        try:
            target = self._target(errand, wanted, live)
        except KroGitopsError as error:
            self._failed(errand, wanted, error)
            return None
        state = assess(wanted, live if target.is_ours else None)
        match state:
            case State.CURRENT:
                assert isinstance(live, Kept), "what is current is there"
                errand.held.inventory.put(wanted.entry(live["metadata"]["uid"]))
                errand.held.settled[wanted.key] = (live.owned, wanted.hash)
                return wanted
            case State.GOING:
                errand.account.waiting.append(f"{wanted.ref}, which is being deleted")
                errand.is_held_up = True
                return None
            case State.CHANGED:
                return target
            case State.DRIFTED | State.ABSENT:
                return target if self._corrects(errand, wanted, state) else wanted

    def _target(self, errand: Errand, wanted: Wanted, live: KubeObject | None) -> _Target:
        name = source_of(live) if live is not None else ""
        held = errand.held
        if live is None:
            return _Target(wanted, None, is_ours=False, adopts=errand.spec.adopt)
        entry = held.inventory.find(wanted.key)
        is_made = entry is not None and entry.uid == live["metadata"]["uid"]
        # Anybody can write our marks; what was applied by us, the API server notes itself.
        is_ours = is_applied(live) and (bool(name) or is_made)
        if name in (held.name, ""):
            return _Target(wanted, live, is_ours, errand.spec.adopt)
        claimant = self._registry.claimant(wanted.key, held)
        other = self._registry.find(name)
        if other is not None and claimant is not None and not errand.spec.adopt:
            errand.account.foreign.append(f"{wanted.ref}: source {claimant.name}")
            raise RefusedError(
                "foreign-owner",
                f"{wanted.ref} belongs to source {claimant.name}, which still wants it",
                hint="remove it there first",
            )
        # Handed over: the former source does not want it any more, or is gone.
        return _Target(wanted, live, is_ours, errand.spec.adopt)

    def _corrects(self, errand: Errand, wanted: Wanted, state: State) -> bool:
        entry = errand.held.inventory.find(wanted.key)
        is_drift = state is State.DRIFTED or bool(entry is not None and entry.uid)
        is_same = entry is not None and entry.hash == wanted.item.digest
        if not is_drift or not is_same or errand.spec.drift is DriftMode.CORRECT:
            return True
        if errand.spec.drift is DriftMode.WARN:
            what = "was deleted" if state is State.ABSENT else "was changed"
            text = f"{wanted.ref} {what} on the cluster, and is left so (drift.mode: warn)"
            errand.account.warnings.append(
                Fault("drifted", text, str(wanted.ref), wanted.item.manifest.origin())
            )
        return False

    # Doing

    async def _announce(self, errand: Errand, targets: Iterable[_Target]) -> None:
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

    async def _rehearse(self, errand: Errand, targets: list[_Target]) -> list[_Target]:
        async def rehearse(target: _Target) -> _Target | None:
            try:
                answer = await self._send(errand, target, dry_run=True)
                self._refuse_foreign(errand, target, answer)
            except KroGitopsError as error:
                if not _may_recreate(errand, target, error):
                    await self._refused(errand, target, error)
                    return None
                target.is_replaced = True
            return target

        return [each for each in await each_of(targets, rehearse) if each is not None]

    async def _apply(self, errand: Errand, target: _Target) -> Wanted | None:
        wanted, account = target.wanted, errand.account
        try:
            answer = await self._make(errand, target)
        except KroGitopsError as error:
            await self._refused(errand, target, error)
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

    async def _make(self, errand: Errand, target: _Target) -> KubeObject:
        try:
            return await self._send(errand, target, dry_run=False)
        except Invalid as error:
            if not _may_recreate(errand, target, error):
                raise
        await self._remove(errand, target)
        return await self._send(errand, target, dry_run=False)

    async def _send(self, errand: Errand, target: _Target, *, dry_run: bool) -> KubeObject:
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

    async def _remove(self, errand: Errand, target: _Target) -> None:
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

    # What is in the way

    def _refuse_foreign(self, errand: Errand, target: _Target, answer: KubeObject) -> None:
        """Refuse what is somebody else's, by the answer to a rehearsal."""
        if target.is_ours and target.live is not None:
            owner = owner_of(evidence(target.live), argocd=errand.argocd)
        elif other_managers(answer, _OURS):
            owner = owner_of(answer, argocd=errand.argocd)
        else:
            return
        # What kro makes cannot be adopted: it would be made again, and again.
        is_made_by_kro = owner is not None and owner.tool == Tool.KRO
        if owner is not None and (is_made_by_kro or not target.adopts):
            errand.account.foreign.append(f"{target.wanted.ref}: {owner}")
            hint = "" if is_made_by_kro else ", or set adopt: true on the source"
            raise RefusedError(
                "foreign-owner",
                f"{target.wanted.ref} belongs to {owner}: it is left alone",
                hint=f"remove it {'from git' if is_made_by_kro else 'there'}{hint}",
            )

    async def _refused(self, errand: Errand, target: _Target, error: KroGitopsError) -> None:
        if isinstance(error, Conflict) and error.fields:
            found = await errand.cluster.find(target.wanted.ref)
            owner = owner_of(found, argocd=errand.argocd) if found is not None else None
            if owner is not None:
                errand.account.foreign.append(f"{target.wanted.ref}: {owner}")
            fields = "; ".join(f"{each.field}: {each.message}" for each in error.fields[:3])
            errand.account.conflicts.append(f"{target.wanted.ref}: {fields}")
            whose = f"belongs to {owner}" if owner is not None else "was made by somebody else"
            error = RefusedError(
                "conflict",
                f"{target.wanted.ref} {whose}, and fields differ: {fields}",
                hint="make them agree, or set adopt: true on the source",
            )
        self._failed(errand, target.wanted, error)

    def _failed(self, errand: Errand, wanted: Wanted, error: KroGitopsError) -> None:
        found = misfits(error.message, wanted.object)
        if found:
            errand.account.failures += [_misfit(wanted, each) for each in found]
            return
        field_ = ""
        if isinstance(error, ApiError) and error.causes:
            field_ = error.causes[0].field
        if isinstance(error, NotServed):
            error = _no_such_kind(wanted)
        elif _is_secret(wanted.ref) and isinstance(error, ApiError):
            error = _discreet(error, wanted)
        lasting = isinstance(error, UserError) and error.code not in ("foreign-owner", "conflict")
        errand.account.failures.append(
            Fault.of_item(wanted.item, wanted.ref, error, field_=field_, lasting=lasting)
        )


async def each_of(values: Iterable[_T], work: Callable[[_T], Awaitable[_R]]) -> list[_R]:
    """Do something with each value, some at once; return the results in order."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(value: _T) -> _R:
        async with gate:
            return await work(value)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(value)) for value in values]
    return [task.result() for task in tasks]


def _rules_for(errand: Errand, wanted: Wanted) -> tuple[IgnoreRule, ...]:
    rules = errand.spec.ignore_differences
    return tuple(r for r in rules if concerns(r, wanted.ref)) if rules else ()


def _applied_hash(live: KubeObject) -> str:
    found: str = (live["metadata"].get("labels") or {}).get(SOURCE_HASH, "")
    return found


def _is_unknown_field(error: KroGitopsError, wanted: Wanted) -> bool:
    # A refused field has no reason or cause of its own: it is a bad request like any other, or
    # looks like trouble of the server.
    is_bad_request = isinstance(error, ApiError) and error.status.http_code == 400
    return is_bad_request or bool(misfits(error.message, wanted.object))


def _misfit(wanted: Wanted, found: Misfit) -> Fault:
    # It may fit later: the schema of a kind can change, too.
    origin = wanted.item.manifest.origin(found.spot)
    return Fault("schema-mismatch", found.text, str(wanted.ref), origin)


def _may_recreate(errand: Errand, target: _Target, error: KroGitopsError) -> bool:
    """Say whether an object may be deleted and made anew because it cannot be changed."""
    annotations = target.wanted.object["metadata"].get("annotations") or {}
    is_asked = errand.spec.force or annotations.get(FORCE) in _FORCED
    kind = target.wanted.ref.kind
    if not is_asked or not target.is_ours or target.live is None or not isinstance(error, Invalid):
        return False
    if (kind.group, kind.kind) in _NEVER_RECREATED or target.live["metadata"].get("finalizers"):
        return False
    return "immutable" in error.message


def _is_secret(ref: ObjectRef) -> bool:
    return (ref.kind.group, ref.kind.kind) == ("", "Secret")


def _discreet(error: ApiError, wanted: Wanted) -> KroGitopsError:
    """Leave out the server's words about a Secret: they may quote it."""
    fields = ", ".join(each.field for each in error.causes if each.field)
    where = f" at {fields}" if fields else ""
    reason = error.status.reason or f"HTTP {error.status.http_code}"
    return KroGitopsError(error.code, f"{wanted.ref} was refused{where}: {reason}")


def _no_such_kind(wanted: Wanted) -> KroGitopsError:
    kind = wanted.ref.kind
    return KroGitopsError(
        "not-served",
        f"the cluster does not serve {kind}",
        hint="does its definition or CRD stand in git, and is its apiVersion right?",
    )
