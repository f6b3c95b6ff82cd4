"""
Parent, child and policy → the metadata that the child must have.

A table decides, by situation. Its first column is the owner reference, which nests the child under
its instance in Argo CD's tree and keeps Argo CD from ever pruning it; the others are what is copied
from the instance, by how Argo CD tracks: by annotation or by label.

The result is part of the same server-side apply as the child itself. So there is nothing to undo:
when the instance's id changes, the next apply has the new one; when it is removed, the next apply
has none, and the server removes what our field manager wrote and nothing else.

A template's own values win, with a warning. Two things are rejected: keys of ours in a template,
and a tracking id by which a child without an owner reference claims to be in git.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Flag, StrEnum, auto
from typing import Any

from kro_gitops.metadata import (
    ARGOCD_COMPARE_OPTIONS,
    ARGOCD_INSTALLATION_ID,
    ARGOCD_SYNC_OPTIONS,
    ARGOCD_TRACKING_ID,
    DELETION_POLICY,
    GITOPS_PREFIX,
    SOURCE,
    SOURCE_PATH,
)
from kro_gitops.settings.tracking_options import Mode
from kro_gitops.tracking.identity import parse_tracking_id
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kro_gitops.tracking.owners import (
    OwnerReference,
    Relation,
    merge_owners,
    owner_reference,
    relation,
)
from kro_gitops.tracking.propagated_labels import ALL_LABELS, propagated_labels
from kube_objects.errors import RefusedError
from kube_objects.problems import Problem, Severity, Spot
from kube_objects.refs import KubeObject, ObjectRef, as_mapping


class Role(StrEnum):
    """What an object is to the instance."""

    CHILD = "child"  # also one that is an instance itself: its children inherit from it
    KEPT = "kept"  # a child that stays when its instance is deleted
    EXTERNAL = "external"
    SHARED = "shared"  # created for several instances


class Situation(StrEnum):
    """The rows of the table."""

    SAME_NAMESPACE = "same namespace"
    CLUSTER_INSTANCE = "cluster-scoped instance"
    OUT_OF_REACH = "other namespace or cluster-scoped"
    OUT_OF_REACH_LABELLED = "other namespace or cluster-scoped, labelled"
    KEPT = "stays when its instance is deleted"
    EXTERNAL = "external"
    SHARED = "shared"


class Owner(StrEnum):
    """Whom a child may refer to."""

    INSTANCE = "instance"


class Copy(Flag):
    """What is copied from the instance, byte for byte."""

    IDS = auto()
    LABEL = auto()


_NOTHING = Copy(0)


@dataclass(frozen=True, slots=True)
class Row:
    """What a child in one situation carries; `is_marked` is about our own keys and labels."""

    owners: tuple[Owner, ...] = ()
    by_annotation: Copy = _NOTHING
    by_label: Copy = _NOTHING
    is_marked: bool = True


_UNSTAMPED = Row(is_marked=False)
_OWNED = Row((Owner.INSTANCE,), Copy.IDS, Copy.IDS | Copy.LABEL)

TABLE: Mapping[Situation, Row] = {
    Situation.SAME_NAMESPACE: _OWNED,
    Situation.CLUSTER_INSTANCE: _OWNED,
    # A label on an object without an owner would make Argo CD prune it, so none is copied.
    Situation.OUT_OF_REACH: Row((), Copy.IDS, _NOTHING),
    Situation.OUT_OF_REACH_LABELLED: Row((), Copy.IDS, Copy.LABEL),
    # The garbage collector must not delete it, nor Argo CD.
    Situation.KEPT: Row((), Copy.IDS, _NOTHING),
    Situation.EXTERNAL: _UNSTAMPED,
    Situation.SHARED: _UNSTAMPED,
}

# Options for Argo CD on an object that has its tracking metadata, but no owner reference:
# deleting the application would delete it, out of order.
_PROTECTION_OPTIONS: Mapping[str, tuple[str, ...]] = {
    ARGOCD_SYNC_OPTIONS: ("Delete=false", "Prune=false"),
    ARGOCD_COMPARE_OPTIONS: ("IgnoreExtraneous",),
}
# The only key of ours that a template may set.
_POLICY = ("annotations", DELETION_POLICY)
_IDS = (ARGOCD_TRACKING_ID, ARGOCD_INSTALLATION_ID)


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings of the platform."""

    mode: Mode = Mode.FOLLOW
    argocd: ArgoCD = field(default_factory=ArgoCD)
    flowing: tuple[str, ...] = ALL_LABELS  # patterns of labels that children get
    labels_out_of_reach: bool = False


@dataclass(frozen=True, slots=True)
class Parent:
    """
    The instance, as far as its children must know it.

    Without a cluster its uid, and values of labels and annotations, may be placeholders.
    """

    ref: ObjectRef
    uid: Hashable
    labels: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, obj: KubeObject) -> "Parent":
        """Return the parent that a live instance is."""
        metadata = as_mapping(obj.get("metadata"))
        return cls(
            ObjectRef.of(obj),
            metadata.get("uid") or "",
            as_mapping(metadata.get("labels")),
            as_mapping(metadata.get("annotations")),
        )


@dataclass(frozen=True, slots=True)
class Child:
    """A child as its template has it; its ref has a namespace exactly if its kind has."""

    ref: ObjectRef
    marks: TrackingMetadata = field(default_factory=TrackingMetadata)
    owners: object = None  # metadata.ownerReferences, as written by the author
    role: Role = Role.CHILD

    @classmethod
    def of(cls, obj: KubeObject, role: Role = Role.CHILD, ref: ObjectRef | None = None) -> "Child":
        """Return the child that a desired object is; `ref` is its name, if known already."""
        metadata = as_mapping(obj.get("metadata"))
        owners = metadata.get("ownerReferences")
        marks = TrackingMetadata(
            _texts(metadata.get("labels")), _texts(metadata.get("annotations"))
        )
        return cls(ref or ObjectRef.of(obj), marks, owners, role)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What is laid over a child's template, and what the author should know about it."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[OwnerReference, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def onto(self, obj: KubeObject) -> KubeObject:
        """Return a desired object with the stamp on it."""
        metadata = dict(as_mapping(obj.get("metadata")))
        for name, ours in (("labels", self.labels), ("annotations", self.annotations)):
            if ours:
                metadata[name] = {**as_mapping(metadata.get(name)), **ours}
        if self.owners:
            metadata["ownerReferences"] = merge_owners(metadata.get("ownerReferences"), self.owners)
        return {**obj, "metadata": metadata}


NO_STAMP = Stamp()


def situation(parent: Parent, child: Child, policy: Policy) -> Situation:
    """Find the row of the table."""
    match child.role:
        case Role.EXTERNAL:
            return Situation.EXTERNAL
        case Role.SHARED:
            return Situation.SHARED
        case Role.KEPT:
            return Situation.KEPT
        case Role.CHILD:
            pass
    match relation(parent.ref, child.ref):
        case Relation.SAME_NAMESPACE:
            return Situation.SAME_NAMESPACE
        case Relation.CLUSTER_INSTANCE:
            return Situation.CLUSTER_INSTANCE
        case Relation.OTHER_NAMESPACE | Relation.CLUSTER_CHILD:
            labelled = policy.labels_out_of_reach
            return Situation.OUT_OF_REACH_LABELLED if labelled else Situation.OUT_OF_REACH


class Stamper:
    """
    Stamps the children of one instance.

    What is copied from the instance is the same for all its children in the same situation, so it
    is computed once.
    """

    def __init__(self, parent: Parent, policy: Policy) -> None:
        self._parent = parent
        self._policy = policy
        self._copied: dict[Situation, TrackingMetadata] = {}
        self._flowing = propagated_labels(parent.labels, policy.flowing, policy.argocd.label_key)
        # For readers: where the instance of a child came from. kro's labels name the instance.
        self._origin = {
            key: parent.annotations[key]
            for key in (SOURCE, SOURCE_PATH)
            if key in parent.annotations
        }

    def check(self, child: Child) -> Situation:
        """Return the situation of a child; raise `RefusedError` if it must not be applied."""
        found = situation(self._parent, child, self._policy)
        row = TABLE[found]
        if not row.is_marked:
            return found
        marks = child.marks
        for section, keys in (("labels", marks.labels), ("annotations", marks.annotations)):
            for key in keys:
                if key.startswith(GITOPS_PREFIX) and (section, key) != _POLICY:
                    raise RefusedError(
                        "reserved-metadata",
                        f'{child.ref}: {section} with prefix "{GITOPS_PREFIX}" '
                        f"are reserved for internal use: {key}",
                    )
        if not row.owners and not merge_owners(child.owners, ()):
            written = marks.annotations.get(ARGOCD_TRACKING_ID, "")
            claim = parse_tracking_id(written)
            if claim is not None and claim.names(child.ref):
                raise RefusedError(
                    "KG-T01",
                    f"{child.ref}: the template sets the tracking id {written!r}, which names the "
                    "child as an object in git; it has no owner reference, so Argo CD would prune "
                    "it",
                    hint=f"remove {ARGOCD_TRACKING_ID} from the template: the instance's id is "
                    "copied",
                )
        return found

    def stamp(self, child: Child) -> Stamp:
        """Return what a child must carry; raise `RefusedError` if it must not be applied."""
        found = self.check(child)
        row, marks = TABLE[found], child.marks
        if not row.is_marked:
            return NO_STAMP
        owners = tuple(
            owner_reference(self._parent.ref, self._parent.uid, child.ref)
            for _ in row.owners  # the instance is the only kind of owner
        )
        copied = self._copied.get(found)
        if copied is None:
            copied = self._copied[found] = _copied_metadata(self._parent, row, self._policy)
        warnings: list[Problem] = []
        if copied.labels or copied.annotations:
            for section, ours, theirs in (
                ("labels", copied.labels, marks.labels),
                ("annotations", copied.annotations, marks.annotations),
            ):
                warnings += [
                    Problem(
                        "tracking-overridden",
                        f"{child.ref}: the template sets {key}, so the instance's is not copied",
                        Spot(("metadata", section, key)),
                        severity=Severity.WARNING,
                    )
                    for key, value in ours.items()
                    if key in theirs and theirs[key] != value
                ]
            # The ids belong together: one of the template and one of the instance mean nothing.
            has_own_ids = not marks.annotations.keys().isdisjoint(_IDS)
            copied = TrackingMetadata(
                _missing(copied.labels, marks.labels), {} if has_own_ids else copied.annotations
            )
        labels = {**_missing(self._flowing, marks.labels), **copied.labels}
        annotations = {**copied.annotations, **self._origin}
        if not owners and self._is_tracked(marks, copied):
            annotations |= _protection_options(marks.annotations)
        return Stamp(labels, annotations, owners, tuple(warnings))

    def _is_tracked(self, marks: TrackingMetadata, copied: TrackingMetadata) -> bool:
        """Return whether Argo CD would count a child with this metadata to an application."""
        argocd = self._policy.argocd
        if argocd.method.reads_label:
            return argocd.label_key in copied.labels or argocd.label_key in marks.labels
        ids = {**marks.annotations, **copied.annotations}
        return parse_tracking_id(ids.get(ARGOCD_TRACKING_ID, "")) is not None


def stamp(parent: Parent, child: Child, policy: Policy) -> Stamp:
    """Return what one child must carry."""
    return Stamper(parent, policy).stamp(child)


def _copied_metadata(parent: Parent, row: Row, policy: Policy) -> TrackingMetadata:
    """Return what children get of the instance's tracking metadata."""
    if policy.mode is Mode.NATIVE:
        return TrackingMetadata()
    argocd = policy.argocd
    copies = row.by_label if argocd.method.reads_label else row.by_annotation
    label = parent.labels.get(argocd.label_key)
    written = parent.annotations.get(ARGOCD_TRACKING_ID, "")
    # The tracking id with its installation id, or neither.
    has_ids = not isinstance(written, str) or parse_tracking_id(written) is not None
    ids = {key: parent.annotations[key] for key in _IDS if key in parent.annotations}
    return TrackingMetadata(
        {argocd.label_key: label} if label and Copy.LABEL in copies else {},
        ids if has_ids and Copy.IDS in copies else {},
    )


def _protection_options(annotations: Mapping[str, str]) -> dict[str, str]:
    """Add our options to those of the template, except where the template decides already."""
    options: dict[str, str] = {}
    for key, ours in _PROTECTION_OPTIONS.items():
        theirs = [each.strip() for each in annotations.get(key, "").split(",") if each.strip()]
        decided = {each.partition("=")[0] for each in theirs}
        added = (each for each in ours if each.partition("=")[0] not in decided)
        options[key] = ",".join([*theirs, *added])
    return options


def _missing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in ours.items() if key not in theirs}


def _texts(value: object) -> dict[str, str]:
    if not value:
        return {}
    # The server rejects a value that is no text, but its key is in use.
    return {key: text if isinstance(text, str) else "" for key, text in as_mapping(value).items()}
