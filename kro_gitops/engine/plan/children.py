"""
A desired object becomes a child: labelled, stamped, and with the hash of all that.

All metadata of a child is in the apply that creates it. The hash identifies the content last
applied: as long as the live object has it and no other field manager took a field from us, there
is nothing to do.

Without a cluster a child may hold placeholders. What depends on one becomes a placeholder itself:
the hash, the owner references of a child whose namespace is not known, the stored form of a Secret.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kro_gitops.engine.applyset import applyset_id, member_labels
from kro_gitops.engine.deletion_policy import (
    POLICY_KEYS,
    DeletionPolicy,
    is_claim,
    policy_of,
)
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.labels import Position, instance_labels, node_labels, order_annotation
from kro_gitops.engine.plan.placeholder import OPTIONAL, Placeholder, Unknown, is_unknown
from kro_gitops.metadata import (
    APPLYSET_PART_OF,
    COLLECTION_INDEX,
    COLLECTION_SIZE,
    DELETION_POLICY,
    DESIRED_HASH,
    REVISION,
)
from kro_gitops.settings.option import AdoptionPolicy
from kro_gitops.tracking.stamp import Child, Parent, Policy, Role, Stamp, Stamper
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, owns_all_fields
from kube_objects.refs import KubeObject, ObjectRef

if TYPE_CHECKING:
    from kube_objects.problems import Problem

KRO_LEVEL = "v0.9.4"

_DIGEST_BYTES = 12
_SECTIONS = ("labels", "annotations")
_MERGED = (*_SECTIONS, "ownerReferences")
_STAMPED_METADATA = (*_SECTIONS, "ownerReferences")
_TEXTS = "map(string, string)"


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of a platform for children; `version` is the level of kro that labels name."""

    version: str = KRO_LEVEL
    tracking: Policy = field(default_factory=Policy)
    adoption: AdoptionPolicy = AdoptionPolicy.REFUSE
    retains_claims: bool = False  # PersistentVolumeClaims stay unless their template says Delete


class Family:
    """An instance, as the owner of its children."""

    def __init__(
        self,
        instance: KubeObject,
        rules: Rules,
        definition_revision: str = "",
        policy: DeletionPolicy = DeletionPolicy.DELETE,
    ) -> None:
        """
        `definition_revision` is the commit that last changed the definition, if known.

        `policy` holds for children whose template has none.
        """
        self._policy = policy
        self._retains_claims = rules.retains_claims
        self.parent = Parent.of(instance)
        self._definition_revision = definition_revision
        self._version = rules.version
        self.id = applyset_id(self.parent.ref)
        # For authors, such as tracking metadata of Argo CD that a template overrides.
        self.warnings: dict[Problem, None] = {}
        self._stamper = Stamper(self.parent, rules.tracking)
        # An instance without a cluster has no uid yet; only then are there placeholders.
        self._is_offline = is_unknown(self.parent.uid)
        self._unknown_sections = {
            name: instance["metadata"][name]
            for name in _SECTIONS
            if is_unknown(instance["metadata"].get(name))
        }

    @property
    def ref(self) -> ObjectRef:
        """Return the reference of the instance."""
        return self.parent.ref

    @cached_property
    def _labels(self) -> dict[str, Any]:
        return {
            **instance_labels(self.parent.ref, self.parent.uid, self._version),
            **member_labels(self.parent.ref),
        }

    def child(
        self,
        body: KubeObject,
        node: str,
        wave: int,
        position: Position | Unknown | None = None,
        ref: ObjectRef | None = None,
    ) -> KubeObject:
        """
        Return a desired object with all metadata that a child must have.

        The `position` of a pattern, which stands for a collection of unknown length, is unknown.
        `ref` is the object's own name, if that is known already.
        """
        body = as_stored(body)
        is_kept, body = self._with_policy(body)
        role = Role.KEPT if is_kept else Role.CHILD
        stamped = self._stamp(Child.of(body, role, ref), body).onto(body)
        metadata = stamped["metadata"]
        labels = {**_map_of(metadata, "labels"), **self._labels}
        if isinstance(position, Unknown):
            unknown = Placeholder(position.reads, "string")
            labels |= {
                **node_labels(node),
                COLLECTION_INDEX: unknown,
                COLLECTION_SIZE: unknown,
            }
        else:
            labels |= node_labels(node, position)
        metadata["labels"] = labels
        metadata["annotations"] = {**_map_of(metadata, "annotations"), **order_annotation(wave)}
        if not self._is_offline:
            labels[DESIRED_HASH] = digest(stamped)
            return stamped
        labels[DESIRED_HASH] = self.parent.uid  # which is part of the content
        written = body["metadata"]
        namespace = written.get("namespace")
        if self.parent.ref.namespace and is_unknown(namespace):
            metadata["ownerReferences"] = Placeholder(
                namespace.reads, OPTIONAL.format("list(map(string, dyn))")
            )
        for name in _SECTIONS:
            section = written.get(name)
            if not is_unknown(section):
                section = self._unknown_sections.get(name)
            if section is not None:
                metadata[name] = Placeholder(section.reads, _TEXTS)
        return stamped

    def _with_policy(self, body: KubeObject) -> tuple[bool, KubeObject]:
        """Return whether a child stays when its instance is deleted, and the child that says so."""
        annotations = _map_of(body["metadata"], "annotations")
        values = [annotations[key] for key in POLICY_KEYS if key in annotations]
        if any(map(is_unknown, values)):
            return False, body
        policy = policy_of(annotations)
        if policy is not None:
            return policy is DeletionPolicy.ORPHAN, body
        default = self._policy
        if self._retains_claims and is_claim(ObjectRef.of(body)):
            default = DeletionPolicy.ORPHAN
        if default is DeletionPolicy.DELETE or is_unknown(body["metadata"].get("annotations")):
            return default is DeletionPolicy.ORPHAN, body
        annotations = {**annotations, DELETION_POLICY: str(default)}
        return True, {**body, "metadata": {**body["metadata"], "annotations": annotations}}

    def _stamp(self, child: Child, body: KubeObject) -> Stamp:
        """Return the stamp of a child; raise `RefusedError` if the child must not be applied."""
        own = self.parent.ref.namespace
        namespace = body["metadata"].get("namespace")
        if not own or not is_unknown(namespace):
            stamp = self._stamper.stamp(child)
            if stamp.warnings:
                self.warnings.update(dict.fromkeys(stamp.warnings))
            return stamp
        # The namespace decides what the child carries: what both cases agree on is known.
        found: list[Stamp] = []
        for place in (own, f"not-{own}"):
            ref = ObjectRef(child.ref.kind, place, child.ref.name)
            try:
                found.append(self._stamper.stamp(replace(child, ref=ref)))
            except RefusedError:
                if place != own and not found:
                    raise  # wherever it is
        self.warnings.update(dict.fromkeys(each for stamp in found for each in stamp.warnings))
        if len(found) == 1:
            return found[0]
        here, elsewhere = found
        unknown = Placeholder(namespace.reads, OPTIONAL.format("string"))
        return Stamp(
            _agreed(here.labels, elsewhere.labels, unknown),
            _agreed(here.annotations, elsewhere.annotations, unknown),
            here.owners if here.owners == elsewhere.owners else (),
            here.warnings,
        )

    def apply_set_of(self, child: KubeObject) -> str:
        """Return the apply set that a child's labels name; empty if its labels are unknown."""
        is_labelled = "labels" not in self._unknown_sections
        return self.id if is_labelled and not is_unknown(child["metadata"].get("labels")) else ""

    def dated(self, child: KubeObject, live: KubeObject | None) -> KubeObject:
        """
        Return a child with the commit at which its content last changed.

        That is no part of the content: a commit that changes something else rewrites nothing.
        If the content is new but the instance is that of last time, the definition changed.
        """
        ours = self.parent.annotations.get(REVISION, "")
        if not ours:
            return child
        annotations = (live["metadata"].get("annotations") or {}) if live is not None else {}
        former = annotations.get(REVISION, "")
        if former and live is not None and is_same_desire(live, child):
            revision = former
        else:
            revision = (self._definition_revision or ours) if former == ours else ours
        metadata = child["metadata"]
        if is_unknown(metadata.get("annotations")):
            return child
        annotations = {**_map_of(metadata, "annotations"), REVISION: revision}
        return {**child, "metadata": {**metadata, "annotations": annotations}}


class UnstampedFamily(Family):
    """
    An instance whose children are validated, but neither applied nor shown.

    A child is rejected for the same reasons as a stamped one, and has the metadata of its template
    only. For graphs that read no stamps (`reads_stamps`).
    """

    def child(
        self,
        body: KubeObject,
        node: str,
        wave: int,
        position: Position | Unknown | None = None,
        ref: ObjectRef | None = None,
    ) -> KubeObject:
        """Return the object as the API server stores it; raise `RefusedError` as for a stamp."""
        metadata = body["metadata"]
        if any(name in metadata and not isinstance(metadata[name], dict) for name in _MERGED):
            return super().child(body, node, wave, position, ref)  # may replace what is there
        is_kept, body = self._with_policy(as_stored(body))
        child = Child.of(body, Role.KEPT if is_kept else Role.CHILD, ref)
        if is_unknown(body["metadata"].get("namespace")):
            self._stamp(child, body)
        else:
            self._stamper.check(child)
        return body

    def dated(self, child: KubeObject, _live: KubeObject | None) -> KubeObject:
        """Return the child: its history is metadata, too."""
        return child


def reads_stamps(graph: Graph) -> bool:
    """Return whether an expression of a graph reads metadata of a child that a stamp adds."""
    for parts in (*graph.read.values(), *graph.ready_when_reads.values()):
        metadata = parts.get("metadata", {}) if parts is not None else None
        if metadata is None or any(name in metadata for name in _STAMPED_METADATA):
            return True
    return False


def as_stored(body: KubeObject) -> KubeObject:
    """
    Return a Secret as the API server stores it: `data` in place of `stringData`.

    The server records `stringData` as applied by us and keeps that record whatever becomes of
    `data`, so drift would not show.
    """
    texts = body.get("stringData")
    if texts is None or (body.get("apiVersion"), body.get("kind")) != ("v1", "Secret"):
        return body
    rest = {key: value for key, value in body.items() if key != "stringData"}
    written = body.get("data") or {}
    for unknown in (texts, written):
        if is_unknown(unknown):
            return {**rest, "data": Placeholder(unknown.reads, _TEXTS)}
    if not isinstance(texts, dict) or not isinstance(written, dict):
        return body  # for the server to reject
    encoded: dict[str, Any] = {}
    for key, text in texts.items():
        if is_unknown(text):
            is_optional = text.type.startswith(OPTIONAL.partition("{")[0])
            type_ = OPTIONAL.format("string") if is_optional else "string"
            encoded[key] = Placeholder(text.reads, type_)
        elif isinstance(text, str):
            encoded[key] = b64encode(text.encode()).decode()
        else:
            return body  # for the server to reject
    return {**rest, "data": {**written, **encoded}}


def _map_of(metadata: KubeObject, section: str) -> dict[str, Any]:
    """Return labels or annotations; an expression may yield something else, which is replaced."""
    found = metadata.get(section)
    return found if isinstance(found, dict) else {}


def _agreed(
    one: Mapping[str, str], other: Mapping[str, str], unknown: Placeholder
) -> dict[str, Any]:
    """Return what two maps agree on; a key on which they differ is unknown."""
    return {
        key: one[key] if one.get(key) == other.get(key) else unknown for key in {**one, **other}
    }


def digest(obj: KubeObject) -> str:
    """Return a short hash of an object, whatever the order of its keys."""
    try:
        text = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a number beyond 64 bits
        text = json.dumps(obj, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()


def is_child_of(live: KubeObject, id_: str) -> bool:
    """
    Return whether an object is proven to be a member of the apply set `id_`.

    Both proofs are needed: any client may write the label, and our field manager applies the
    children of other instances, too.
    """
    labels = live["metadata"].get("labels") or {}
    return (
        labels.get(APPLYSET_PART_OF) == id_ and isinstance(live, CachedObject) and bool(live.owned)
    )


def is_current(live: KubeObject, desired: KubeObject) -> bool:
    """Return whether a live child is as desired, and no field manager took a field from us."""
    return (
        is_same_desire(live, desired)
        and isinstance(live, CachedObject)
        and owns_all_fields(live.owned, desired)
    )


def is_same_desire(live: KubeObject, desired: KubeObject) -> bool:
    """Return whether the same content was applied last time."""
    return desired_hash(live) == desired_hash(desired)


def desired_hash(obj: KubeObject) -> str:
    """Return the hash of the content that was applied, or is to be; empty if there is none."""
    found: str = (obj["metadata"].get("labels") or {}).get(DESIRED_HASH, "")
    return found
