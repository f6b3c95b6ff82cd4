"""
Objects as git wants them, against what is there.

The watch tells all there is to know of most of them, at no cost. The rest is looked at itself:
kinds that cannot be watched, objects with fields that may differ, and those that seem to be gone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kro_gitops.errors import KroGitopsError
from kro_gitops.metadata import SOURCE_HASH, SOURCE_MANAGER
from kro_gitops.source.accounts import Fault
from kro_gitops.source.controllers.errands import Errand, Target, each_of
from kro_gitops.source.controllers.live import LiveObjects, is_applied, kept, source_of
from kro_gitops.source.controllers.refusing import note_failure
from kro_gitops.source.controllers.registry import Registry
from kro_gitops.source.desired import State, Wanted, assess
from kro_gitops.source.drift import concerns, without_ignored
from kro_gitops.source.spec import DriftMode, IgnoreRule
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import Kind, KubeObject

_SYNC_LIMIT = 10.0  # seconds for a kind to be listed


class _Unsure:
    """Said of an object that must be looked at itself."""


_UNSURE = _Unsure()
Looked = Wanted | Target | _Unsure | None


class Comparer:
    """Finds out what is to be done."""

    def __init__(self, live: LiveObjects, registry: Registry) -> None:
        self._live = live
        self._registry = registry

    async def compare(self, errand: Errand, wanted: Sequence[Wanted]) -> list[Looked]:
        """Say of each object whether it is as wanted, what is to be done, or that it must wait."""
        kinds = {each.ref.kind for each in wanted}
        unknown = kinds - await self._live.known(kinds, _SYNC_LIMIT)
        looked = list(self._glances(errand, wanted, unknown))
        unsure = [each for each, found in zip(wanted, looked, strict=True) if found is _UNSURE]
        return looked + await each_of(unsure, lambda each: self._look(errand, each))

    def _glances(
        self, errand: Errand, wanted: Sequence[Wanted], unknown: set[Kind]
    ) -> Iterator[Looked]:
        """Look at each; what is as it was found last is passed by, and that is nearly all."""
        kind, find, is_watched = None, None, False
        for each in wanted:
            ref = each.ref
            if ref.kind is not kind:
                kind, find = ref.kind, self._live.finder(ref.kind)
                is_watched = kind not in unknown and not errand.spec.ignore_differences
            live = find(ref.namespace, ref.name) if find is not None else None
            if is_watched and live is not None and _is_settled(errand, each, live):
                yield each
            else:
                yield self._glance(errand, each, unknown)

    # One object

    def _glance(self, errand: Errand, wanted: Wanted, unknown: set[Kind]) -> Looked:
        """Look at an object of which the watch tells all there is to know."""
        if (unknown and wanted.ref.kind in unknown) or _rules_for(errand, wanted):
            return _UNSURE
        live = self._live.find(wanted.ref)
        entry = errand.held.inventory.find(wanted.key)
        if live is None and entry is not None and entry.uid:
            return _UNSURE  # it was deleted, or our label was taken away
        if live is not None and _is_settled(errand, wanted, live):
            return wanted
        return self._judge(errand, wanted, live)

    async def _look(self, errand: Errand, wanted: Wanted) -> Looked:
        """Look at an object itself."""
        try:
            found = await errand.cluster.find(wanted.ref)
        except KroGitopsError as error:
            note_failure(errand, wanted, error)
            return None
        rules = _rules_for(errand, wanted)
        if rules:
            stripped = without_ignored(wanted.object, found, rules, SOURCE_MANAGER)
            wanted = replace(wanted, object=stripped)
        return self._judge(errand, wanted, kept(found) if found is not None else None)

    def _judge(self, errand: Errand, wanted: Wanted, live: KubeObject | None) -> Looked:
        """Return the object if it is as wanted, what is to be done, or nothing if it must wait."""
        try:
            target = self._target(errand, wanted, live)
        except KroGitopsError as error:
            note_failure(errand, wanted, error)
            return None
        state = assess(wanted, live if target.is_ours else None)
        match state:
            case State.CURRENT:
                assert isinstance(live, CachedObject), "what is current is there"
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

    def _target(self, errand: Errand, wanted: Wanted, live: KubeObject | None) -> Target:
        name = source_of(live) if live is not None else ""
        held = errand.held
        if live is None:
            return Target(wanted, None, is_ours=False, adopts=errand.spec.adopt)
        entry = held.inventory.find(wanted.key)
        is_made = entry is not None and entry.uid == live["metadata"]["uid"]
        # Anybody can write our marks; what was applied by us, the API server notes itself.
        is_ours = is_applied(live) and (bool(name) or is_made)
        if name in (held.name, ""):
            return Target(wanted, live, is_ours, errand.spec.adopt)
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
        return Target(wanted, live, is_ours, errand.spec.adopt)

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


def _rules_for(errand: Errand, wanted: Wanted) -> tuple[IgnoreRule, ...]:
    rules = errand.spec.ignore_differences
    return tuple(r for r in rules if concerns(r, wanted.ref)) if rules else ()


def _is_settled(errand: Errand, wanted: Wanted, live: KubeObject) -> bool:
    """Say whether an object is as it was when it was found to be as wanted."""
    mark = errand.held.settled.get(wanted.key)
    if mark is None or not isinstance(live, CachedObject):
        return False
    # The label must say so, too: who owns which fields is the same after a revert.
    return mark == (live.owned, wanted.hash) and _applied_hash(live) == wanted.hash


def _applied_hash(live: KubeObject) -> str:
    found: str = (live["metadata"].get("labels") or {}).get(SOURCE_HASH, "")
    return found
