"""
All sources at once: what each holds, whose an object is, and as whom to act for it.

As whom the children of an instance are made, and where they may be, is decided by the source that
has the instance in its inventory. It is never read off the instance, which whoever may edit it
could change.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
from kro_gitops.source.accounts import Account
from kro_gitops.source.desired import Wanted
from kro_gitops.source.fetch.model import Commit, Entry
from kro_gitops.source.limits import child_refusal
from kro_gitops.source.notifications import Chronicle
from kro_gitops.source.revision import Chosen
from kro_gitops.source.snapshot import Item, Library, Snapshot
from kro_gitops.source.spec import Allow, SourceSpec
from kro_gitops.source.status import Run
from kro_gitops.tracking.inventory import Inventory, Key, key_of
from kube_objects.refs import Kind, KubeObject, ObjectRef


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """A commit, and what it wants."""

    chosen: Chosen
    commit: Commit
    files: tuple[Entry, ...]
    snapshot: Snapshot
    signature: str = ""
    at: str = ""  # when that was

    @property
    def revision(self) -> str:
        """Return what people and tools call it."""
        return self.chosen.revision()

    @property
    def message(self) -> str:
        """Return the whole message of the commit."""
        return f"{self.commit.subject}\n{self.commit.body}"


@dataclass(slots=True, eq=False)
class Held:
    """What is remembered of a source between two reconciles."""

    key: ObjectRef
    source: KubeObject
    inventory: Inventory
    library: Library = field(default_factory=Library)
    spec: SourceSpec | None = None
    generation: int = 0  # of the spec that was read

    # What git said last
    wants_poll: bool = True
    is_called: bool = False  # somebody says that there is something new
    is_respecified: bool = True  # what was fetched was read by another spec
    fetched: Fetched | None = None
    fetch_failures: int = 0  # in a row
    webhook_path: str = ""
    mirror: str = ""  # where it is fetched to

    # How far it is
    is_dirty: bool = True  # what is there must be compared with what is wanted
    is_stirred: bool = True  # something may have become ready, or no longer be
    wanted: frozenset[Key] | None = None  # None: git was not compared yet
    coming: frozenset[Key] = frozenset()  # what a revision may want that is not gone through yet
    settled: dict[Key, tuple[bytes, str]] = field(default_factory=dict)  # what was found current
    made: dict[Item, Wanted] = field(default_factory=dict)
    kinds: dict[Kind, Kind] = field(default_factory=dict)  # one of each: told apart at a glance
    generations: dict[Key, int] = field(default_factory=dict)  # that our applies led to
    fine: dict[Key, object] = field(default_factory=dict)  # what was found healthy, as it was then
    current: list[Wanted] = field(default_factory=list)  # as git wants them
    account: Account | None = None
    run: Run | None = None
    waiting_since: float | None = None
    unfinished_since: float | None = None  # also while things are being deleted
    postponed: tuple[str, float] | None = None  # at which commit pruning waits, and since when
    lingering: frozenset[Kind] = frozenset()  # whose definition stays for its last instance
    attempts: int = 0  # at the same content, with the same outcome
    outcome: str = ""
    chronicle: Chronicle | None = None  # what has been told of it

    @property
    def name(self) -> str:
        """Return namespace and name, as objects name their source."""
        return self.key.place

    @property
    def raw(self) -> dict[str, Any]:
        """Return the spec as it is written."""
        found: dict[str, Any] = self.source.get("spec") or {}
        return found

    def begin_anew(self) -> None:
        """Forget what may not hold for a new spec."""
        self.wants_poll = self.is_dirty = self.is_respecified = True
        self.made.clear()
        self.attempts = 0

    def wants(self, key: Key) -> bool:
        """Say whether git wants an object; if git was not read yet, whether it did."""
        if key in self.coming:
            return True
        return key in (self.inventory if self.wanted is None else self.wanted)


class Registry:
    """The sources of a cluster."""

    def __init__(
        self,
        default_account: str = "",
        look: Callable[[ObjectRef], KubeObject | None] = lambda _: None,
    ) -> None:
        """
        Take the account of sources that name none, and how to look at an instance.

        `look` raises `NotYet` where it cannot tell: whoever belongs to an instance that was not
        seen yet must not be taken for ours.
        """
        self._default_account = default_account
        self._look = look
        self._held: dict[str, Held] = {}

    def __iter__(self) -> Iterator[Held]:
        return iter(tuple(self._held.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def find(self, name: str) -> Held | None:
        """Return a source by namespace and name."""
        return self._held.get(name)

    def put(self, held: Held) -> None:
        """Add a source."""
        self._held[held.name] = held

    def drop(self, name: str) -> None:
        """Forget a source."""
        self._held.pop(name, None)

    def claimant(self, key: Key, other_than: Held) -> Held | None:
        """Return another source that wants an object."""
        return next((e for e in self if e is not other_than and e.wants(key)), None)

    def identity(self, held: Held) -> Identity | None:
        """Return as whom to act for a source; `None` is ourselves."""
        name = held.raw.get("serviceAccountName") or self._default_account
        return Identity.service_account(held.key.namespace, name) if name else None

    def identity_of(self, instance: KubeObject) -> Identity | None:
        """Return as whom to act for the children of an instance."""
        held = self._owner(instance)
        return self.identity(held) if held is not None else None

    def refusal_of(self, instance: KubeObject, child: ObjectRef) -> str:
        """Say why an instance may not have a child; empty if it may."""
        held = self._owner(instance)
        if held is None:
            return ""
        allow = held.spec.allow if held.spec is not None else Allow()
        refused = child_refusal(allow, held.key.namespace, child, bool(child.namespace))
        return f"source {held.name}: {refused}" if refused else ""

    def _owner(self, instance: KubeObject) -> Held | None:
        """Find the source of an instance, or of the outermost instance that it is a child of."""
        ref, seen = ObjectRef.of(instance), instance
        passed: set[ObjectRef] = set()  # labels that were forged may lead in a circle
        while self._held and ref not in passed:
            passed.add(ref)
            holder = self._holder(key_of(ref))
            parent = _parent(seen)
            if holder is not None or parent is None:
                return holder
            held = self._holder(key_of(parent))
            above = self._look(parent) if held is None else None
            if above is None:
                return held
            ref, seen = parent, above
        return None

    def _holder(self, key: Key) -> Held | None:
        holders = [each for each in self if key in each.inventory]
        return next((each for each in holders if each.wants(key)), holders[0] if holders else None)


def _parent(instance: KubeObject) -> ObjectRef | None:
    """Return the instance that made this one."""
    labels = instance["metadata"].get("labels") or {}
    if labels.get(OWNED) != "true" or not labels.get(INSTANCE_NAME):
        return None
    names = (INSTANCE_GROUP, INSTANCE_VERSION, INSTANCE_KIND)
    kind = Kind(*(labels.get(each, "") for each in names))
    return ObjectRef(kind, labels.get(INSTANCE_NAMESPACE, ""), labels[INSTANCE_NAME])
