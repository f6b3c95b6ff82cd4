"""
Labels and annotations by which kro knows what is its own.

On generated CRDs, on graph revisions, on instances and on children: the same keys as kro's, so
that a cluster can change hands. They lie over what a template has. Never on instances:
`app.kubernetes.io/managed-by`, which deployers consider theirs.

A name may have 253 characters, a label value 63. Longer values are cut and end in a hash of the
whole: kro fails on them, so nobody can rely on what they were.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops import metadata
from kro_gitops.metadata import APPLY_ORDER
from kube_objects.refs import ObjectRef

_MAX_VALUE = 63
_HASH_DIGITS = 10
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_INVALID_LAST_CHARACTERS = "-_."


@dataclass(frozen=True, slots=True)
class Position:
    """A child's place in a collection."""

    index: int
    size: int


def is_label_value(text: str) -> bool:
    """Return whether a label may hold a text as it is."""
    return len(text) <= _MAX_VALUE and _VALUE.fullmatch(text) is not None


def label_value(text: str) -> str:
    """Return a text that fits into a label: itself if it does, else cut, with a hash."""
    if is_label_value(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]
    readable = re.sub(r"[^-A-Za-z0-9_.]", "-", text).strip(_INVALID_LAST_CHARACTERS)
    stem = readable[: _MAX_VALUE - _HASH_DIGITS - 1].rstrip(_INVALID_LAST_CHARACTERS)
    return f"{stem}-{digest}" if stem else digest


def version_label(version: str) -> str:
    """Return a version as a label; build metadata is set off with a hyphen, as kro does."""
    return version if is_label_value(version) else label_value(version.replace("+", "-"))


def owned_labels(version: str) -> dict[str, str]:
    """Return what stands on everything of ours."""
    return {metadata.OWNED: "true", metadata.KRO_VERSION: version_label(version)}


def definition_labels(name: str, uid: str, version: str) -> dict[str, str]:
    """Return what stands on a generated CRD, and on every instance: whose kind it is."""
    return {
        **owned_labels(version),
        metadata.DEFINITION_ID: uid,
        metadata.DEFINITION_NAME: label_value(name),
    }


def revision_labels(definition: str, spec_hash: str, version: str) -> dict[str, str]:
    """Return what stands on a graph revision; for people, never read back."""
    return {
        **owned_labels(version),
        metadata.DEFINITION_NAME: label_value(definition),
        metadata.REVISION_HASH: spec_hash,
    }


def instance_labels(instance: ObjectRef, uid: Any, version: str) -> dict[str, Any]:
    """Return the labels of all children of an instance; offline `uid` is a placeholder."""
    found = {
        **owned_labels(version),
        metadata.MANAGED_BY: "kro",
        metadata.INSTANCE_ID: uid,
        metadata.INSTANCE_NAME: label_value(instance.name),
        metadata.INSTANCE_GROUP: label_value(instance.kind.group),
        metadata.INSTANCE_VERSION: label_value(instance.kind.version),
        metadata.INSTANCE_KIND: label_value(instance.kind.kind),
    }
    if instance.namespace:
        found[metadata.INSTANCE_NAMESPACE] = instance.namespace
    return found


def node_labels(node: str, position: Position | None = None) -> dict[str, str]:
    """Return what tells a child from its siblings."""
    found = {metadata.NODE_ID: label_value(node)}
    if position is not None:
        found[metadata.COLLECTION_INDEX] = str(position.index)
        found[metadata.COLLECTION_SIZE] = str(position.size)
    return found


def order_annotation(wave: int) -> dict[str, str]:
    """Return what says when a child was applied, and so when it may be deleted."""
    return {APPLY_ORDER: str(wave)}


def apply_order(annotations: Mapping[str, str]) -> int:
    """Read the wave of a child; what says nothing sensible goes with the last, zero."""
    written = annotations.get(APPLY_ORDER, "")
    return int(written) if re.fullmatch(r"[0-9]{1,9}", written) else 0


def is_kro_owned(labels: Mapping[str, str]) -> bool:
    """Return whether kro, or we, made an object; the first label decides if it is there."""
    if metadata.OWNED in labels:
        return labels[metadata.OWNED] == "true"
    return labels.get(metadata.MANAGED_BY) == "kro"
