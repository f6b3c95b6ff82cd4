"""
What a source claims, so that other sources neither delete nor take over its objects.

Sources of one repository see a commit at different times. An object that moves from one source to
another must not be deleted by the first before the second has seen the commit: the first waits a
while, and meanwhile the second claims what the commit may give it.

A claim protects an object from being deleted. If the source that claims it cannot take it over,
because it is suspended or fails, the claim ends after `CLAIM_TIMEOUT`.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kro_gitops.source.api.types import Allow, SourceSpec
from kro_gitops.source.files.revision import Item, Snapshot
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.permissions import matches
from kro_gitops.source.plan.stages import Stage, stage_of
from kro_gitops.tracking.inventory import Key

CLAIM_TIMEOUT = 600.0  # seconds for a source that is suspended or fails to take an object over
_TIMEOUT = 30.0  # seconds for other sources of a repository to see the same commit


@dataclass(frozen=True, slots=True)
class Claims:
    """
    The objects that a source wants.

    `applied` are those of the last revision that was synced, None before the first sync; `coming`
    are those of a revision that is fetched and not synced yet.
    """

    applied: frozenset[Key] | None = None
    coming: frozenset[Key] = frozenset()

    def wants(self, key: Key, inventory: Container[Key]) -> bool:
        """Return True if git has the object; before the first sync, if the inventory has it."""
        if key in self.coming:
            return True
        return key in (inventory if self.applied is None else self.applied)


@dataclass(frozen=True, slots=True)
class Claimant:
    """
    Another source that claims an object.

    `trouble` is why it cannot take the object over now. Such a claim ends at `until`: a source that
    is suspended or fails must not keep the objects of others permanently.
    """

    name: str
    trouble: str = ""
    until: datetime | None = None  # None: as long as it claims the object
    is_over: bool = False

    @classmethod
    def of(
        cls, name: str, trouble: str, since: datetime | None, timeout: float, now: datetime
    ) -> "Claimant":
        """Return a claimant; `since` is when the owner began to wait, `timeout` in seconds."""
        if not trouble:
            return cls(name)
        until = (since or now) + timedelta(seconds=timeout)
        return cls(name, trouble, until, now >= until)


@dataclass(frozen=True, slots=True)
class Postponement:
    """Since when pruning waits for other sources; without a commit the source is being deleted."""

    commit: str
    since: float

    def is_over(self, now: float) -> bool:
        """Return True if other sources had enough time."""
        return now - self.since >= _TIMEOUT


def postpone(former: Postponement | None, commit: str, now: float) -> Postponement:
    """Return the postponement of a commit; each commit gets its own time."""
    if former is not None and former.commit == commit:
        return former
    return Postponement(commit, now)


def follows_same_ref(spec: SourceSpec, other: SourceSpec) -> bool:
    """Return True if two sources follow the same ref of the same repository."""
    return (other.url, other.ref, other.pin) == (spec.url, spec.ref, spec.pin)


def unclaimed(
    snapshot: Snapshot, applied: frozenset[Key] | None, desired: Mapping[Item, Desired]
) -> Iterator[Item]:
    """Yield the objects of a revision that the source does not claim already."""
    claimed = applied or frozenset()
    for item in snapshot.items:
        known = desired.get(item)
        if known is None or known.key not in claimed:
            yield item


def coming_claims(own: str, allow: Allow, items: Iterable[Item]) -> frozenset[Key]:
    """
    Return the objects that a revision may want, where the source may have them.

    Whether a kind is namespaced is not known yet, so both places are claimed.
    """
    refs = [item.ref for item in items]
    allowed = {
        namespace
        for namespace in {ref.namespace or own for ref in refs}
        if namespace == own or matches(namespace, allow.namespaces)
    }
    found: set[Key] = set()
    for ref in refs:
        kind, namespace = ref.kind, ref.namespace or own
        if namespace in allowed:
            found.add((kind.group, kind.kind, namespace, ref.name))
        if allow.rgds if stage_of(kind) is Stage.DEFINITIONS else allow.cluster_scoped:
            found.add((kind.group, kind.kind, "", ref.name))
    return frozenset(found)
