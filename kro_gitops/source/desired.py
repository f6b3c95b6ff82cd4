"""
What git says → what is applied: the object with our marks on it, and whether it is there already.

The marks say for people and for us where an object came from: source, file, and the commit at which
its content last changed. A commit that changes something else leaves them as they are.

Whether an object is as it should be is told from its metadata alone: the hash of what was applied
last stands on it as a label, and the API server's notes say whether all those fields are still
ours. No value is compared, so neither defaulting nor webhooks look like drift.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kro_gitops.engine.plan.children import digest
from kro_gitops.metadata import (
    ADOPT,
    APPLYSET_PART_OF,
    DEPENDS_ON,
    FORCE,
    GITOPS_PREFIX,
    OWNED,
    PRUNE,
    PRUNE_APPROVED,
    READY_CONDITIONS,
    REVISION,
    SOURCE,
    SOURCE_HASH,
    SOURCE_PATH,
    WAVE,
)
from kro_gitops.source.snapshot import Item
from kro_gitops.source.stages import Stage
from kro_gitops.tracking.inventory import Entry, Key, key_of
from kro_gitops.tracking.methods import TrackingMetadata
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, owns_all_fields
from kube_objects.problems import Problem, Spot
from kube_objects.refs import KubeObject, ObjectRef

# What the server sets; in git it is a leftover of `kubectl get -o yaml`.
_SERVERS_METADATA = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")

# By these an instance finds its children, waits for them and deletes them.
_ENGINES = frozenset({OWNED, APPLYSET_PART_OF})

# Our keys that people may write; all others are ours alone.
_PEOPLES = frozenset({ADOPT, READY_CONDITIONS, WAVE, DEPENDS_ON, PRUNE, PRUNE_APPROVED, FORCE})


class State(StrEnum):
    """How an object stands to what is wanted of it."""

    CURRENT = "current"
    ABSENT = "absent"
    CHANGED = "changed"  # git wants something else than last time
    DRIFTED = "drifted"  # somebody took a field from us
    GOING = "going"


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """An object as it is to be applied."""

    item: Item
    ref: ObjectRef
    object: KubeObject
    stage: Stage
    revision: str

    # Looked at for every object of every commit, and held by several tables: made once.
    key: Key = field(init=False)  # what it is found by
    hash: str = field(init=False)  # what its label says was applied
    asks_for_order: bool = field(init=False)  # its author wants it before or after others

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", key_of(self.ref))
        object.__setattr__(self, "hash", self.object["metadata"]["labels"][SOURCE_HASH])
        annotations = self.object["metadata"].get("annotations") or {}
        has_order = WAVE in annotations or DEPENDS_ON in annotations
        object.__setattr__(self, "asks_for_order", has_order)

    def entry(self, uid: str = "") -> Entry:
        """Return what the inventory says of it."""
        digest_ = self.item.digest if uid else ""
        return Entry(self.ref, uid, digest_, self.stage.name, self.item.path, self.revision)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the objects of a source come from; `extra` are further marks, such as Argo CD's."""

    source: str  # namespace/name
    commit: str

    def onto(
        self, item: Item, ref: ObjectRef, entry: Entry | None, stage: Stage, extra: TrackingMetadata
    ) -> Wanted:
        """Make an item ready to be applied."""
        _refuse_reserved(item)
        body = without_leftovers(item.manifest.object)
        metadata = dict(body["metadata"])
        metadata.pop("namespace", None)
        if ref.namespace:
            metadata["namespace"] = ref.namespace
        ours = {**extra.annotations, SOURCE: self.source, SOURCE_PATH: item.path}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **ours}
        metadata["labels"] = {**(metadata.get("labels") or {}), **extra.labels}
        stamped = {**body, "metadata": metadata}
        metadata["labels"][SOURCE_HASH] = digest(stamped)
        is_same = entry is not None and entry.hash == item.digest
        revision = entry.revision if entry is not None and is_same else self.commit
        metadata["annotations"][REVISION] = revision or self.commit
        return Wanted(item, ref, stamped, stage, revision or self.commit)


def assess(wanted: Wanted, live: KubeObject | None) -> State:
    """Say how a live object (its metadata is enough) stands to what is wanted."""
    if live is None:
        return State.ABSENT
    if live["metadata"].get("deletionTimestamp") is not None:
        return State.GOING
    labels = live["metadata"].get("labels") or {}
    if labels.get(SOURCE_HASH) != wanted.hash:
        return State.CHANGED
    is_whole = isinstance(live, CachedObject) and owns_all_fields(live.owned, wanted.object)
    return State.CURRENT if is_whole else State.DRIFTED


def without_leftovers(obj: KubeObject) -> KubeObject:
    """Return an object without what only the server may set."""
    metadata: dict[str, Any] = obj.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in _SERVERS_METADATA}
    rest = {key: value for key, value in obj.items() if key != "status"}
    return {**rest, "metadata": kept}


def _refuse_reserved(item: Item) -> None:
    metadata = item.manifest.object.get("metadata") or {}
    for section in ("labels", "annotations"):
        found = metadata.get(section)
        for key in found if isinstance(found, dict) else ():
            is_ours = key.startswith(GITOPS_PREFIX) and key not in _PEOPLES
            if is_ours or (section == "labels" and key in _ENGINES):
                raise ReservedKeyError(section, key)


class ReservedKeyError(RefusedError):
    """A key in git that only we may write: with it a file could claim to be another's."""

    def __init__(self, section: str, key: str) -> None:
        super().__init__(
            "reserved-metadata",
            f"the {section[:-1]} {key} is set by kro-gitops and may not stand in git",
            hint="remove it",
        )
        self.problem = Problem(
            self.code, self.message, Spot(("metadata", section, key), on_key=True), hint=self.hint
        )
