"""
Tables and metadata alone: what is sent for `as=Table` and `as=PartialObjectMetadata`.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/response.go asTable,
asPartialObjectMetadata, asPartialObjectMetadataList; k8s.io/apiserver/pkg/registry/rest/table.go
defaultTableConvertor.ConvertToTable.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import orjson

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
from kube_sandbox.tables.ages import Clock
from kube_sandbox.tables.cells import Cells, Print, name_of, number, text

Include = Literal["None", "Metadata", "Object"]
_GROUP_VERSION = "meta.k8s.io/v1"
# Counts the changes of a DaemonSet's template: a field of its own inside a real API server.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_NEVER = "0001-01-01T00:00:00Z"  # no time at all, as Go writes it
_ROWS: Mapping[tuple[str, str], Print] = {
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
    remainingItemCount are told. Of the events of a watch only the first has `headers`. `kind` is
    that of a subresource (Scale).
    """
    definitions, cells, rows_are_null = _printer(served, kind)
    clock = Clock(now)
    rows = [_row(obj, cells(obj, clock), include) for obj in _ordered(served, objects)]
    kept = ("resourceVersion", "continue", "remainingItemCount")
    return {
        "kind": "Table",
        "apiVersion": _GROUP_VERSION,
        "metadata": {name: metadata[name] for name in kept if metadata.get(name)},
        "columnDefinitions": definitions if headers else None,
        "rows": rows or (None if rows_are_null else []),
    }


def _printer(served: Served, kind: Kind | None) -> tuple[list[columns.Definition], Print, bool]:
    """Return the columns of a kind, what prints its cells, and whether no rows are null."""
    shown = kind or served.kind
    if served.is_custom and kind is None:
        asked: tuple[Column, ...] = served.columns or columns.age()
        return columns.custom(asked), custom_rows.printer(asked), False
    cells = _ROWS.get((shown.group, shown.kind))
    own = columns.built_in(shown.group, shown.kind)
    if cells is None or own is None:
        return columns.default_columns(), _plain, True
    return own, cells, False


def _plain(obj: KubeObject, _: Clock) -> Cells:
    return [name_of(obj), text(obj, "metadata", "creationTimestamp", absent=_NEVER)]


def _ordered(served: Served, objects: Iterable[KubeObject]) -> Iterable[KubeObject]:
    if (served.kind.group, served.kind.kind) != _FLOW_SCHEMA:
        return objects

    def precedence(obj: KubeObject) -> tuple[int, str]:
        return number(obj, "spec", "matchingPrecedence"), name_of(obj)

    return sorted(objects, key=precedence)


def _row(obj: KubeObject, cells: Cells, include: Include) -> KubeObject:
    row: KubeObject = {"cells": cells}
    if obj.get("kind") == "Pod" and (conditions := pod_rows.conditions(obj)):
        row["conditions"] = conditions
    match include:
        case "None":
            row["object"] = None
        case "Metadata":
            row["object"] = partial(obj)
        case "Object":
            row["object"] = obj
    return row


def partial(obj: KubeObject) -> KubeObject:
    """Return an object's metadata alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _GROUP_VERSION,
        "metadata": _without_counts(obj.get("metadata", {})),
    }


def _without_counts(metadata: KubeObject) -> KubeObject:
    """Leave out what is no annotation in the form in which a real API server holds an object."""
    annotations = metadata.get("annotations") or {}
    if TEMPLATE_GENERATION not in annotations:
        return metadata
    kept = {key: text for key, text in annotations.items() if key != TEMPLATE_GENERATION}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**rest, "annotations": kept} if kept else rest


def partial_list(objects: Iterable[KubeObject], metadata: Mapping[str, Any]) -> KubeObject:
    """Return the metadata alone of listed objects; `metadata` is the list's."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": _GROUP_VERSION,
        "metadata": dict(metadata),
        "items": [partial(each) for each in objects] or None,
    }


def partial_bytes(value: bytes) -> bytes:
    """Return the metadata alone of an object in JSON."""
    return orjson.dumps(partial(orjson.loads(value)))


def not_a_list(asked: str, go_type: str, *, is_list: bool) -> StatusError:
    """Refuse metadata of one object where there are many, or the other way round."""
    which = "a list" if is_list else "not a list"
    text = f"you requested {asked}, but the requested object is {which} ({go_type})"
    return StatusError(406, "NotAcceptable", text)
