"""Who owns replicas that were set by way of a scale; all of it was seen at a real server."""

from typing import Any

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.managedfields.manager import Types, Write, applied, updated
from kube_sandbox.managedfields.scale import of_parent, of_scale

PATHS = {"apps/v1": ("spec", "replicas")}
SCALE = Types.of(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
    }
)


def entry(manager: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"manager": manager, "operation": "Apply", "apiVersion": "apps/v1"}
    return {**head, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
PARENT = [entry("m", {"f:spec": {"f:replicas": {}, "f:paused": {}}}, time="2026-01-01T00:00:00Z")]


def scale(parent: list[dict[str, Any]], replicas: int) -> dict[str, Any]:
    metadata = {"name": "x", "uid": "1", "managedFields": of_scale(parent, PATHS)}
    head = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata}
    return {**head, "spec": {"replicas": replicas}}


def write(manager: str) -> Write:
    return Write(manager, "2026-01-02T00:00:00Z", "autoscaling/v1", "scale")


def patched(parent: list[dict[str, Any]], before: int, after: int) -> list[dict[str, Any]]:
    live = scale(parent, before)
    found = updated(live, {**live, "spec": {"replicas": after}}, SCALE, write("sc"))
    return of_parent(parent, found["metadata"].get("managedFields"), "apps/v1", PATHS)


def test_a_scale_has_the_owners_of_the_replicas() -> None:
    other = entry("n", {"f:spec": {"f:paused": {}}})
    assert of_scale([*PARENT, other], PATHS) == [
        {**PARENT[0], "apiVersion": "autoscaling/v1", "fieldsV1": REPLICAS}
    ]


def test_who_scales_takes_the_replicas_since_no_time() -> None:
    found = patched(PARENT, 2, 3)
    scaled = entry("sc", REPLICAS, operation="Update", subresource="scale")
    assert found == [{**PARENT[0], "fieldsV1": {"f:spec": {"f:paused": {}}}}, scaled]
    assert patched(found, 3, 4) == found


def test_replicas_of_others_are_a_conflict() -> None:
    parent = patched(PARENT, 2, 3)
    config = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "x"},
        "spec": {"replicas": 5},
    }
    with pytest.raises(StatusError) as caught:
        applied(scale(parent, 3), config, SCALE, write("ss"), force=False)
    assert caught.value.message == (
        "Apply failed with 1 conflict: "
        'conflict with "sc" with subresource "scale" using autoscaling/v1: .spec.replicas'
    )
    found = applied(scale(parent, 3), config, SCALE, write("ss"), force=True)
    entries = of_parent(parent, found["metadata"]["managedFields"], "apps/v1", PATHS)
    assert [each["manager"] for each in entries] == ["ss", "m"]


def test_owners_under_unknown_versions_are_forgotten() -> None:
    old = entry("old", {"f:spec": {"f:paused": {}}}, apiVersion="apps/v0")
    assert of_parent([*PARENT, old], of_scale(PARENT, PATHS), "apps/v1", PATHS) == PARENT
