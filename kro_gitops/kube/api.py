"""
The protocols through which controllers access a cluster.

Code that only reads takes a `Reader`, code that writes a `Writer`; a `Cluster` is both, and can act
as another identity. An `ObjectRef` names an object, a `Selection` a set of objects. Failures are
raised as the errors of `kube.responses` and `errors`: `NotFound`, `Conflict`, `NotServed`,
`ClusterUnavailable` and others.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from kube_objects.refs import Kind, KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity to impersonate; the API server checks both our rights and theirs."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @classmethod
    def service_account(cls, namespace: str, name: str) -> "Identity":
        """Name a service account; its groups are the API server's to add."""
        return cls(f"system:serviceaccount:{namespace}:{name}")


@dataclass(frozen=True, slots=True)
class Resource:
    """How a kind is served: the plural in its paths, its scope, what can be done with it."""

    kind: Kind
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects: those of a kind, in one namespace or all, that match selectors."""

    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False  # nothing but apiVersion, kind and metadata is sent


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of a selection, and the version a watch may go on from."""

    items: tuple[KubeObject, ...]
    resource_version: str


class EventType(StrEnum):
    """What a watch reports."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"  # nothing happened up to this version


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One thing a watch reports; a bookmark's object has nothing but its version."""

    type: EventType
    object: KubeObject

    @property
    def resource_version(self) -> str:
        """Return the version from which a watch may go on after this event."""
        version: str = self.object["metadata"]["resourceVersion"]
        return version


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write: the field manager, and whether it is a dry-run."""

    manager: str = ""
    force: bool = False  # apply only: take fields over from other managers
    dry_run: bool = False
    subresource: str = ""  # "status", say
    strict: bool = False  # reject unknown fields instead of dropping them


DEFAULT_WRITE = WriteOptions()


@dataclass(frozen=True, slots=True)
class MergePatch:
    """What to change: fields given replace, null removes, the rest stays (RFC 7386)."""

    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """What to change, operation by operation; a failed `test` rejects all (RFC 6902)."""

    operations: Sequence[Mapping[str, Any]]


Patch = MergePatch | JsonPatch


class Propagation(StrEnum):
    """What becomes of the objects that the deleted one owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Which object is meant, if it is not any of that name, and what becomes of those it owns."""

    uid: str = ""
    resource_version: str = ""
    propagation: Propagation | None = None  # None: as the kind has it
    dry_run: bool = False


DEFAULT_DELETE = DeleteOptions()

Transform = Callable[[KubeObject], KubeObject]


def as_served(obj: KubeObject) -> KubeObject:
    """Keep an object unchanged."""
    return obj


class Reader(Protocol):
    """Reads objects."""

    async def get(self, ref: ObjectRef) -> KubeObject:
        """Return an object, or raise `NotFound`."""

    async def find(self, ref: ObjectRef) -> KubeObject | None:
        """Return an object, or `None`."""

    async def list(self, selection: Selection, keep: Transform = as_served) -> Listing:
        """Return all objects of a selection; `keep` sees each as it arrives, and may trim it."""

    def watch(
        self, selection: Selection, since: str
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """
        Open a watch that reports what happens after version `since`, until the server ends it.

        Raises `Expired`, at once or from the iterator, if the version is too long ago.
        """


class Writer(Protocol):
    """Writes objects; each method returns the object as the server has it afterwards."""

    async def create(self, obj: KubeObject, options: WriteOptions = DEFAULT_WRITE) -> KubeObject:
        """Create an object that must not exist."""

    async def apply(self, obj: KubeObject, options: WriteOptions) -> KubeObject:
        """Have the fields of `obj`, and of those the manager set before no others (server-side)."""

    async def patch(
        self, ref: ObjectRef, patch: Patch, options: WriteOptions = DEFAULT_WRITE
    ) -> KubeObject:
        """Change some fields of an object that must exist."""

    async def delete(self, ref: ObjectRef, options: DeleteOptions = DEFAULT_DELETE) -> KubeObject:
        """Delete an object, or raise `NotFound`; with finalizers it only begins to go."""


class Cluster(Reader, Writer, Protocol):
    """A cluster, seen with the rights of one identity."""

    def acting_as(self, identity: Identity | None) -> "Cluster":
        """Return the same cluster as another identity sees it; `None` is ourselves."""
