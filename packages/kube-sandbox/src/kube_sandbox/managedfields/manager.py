"""
Managed fields of an object that is written: the way in.

`applied` is what server-side apply does, `updated` what every other write does. Both return the
object with its `metadata.managedFields`; neither fills in defaults or checks more than types, and
neither changes what it is given. What is applied shares nothing with the live object but entries
of managed fields; what is updated is the new object, but for its `metadata`.

They are called before a kind's strategy puts back what a write does not reach; such fields are
named by `Write.reset`. `restore_unchanged_times` comes after that: a write that changes nothing
but times leaves those as they were.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go
FieldManager.Update, FieldManager.Apply;
k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go
structuredMergeManager.Apply; k8s.io/apimachinery/pkg/util/managedfields/internal/capmanagers.go
capManagersManager.capUpdateManagers;
k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
IgnoreManagedFieldsTimestampsTransformer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError, bad_request
from kube_sandbox.managedfields import conflicts, entries, fieldset, last_applied
from kube_sandbox.managedfields.empty_objects import empty_object
from kube_sandbox.managedfields.entries import APPLY, UPDATE, Managed, identity_text
from kube_sandbox.managedfields.fieldset import FieldSet
from kube_sandbox.managedfields.merge_values import copy_value
from kube_sandbox.managedfields.typed import is_same
from kube_sandbox.managedfields.types import Types
from kube_sandbox.managedfields.updater import (
    ConflictsError,
    Identity,
    Owned,
    SchemaMismatchError,
    UpdateContext,
    apply,
    update,
)
from kube_sandbox.managedfields.validation import is_valid, validation_message
from kube_sandbox.registry.strategy import Fields

__all__ = ["Types", "Write", "applied", "restore_unchanged_times", "updated"]

_MAX_UPDATERS = 10
_ANCIENT = "ancient-changes"
_BEFORE_APPLY = "before-first-apply"
_UNKNOWN = "unknown"

_METADATA = ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName")
_COUNTERS = ("generation", "managedFields", "resourceVersion")
# The identity of an object and fields that only the server sets have no owner.
_STRIPPED_FIELDS = fieldset.of_names(
    (
        ("apiVersion",),
        ("kind",),
        ("metadata",),
        *(("metadata", name) for name in (*_METADATA, *_COUNTERS)),
    )
)


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes, when, at which version of the kind; `reset` is what the write does not reach."""

    manager: str
    time: str  # RFC 3339, to the second
    api_version: str
    subresource: str = ""
    reset: Fields = ()
    kind: str = ""  # what must be applied; empty: anything
    # The other versions of a custom kind, served or not, by their apiVersion.
    others: Mapping[str, Types] = field(default_factory=dict)

    def setting(self, types: Types, operation: str) -> UpdateContext:
        """Return whose fields they become, and how the kind is looked at."""
        version = "" if operation == APPLY else self.api_version
        me = Identity(self.manager or _UNKNOWN, operation, version, self.subresource)
        return UpdateContext(me, self.api_version, types, self.others, _as_fields(self.reset))


@lru_cache(maxsize=256)
def _as_fields(names: Fields) -> FieldSet:
    return fieldset.of_names(names)


def updated(live: KubeObject | None, new: KubeObject, types: Types, write: Write) -> KubeObject:
    """Return `new` with managed fields as after a create, update or patch."""
    managed = _managed_before(live, new, write)
    new = entries.without_managed_fields(new)
    if not managed.owners and live is not None:
        return new
    before = entries.without_managed_fields(live) if live is not None else empty_object(new)
    if not all(is_valid(each, types.root, may_repeat=True) for each in (before, new)):
        return new
    try:
        managed = _updated(write.setting(types, UPDATE), before, new, managed, write.time)
    except SchemaMismatchError:
        return new
    return entries.stored(new, managed)


def _managed_before(live: KubeObject | None, new: KubeObject, write: Write) -> Managed:
    """Return who owned what: as the live object has it, unless the write says otherwise."""
    known = _metadata(live or {}).get("managedFields")
    if not write.subresource:
        wanted = _metadata(new).get("managedFields")
        if wanted in ([], [{}]):
            return entries.empty_managed()
        if entries.are_entries(wanted) and wanted != known:
            found = _read_or_nothing(wanted, is_foreign=True)
            if found.owners:
                return found
    return _read_or_nothing(known)


def _read_or_nothing(known: list[entries.Entry] | None, *, is_foreign: bool = False) -> Managed:
    try:
        return entries.read(known, is_foreign=is_foreign)
    except (entries.MalformedEntryError, fieldset.MalformedFieldsError):
        return entries.empty_managed()


def _updated(
    setting: UpdateContext, live: KubeObject, new: KubeObject, managed: Managed, time: str
) -> Managed:
    """Return who owns what after an update."""
    owners, mine = update(setting, live, new, managed.owners)
    found = managed.replaced(owners)
    fields = fieldset.difference(mine, _STRIPPED_FIELDS)
    me = setting.me
    if fields:
        before = owners.get(me)
        fields = fields if before is None else fieldset.union(before.fields, fields)
        owners[me] = Owned(fields, setting.version, is_applied=False)
        found.times[me] = time
    # Put the oldest updates together, so that there are not too many.
    updaters = [each for each, owned in found.owners.items() if not owned.is_applied]
    if len(updaters) <= _MAX_UPDATERS:
        return found
    updaters.sort(key=lambda each: (found.times.get(each) or "", identity_text(each)))
    owners, times, count = found.owners, found.times, len(updaters)
    first_of: dict[str, Identity] = {}
    for each in updaters:
        if count <= _MAX_UPDATERS:
            break
        owned = owners[each]
        first = first_of.setdefault(owned.version, each)
        if first == each:
            continue
        bucket = Identity(_ANCIENT, UPDATE, owned.version, "")
        if bucket not in owners:
            owners[bucket] = owners.pop(first)
        fields = fieldset.union(owned.fields, owners[bucket].fields)
        owners[bucket] = Owned(fields, owned.version, is_applied=False)
        if each != bucket:
            del owners[each]
        times[bucket] = times.get(each)
        count -= 1
    return found


def applied(
    live: KubeObject | None, config: KubeObject, types: Types, write: Write, *, force: bool
) -> KubeObject:
    """
    Return the live object with an applied one laid over it, and managed fields as after that.

    Raises what is wrong: conflicts, values that do not fit the schema.
    """
    try:
        managed = entries.read(_metadata(live or {}).get("managedFields"))
    except entries.MalformedEntryError as reason:
        raise _failure(f"failed to decode managed fields: {reason}") from None
    version, kind = config.get("apiVersion", ""), config.get("kind", "")
    if version != write.api_version or (write.kind and kind != write.kind):
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    if isinstance(_metadata(config).get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    setting = write.setting(types, APPLY)
    before = entries.without_managed_fields(live) if live is not None else {}
    is_stored = bool(managed.owners)
    try:
        if not is_stored and live is not None:
            initial_setting = replace(write, manager=_BEFORE_APPLY).setting(types, UPDATE)
            managed = _updated(
                initial_setting, empty_object(before), before, entries.empty_managed(), write.time
            )
        root = setting.root
        if not is_valid(config, root, may_repeat=False):
            text = validation_message(config, root, may_repeat=False)
            raise _failure(f"failed to create typed patch object ({_named(config)}): {text}")
        if not is_valid(before, root, may_repeat=True):
            text = validation_message(before, root, may_repeat=True)
            raise _failure(f"failed to create typed live object ({_named(before)}): {text}")
        new, managed = _applied(setting, before, config, managed, force=force)
    except ConflictsError as found:
        raise conflicts.conflict_error(found.owners, is_stored=is_stored) from None
    except SchemaMismatchError as reason:
        raise _failure(str(reason)) from None
    if new is None:
        new = before
    else:
        managed.times[setting.me] = write.time
    if write.manager == last_applied.MANAGER:
        new = last_applied.update_last_applied(new, config)
    return entries.stored(copy_value(new), managed)


def _applied(
    setting: UpdateContext, live: KubeObject, config: KubeObject, managed: Managed, *, force: bool
) -> tuple[KubeObject | None, Managed]:
    """Return the merged object, `None` if it is as it was, and who owns what."""
    try:
        new, owners = apply(setting, live, config, managed.owners, force=force)
    except ConflictsError as found:
        # Conflicts pass with fields that the same user applied by the client before.
        if setting.me.manager != last_applied.MANAGER:
            raise
        allowed = last_applied.allowed(setting, live)
        left = {each: fieldset.difference(fields, allowed) for each, fields in found.owners.items()}
        left = {each: fields for each, fields in left.items() if fields}
        if left:
            raise ConflictsError(left) from None
        new, owners = apply(setting, live, config, managed.owners, force=True)
    mine = owners.pop(setting.me, None)
    fields = fieldset.difference(mine.fields, _STRIPPED_FIELDS) if mine is not None else {}
    if fields:
        owners[setting.me] = Owned(fields, setting.version, is_applied=True)
    return new, managed.replaced(owners)


def restore_unchanged_times(live: KubeObject, new: KubeObject) -> KubeObject:
    """Return an object with the times it had, if nothing else differs."""
    known = _metadata(live).get("managedFields") or []
    found = _metadata(new).get("managedFields") or []
    if not found or len(known) != len(found) or known == found:
        return new
    pairs = zip(known, found, strict=True)
    if any({**one, "time": 0} != {**other, "time": 0} for one, other in pairs):
        return new
    kept = {**new, "metadata": {**new["metadata"], "managedFields": known}}
    return kept if is_same(kept, live) else new


def _metadata(obj: KubeObject) -> dict[str, Any]:
    """Return an object's metadata; empty if the client sent no object there."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def _failure(message: str) -> StatusError:
    return StatusError(500, "", message)


def _kind_text(obj: KubeObject) -> str:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind', '')}"


def _named(obj: KubeObject) -> str:
    metadata = _metadata(obj)
    namespace, name = metadata.get("namespace"), metadata.get("name")
    place = "/".join(each if isinstance(each, str) else "" for each in (namespace, name))
    return f"{place}; {_kind_text(obj)}"
