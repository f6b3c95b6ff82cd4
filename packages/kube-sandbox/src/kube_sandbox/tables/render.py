"""
Tables and partial metadata: what is sent for `as=Table` and `as=PartialObjectMetadata`.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/response.go asTable,
asPartialObjectMetadata, asPartialObjectMetadataList; k8s.io/apiserver/pkg/registry/rest/table.go
defaultTableConvertor.ConvertToTable.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, get_args

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError, bad_request
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.kinds import Column, Served
from kube_sandbox.tables import (
    columns,
    config_and_policy_rows,
    custom_rows,
    network_rows,
    pod_rows,
    workload_rows,
)
from kube_sandbox.tables.cells import Cells, Clock, Print, name_of, number, text

Include = Literal["None", "Metadata", "Object"]
_GROUP_VERSION = "meta.k8s.io/v1"
# Counts the changes of a DaemonSet's template: a field of its own inside a real API server.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_NEVER = "0001-01-01T00:00:00Z"  # no time at all, as Go writes it
_ROWS: Mapping[str, Print] = {
    **workload_rows.ROWS,
    **network_rows.ROWS,
    **config_and_policy_rows.ROWS,
}
_FLOW_SCHEMA = ("flowcontrol.apiserver.k8s.io", "FlowSchema")


def include_of(written: str) -> Include:
    """Read the parameter `includeObject`."""
    if not written:
        return "Metadata"
    for each in get_args(Include):
        if each == written:
            found: Include = each
            return found
    said = invalid("includeObject", written, "must be 'Metadata', 'Object', 'None', or empty")
    raise bad_request(f"Unable to convert to Table as requested: {said}")


def table(
    served: Served,
    objects: Iterable[KubeObject],
    *,
    now: datetime,
    metadata: Mapping[str, Any],
    include: Include = "Metadata",
    headers: bool = True,
    kind: Kind | None = None,
) -> KubeObject:
    """
    Return objects as a table.

    `metadata` is the list's, or that of the one object: its resourceVersion, continue and
    remainingItemCount are copied. Of the events of a watch only the first has `headers`. `kind` is
    that of a subresource (Scale).
    """
    definitions, cells, rows_are_null = _printer(served, kind)
    clock = Clock(now)
    if (served.kind.group, served.kind.kind) == _FLOW_SCHEMA:
        objects = sorted(
            objects, key=lambda obj: (number(obj, "spec", "matchingPrecedence"), name_of(obj))
        )
    rows = []
    for obj in objects:
        row: KubeObject = {"cells": cells(obj, clock)}
        if obj.get("kind") == "Pod" and (conditions := pod_rows.conditions(obj)):
            row["conditions"] = conditions
        match include:
            case "None":
                row["object"] = None
            case "Metadata":
                row["object"] = partial(obj)
            case "Object":
                row["object"] = obj
        rows.append(row)
    kept = ("resourceVersion", "continue", "remainingItemCount")
    return {
        "kind": "Table",
        "apiVersion": _GROUP_VERSION,
        "metadata": {name: metadata[name] for name in kept if metadata.get(name)},
        "columnDefinitions": definitions if headers else None,
        "rows": rows or (None if rows_are_null else []),
    }


def _printer(served: Served, kind: Kind | None) -> tuple[list[columns.Definition], Print, bool]:
    """Return a kind's columns, the printer of its cells, and whether an empty list is null."""
    shown = kind or served.kind
    if served.is_custom and kind is None:
        asked: tuple[Column, ...] = served.columns or columns.age()
        return columns.custom(asked), custom_rows.printer(asked), False
    cells = _ROWS.get(f"{shown.group}/{shown.kind}")
    own = columns.built_in(shown.group, shown.kind)
    if cells is None or own is None:

        def name_and_creation(obj: KubeObject, _: Clock) -> Cells:
            return [name_of(obj), text(obj, "metadata", "creationTimestamp", absent=_NEVER)]

        return columns.default_columns(), name_and_creation, True
    return own, cells, False


def partial(obj: KubeObject) -> KubeObject:
    """Return an object's metadata alone."""
    metadata = obj.get("metadata", {})
    annotations = metadata.get("annotations") or {}
    if TEMPLATE_GENERATION in annotations:  # a field of the internal type, not an annotation
        kept = {key: text for key, text in annotations.items() if key != TEMPLATE_GENERATION}
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        if kept:
            metadata["annotations"] = kept
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _GROUP_VERSION,
        "metadata": metadata,
    }


def partial_list(objects: Iterable[KubeObject], metadata: Mapping[str, Any]) -> KubeObject:
    """Return the metadata alone of listed objects; `metadata` is the list's."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": _GROUP_VERSION,
        "metadata": dict(metadata),
        "items": [partial(each) for each in objects] or None,
    }


def not_a_list(asked: str, go_type: str, *, is_list: bool) -> StatusError:
    """Reject the metadata of one object for a list, or that of a list for one object."""
    which = "a list" if is_list else "not a list"
    text = f"you requested {asked}, but the requested object is {which} ({go_type})"
    return StatusError(406, "NotAcceptable", text)
