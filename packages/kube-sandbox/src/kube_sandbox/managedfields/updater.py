"""
Apply and update: from objects and owners to objects and owners, or to conflicts.

An update that changes or removes a field takes it from its other owners. An apply that would change
a field of another manager is a conflict, unless it is forced. A field that a manager applied before
and no longer applies is removed if it has no other owner.

Every owner has written under some version of the kind. What happened to its fields is looked up
in that version's schema, since versions differ in nothing else here; owners under versions that are
no longer there are forgotten, except that a custom resource then cannot be written.

Follows structured-merge-diff 6.3 merge/update.go Updater.Update, Updater.Apply, Updater.prune.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kube_objects.refs import KubeObject
from kube_sandbox.managedfields import fieldset
from kube_sandbox.managedfields.fieldset import FieldSet
from kube_sandbox.managedfields.merge_values import (
    lift_to_atomic,
    merge_applied,
    remove_fields,
    with_named_fields,
)
from kube_sandbox.managedfields.typed import Comparison, compare, fields_of, is_same
from kube_sandbox.managedfields.types import Atom, Types
from kube_sandbox.managedfields.validation import is_valid, validation_message

_PRUNING = "failed to prune fields: "
_LAST = "last applied version"
_OWNED = "failed add back owned items: failed to convert merged object at version"


class Identity(NamedTuple):
    """The identity of an owner: the same manager with another operation is another owner."""

    manager: str
    operation: str
    api_version: str  # empty for those who apply: they are the same under all versions
    subresource: str


@dataclass(frozen=True, slots=True)
class Owned:
    """The fields of one owner."""

    fields: FieldSet
    version: str
    is_applied: bool


Owners = dict[Identity, Owned]


class ConflictsError(Exception):
    """Fields that would be changed belong to others."""

    def __init__(self, owners: Mapping[Identity, FieldSet]) -> None:
        super().__init__("fields belong to others")
        self.owners = owners


class SchemaMismatchError(Exception):
    """An object does not match the schema of the version that an owner wrote it in."""


@dataclass(frozen=True, slots=True)
class UpdateContext:
    """Who writes, at which version of which there are, and what a write does not reach."""

    me: Identity
    version: str
    types: Types
    others: Mapping[str, Types] = field(default_factory=dict)
    reset: FieldSet = field(default_factory=dict)

    def knows(self, version: str) -> bool:
        """Return whether the kind is served at a version."""
        return version == self.version or version in self.others

    def type_at(self, version: str) -> Atom:
        """Return the kind's type at a version that is known."""
        return self.types.root if version == self.version else self.others[version].root

    @property
    def root(self) -> Atom:
        """Return the kind's type at the version that is written."""
        return self.types.root

    def check(self, obj: KubeObject, version: str, why: str) -> None:
        """Raise if an object does not fit the kind at another version."""
        if version != self.version and not is_valid(obj, self.type_at(version), may_repeat=False):
            text = validation_message(obj, self.type_at(version), may_repeat=False)
            raise SchemaMismatchError(f"{why}{text}")

    def compared(self, old: KubeObject, new: KubeObject, version: str) -> Comparison:
        """Return what differs at a version, but for what the write does not reach."""
        found = compare(old, new, self.type_at(version))
        # Other versions have fields of their own that are not reached; a kind's main endpoint
        # does not know them.
        is_foreign = version != self.version and not self.me.subresource
        if not self.reset or found.is_empty or is_foreign:
            return found
        return Comparison(
            fieldset.without(found.removed, self.reset),
            fieldset.without(found.modified, self.reset),
            fieldset.without(found.added, self.reset),
        )


def update(
    setting: UpdateContext, live: KubeObject, new: KubeObject, owners: Owners
) -> tuple[Owners, FieldSet]:
    """Return the owners after an object was written as a whole, and what the writer now owns."""
    known = _in_step(setting, live, owners)
    left, found = _take_from_others(setting, live, new, known, force=True)
    return left, fieldset.union(found.modified, found.added)


def apply(
    setting: UpdateContext, live: KubeObject, config: KubeObject, owners: Owners, *, force: bool
) -> tuple[KubeObject | None, Owners]:
    """Return the merged object, `None` if it is as it was, and its owners."""
    known = _in_step(setting, live, owners)
    last = known.pop(setting.me, None)
    fields = fieldset.without(fields_of(config, setting.root), setting.reset)
    mine = Owned(fields, setting.version, is_applied=True)
    new = merge_applied(live, config, setting.root)
    if last is not None and last.fields:
        new = _pruned(setting, new, {**known, setting.me: mine}, last)
    left, _ = _take_from_others(setting, live, new, known, force=force)
    if fields:
        left[setting.me] = mine
    return (None if new is live or is_same(new, live) else new), left


def _in_step(setting: UpdateContext, live: KubeObject, owners: Owners) -> Owners:
    """Return owners of versions that are there, with sets that suit today's schema."""
    found: Owners = {}
    for identity, owned in owners.items():
        version = owned.version
        if setting.knows(version):
            setting.check(live, version, "")
            fields = lift_to_atomic(owned.fields, setting.type_at(version))
            same = fields is owned.fields
            found[identity] = owned if same else replace(owned, fields=fields)
        elif setting.types.is_custom:
            raise SchemaMismatchError(
                f"request to convert CR to an invalid group/version: {version}"
            )
    return found


def _take_from_others(
    setting: UpdateContext, live: KubeObject, new: KubeObject, owners: Owners, *, force: bool
) -> tuple[Owners, Comparison]:
    """Take from owners what was changed or removed; return what is left, and what happened."""
    seen = {setting.version: setting.compared(live, new, setting.version)}
    conflicts: dict[Identity, FieldSet] = {}
    left: Owners = {}
    for identity, owned in owners.items():
        if owned.version not in seen:
            setting.check(new, owned.version, "failed to convert new object: ")
            seen[owned.version] = setting.compared(live, new, owned.version)
        found = seen[owned.version]
        if found.is_empty:
            left[identity] = owned
            continue
        changed = fieldset.union(found.modified, found.added)
        common = fieldset.intersection(owned.fields, changed)
        if common:
            conflicts[identity] = common
        fields = fieldset.difference(owned.fields, common)
        left[identity] = replace(owned, fields=fieldset.difference(fields, found.removed))
    if conflicts and not force:
        raise ConflictsError(conflicts)
    remaining = {identity: owned for identity, owned in left.items() if owned.fields}
    return remaining, seen[setting.version]


def _pruned(setting: UpdateContext, new: KubeObject, owners: Owners, last: Owned) -> KubeObject:
    """Remove the fields that were applied before, are not now, and have no other owner."""
    # What is still applied stays, so most of the time there is nothing to look for.
    is_same_version = last.version == setting.version
    if is_same_version and fieldset.includes(owners[setting.me].fields, last.fields):
        return new
    setting.check(new, last.version, f"{_PRUNING}failed to convert merged object to {_LAST}: ")
    root = setting.type_at(last.version)
    mine = with_named_fields(last.fields, root)
    whole = _named(new, root)
    # Restore the fields that another manager owns.
    pruned: KubeObject = remove_fields(new, mine, root)
    known = {last.version: whole}
    owned_at: dict[str, FieldSet] = {}
    for owned in owners.values():
        fields = owned_at.get(owned.version, {})
        owned_at[owned.version] = fieldset.union(fields, owned.fields)
    for version in sorted(owned_at, key=lambda each: each not in known):
        setting.check(new, version, f"{_PRUNING}{_OWNED} {version}: ")
        with_root = setting.type_at(version)
        fields = known[version] if version in known else _named(new, with_root)
        with_kept = fieldset.union(
            _named(pruned, with_root), with_named_fields(owned_at[version], with_root)
        )
        pruned = remove_fields(new, fieldset.difference(fields, with_kept), with_root)
    kept = pruned
    gone = fieldset.difference(whole, _named(kept, root))
    return remove_fields(new, fieldset.intersection(gone, mine), root)


def _named(obj: Any, root: Atom) -> FieldSet:
    return with_named_fields(fields_of(obj or {}, root), root)
