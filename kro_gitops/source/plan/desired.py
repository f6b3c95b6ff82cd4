"""
The object that is applied for a manifest, and whether the live object equals it already.

Annotations record where an object comes from: source, file, and the commit at which its content
last changed. A commit that changes other objects leaves them as they are.

Whether an object is current is decided by its metadata alone: a label holds the hash of what was
applied last, and managedFields record whether all those fields are still ours. No value is
compared, so neither defaulting nor admission webhooks look like drift.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kro_gitops.engine.plan.children import digest
from kro_gitops.metadata import (
    ADOPT,
    APPLYSET_PART_OF,
    DELETION_POLICY,
    DEPENDS_ON,
    DRIFT_ADDED_FIELDS,
    DRIFT_IGNORE,
    FORCE,
    GITOPS_PREFIX,
    OWNED,
    PRUNE,
    PRUNE_APPROVED,
    READINESS,
    READY_CONDITIONS,
    REVISION,
    SOURCE,
    SOURCE_HASH,
    SOURCE_PATH,
    WAVE,
)
from kro_gitops.source.files.revision import Item
from kro_gitops.source.plan.stages import Stage
from kro_gitops.tracking.inventory import Entry, Key, key_of
from kro_gitops.tracking.methods import TrackingMetadata
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, owns_all_fields
from kube_objects.problems import Problem, Spot
from kube_objects.refs import KubeObject, ObjectRef

# Set by the API server; in git a leftover of `kubectl get -o yaml`.
_SERVER_METADATA = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")

# By these labels an instance finds its children, waits for them and deletes them.
_ENGINE_LABELS = frozenset({OWNED, APPLYSET_PART_OF})

# Our keys that may be written in git; all others are reserved.
_WRITABLE = frozenset(
    {
        *(ADOPT, READINESS, READY_CONDITIONS, DRIFT_ADDED_FIELDS, DRIFT_IGNORE),
        *(WAVE, DEPENDS_ON, PRUNE, PRUNE_APPROVED, FORCE, DELETION_POLICY),
    }
)


class State(StrEnum):
    """How the live object compares to the desired one."""

    CURRENT = "current"
    ABSENT = "absent"
    CHANGED = "changed"  # git has other content than was applied last
    DRIFTED = "drifted"  # another field manager took one of our fields
    DELETING = "deleting"


@dataclass(frozen=True, slots=True, eq=False)
class Desired:
    """
    An object as it is applied.

    There may be many thousands, so the object itself is built when it is needed.
    """

    item: Item
    ref: ObjectRef
    stage: Stage
    revision: str
    source: str  # namespace/name
    extra: TrackingMetadata  # further annotations and labels, as Argo CD's
    hash: str  # the label that records what was applied
    has_order: bool  # annotated with a wave or dependencies
    stripped: KubeObject | None = None  # without the fields that may differ from git

    @property
    def key(self) -> Key:
        """Return what it is found by in the inventory."""
        return key_of(self.ref)

    @property
    def object(self) -> KubeObject:
        """Return the object; a new one each time."""
        if self.stripped is not None:
            return self.stripped
        body = _stamped(self.item, self.ref, self.source, self.extra)
        metadata = body["metadata"]
        metadata["labels"][SOURCE_HASH] = self.hash
        metadata["annotations"][REVISION] = self.revision
        return body

    def entry(self, uid: str = "") -> Entry:
        """Return its inventory entry; without a uid it is only announced."""
        digest_ = self.item.digest if uid else ""
        return Entry(self.ref, uid, digest_, self.stage.name, self.item.path, self.revision)


def _stamped(item: Item, ref: ObjectRef, source: str, extra: TrackingMetadata) -> dict[str, Any]:
    """Return an object with its origin, without the marks that depend on its content."""
    body = without_server_fields(item.object)
    metadata = dict(body["metadata"])
    metadata.pop("namespace", None)
    if ref.namespace:
        metadata["namespace"] = ref.namespace
    ours = {**extra.annotations, SOURCE: source, SOURCE_PATH: item.path}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **ours}
    metadata["labels"] = {**(metadata.get("labels") or {}), **extra.labels}
    return {**body, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the objects of a source come from."""

    source: str  # namespace/name
    commit: str

    def stamp(
        self, item: Item, ref: ObjectRef, entry: Entry | None, stage: Stage, extra: TrackingMetadata
    ) -> Desired:
        """Return the object to apply; `extra` are further annotations and labels, as Argo CD's."""
        check_reserved_keys(item.object)
        body = _stamped(item, ref, self.source, extra)
        annotations = body["metadata"]["annotations"]
        is_same = entry is not None and entry.hash == item.digest
        revision = entry.revision if entry is not None and is_same else self.commit
        return Desired(
            item,
            ref,
            stage,
            revision or self.commit,
            self.source,
            extra,
            digest(body),
            WAVE in annotations or DEPENDS_ON in annotations,
        )


def check_reserved_keys(obj: KubeObject) -> None:
    """Raise ReservedKeyError if an object in git has a label or annotation that we write."""
    written = obj.get("metadata") or {}
    for section in ("labels", "annotations"):
        keys = written.get(section)
        for key in keys if isinstance(keys, dict) else ():
            is_ours = key.startswith(GITOPS_PREFIX) and key not in _WRITABLE
            if is_ours or (section == "labels" and key in _ENGINE_LABELS):
                raise ReservedKeyError(section, key)


def assess(desired: Desired, live: KubeObject | None) -> State:
    """Compare a live object with the desired one; its metadata is enough."""
    if live is None:
        return State.ABSENT
    if live["metadata"].get("deletionTimestamp") is not None:
        return State.DELETING
    labels = live["metadata"].get("labels") or {}
    if labels.get(SOURCE_HASH) != desired.hash:
        return State.CHANGED
    is_whole = isinstance(live, CachedObject) and owns_all_fields(live.owned, desired.object)
    return State.CURRENT if is_whole else State.DRIFTED


def without_server_fields(obj: KubeObject) -> KubeObject:
    """Return an object without the fields that only the API server sets."""
    metadata: dict[str, Any] = obj.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in _SERVER_METADATA}
    rest = {key: value for key, value in obj.items() if key != "status"}
    return {**rest, "metadata": kept}


class ReservedKeyError(RefusedError):
    """A reserved label or annotation in git: with it a file could pose as another source's."""

    def __init__(self, section: str, key: str) -> None:
        super().__init__(
            "reserved-metadata",
            f"the {section[:-1]} {key} is set by kro-gitops and may not stand in git",
            hint="remove it",
        )
        self.problem = Problem(
            self.code, self.message, Spot(("metadata", section, key), on_key=True), hint=self.hint
        )
