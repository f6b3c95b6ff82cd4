"""
Apply sets: which children belong to an instance, and where they may be found.

An apply set (KEP-3659, as in kubectl) is an id, a label on every member and an inventory on the
parent: the kinds and namespaces in which members may be. Nothing else must survive a restart: with
the inventory alone all members can be found and deleted in order. So it is written before a member
is created, shrinks only when members are gone, and is validated before a deletion.

Ids, keys and messages are kro's: an instance can switch between the two controllers.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.metadata import (
    APPLYSET_GROUP_KINDS,
    APPLYSET_ID,
    APPLYSET_NAMESPACES,
    APPLYSET_PART_OF,
    APPLYSET_TOOLING,
    INVENTORY_HASH,
)
from kube_objects.dns_names import DNS_1123_SUBDOMAIN, label_problems
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.refs import Kind, KubeObject, ObjectRef

TOOLING_PREFIX = "kro/"
FOREIGN_APPLYSET = "foreign-applyset"

_BLANKS = frozenset(" \t\r\n")
# Where members are looked for that name no namespace: the API server's own answer.
_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True, order=True)
class GroupKind:
    """A kind in any version; `Deployment.apps`, or `ConfigMap` in the core group."""

    kind: str
    group: str = ""

    @classmethod
    def of(cls, kind: Kind) -> "GroupKind":
        """Leave the version out."""
        return cls(kind.kind, kind.group)

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


Target = tuple[GroupKind, str, str]


def target_of(ref: ObjectRef) -> Target:
    """Return the key of an object, independent of its version."""
    return GroupKind.of(ref.kind), ref.namespace, ref.name


@dataclass(frozen=True, slots=True)
class Inventory:
    """Where members may be: kinds, and namespaces other than the parent's."""

    group_kinds: frozenset[GroupKind] = frozenset()
    namespaces: frozenset[str] = frozenset()

    @classmethod
    def of(cls, members: Iterable[ObjectRef], parent: ObjectRef) -> "Inventory":
        """
        Take stock of members; cluster-scoped ones have no namespace.

        A namespace that cannot exist has no members, and would make the annotation invalid.
        """
        found = tuple(members)
        others = {member.namespace for member in found} - {"", parent.namespace}
        namespaces = {namespace for namespace in others if not label_problems(namespace)}
        kinds = {GroupKind.of(member.kind) for member in found}
        return cls(frozenset(kinds), frozenset(namespaces))

    def __or__(self, other: "Inventory") -> "Inventory":
        return Inventory(self.group_kinds | other.group_kinds, self.namespaces | other.namespaces)

    def __le__(self, other: "Inventory") -> bool:
        """Return whether another inventory covers this one."""
        return self.group_kinds <= other.group_kinds and self.namespaces <= other.namespaces

    @property
    def kinds_text(self) -> str:
        """Return the kinds as they stand in the annotation."""
        return ",".join(sorted(map(str, self.group_kinds)))

    @property
    def namespaces_text(self) -> str:
        """Return the namespaces as they stand in the annotation."""
        return ",".join(sorted(self.namespaces))

    def annotations(self, parent: ObjectRef, version: str) -> dict[str, str]:
        """Return what the parent carries; keys are there even if they hold nothing."""
        return {
            APPLYSET_TOOLING: TOOLING_PREFIX + version,
            APPLYSET_GROUP_KINDS: self.kinds_text,
            APPLYSET_NAMESPACES: self.namespaces_text,
            INVENTORY_HASH: self.digest(applyset_id(parent)),
        }

    def digest(self, id_: str) -> str:
        """Return the hash by which a changed inventory is noticed."""
        payload = "\0".join((id_, self.kinds_text, self.namespaces_text))
        return "sha256:" + _base64(payload)

    def searched_namespaces(self, parent: ObjectRef) -> frozenset[str]:
        """Return every namespace in which members may live."""
        return self.namespaces | {parent.namespace or _DEFAULT_NAMESPACE}


def applyset_id(parent: ObjectRef) -> str:
    """Return the id of an instance's apply set; neither uid nor version matter."""
    name = (parent.name, parent.namespace, parent.kind.kind, parent.kind.group)
    return f"applyset-{_base64('.'.join(name))}-v1"


def parent_labels(parent: ObjectRef) -> dict[str, str]:
    """Return the label that makes an instance the parent of an apply set."""
    return {APPLYSET_ID: applyset_id(parent)}


def member_labels(parent: ObjectRef) -> dict[str, str]:
    """Return the label that makes a child a member."""
    return {APPLYSET_PART_OF: applyset_id(parent)}


def has_inventory(parent: KubeObject) -> bool:
    """Return whether an instance carries anything of an apply set."""
    keys = {APPLYSET_TOOLING, APPLYSET_GROUP_KINDS, APPLYSET_NAMESPACES, INVENTORY_HASH}
    return APPLYSET_ID in _texts(parent, "labels") or bool(
        keys & set(_texts(parent, "annotations"))
    )


def parse_inventory(annotations: Mapping[str, str]) -> Inventory:
    """Read what a parent carries; absent and empty are the same here."""
    kinds: set[GroupKind] = set()
    for entry in _entries(annotations, APPLYSET_GROUP_KINDS):
        kind, dot, group = entry.partition(".")
        problems = DNS_1123_SUBDOMAIN.problems(group) if dot else []
        if not entry:
            problem = "contains an empty group-kind"
        elif not kind or _BLANKS & set(kind):
            problem = f"invalid kind {quote(kind)}"
        elif problems:
            problem = f"invalid group {quote(group)}: {', '.join(problems)}"
        else:
            kinds.add(GroupKind(kind, group))
            continue
        raise _rejection(f"invalid {APPLYSET_GROUP_KINDS} annotation: {problem}")
    namespaces = _entries(annotations, APPLYSET_NAMESPACES)
    for namespace in namespaces:
        problems = label_problems(namespace)
        if problems:
            problem = f"invalid namespace {quote(namespace)}: {', '.join(problems)}"
            raise _rejection(f"invalid {APPLYSET_NAMESPACES} annotation: {problem}")
    return Inventory(frozenset(kinds), frozenset(namespaces))


def validate_inventory(parent: KubeObject) -> Inventory:
    """
    Parse the inventory of an instance that is being deleted; raise if it may be wrong.

    Members in kinds or namespaces that a client removed from it would never be found.
    """
    expected = applyset_id(ObjectRef.of(parent))
    labels, annotations = _texts(parent, "labels"), _texts(parent, "annotations")
    if labels.get(APPLYSET_ID, "") != expected:
        raise _invalid(f"{APPLYSET_ID} label", labels.get(APPLYSET_ID, ""), expected)
    tooling = annotations.get(APPLYSET_TOOLING, "")
    if not tooling.startswith(TOOLING_PREFIX):
        text = f"invalid {APPLYSET_TOOLING} annotation: {quote(tooling)} is not owned by kro"
        raise _rejection(text)
    for key in (APPLYSET_GROUP_KINDS, APPLYSET_NAMESPACES):
        if key not in annotations:
            raise _rejection(f"missing required {key} annotation")
    inventory = parse_inventory(annotations)
    # Older versions of kro wrote no hash.
    digest = inventory.digest(expected)
    if annotations.get(INVENTORY_HASH, digest) != digest:
        raise _invalid(f"{INVENTORY_HASH} annotation", annotations[INVENTORY_HASH], digest)
    return inventory


def is_member(obj: KubeObject, parent: ObjectRef) -> bool:
    """Return whether an object carries the id of its parent's apply set."""
    return _texts(obj, "labels").get(APPLYSET_PART_OF, "") == applyset_id(parent)


def reject_foreign_member(current: KubeObject, parent: ObjectRef) -> None:
    """Raise if an object is in another apply set."""
    theirs, ours = _texts(current, "labels").get(APPLYSET_PART_OF, ""), applyset_id(parent)
    if not theirs or theirs == ours:
        return
    ref = ObjectRef.of(current)
    # Go prints the core group with its slash: `/v1, Kind=ConfigMap`.
    kind = f"{ref.kind.group}/{ref.kind.version}, Kind={ref.kind.kind}"
    raise RefusedError(
        FOREIGN_APPLYSET,
        f"resource belongs to a different ApplySet: {ref.place} ({kind}) "
        f"belongs to ApplySet {quote(theirs)}, cannot reassign to {quote(ours)}",
        hint="another instance created this object: give the child another name",
    )


class DuplicateTarget(RefusedError):  # noqa: N818 - beside DuplicateKind and the like
    """Two resources that are one object; `id` is the first that conflicts with an earlier one."""

    def __init__(self, message: str, id_: str) -> None:
        super().__init__("duplicate-target", message)
        self.id = id_


def reject_duplicates(members: Iterable[tuple[str, ObjectRef]]) -> None:
    """Reject two resources (by id) that are one object; in which version does not matter."""
    seen: dict[Target, str] = {}
    conflicts = []
    first = ""
    for id_, ref in members:
        target = target_of(ref)
        if target in seen:
            conflicts.append(f"resourceID: {id_} conflicts with resourceID: {seen[target]}")
            first = first or id_
        seen[target] = id_
    if conflicts:
        raise DuplicateTarget(f"found resources with conflicts: {', '.join(conflicts)}", first)


def _entries(annotations: Mapping[str, str], key: str) -> list[str]:
    text = annotations.get(key, "")
    return [entry.strip() for entry in text.split(",")] if text else []


def _invalid(what: str, got: str, want: str) -> RefusedError:
    return _rejection(f"invalid {what}: got {quote(got)}, want {quote(want)}")


def _rejection(text: str) -> RefusedError:
    return RefusedError(
        "invalid-inventory",
        text,
        hint="restore the apply set metadata of the instance, or remove its finalizer after its "
        "children are deleted",
    )


def _texts(obj: KubeObject, section: str) -> dict[str, str]:
    metadata = obj.get("metadata")
    found: Any = metadata.get(section) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _base64(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
