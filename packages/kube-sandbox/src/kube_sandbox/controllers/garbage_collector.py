"""
Owner references → the next objects to delete or to strip.

The graph stores the owners of every object and whether it is being deleted. It receives each change
and returns the objects to process again, and for one of them the next step. It executes nothing:
the caller executes a step and passes the resulting change to the graph.

What is done with an object depends on its owners. One that is there and stays is *solid*; one that
is not there, or is another object of the same name, is *dangling*; one that is being deleted and
waits for its dependents is *waiting*. A solid owner keeps its dependent, which loses its references
to the others; without one the dependent goes. A kind that is not served is no evidence either way.

Follows kubernetes 1.35 pkg/controller/garbagecollector/garbagecollector.go
GarbageCollector.attemptToDeleteItem, GarbageCollector.processDeletingDependentsItem,
GarbageCollector.orphanDependents; pkg/controller/garbagecollector/graph_builder.go
GraphBuilder.processGraphChanges.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kube_objects.refs import KubeObject

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
Propagation = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """What the garbage collector knows of an object."""

    bucket: str
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    owners: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_deleting: bool = False

    @classmethod
    def of(cls, bucket: str, obj: KubeObject) -> "Node":
        """Read an object."""
        metadata = obj["metadata"]
        return cls(
            bucket,
            obj.get("apiVersion", ""),
            obj.get("kind", ""),
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
            tuple(map(_owner, metadata.get("ownerReferences") or ())),
            tuple(metadata.get("finalizers") or ()),
            "deletionTimestamp" in metadata,
        )

    @property
    def is_waiting(self) -> bool:
        """Return whether it is being deleted and waits for its dependents."""
        return self.is_deleting and FOREGROUND in self.finalizers

    @property
    def is_orphaning(self) -> bool:
        """Return whether it is being deleted and leaves its dependents behind."""
        return self.is_deleting and ORPHAN in self.finalizers


def _owner(reference: dict[str, Any]) -> Owner:
    return Owner(
        reference.get("apiVersion", ""),
        reference.get("kind", ""),
        reference.get("name", ""),
        reference.get("uid", ""),
        bool(reference.get("blockOwnerDeletion")),
    )


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """Delete an object, if it is still that one."""

    node: Node
    propagation: Propagation


@dataclass(frozen=True, slots=True)
class StripOwners:
    """Take references to owners off an object."""

    node: Node
    uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class UnblockOwnerDeletion:
    """Let no reference of an object hold up its owners."""

    node: Node


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Take a finalizer off an object."""

    node: Node
    finalizer: str


@dataclass(frozen=True, slots=True)
class ReportInvalidOwner:
    """Tell of an owner reference that can never be right, as an Event about the object."""

    node: Node
    owner: Owner

    @property
    def message(self) -> str:
        """Return the event's message; its reason is OwnerRefInvalidNamespace, its type Warning."""
        owner, namespace = self.owner, self.node.namespace
        named = f"{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}"
        return f'ownerRef [{named}, uid: {owner.uid}] does not exist in namespace "{namespace}"'


Step = DeleteObject | StripOwners | UnblockOwnerDeletion | RemoveFinalizer | ReportInvalidOwner


@dataclass(frozen=True, slots=True)
class Place:
    """Where the objects of a kind are."""

    bucket: str
    is_namespaced: bool


# apiVersion and kind → where such objects are; `None` if the kind is not served.
Places = Callable[[str, str], Place | None]


@dataclass(frozen=True, slots=True)
class _ClassifiedOwners:
    """An object's owners by their state."""

    solid: tuple[Owner, ...]
    dangling: tuple[Owner, ...]
    waiting: tuple[Owner, ...]


class Graph:
    """Every object, and who owns whom."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._nodes: dict[str, Node] = {}
        self._named: dict[tuple[str, str, str], str] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def put(self, node: Node) -> list[str]:
        """Take note of an object as it is now; return the uids to look at."""
        before = self._nodes.get(node.uid)
        self._nodes[node.uid] = node
        self._named[(node.bucket, node.namespace, node.name)] = node.uid
        if before == node:
            found = []
        else:
            former = {each.uid: each for each in before.owners} if before else {}
            current = {each.uid: each for each in node.owners}
            for uid in former.keys() - current.keys():
                self._unlink(uid, node.uid)
            for uid in current:
                self._dependents.setdefault(uid, {})[node.uid] = None
            # An owner that waits may now go on: it was let go, or is no longer held up.
            freed = [uid for uid, each in former.items() if each != current.get(uid)]
            found = [*freed, *([node.uid] if node.owners or node.is_deleting else [])]
            if node.is_waiting:
                found += self._dependents.get(node.uid, ())
                found += current
        return list(dict.fromkeys(found))

    def _unlink(self, owner: str, dependent: str) -> None:
        held = self._dependents.get(owner, {})
        held.pop(dependent, None)
        if not held:
            self._dependents.pop(owner, None)

    def remove(self, uid: str) -> list[str]:
        """Forget an object; return the uids to look at: its dependents, and its owners."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return []
        place = (node.bucket, node.namespace, node.name)
        if self._named.get(place) == uid:
            del self._named[place]
        for owner in node.owners:
            self._unlink(owner.uid, uid)
        return [*self._dependents.get(uid, ()), *(each.uid for each in node.owners)]

    def dependents(self, uid: str) -> list[Node]:
        """Return the objects that name an object as their owner."""
        node = self._nodes.get(uid)
        return [] if node is None else self._dependents_of(node)

    def served(self, api_version: str, kind: str) -> list[str]:
        """Return the uids to look at since a kind is served now: those that it may own."""
        return [
            node.uid
            for node in self._nodes.values()
            if any((each.api_version, each.kind) == (api_version, kind) for each in node.owners)
        ]

    def steps(self, uid: str) -> list[Step]:
        """Return what is to be done about an object now."""
        node = self._nodes.get(uid)
        if node is None:
            return []
        if node.is_orphaning:
            # Let the dependents go, then the object.
            steps: list[Step] = [
                StripOwners(each, frozenset((node.uid,))) for each in self._dependents_of(node)
            ]
            return [*steps, RemoveFinalizer(node, ORPHAN)]
        if node.is_waiting:
            # Go once nothing is left that holds the object up.
            blocking = [
                each
                for each in self._dependents_of(node)
                if any(owner.uid == node.uid and owner.blocks for owner in each.owners)
            ]
            if not blocking:
                return [RemoveFinalizer(node, FOREGROUND)]
            wait: list[Step] = []
            for each in blocking:
                if not each.is_deleting and each.uid != node.uid:
                    wait += self._steps_of(each)
            return wait
        if node.is_deleting or not node.owners:
            return []
        return self._steps_of(node)

    def _dependents_of(self, node: Node) -> list[Node]:
        found = (self._nodes.get(uid) for uid in self._dependents.get(node.uid, ()))
        return [each for each in found if each is not None and self._is_held(node, each)]

    @staticmethod
    def _is_held(owner: Node, dependent: Node) -> bool:
        """Return whether a reference can mean the owner, which may be in another namespace."""
        return not owner.namespace or owner.namespace == dependent.namespace

    def _steps_of(self, node: Node) -> list[Step]:
        """Keep, strip or delete an object, by its owners."""
        complaints: list[Step] = []
        for owner in node.owners:
            there = self._nodes.get(owner.uid)
            if there is not None and not self._is_held(there, node):
                complaints.append(ReportInvalidOwner(node, owner))
        sorts: dict[str, list[Owner]] = {"solid": [], "dangling": [], "waiting": []}
        for owner in node.owners:
            place = self._places(owner.api_version, owner.kind)
            if place is None or (place.is_namespaced and not node.namespace):
                owners: _ClassifiedOwners | None = None
                break
            namespace = node.namespace if place.is_namespaced else ""
            uid = self._named.get((place.bucket, namespace, owner.name))
            found = self._nodes[uid] if uid == owner.uid and uid is not None else None
            if found is None:
                sorts["dangling"].append(owner)
            else:
                sorts["waiting" if found.is_waiting else "solid"].append(owner)
        else:
            owners = _ClassifiedOwners(
                *(tuple(sorts[each]) for each in ("solid", "dangling", "waiting"))
            )
        if owners is None:
            return complaints
        gone = frozenset(each.uid for each in (*owners.dangling, *owners.waiting))
        if owners.solid:
            return [*complaints, StripOwners(node, gone)] if gone else complaints
        if owners.waiting and self._dependents.get(node.uid):
            unblock: list[Step] = []
            # Two that wait for each other would wait forever.
            if any(each.is_waiting for each in self._dependents_of(node)):
                unblock.append(UnblockOwnerDeletion(node))
            return [*complaints, *unblock, DeleteObject(node, "Foreground")]
        # How an object asks for its own dependents to be treated.
        if ORPHAN in node.finalizers:
            propagation: Propagation = "Orphan"
        else:
            propagation = "Foreground" if FOREGROUND in node.finalizers else "Background"
        return [*complaints, DeleteObject(node, propagation)]
