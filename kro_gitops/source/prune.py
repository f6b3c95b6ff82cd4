"""
What may go, in which order, and the brakes.

Candidates are objects that a source made and that its revision no longer has. Of each it is asked,
in this order:

| found | then |
|---|---|
| it is not in the cluster | forgotten |
| another uid than the one we made | forgotten: somebody made it anew |
| never recorded as made, and without our mark | forgotten: it was there before us |
| another source's name on it | forgotten: it has moved there |
| it, or the tool that had it before, says no (see below) | kept |
| something that is kept, or still wanted, would go with it | kept |
| a definition, and instances of its kind are left, anywhere | kept: they would go with it |
| a Namespace or a CRD | kept, unless it asks to be pruned: it takes along what others made |
| otherwise | deleted |

How an object says no is in `prune_wishes`.

Then the brakes. If nothing is left in the repository, or if more would be deleted than `maxPrune`
allows (both numbers exceeded), nothing is deleted at all. A line `kro-gitops: allow-prune` in the
commit message lifts both; `allowEmpty` lifts them for a repository that is empty. Objects that are
on their way out already do not count.

What goes, goes in reverse: objects by their layers, then definitions, those that use a kind
before those that generate it, then namespaces and the like. Each group waits for the one before.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.metadata import PRUNE, SOURCE
from kro_gitops.source.kind_order import apply_key
from kro_gitops.source.prune_wishes import Wishes, asks_for_it, opted_out
from kro_gitops.source.spec import Brake
from kro_gitops.source.stages import (
    Stage,
    definition_waves,
    deletion_order,
    generated_kind,
    stage_of,
)
from kube_objects.refs import KubeObject, ObjectRef

ALLOW_PRUNE = "kro-gitops: allow-prune"

_NAMED = 3  # objects that a brake's message names

# A kind (group and name), or a namespace, which has no group. No kind of the core group can be
# taken for a namespace: its name begins with a capital letter.
_Holder = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that is no longer wanted; `uid` is empty if it was never seen made."""

    ref: ObjectRef
    uid: str
    stage: Stage
    live: KubeObject | None


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """
    What to delete, group after group, each with the candidate's live uid as precondition.

    `kept` stays, and stays recorded; `forget` is gone, or not ours: to be struck off the records.
    `braked` says why nothing is deleted though something would be. If it `waits`, some of `kept`
    will go once others are gone.
    """

    delete: tuple[tuple[Candidate, ...], ...] = ()
    kept: tuple[tuple[Candidate, str], ...] = ()
    braked: str = ""
    forget: tuple[tuple[Candidate, str], ...] = ()
    waits: bool = False


def decide(  # noqa: PLR0913 - the facts of one revision, by name
    candidates: Sequence[Candidate],
    *,
    total: int,
    brake: Brake,
    allows_empty: bool,
    is_empty: bool,
    message: str,
    revision: str,
    instances_left: Callable[[KubeObject], int],
    source: str = "",
    wanted: Collection[ObjectRef] = (),
) -> PrunePlan:
    """
    Decide what becomes of the candidates.

    `total` is how many objects the source had, `is_empty` whether its revision has none,
    `instances_left` counts the instances of a definition in the whole cluster, those that are
    candidates too. `source` is `namespace/name`; `wanted` is what the revision has.
    """
    choice = _Choice(revision, source, instances_left)
    choice.sort(candidates, wanted)
    lifted = _allows_prune(message) or (is_empty and allows_empty)
    braked = "" if lifted else _brake(choice.delete, total, brake, is_empty)
    return PrunePlan(
        () if braked else tuple(_groups(choice.delete)),
        tuple(choice.kept),
        braked,
        tuple(choice.forget),
        choice.waits and not braked,
    )


@dataclass(slots=True)
class _Choice:
    """Sorts candidates, from the leaves to what holds them."""

    revision: str
    source: str
    instances_left: Callable[[KubeObject], int]
    delete: list[Candidate] = field(default_factory=list)
    kept: list[tuple[Candidate, str]] = field(default_factory=list)
    forget: list[tuple[Candidate, str]] = field(default_factory=list)
    waits: bool = False
    _staying: dict[_Holder, ObjectRef] = field(default_factory=dict)  # an example for each
    _going: Counter[_Holder] = field(default_factory=Counter)

    def sort(self, candidates: Sequence[Candidate], wanted: Collection[ObjectRef]) -> None:
        for ref in wanted:
            self._stays(ref)
        for candidate in sorted(candidates, key=lambda each: -each.stage):
            if candidate.live is None:
                self.forget.append((candidate, "it is gone"))
            else:
                self._sort(candidate, candidate.live)

    def _sort(self, candidate: Candidate, live: KubeObject) -> None:
        wishes = Wishes.of(live)
        if foreign := _not_ours(candidate, wishes, self.source):
            self.forget.append((candidate, foreign))
            self._stays(candidate.ref)
        elif reason := opted_out(wishes, self.revision) or self._holds(candidate.ref, live, wishes):
            self.kept.append((candidate, reason))
            self._stays(candidate.ref)
        else:
            self.delete.append(candidate)
            self._going.update(_holders(candidate.ref))

    def _stays(self, ref: ObjectRef) -> None:
        for holder in _holders(ref):
            self._staying.setdefault(holder, ref)

    def _holds(self, ref: ObjectRef, live: KubeObject, wishes: Wishes) -> str:
        """Say what would go with an object that others live in, or by."""
        holder = _held_by(ref, live)
        if holder is None:
            return ""
        if holder in self._staying:
            return f"{self._staying[holder]} would be deleted with it, and stays"
        if stage_of(ref.kind) is Stage.DEFINITIONS:
            return self._instances(live, self._going[holder])
        if asks_for_it(wishes, self.revision):
            return ""
        return (
            "it would take along what others made in it; "
            f"if that is meant, annotate it {PRUNE}: enabled"
        )

    def _instances(self, live: KubeObject, going: int) -> str:
        left = self.instances_left(live)
        if left <= 0:
            return ""
        if going >= left:
            self.waits = True
            return f"waits until its instances are gone ({left} left)"
        return f"{left} instances of its kind are left, and would be deleted with it"


def _not_ours(candidate: Candidate, wishes: Wishes, source: str) -> str:
    owner = wishes.annotations.get(SOURCE)
    if candidate.uid and wishes.uid != candidate.uid:
        return "it is another object than the one this source made (its uid differs)"
    if not candidate.uid and not owner:
        return f"it was never recorded as made by this source, and has no {SOURCE} annotation"
    if source and owner and owner != source:
        return f"it belongs to source {owner} now"
    return ""


def _holders(ref: ObjectRef) -> tuple[_Holder, ...]:
    """Return what an object cannot be without: its kind, and its namespace."""
    kind = (ref.kind.group, ref.kind.kind)
    return (kind, ("", ref.namespace)) if ref.namespace else (kind,)


def _held_by(ref: ObjectRef, live: KubeObject) -> _Holder | None:
    """Return what goes when this goes: a kind, a namespace, or nothing else."""
    match (ref.kind.group, ref.kind.kind):
        case ("", "Namespace"):
            return ("", ref.name)
        case ("apiextensions.k8s.io", "CustomResourceDefinition"):
            spec = _mapping(live.get("spec"))
            return str(spec.get("group")), str(_mapping(spec.get("names")).get("kind"))
        case _ if stage_of(ref.kind) is Stage.DEFINITIONS:
            kind = generated_kind(live)
            return (kind.group, kind.kind) if kind else ("", "")
        case _:
            return None


def _brake(delete: Sequence[Candidate], total: int, brake: Brake, is_empty: bool) -> str:
    going = [each for each in delete if not _is_going(each.live or {})]
    if not going:
        return ""
    count = len(going)
    percent = 100.0 * count / max(total, count)
    if is_empty:
        why, remedy = "no objects are left in the repository", "set spec.allowEmpty: true"
    elif count > brake.count and percent > brake.percent:
        why = f"more than {brake.percent:g} % and more than {brake.count} objects"
        remedy = "raise spec.maxPrune"
    else:
        return ""
    return (
        f"{count} of {max(total, count)} objects would be deleted ({_named(going)}): {why}; "
        f"if that is meant, write '{ALLOW_PRUNE}' on a line of its own in the commit "
        f"message, or {remedy}"
    )


def _named(candidates: Sequence[Candidate]) -> str:
    names = [str(each.ref) for each in candidates[:_NAMED]]
    more = len(candidates) - len(names)
    return ", ".join([*names, f"and {more} more"] if more else names)


def _is_going(live: KubeObject) -> bool:
    return bool(_mapping(live.get("metadata")).get("deletionTimestamp"))


def _allows_prune(message: str) -> bool:
    return any(line.strip() == ALLOW_PRUNE for line in message.splitlines())


def _groups(delete: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    by_ref = {each.ref: each for each in delete}
    orders = {
        Stage.OBJECTS: deletion_order,
        Stage.DEFINITIONS: _definitions_backwards,
        Stage.NAMESPACES: _backwards,
    }
    for stage, order in orders.items():
        lives = [_as_recorded(each) for each in delete if each.stage is stage]
        for group in order(lives):
            yield tuple(by_ref[ref] for ref in group)


def _as_recorded(candidate: Candidate) -> KubeObject:
    """Return the live object under the name we know: it may be served in another version."""
    ref, live = candidate.ref, candidate.live or {}
    metadata = {**_mapping(live.get("metadata")), "name": ref.name, "namespace": ref.namespace}
    kind = ref.kind
    return {**live, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def _definitions_backwards(lives: Sequence[KubeObject]) -> tuple[tuple[ObjectRef, ...], ...]:
    found = definition_waves(lives).waves
    ordered = {ref for wave in found for ref in wave}
    rings = tuple(ref for ref in map(ObjectRef.of, lives) if ref not in ordered)
    return tuple(group for group in (rings, *reversed(found)) if group)


def _backwards(lives: Sequence[KubeObject]) -> tuple[tuple[ObjectRef, ...], ...]:
    refs = sorted(map(ObjectRef.of, lives), key=apply_key, reverse=True)
    return (tuple(refs),) if refs else ()


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
