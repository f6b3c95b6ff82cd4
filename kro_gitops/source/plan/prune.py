"""
Which objects a source deletes, in which order, and when it deletes nothing.

Candidates are objects in the inventory that the revision no longer has. Each is decided by the
first row that applies:

| observed | decision |
|---|---|
| not in the cluster | forget |
| another uid than the recorded one | forget: it was created again by another client |
| never recorded as created, and without our annotation | forget: it was there before us |
| annotated with another source's name | forget: it moved there |
| claimed by another source | keep until that has it; for a time only if it is suspended or fails |
| an annotation or label opts out (table below) | keep |
| an object that is kept or desired would be deleted with it | keep |
| a definition, and instances of its kind are left anywhere | keep: they would be deleted with it |
| a Namespace or a CRD | keep unless annotated: objects of others would be deleted with it |
| anything else | delete |

Annotations of the live object, ours and those of tools that may have managed it before:

| annotation | value | meaning |
|---|---|---|
| `gitops.kro.run/prune` | `disabled`, or an unknown value | keep |
| | `confirm` | keep until `gitops.kro.run/prune-approved` names the revision or its commit |
| | `enabled` | delete, a Namespace or CRD with everything in it too |
| `argocd.argoproj.io/sync-options` | `Prune=false` | keep |
| | `Prune=confirm` | as `confirm` above, approved by our annotation and not by Argo CD's |
| `kustomize.toolkit.fluxcd.io/prune` | `disabled` (also as a label) | keep |
| `helm.sh/resource-policy` | `keep` | keep |

One opt-out is enough. Seven digits of a commit are enough to approve it.

Then the limit: if the repository has no objects left, or more would be deleted than `maxPrune`
allows (count and percentage both exceeded), nothing is deleted at all. An instance counts with its
children, which are deleted with it. A line
`kro-gitops: allow-prune` in the commit message lifts both; `allowEmpty` lifts them for an empty
repository. Objects that have a deletionTimestamp already do not count.

Deletion reverses the order of apply: objects by their layers, then definitions (users of a kind
before the definition that generates it), then namespaces and the like. A group starts when the one
before it is gone.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.metadata import ARGOCD_SYNC_OPTIONS, PRUNE, PRUNE_APPROVED, SOURCE
from kro_gitops.source.api.types import Brake
from kro_gitops.source.plan.claims import Claimant
from kro_gitops.source.plan.live_metadata import is_applied, source_of, with_own_fields
from kro_gitops.source.plan.order import apply_key
from kro_gitops.source.plan.result import Fault
from kro_gitops.source.plan.stages import (
    Stage,
    definition_waves,
    deletion_order,
    generated_kind,
    stage_of,
)
from kro_gitops.tracking.foreign_owners import find_foreign_owner
from kro_gitops.tracking.inventory import Entry, Key
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.times import format_time

ALLOW_PRUNE = "kro-gitops: allow-prune"
NO_LIMIT = Brake(percent=100.0, count=1 << 60)

_MAX_NAMED = 3  # objects in the message of a limit
_FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
_HELM_POLICY = "helm.sh/resource-policy"
_ENABLED = ("enabled", "true")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")

# What other objects cannot exist without: a kind (group and name), or a namespace with an empty
# group. A kind of the core group is never equal to a namespace: its name starts with a capital.
_Container = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recorded object that is no longer desired; `uid` is empty if it was never seen created."""

    ref: ObjectRef
    uid: str
    stage: Stage
    live: KubeObject | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """
    Recorded objects that are no longer desired, sorted by whose they are now.

    `handed_over` are objects that another source claims, with its name: they stay until they are
    its own. `forgotten` are gone or belong to others, and leave the inventory.
    """

    own: tuple[Candidate, ...] = ()
    handed_over: tuple[tuple[ObjectRef, Claimant], ...] = ()
    forgotten: tuple[Key, ...] = ()
    warnings: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """
    What to delete, group after group, each object with its live uid as precondition.

    `kept` objects stay in the cluster and in the inventory; `forget` leave the inventory only.
    `braked` is the message of the limit that prevents every deletion. `waits` means that some of
    `kept` can be deleted once others are gone.
    """

    delete: tuple[tuple[Candidate, ...], ...] = ()
    kept: tuple[tuple[Candidate, str], ...] = ()
    braked: str = ""
    forget: tuple[tuple[Candidate, str], ...] = ()
    waits: bool = False


def find_candidates(
    recorded: Iterable[tuple[Entry, KubeObject | None]],
    *,
    source: str,
    claimant: Callable[[Key], Claimant | None],
    argocd: ArgoCD,
) -> Candidates:
    """
    Sort recorded objects by whose they are now.

    `claimant` returns another source that claims an object. Its claim does not hold if it is over,
    or if it cannot take the object over and the object is annotated to be pruned.
    """
    own: list[Candidate] = []
    handed_over: list[tuple[ObjectRef, Claimant]] = []
    forgotten: list[Key] = []
    warnings: list[Fault] = []
    for entry, live in recorded:
        # Any client can write our annotations; managedFields are written by the API server.
        is_ours = live is not None and source_of(live) == source and is_applied(live)
        if live is None or not is_ours or (entry.uid and live["metadata"]["uid"] != entry.uid):
            forgotten.append(entry.key)
        elif (owner := find_foreign_owner(with_own_fields(live), argocd=argocd)) is not None:
            text = f"{entry.ref} belongs to {owner} now, and is left to it"
            warnings.append(Fault("foreign-owner", text, str(entry.ref)))
            forgotten.append(entry.key)
        elif (
            (other := claimant(entry.key)) is not None
            and not other.is_over
            and not (
                other.trouble
                and _word(_mapping(live["metadata"].get("annotations")).get(PRUNE)) in _ENABLED
            )
        ):
            handed_over.append((entry.ref, other))
        else:
            known = entry.stage in Stage.__members__
            stage = Stage[entry.stage] if known else stage_of(entry.ref.kind)
            own.append(Candidate(entry.ref, live["metadata"]["uid"], stage, live))
    return Candidates(tuple(own), tuple(handed_over), tuple(forgotten), tuple(warnings))


@dataclass(frozen=True, slots=True)
class PruneFacts:
    """
    What decides about candidates, besides the candidates.

    `total` is the size of the inventory, `is_empty` whether the revision has no objects,
    `instances_left` counts the instances of a definition in the whole cluster, candidates included.
    `source` is `namespace/name`; `desired` are the objects of the revision, `recorded` those of the
    inventory. Children of instances are deleted with them, so they count.
    """

    total: int
    brake: Brake
    instances_left: Callable[[KubeObject], int]
    allows_empty: bool = False
    is_empty: bool = False
    message: str = ""  # of the commit
    revision: str = ""
    source: str = ""
    desired: Collection[ObjectRef] = ()
    recorded: Collection[ObjectRef] = ()
    is_instance: Callable[[Kind], bool] = lambda _: False
    children: Callable[[ObjectRef], int] = lambda _: 0  # of an instance, nested ones included


def plan_prune(candidates: Sequence[Candidate], facts: PruneFacts) -> PrunePlan:
    """Decide about each candidate, and order the deletions."""
    sorter = _Sorter(facts.revision, facts.source, facts.instances_left)
    for ref in facts.desired:
        sorter.mark_staying(ref)
    for candidate in sorted(candidates, key=lambda each: -each.stage):
        sorter.sort(candidate)
    is_lifted = allows_prune(facts.message) or (facts.is_empty and facts.allows_empty)
    braked = "" if is_lifted else _exceeded_limit(sorter.delete, facts)
    return PrunePlan(
        () if braked else tuple(_groups(sorter.delete)),
        tuple(sorter.kept),
        braked,
        tuple(sorter.forget),
        sorter.waits and not braked,
    )


def allows_prune(message: str) -> bool:
    """Return whether a commit message lifts the limit."""
    return any(line.strip() == ALLOW_PRUNE for line in message.splitlines())


def generated_kinds(candidates: Iterable[Candidate]) -> Iterator[Kind]:
    """Yield the kinds that definitions among the candidates generate."""
    for candidate in candidates:
        if candidate.live is not None and stage_of(candidate.ref.kind) is Stage.DEFINITIONS:
            kind = generated_kind(candidate.live)
            if kind is not None:
                yield kind


def handover_text(ref: ObjectRef, claimant: Claimant) -> str:
    """Return what a source waits for that must not delete an object: another one claims it."""
    text = f"source {claimant.name} to take over {ref}"
    if claimant.until is None:
        return text
    return f"{text} ({claimant.trouble}: the object is deleted at {format_time(claimant.until)})"


def instances_left(definition: KubeObject, counts: Mapping[Kind, int]) -> int:
    """Return how many instances of a definition's kind there are."""
    kind = generated_kind(definition)
    return counts.get(kind, 0) if kind is not None else 0


def kept_warnings(plan: PrunePlan) -> tuple[Fault, ...]:
    """Return a warning for each object that is kept though git no longer has it."""
    text = "not deleted, though it is no longer in git"
    return tuple(
        Fault("kept", f"{text}: {reason}", str(candidate.ref)) for candidate, reason in plan.kept
    )


@dataclass(slots=True)
class _Sorter:
    """Decides candidates one by one: contained objects first, then what contains them."""

    revision: str
    source: str
    instances_left: Callable[[KubeObject], int]
    delete: list[Candidate] = field(default_factory=list)
    kept: list[tuple[Candidate, str]] = field(default_factory=list)
    forget: list[tuple[Candidate, str]] = field(default_factory=list)
    waits: bool = False
    _staying: dict[_Container, ObjectRef] = field(default_factory=dict)  # one example for each
    _deleting: Counter[_Container] = field(default_factory=Counter)

    def mark_staying(self, ref: ObjectRef) -> None:
        """Record that an object stays, and so do its kind and its namespace."""
        for container in _containers(ref):
            self._staying.setdefault(container, ref)

    def sort(self, candidate: Candidate) -> None:
        """Append the candidate to one of the three lists."""
        live = candidate.live
        if live is None:
            self.forget.append((candidate, "it is gone"))
            return
        metadata = _mapping(live.get("metadata"))
        owner, foreign = _mapping(metadata.get("annotations")).get(SOURCE), ""
        if candidate.uid and metadata.get("uid") != candidate.uid:
            foreign = "it is another object than the one this source made (its uid differs)"
        elif not candidate.uid and not owner:
            foreign = (
                f"it was never recorded as made by this source, and has no {SOURCE} annotation"
            )
        elif self.source and owner and owner != self.source:
            foreign = f"it belongs to source {owner} now"
        if foreign:
            self.forget.append((candidate, foreign))
            self.mark_staying(candidate.ref)
        elif reason := _opted_out(metadata, self.revision) or self._contains(candidate, metadata):
            self.kept.append((candidate, reason))
            self.mark_staying(candidate.ref)
        else:
            self.delete.append(candidate)
            self._deleting.update(_containers(candidate.ref))

    def _contains(self, candidate: Candidate, metadata: Mapping[str, Any]) -> str:
        """Return which objects would be deleted with this one; empty if none, or if meant."""
        ref, live = candidate.ref, candidate.live or {}
        match (ref.kind.group, ref.kind.kind):
            case ("", "Namespace"):
                container = ("", ref.name)
            case ("apiextensions.k8s.io", "CustomResourceDefinition"):
                spec = _mapping(live.get("spec"))
                container = (str(spec.get("group")), str(_mapping(spec.get("names")).get("kind")))
            case _ if stage_of(ref.kind) is Stage.DEFINITIONS:
                kind = generated_kind(live)
                container = (kind.group, kind.kind) if kind else ("", "")
            case _:
                return ""
        if container in self._staying:
            return f"{self._staying[container]} would be deleted with it, and stays"
        if stage_of(ref.kind) is Stage.DEFINITIONS:
            left = self.instances_left(live)
            if left <= 0:
                return ""
            if self._deleting[container] >= left:
                self.waits = True
                return f"waits until its instances are gone ({left} left)"
            return f"{left} instances of its kind are left, and would be deleted with it"
        annotations = _mapping(metadata.get("annotations"))
        if _word(annotations.get(PRUNE)) in _ENABLED or _is_approved(annotations, self.revision):
            return ""
        return (
            "it would take along what others made in it; "
            f"if that is meant, annotate it {PRUNE}: enabled"
        )


def _containers(ref: ObjectRef) -> tuple[_Container, ...]:
    """Return what an object cannot exist without: its kind and its namespace."""
    kind = (ref.kind.group, ref.kind.kind)
    return (kind, ("", ref.namespace)) if ref.namespace else (kind,)


def _opted_out(metadata: Mapping[str, Any], revision: str) -> str:
    """Return why an object must not be pruned, by its annotations and labels; empty if it may."""
    labels, annotations = _mapping(metadata.get("labels")), _mapping(metadata.get("annotations"))
    ours = _word(annotations.get(PRUNE))
    options = frozenset(
        "".join(option.split()) for option in _word(annotations.get(ARGOCD_SYNC_OPTIONS)).split(",")
    )
    if "disabled" in (_word(annotations.get(_FLUX_PRUNE)), _word(labels.get(_FLUX_PRUNE))):
        return f"it says {_FLUX_PRUNE}: disabled"
    if _word(annotations.get(_HELM_POLICY)) == "keep":
        return f"it says {_HELM_POLICY}: keep"
    if "prune=false" in options:
        return f"it says {ARGOCD_SYNC_OPTIONS}: Prune=false"
    if ours and ours not in (*_ENABLED, "confirm"):
        return f"it says {PRUNE}: {annotations[PRUNE]}"
    asks_first = ours == "confirm" or "prune=confirm" in options
    if asks_first and not _is_approved(annotations, revision):
        return f"it waits for approval: annotate it {PRUNE_APPROVED}: {_commit(revision)}"
    return ""


def _is_approved(annotations: Mapping[str, Any], revision: str) -> bool:
    approved = annotations.get(PRUNE_APPROVED)
    if not isinstance(approved, str) or not approved or not revision:
        return False
    if approved == revision:
        return True
    short = _commit(approved.strip())
    return _COMMIT.fullmatch(short) is not None and _commit(revision).startswith(short)


def _commit(revision: str) -> str:
    """Return the commit of `main@sha1:…`, or the text itself if it is a commit already."""
    return revision.rpartition(":")[2]


def _word(value: object) -> str:
    return "" if value is None else str(value).strip().lower()


def _exceeded_limit(delete: Sequence[Candidate], facts: PruneFacts) -> str:
    """Return the message of the limit that the deletions exceed; empty if they do not."""
    fresh = [
        each
        for each in delete
        if not _mapping((each.live or {}).get("metadata")).get("deletionTimestamp")
    ]
    if not fresh:
        return ""
    children = sum(facts.children(each.ref) for each in fresh if facts.is_instance(each.ref.kind))
    brake, count = facts.brake, len(fresh) + children
    total = facts.total
    if count > brake.count:
        total += sum(facts.children(ref) for ref in facts.recorded if facts.is_instance(ref.kind))
    total = max(total, count)
    percent = 100.0 * count / total
    if facts.is_empty:
        why, remedy = "no objects are left in the repository", "set spec.allowEmpty: true"
    elif count > brake.count and percent > brake.percent:
        why = f"more than {brake.percent:g} % and more than {brake.count} objects"
        remedy = "raise spec.maxPrune"
    else:
        return ""
    names = [str(each.ref) for each in fresh[:_MAX_NAMED]]
    more = [f"and {len(fresh) - len(names)} more"] if len(fresh) > len(names) else []
    listed = ", ".join(names + more)
    if children:
        listed += f"; {children} of them are children of instances"
    return (
        f"{count} of {total} objects would be deleted ({listed}): {why}; if that is meant, write "
        f"'{ALLOW_PRUNE}' on a line of its own in the commit message, or {remedy}"
    )


def _groups(delete: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    """Yield what is deleted together, in the reverse order of apply."""
    by_ref = {each.ref: each for each in delete}
    for stage in sorted(Stage, reverse=True):
        objects: list[KubeObject] = []
        for candidate in delete:
            if candidate.stage is stage:
                # Under its recorded ref: the live object may be served in another version.
                ref, live = candidate.ref, candidate.live or {}
                names = {"name": ref.name, "namespace": ref.namespace}
                metadata = {**_mapping(live.get("metadata")), **names}
                kind = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind}
                objects.append({**live, **kind, "metadata": metadata})
        groups: tuple[tuple[ObjectRef, ...], ...]
        match stage:
            case Stage.OBJECTS:
                groups = deletion_order(objects)
            case Stage.DEFINITIONS:
                waves = definition_waves(objects).waves
                ordered = {ref for wave in waves for ref in wave}
                cyclic = tuple(ref for ref in map(ObjectRef.of, objects) if ref not in ordered)
                groups = (cyclic, *reversed(waves))
            case Stage.NAMESPACES:
                groups = (tuple(sorted(map(ObjectRef.of, objects), key=apply_key, reverse=True)),)
        for group in filter(None, groups):
            yield tuple(by_ref[ref] for ref in group)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
