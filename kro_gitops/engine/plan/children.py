"""
A desired object becomes a child: labelled, stamped, and with the hash of all that.

Everything a child must carry goes into the one apply that makes it. The hash says what was last
applied: as long as it stands on the live object and nobody took a field from us, there is nothing
to do.

Without a cluster a child may hold placeholders. What depends on one becomes a placeholder itself:
the hash, the owner references of a child whose namespace is not known, the stored form of a Secret.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from kro_gitops.engine.applyset import applyset_id, member_labels
from kro_gitops.engine.labels import Position, instance_labels, node_labels, order_annotation
from kro_gitops.engine.plan.placeholder import Placeholder, Unknown, is_unknown
from kro_gitops.metadata import (
    APPLYSET_PART_OF,
    COLLECTION_INDEX,
    COLLECTION_SIZE,
    DESIRED_HASH,
    REVISION,
)
from kro_gitops.tracking.stamp import Child, Parent, Policy, Stamp, Stamper
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, owns_all_fields
from kube_objects.refs import KubeObject, ObjectRef

if TYPE_CHECKING:
    from kube_objects.problems import Problem

KRO_LEVEL = "v0.9.4"

_DIGEST_BYTES = 12
_SECTIONS = ("labels", "annotations")
_TEXTS = "map(string, string)"
_OPTIONAL = "optional_type({})"  # what may not be there at all


@dataclass(frozen=True, slots=True)
class Rules:
    """What a platform chose about children; `version` is the level of kro that labels name."""

    version: str = KRO_LEVEL
    tracking: Policy = field(default_factory=Policy)


class Family:
    """An instance, as the parent of its children."""

    def __init__(self, instance: KubeObject, rules: Rules, definition_revision: str = "") -> None:
        """Take an instance, and at which commit its definition last changed if that is known."""
        self.parent = Parent.of(instance)
        self._definition_revision = definition_revision
        self.id = applyset_id(self.parent.ref)
        # What authors should know, such as marks of Argo CD that a template overrides.
        self.warnings: dict[Problem, None] = {}
        self._stamper = Stamper(self.parent, rules.tracking)
        self._labels = {
            **instance_labels(self.parent.ref, self.parent.uid, rules.version),
            **member_labels(self.parent.ref),
        }
        # An instance without a cluster has no uid yet; only then are there placeholders.
        self._is_offline = is_unknown(self.parent.uid)
        self._unknown_sections = {
            name: instance["metadata"][name]
            for name in _SECTIONS
            if is_unknown(instance["metadata"].get(name))
        }

    @property
    def ref(self) -> ObjectRef:
        """Name the instance."""
        return self.parent.ref

    def child(
        self,
        body: KubeObject,
        node: str,
        wave: int,
        position: Position | Unknown | None = None,
        ref: ObjectRef | None = None,
    ) -> KubeObject:
        """
        Return a desired object with everything a child must carry.

        The `position` of a pattern, which stands for a collection of unknown length, is unknown.
        `ref` is the object's own name, if that is known already.
        """
        body = as_stored(body)
        child = Child.of(body, ref=ref)
        made = self._stamp(child, body) if self._is_offline else self._stamped(child)
        stamped = made.onto(body)
        metadata = stamped["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **order_annotation(wave)}
        labels = {**(metadata.get("labels") or {}), **self._labels}
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
        metadata["annotations"] = annotations
        if self._is_offline:
            self._mark_unknown(stamped, body)
        else:
            labels[DESIRED_HASH] = digest(stamped)
        return stamped

    def _stamped(self, child: Child) -> Stamp:
        made = self._stamper.stamp(child)
        if made.warnings:
            self.warnings.update(dict.fromkeys(made.warnings))
        return made

    def _stamp(self, child: Child, body: KubeObject) -> Stamp:
        """Stamp a child without a cluster; its namespace may decide what it carries."""
        own = self.parent.ref.namespace
        namespace = body["metadata"].get("namespace")
        if not own or not is_unknown(namespace):
            return self._stamped(child)
        found: list[Stamp] = []
        for place in (own, f"not-{own}"):
            ref = ObjectRef(child.ref.kind, place, child.ref.name)
            try:
                found.append(self._stamped(replace(child, ref=ref)))
            except RefusedError:
                if place != own and not found:
                    raise  # wherever it is
        if len(found) == 1:
            return found[0]
        here, elsewhere = found
        unknown = Placeholder(namespace.reads, _OPTIONAL.format("string"))
        return Stamp(
            _agreed(here.labels, elsewhere.labels, unknown),
            _agreed(here.annotations, elsewhere.annotations, unknown),
            here.owners if here.owners == elsewhere.owners else (),
            here.warnings,
        )

    def _mark_unknown(self, stamped: KubeObject, body: KubeObject) -> None:
        """Put a placeholder wherever the value depends on one."""
        metadata, written = stamped["metadata"], body["metadata"]
        namespace = written.get("namespace")
        if self.parent.ref.namespace and is_unknown(namespace):
            metadata["ownerReferences"] = Placeholder(
                namespace.reads, _OPTIONAL.format("list(map(string, dyn))")
            )
        for name in _SECTIONS:
            unknown = written.get(name)
            if not is_unknown(unknown):
                unknown = self._unknown_sections.get(name)
            if unknown is not None:
                metadata[name] = Placeholder(unknown.reads, _TEXTS)
        if isinstance(metadata["labels"], dict):
            metadata["labels"][DESIRED_HASH] = self.parent.uid  # which is part of the content

    def dated(self, child: KubeObject, live: KubeObject | None) -> KubeObject:
        """
        Return a child that says at which commit its content last changed.

        That is no part of the content: a commit that changes something else rewrites nothing.
        If the content is new but the instance is that of last time, the definition changed.
        """
        ours = self.parent.annotations.get(REVISION, "")
        if not ours:
            return child
        former = _annotations(live).get(REVISION, "") if live is not None else ""
        if former and live is not None and is_same_desire(live, child):
            revision = former
        else:
            revision = (self._definition_revision or ours) if former == ours else ours
        metadata = child["metadata"]
        annotations = {**(metadata.get("annotations") or {}), REVISION: revision}
        return {**child, "metadata": {**metadata, "annotations": annotations}}


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
    if not isinstance(texts, dict):
        return body  # for the server to reject
    encoded: dict[str, Any] = {}
    for key, text in texts.items():
        if is_unknown(text):
            encoded[key] = Placeholder(text.reads, "string")
        elif isinstance(text, str):
            encoded[key] = b64encode(text.encode()).decode()
        else:
            return body  # for the server to reject
    return {**rest, "data": {**written, **encoded}}


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

    Both proofs are needed: anybody may write the label, and our field manager applies the children
    of other instances, too.
    """
    labels = live["metadata"].get("labels") or {}
    return (
        labels.get(APPLYSET_PART_OF) == id_ and isinstance(live, CachedObject) and bool(live.owned)
    )


def is_current(live: KubeObject, desired: KubeObject) -> bool:
    """Say whether a live child is what was desired, and nobody took a field from us since."""
    return (
        is_same_desire(live, desired)
        and isinstance(live, CachedObject)
        and owns_all_fields(live.owned, desired)
    )


def is_same_desire(live: KubeObject, desired: KubeObject) -> bool:
    """Say whether the same was applied last time."""
    return _hash(live) == _hash(desired)


def _annotations(obj: KubeObject) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def _hash(obj: KubeObject) -> str | None:
    found: str | None = (obj["metadata"].get("labels") or {}).get(DESIRED_HASH)
    return found
