"""
What is remembered of each source between two reconciles, and whose an object is.

A `SourceState` is a value: a reconcile takes the one in the store, computes the next and puts it
back. Nothing else writes it. Watches, timers and other sources leave `Trigger`s instead, which the
next reconcile takes.

Two parts of a state are stores of their own, shared by all its versions: the inventory, which must
be known to everybody before the objects in it are created, and the library of files that were
parsed.

Which identity creates the children of an instance, and where they may be, is decided by the source
that has the instance in its inventory. It is never read from the instance itself, which its users
can edit.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

from kro_gitops.kube.api import Identity
from kro_gitops.metadata import (
    INSTANCE_GROUP,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    OWNED,
)
from kro_gitops.source.api.types import Allow, SourceSpec
from kro_gitops.source.files.revision import Library, Snapshot
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import Commit, Entry
from kro_gitops.source.plan.claims import Claims, Postponement
from kro_gitops.source.plan.conclude import CommitFacts, History
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.model import Memory
from kro_gitops.source.plan.permissions import child_rejection
from kro_gitops.source.plan.result import SyncResult
from kro_gitops.tracking.inventory import Inventory, Key, key_of
from kube_objects.refs import Kind, KubeObject, ObjectRef

FindInstance = Callable[[ObjectRef], KubeObject | None]


class Trigger(Flag):
    """Why a source is reconciled, besides a change of its spec or an unfinished sync."""

    NONE = 0
    POLL = auto()  # ask the remote
    FETCH = auto()  # a new commit is expected: fetch without asking first
    SYNC = auto()  # compare the objects with git
    HEALTH = auto()  # some object may have become ready, or no longer be


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """A commit and its manifests."""

    chosen: Chosen
    commit: Commit
    files: tuple[Entry, ...]
    snapshot: Snapshot
    signature: str = ""
    at: str = ""  # when it was fetched

    @property
    def revision(self) -> str:
        """Return the revision as it is reported: `main@sha1:…`."""
        return self.chosen.revision()

    @property
    def message(self) -> str:
        """Return the whole message of the commit."""
        return f"{self.commit.subject}\n{self.commit.body}"

    @property
    def facts(self) -> CommitFacts:
        """Return what is reported of the commit."""
        commit = self.commit
        return CommitFacts(self.revision, commit.author, commit.subject, self.signature)


@dataclass(frozen=True, slots=True, eq=False)
class SourceState:
    """One source: its object, what git has, and how far the cluster is."""

    key: ObjectRef
    source: KubeObject
    inventory: Inventory
    library: Library = field(default_factory=Library)
    spec: SourceSpec | None = None
    generation: int = 0  # of the spec

    # What was fetched
    fetched: Fetched | None = None
    fetched_generation: int = 0  # of the spec by which the files were chosen
    webhook_path: str = ""
    mirror: str = ""  # identity of the remote

    # What was synced
    synced: Fetched | None = None  # or has the same files
    synced_generation: int = 0
    result: SyncResult | None = None
    current: tuple[Desired, ...] = ()  # objects that are as git has them
    claims: Claims = field(default_factory=Claims)
    memory: Memory = field(default_factory=Memory)
    generations: Mapping[Key, int] = field(default_factory=dict)  # after our last apply
    healthy: Mapping[Key, object] = field(default_factory=dict)  # as they were when healthy
    lingering: frozenset[Kind] = frozenset()  # definitions stay for the last instances of these
    postponed: Postponement | None = None

    history: History = field(default_factory=History)

    @property
    def name(self) -> str:
        """Return `namespace/name`, as objects are annotated."""
        return self.key.place

    @property
    def raw_spec(self) -> dict[str, Any]:
        """Return the spec as it is written, valid or not."""
        found: dict[str, Any] = self.source.get("spec") or {}
        return found

    @property
    def is_fetch_outdated(self) -> bool:
        """Return True if the remote was never read by the present spec."""
        return self.fetched is None or self.fetched_generation != self.generation

    @property
    def is_sync_outdated(self) -> bool:
        """Return True if the cluster must be compared with git, without any trigger."""
        if self.result is None or self.synced is not self.fetched:
            return True
        return self.synced_generation != self.generation or self.result.is_unfinished

    def wants(self, key: Key) -> bool:
        """Return True if git has an object, or had it when it was last synced."""
        return self.claims.wants(key, self.inventory)


class SourceStore:
    """The states of all sources of a cluster, and the triggers of their next reconciles."""

    def __init__(self, default_account: str = "") -> None:
        """Take the service account of sources that name none; empty: the controller's own."""
        self._default_account = default_account
        self._states: dict[str, SourceState] = {}
        self._triggers: dict[str, Trigger] = {}

    def __iter__(self) -> Iterator[SourceState]:
        return iter(tuple(self._states.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._states

    def find(self, name: str) -> SourceState | None:
        """Return a source by `namespace/name`."""
        return self._states.get(name)

    def put(self, state: SourceState) -> SourceState:
        """Replace the state of a source; return it."""
        self._states[state.name] = state
        return state

    def drop(self, name: str) -> None:
        """Forget a source."""
        self._states.pop(name, None)
        self._triggers.pop(name, None)

    def trigger(self, name: str, trigger: Trigger) -> bool:
        """Add a trigger; return True if it was not set."""
        former = self._triggers.get(name, Trigger.NONE)
        self._triggers[name] = former | trigger
        return trigger not in former

    def has(self, name: str, trigger: Trigger) -> bool:
        """Return True if a trigger is set."""
        return trigger in self._triggers.get(name, Trigger.NONE)

    def take(self, name: str, trigger: Trigger) -> bool:
        """Clear triggers; return True if all of them were set."""
        former = self._triggers.get(name, Trigger.NONE)
        self._triggers[name] = former & ~trigger
        return trigger in former

    # Whose is it

    def claimant(self, key: Key, other_than: str) -> SourceState | None:
        """Return another source that wants an object."""
        return next((s for s in self if s.name != other_than and s.wants(key)), None)

    def identity(self, state: SourceState) -> Identity | None:
        """Return the identity that acts for a source; None is the controller."""
        name = state.raw_spec.get("serviceAccountName") or self._default_account
        return Identity.service_account(state.key.namespace, name) if name else None

    def identity_of(self, instance: KubeObject, find: FindInstance) -> Identity | None:
        """
        Return the identity that acts for the children of an instance; None is the controller.

        `find` returns a parent instance, and raises `NotYet` if it is not known whether there is
        one: a child of an instance that was not seen yet must not be taken for ours.
        """
        state = self._source_of(instance, find)
        return self.identity(state) if state is not None else None

    def refusal_of(self, instance: KubeObject, child: ObjectRef, find: FindInstance) -> str:
        """Return why an instance may not have a child; empty if it may."""
        state = self._source_of(instance, find)
        if state is None:
            return ""
        allow = state.spec.allow if state.spec is not None else Allow()
        why = child_rejection(allow, state.key.namespace, child, bool(child.namespace))
        return f"source {state.name}: {why}" if why else ""

    def _source_of(self, instance: KubeObject, find: FindInstance) -> SourceState | None:
        """Return the source of an instance, or of the outermost instance that it is a child of."""
        ref, seen = ObjectRef.of(instance), instance
        passed: set[ObjectRef] = set()  # forged labels may form a cycle
        while self._states and ref not in passed:
            passed.add(ref)
            owner = self._owner(key_of(ref))
            parent = _parent(seen)
            if owner is not None or parent is None:
                return owner
            owner = self._owner(key_of(parent))
            above = find(parent) if owner is None else None
            if above is None:
                return owner
            ref, seen = parent, above
        return None

    def _owner(self, key: Key) -> SourceState | None:
        owners = [state for state in self if key in state.inventory]
        return next((s for s in owners if s.wants(key)), owners[0] if owners else None)


def _parent(instance: KubeObject) -> ObjectRef | None:
    """Return the instance that this one is a child of, by its labels."""
    labels = instance["metadata"].get("labels") or {}
    if labels.get(OWNED) != "true" or not labels.get(INSTANCE_NAME):
        return None
    names = (INSTANCE_GROUP, INSTANCE_VERSION, INSTANCE_KIND)
    kind = Kind(*(labels.get(each, "") for each in names))
    return ObjectRef(kind, labels.get(INSTANCE_NAMESPACE, ""), labels[INSTANCE_NAME])
