"""
What is remembered of each source between two reconciles, and which source wants an object.

A `SourceState` is a value: a reconcile takes the one in the store, computes the next and puts it
back. Nothing else writes it. Watches, timers and other sources leave `Trigger`s instead, which the
next reconcile takes.

Two parts of a state are stores of their own, shared by all its versions: the inventory, which must
be known to everybody before the objects in it are created, and the library of files that were
parsed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Flag, auto
from typing import Any

from kro_gitops.engine.plan.prune_limit import approves
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Identity
from kro_gitops.metadata import PRUNE_APPROVED
from kro_gitops.source.api.types import ObjectPin, SourceSpec
from kro_gitops.source.files.revision import Item, Library, Snapshot
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import Commit, Entry
from kro_gitops.source.plan.claims import Claims, Postponement
from kro_gitops.source.plan.conclude import CommitFacts, History
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.model import Memory
from kro_gitops.source.plan.prune import allows_prune
from kro_gitops.source.plan.result import SyncResult
from kro_gitops.tracking.inventory import Inventory, Key
from kube_objects.refs import Kind, KubeObject, ObjectRef


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
    pinned: Mapping[ObjectPin, Item] = field(default_factory=dict)  # objects of other commits

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
    is_held: bool = False  # our finalizer was seen after it was added: the source cannot get lost
    library: Library = field(default_factory=Library)
    spec: SourceSpec | None = None
    generation: int = 0  # of the spec

    # What was fetched
    fetched: Fetched | None = None
    fetched_generation: int = 0  # of the spec by which the files were chosen
    webhook_path: str = ""
    mirror: str = ""  # identity of the remote
    fetch_error: KroGitopsError | None = None  # of the last poll
    retry_at: float = 0.0  # when a poll that failed is repeated, by the clock of the event loop
    requested: str = ""  # the request to reconcile that was seen last
    answered: str = ""  # the one that was answered by a poll

    # What was synced
    synced: Fetched | None = None  # or has the same files
    synced_generation: int = 0
    result: SyncResult | None = None
    sync_seconds: float = 0.0  # that the last sync took
    retry_sync_at: float = 0.0  # when failures are retried, by the clock of the event loop
    current: tuple[Desired, ...] = ()  # objects that are as git has them
    claims: Claims = field(default_factory=Claims)
    memory: Memory = field(default_factory=Memory)
    generations: Mapping[Key, int] = field(default_factory=dict)  # after our last apply
    healthy: Mapping[Key, object] = field(default_factory=dict)  # as they were when healthy
    lingering: frozenset[Kind] = frozenset()  # definitions stay for the last instances of these
    postponed: Postponement | None = None
    handovers: Mapping[Key, datetime] = field(default_factory=dict)  # since when each is awaited

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
        return self.synced_generation != self.generation

    @property
    def allows_prune(self) -> bool:
        """Return True if the commit, or an annotation that names it, lifts the limit of pruning."""
        if self.fetched is None:
            return False
        annotations = self.source["metadata"].get("annotations") or {}
        approved = annotations.get(PRUNE_APPROVED, "")
        return allows_prune(self.fetched.message) or approves(approved, self.fetched.revision)

    def lacks_pins(self, spec: SourceSpec) -> bool:
        """Return True if other objects are pinned than when the revision was read."""
        return self.fetched is not None and {*self.fetched.pinned} != {*spec.pins}

    def must_go_on(self, now: float) -> bool:
        """Return True if the last sync was not finished, and it is time to go on."""
        if self.result is None or not self.result.is_unfinished:
            return False
        is_paused = self.result.is_retryable and now < self.retry_sync_at
        return not is_paused

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
        self.lost: set[str] = set()  # sources that were removed despite our finalizer

    def __iter__(self) -> Iterator[SourceState]:
        return iter(tuple(self._states.values()))

    def __len__(self) -> int:
        return len(self._states)

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
        self.lost.discard(name)

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

    def claimants(self, key: Key, other_than: str) -> Iterator[SourceState]:
        """Yield the other sources that claim an object."""
        return (state for state in self if state.name != other_than and state.wants(key))

    def identity(self, state: SourceState) -> Identity | None:
        """Return the identity that acts for a source; None is the controller."""
        account = self.account_of(state.source)
        return Identity.service_account(state.key.namespace, account) if account else None

    def account_of(self, source: KubeObject) -> str:
        """Return the service account of a source, by its raw spec, valid or not; may be empty."""
        named: str = (source.get("spec") or {}).get("serviceAccountName") or ""
        return named or self._default_account
