"""Tables, replayed against what a real API server showed of the same objects."""

import json
import zlib
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from kube_objects.refs import Kind, KubeObject
from kube_objects.times import format_span
from kube_sandbox.api_errors import StatusError
from kube_sandbox.registry.kinds import Column, Served
from kube_sandbox.tables.render import (
    include_of,
    not_a_list,
    partial,
    partial_list,
    table,
)

if TYPE_CHECKING:
    from kube_sandbox.registry.strategy import Strategy

RECORDED = Path(__file__).parents[1] / "data" / "tables.json.zlib"
NOW = datetime(2026, 11, 16, 17, tzinfo=UTC)
NOTE = "Custom resource definition column (in JSONPath format): "


@cache
def recorded() -> list[Any]:
    """Return what was recorded."""
    found: list[Any] = json.loads(zlib.decompress(RECORDED.read_bytes()))
    return found


def served(kind: Kind, columns: tuple[Column, ...] = (), *, is_custom: bool = False) -> Served:
    """Return a kind as it is served; nothing is asked of its strategy."""
    strategy = cast("Strategy", None)
    return Served(kind, "things", True, dict, strategy, columns=columns, is_custom=is_custom)


def custom_columns(case: Any) -> tuple[Column, ...]:
    """Return the columns of the recorded custom kind; their descriptions name their paths."""
    paths = {"Truth": ".spec.value"}
    return tuple(
        Column(
            each["name"],
            each["type"],
            paths.get(each["name"], each["description"].removeprefix(NOTE)),
            each["format"],
            "" if each["description"].startswith(NOTE) else each["description"],
            each["priority"],
        )
        for each in case["columns"][1:]
    )


def is_known_difference(row: Any) -> bool:
    """Say whether an autoscaler of version 1 keeps metrics in annotations, which are not read."""
    annotations = row["object"]["metadata"].get("annotations", {})
    return "autoscaling.alpha.kubernetes.io/metrics" in annotations


@pytest.mark.parametrize("case", recorded(), ids=lambda case: case["path"])
def test_rows_are_those_of_a_real_api_server(case: Any) -> None:
    first = case["rows"][0]["object"]
    kind = Kind.of(first["apiVersion"], first["kind"])
    is_custom = "columns" in case
    columns = custom_columns(case) if is_custom and "/v1/" in case["path"] else ()
    shown = [
        table(
            served(kind, columns, is_custom=is_custom),
            [row["object"] for row in case["rows"]],
            now=datetime.fromtimestamp(when, UTC),
            metadata={},
            include="Object",
        )
        for when in (case["before"], case["after"])
    ]
    for index, row in enumerate(case["rows"]):
        if not is_known_difference(row):
            # Ages are those of one or the other moment.
            found = [json.dumps(each["rows"][index]) for each in shown]
            assert json.dumps(row) in found
    if is_custom:
        assert shown[0]["columnDefinitions"] == case["columns"]


CONFIG_MAP: KubeObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "resourceVersion": "5", "creationTimestamp": "2026-11-16T16:49:00Z"},
    "data": {"x": "y"},
}
PARTIAL = {
    "kind": "PartialObjectMetadata",
    "apiVersion": "meta.k8s.io/v1",
    "metadata": CONFIG_MAP["metadata"],
}


def test_a_table_has_the_metadata_of_its_list() -> None:
    listed = {"resourceVersion": "9", "continue": "abc", "remainingItemCount": 3, "other": 1}
    found = table(served(Kind("", "v1", "ConfigMap")), [CONFIG_MAP], now=NOW, metadata=listed)
    assert list(found) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert found["metadata"] == {
        "resourceVersion": "9",
        "continue": "abc",
        "remainingItemCount": 3,
    }
    assert found["rows"] == [{"cells": ["a", 1, "11m"], "object": PARTIAL}]
    names = [each["name"] for each in found["columnDefinitions"]]
    assert names == ["Name", "Data", "Age"]


def test_the_events_of_a_watch_have_columns_once() -> None:
    found = table(
        served(Kind("", "v1", "ConfigMap")),
        [CONFIG_MAP],
        now=NOW,
        metadata=CONFIG_MAP["metadata"],
        include="None",
        headers=False,
    )
    assert found["columnDefinitions"] is None
    assert found["rows"] == [{"cells": ["a", 1, "11m"], "object": None}]
    assert found["metadata"] == {"resourceVersion": "5"}


def test_no_rows_are_null_only_for_kinds_without_columns_of_their_own() -> None:
    def rows(kind: Kind, *, is_custom: bool = False) -> Any:
        shown = table(served(kind, is_custom=is_custom), [], now=NOW, metadata={})
        return shown["rows"]

    assert rows(Kind("", "v1", "ConfigMap")) == []
    assert rows(Kind("f.example.com", "v1", "Thing"), is_custom=True) == []
    assert rows(Kind("", "v1", "LimitRange")) is None


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (Kind("", "v1", "ConfigMap"), ["", 0, "<unknown>"]),
        (Kind("", "v1", "LimitRange"), ["", "0001-01-01T00:00:00Z"]),
    ],
)
def test_a_bookmark_has_a_row_of_nothing(kind: Kind, cells: list[Any]) -> None:
    bookmark: KubeObject = {"kind": kind.kind, "metadata": {"resourceVersion": "7"}}
    found = table(served(kind), [bookmark], now=NOW, metadata=bookmark["metadata"])
    assert found["rows"][0]["cells"] == cells
    assert found["metadata"] == {"resourceVersion": "7"}


def test_a_scale_has_columns_of_its_own() -> None:
    scale = {"metadata": {"name": "d"}, "spec": {"replicas": 3}, "status": {"replicas": 1}}
    found = table(
        served(Kind("apps", "v1", "Deployment")),
        [scale],
        now=NOW,
        metadata={},
        include="None",
        kind=Kind("autoscaling", "v1", "Scale"),
    )
    assert [each["name"] for each in found["columnDefinitions"]] == [
        "Name",
        "Desired",
        "Available",
        "Age",
    ]
    assert found["rows"][0]["cells"] == ["d", 3, 1, "<unknown>"]


def test_what_is_included_is_one_of_three() -> None:
    assert [include_of(each) for each in ("", "None", "Object")] == ["Metadata", "None", "Object"]
    with pytest.raises(StatusError) as caught:
        include_of("Foo")
    assert (caught.value.code, caught.value.message) == (
        400,
        'Unable to convert to Table as requested: includeObject: Invalid value: "Foo": '
        "must be 'Metadata', 'Object', 'None', or empty",
    )


def test_metadata_alone() -> None:
    assert partial(CONFIG_MAP) == PARTIAL
    found = partial_list([CONFIG_MAP], {"resourceVersion": "9"})
    assert found == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "9"},
        "items": [PARTIAL],
    }
    refusal = not_a_list("PartialObjectMetadata", "*core.ConfigMapList", is_list=True)
    assert (refusal.code, refusal.reason, refusal.message) == (
        406,
        "NotAcceptable",
        "you requested PartialObjectMetadata, but the requested object is a list "
        "(*core.ConfigMapList)",
    )


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (8 * 3600 - 1, "7h59m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (731 * 86400, "2y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_are_the_coarser_the_longer(seconds: int, expected: str) -> None:
    assert format_span(timedelta(seconds=seconds)) == expected
