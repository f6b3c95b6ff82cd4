"""
A desired object becomes a child: labelled, stamped, and with the hash of all that.

Everything a child must carry goes into the one apply that makes it. The hash says what was last
applied: as long as it stands on the live object and nobody took a field from us, there is nothing
to do.
"""

import hashlib
import json
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from kro_gitops.engine.applyset import applyset_id, member_labels
from kro_gitops.engine.labels import Position, instance_labels, node_labels, order_annotation
from kro_gitops.metadata import APPLYSET_PART_OF, DESIRED_HASH, REVISION
from kro_gitops.tracking.stamp import Child, Parent, Policy, stamp
from kube_objects.managed_fields import CachedObject, owns_all_fields
from kube_objects.refs import KubeObject, ObjectRef

if TYPE_CHECKING:
    from kube_objects.problems import Problem

KRO_LEVEL = "v0.9.4"

_DIGEST_BYTES = 12


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
        self._rules = rules
        self._labels = {
            **instance_labels(self.parent.ref, self.parent.uid, rules.version),
            **member_labels(self.parent.ref),
        }

    @property
    def ref(self) -> ObjectRef:
        """Name the instance."""
        return self.parent.ref

    def child(
        self, body: KubeObject, node: str, wave: int, position: Position | None = None
    ) -> KubeObject:
        """Return a desired object with everything a child must carry."""
        body = _as_stored(body)
        made = stamp(self.parent, Child.of(body), self._rules.tracking)
        self.warnings.update(dict.fromkeys(made.warnings))
        stamped = made.onto(body)
        metadata = stamped["metadata"]
        metadata["labels"] = {
            **(metadata.get("labels") or {}),
            **self._labels,
            **node_labels(node, position),
        }
        annotations = {**(metadata.get("annotations") or {}), **order_annotation(wave)}
        metadata["annotations"] = annotations
        metadata["labels"][DESIRED_HASH] = digest(stamped)
        return stamped

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


def _as_stored(body: KubeObject) -> KubeObject:
    """
    Return a Secret as the server keeps it.

    It notes `stringData` as set by us for ever, whatever becomes of `data`: drift would not show.
    """
    texts = body.get("stringData")
    is_secret = (body.get("apiVersion"), body.get("kind")) == ("v1", "Secret")
    if not is_secret or not isinstance(texts, dict):
        return body
    if not all(isinstance(each, str) for each in texts.values()):
        return body  # for the server to refuse
    encoded = {key: b64encode(each.encode()).decode() for key, each in texts.items()}
    rest = {key: value for key, value in body.items() if key != "stringData"}
    return {**rest, "data": {**(body.get("data") or {}), **encoded}}


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
