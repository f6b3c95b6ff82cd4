"""Sets of fields, as a real API server recorded them."""

from typing import Any

import pytest

from kube_objects.field_sets import (
    below_path,
    fields_missing_in,
    format_fields,
    has_created_part,
    is_leaf,
    pack,
    union,
    unpack,
    without,
    without_paths,
)

SIDECAR = 'k:{"name":"sidecar"}'
MAIN = 'k:{"name":"main"}'
ITEM: dict[str, Any] = {".": {}, "f:image": {}, "f:name": {}}
PORT_81 = 'k:{"port":81,"protocol":"TCP"}'


def containers(**items: Any) -> dict[str, Any]:
    return {"f:spec": {"f:template": {"f:spec": {"f:containers": items}}}}


def pod(*names: str) -> dict[str, Any]:
    items = [{"name": name, "image": "web:1"} for name in names]
    return {"spec": {"template": {"spec": {"containers": items}}}}


def test_an_item_that_is_not_desired_is_missing_with_all_its_fields() -> None:
    fields = containers(**{SIDECAR: ITEM, MAIN: {"f:image": {}}})
    assert fields_missing_in(pod("main"), fields) == containers(**{SIDECAR: ITEM})
    assert fields_missing_in(pod("main", "sidecar"), fields) == {}


def test_an_item_is_found_by_all_its_keys() -> None:
    fields = {"f:spec": {"f:ports": {PORT_81: ITEM, 'k:{"port":80,"protocol":"UDP"}': ITEM}}}
    desired = {"spec": {"ports": [{"port": 80}, {"port": 81}]}}
    missing = fields_missing_in(desired, fields)["f:spec"]["f:ports"]
    # Of the other one only what is not desired.
    assert missing == {
        PORT_81: {"f:image": {}, "f:name": {}},
        'k:{"port":80,"protocol":"UDP"}': ITEM,
    }


def test_values_of_sets_and_fields_of_one_value_are_compared_too() -> None:
    fields: dict[str, Any] = {
        "f:finalizers": {'v:"a"': {}, 'v:"b"': {}},
        "f:args": {},
        "f:rest": {},
    }
    desired = {"finalizers": ["a"], "args": ["x"]}
    assert fields_missing_in(desired, fields) == {"f:finalizers": {'v:"b"': {}}, "f:rest": {}}


@pytest.mark.parametrize(
    ("fields", "created"),
    [
        ({"f:data": {".": {}, "f:y": {}}}, True),
        ({"f:data": {"f:y": {}}}, False),
        ({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}, False),  # we have no labels
        ({"f:data": {}}, False),
    ],
)
def test_who_was_first_is_known_by_the_maps(fields: dict[str, Any], created: bool) -> None:
    assert has_created_part({"metadata": {}, "data": {"x": "1"}}, fields) is created


def test_what_is_removed_leaves_no_empty_map_behind() -> None:
    fields: dict[str, Any] = {"f:data": {".": {}, "f:y": {}}, "f:kind": {}}
    assert without(fields, {"f:data": {"f:y": {}}}) == {"f:kind": {}}
    assert without(fields, {"f:data": {}}) == {"f:kind": {}}
    assert without(fields, {"f:other": {}}) == fields
    # One value cannot be taken apart.
    assert without({"f:data": {}}, {"f:data": {"f:y": {}}}) == {"f:data": {}}


def test_a_union_has_the_fields_of_both() -> None:
    one: dict[str, Any] = {"f:a": {"f:b": {}}, "f:c": {}}
    other: dict[str, Any] = {"f:a": {"f:d": {}}, "f:c": {"f:e": {}}}
    assert union(one, other) == {
        "f:a": {"f:b": {}, "f:d": {}},
        "f:c": {".": {}, "f:e": {}},
    }
    assert union({}, one) == one


def test_paths_name_fields_items_and_prefixes() -> None:
    fields = containers(**{SIDECAR: ITEM, MAIN: ITEM})
    path = ("spec", "template", "spec", "containers")
    assert without_paths(fields, [(*path, "sidecar")]) == containers(**{MAIN: ITEM})
    assert without_paths(fields, [path]) == {}
    assert without_paths(fields, [(*path, "*")]) == {}
    notes: dict[str, Any] = {"f:annotations": {"f:a.io/x": {}, "f:b.io/x": {}}}
    assert without_paths(notes, [("annotations", "a.io/*")]) == {"f:annotations": {"f:b.io/x": {}}}


def test_a_set_is_cut_to_a_path() -> None:
    fields = {"f:spec": {"f:ports": {PORT_81: ITEM}, "f:selector": {}}}
    assert below_path(fields, ("spec", "ports")) == {"f:spec": {"f:ports": {PORT_81: ITEM}}}
    assert below_path(fields, ("spec", "type")) == {}
    assert below_path(fields, ("spec", "selector")) == {"f:spec": {"f:selector": {}}}


def test_fields_are_shown_as_people_write_them() -> None:
    fields = union(
        containers(**{SIDECAR: ITEM}),
        {"f:metadata": {"f:labels": {"f:a.io/team": {}}}, "f:spec": {"f:ports": {PORT_81: ITEM}}},
    )
    assert format_fields(fields) == (
        "spec.template.spec.containers[sidecar], spec.ports[81/TCP], metadata.labels[a.io/team]"
    )
    assert format_fields(fields, 1) == "spec.template.spec.containers[sidecar] and 2 more"


def test_an_empty_set_takes_no_memory() -> None:
    assert pack({}) == b""
    assert unpack(b"") == {}
    assert unpack(pack(containers(**{MAIN: ITEM}))) == containers(**{MAIN: ITEM})
    assert is_leaf({})
    assert is_leaf({".": {}})
