"""
The entries of `metadata.managedFields`: read, written, put in order.

An entry that did not change is written as it was read.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go
DecodeManagedFields, encodeManagedFields, sortEncodedManagedFields, BuildManagerIdentifier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube_objects.go_format import json_text
from kube_objects.refs import KubeObject
from kube_sandbox.managedfields import fieldset
from kube_sandbox.managedfields.updater import Identity, Owned, Owners

APPLY = "Apply"
UPDATE = "Update"
_TYPE = "FieldsV1"

Entry = dict[str, Any]


class MalformedEntryError(ValueError):
    """An entry makes no sense."""


@dataclass(slots=True)
class Managed:
    """Who owns what, and since when."""

    owners: Owners
    times: dict[Identity, str | None]
    # As they were read, to be used again.
    entries: Mapping[Identity, Entry]

    def replaced(self, owners: Owners) -> "Managed":
        """Return the same with other owners."""
        return Managed(owners, dict(self.times), self.entries)


def empty_managed() -> Managed:
    """Return the state without any owner."""
    return Managed({}, {}, {})


def are_entries(value: Any) -> bool:
    """Return whether a value looks like a list of managedFields entries."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def read(entries: Sequence[Entry] | None, *, is_foreign: bool = False) -> Managed:
    """Read entries; those that were not written here are checked and brought into form."""
    owners: Owners = {}
    times: dict[Identity, str | None] = {}
    known: dict[Identity, Entry] = {}
    for place, entry in enumerate(entries or ()):
        operation, version = entry.get("operation"), entry.get("apiVersion", "")
        if entry.get("operation") not in (APPLY, UPDATE):
            raise MalformedEntryError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise MalformedEntryError("apiVersion must not be empty")
        kind = entry.get("fieldsType", "")
        if not kind:
            raise MalformedEntryError(f"missing fieldsType in managed fields entry {place}")
        if kind != _TYPE:
            raise MalformedEntryError(
                f'invalid fieldsType "{kind}" in managed fields entry {place}'
            )
        identity = Identity(
            entry.get("manager", ""),
            str(operation),
            "" if operation == APPLY else version,
            entry.get("subresource", ""),
        )
        fields = entry.get("fieldsV1") or {}
        if is_foreign:
            fields = fieldset.parsed(fields)
        else:
            known[identity] = entry
        owners[identity] = Owned(fields, version, operation == APPLY)
        times[identity] = entry.get("time")
    return Managed(owners, times, known)


def encode_entries(managed: Managed) -> list[Entry]:
    """Return the entries, in their order."""
    found = [_entry(managed, identity, owned) for identity, owned in managed.owners.items()]
    found.sort(
        key=lambda entry: (
            entry["operation"],
            entry.get("time") or "",
            entry.get("manager", ""),
            entry["apiVersion"],
            entry.get("subresource", ""),
        )
    )
    return found


def _entry(managed: Managed, identity: Identity, owned: Owned) -> Entry:
    time = managed.times.get(identity)
    before = managed.entries.get(identity)
    if before is not None and before.get("time") == time:
        if before["apiVersion"] != owned.version:
            is_unchanged = False
        else:
            fields = before.get("fieldsV1")
            is_unchanged = fields is owned.fields or fields == owned.fields
        if is_unchanged:
            return before
    found: Entry = {
        "manager": identity.manager,
        "operation": identity.operation,
        "apiVersion": owned.version,
        "time": time,
        "fieldsType": _TYPE,
        "fieldsV1": fieldset.ordered(owned.fields),
        "subresource": identity.subresource,
    }
    return {key: value for key, value in found.items() if value or key == "fieldsV1"}


def identity_text(identity: Identity) -> str:
    """Return an identity as the API server writes it where it sorts by it."""
    names = ("manager", "operation", "apiVersion", "subresource")
    parts = zip(names, identity, strict=True)
    found = (f'"{name}":{json_text(value)}' for name, value in parts if value)
    return f"{{{','.join(found)}}}"


def stored(obj: KubeObject, managed: Managed) -> KubeObject:
    """Return an object with these entries."""
    metadata = obj.get("metadata") or {}
    entries = encode_entries(managed)
    if entries:
        return {**obj, "metadata": {**metadata, "managedFields": entries}}
    return without_managed_fields(obj)


def without_managed_fields(obj: KubeObject) -> KubeObject:
    """Return an object without entries."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    rest = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": rest}
