from typing import Any

import pytest

from kube_objects import structural_schema as questions
from kube_objects.problems import Path
from kube_objects.schemas import Schema

STRING: Schema = {"type": "string"}
PORT: Schema = {"type": "object", "properties": {"name": STRING}}
WEB: Schema = {
    "type": "object",
    "required": ["ports"],
    "properties": {
        "ports": {
            "type": "array",
            "items": PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "labels": {"type": "object", "additionalProperties": STRING},
        "free": {"type": "object", "additionalProperties": True},
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), WEB),
        (("ports", 3), PORT),
        (("ports", 0, "name"), STRING),
        (("labels", "anything"), STRING),
        (("free", "anything"), None),
        (("ports", "name"), None),
        (("missing", "below", 1), None),
    ],
)
def test_a_path_leads_to_what_is_said_about_it(path: Path, expected: Schema | None) -> None:
    assert questions.find(WEB, path) == expected


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        (STRING, ("string",)),
        ({"type": ["string", "null"]}, ("string", "null")),
        ({"x-kubernetes-int-or-string": True}, ("integer", "string")),
        ({"type": ""}, ()),
        ({}, ()),
    ],
)
def test_types_are_a_set_that_may_be_empty(schema: Schema, allowed: tuple[str, ...]) -> None:
    assert questions.types(schema) == allowed


def test_lists_are_atomic_unless_they_say_otherwise() -> None:
    ports = WEB["properties"]["ports"]
    assert questions.list_type({}) == "atomic"
    assert questions.list_type(ports) == "map"
    assert questions.list_map_keys(ports) == ("name",)
    assert questions.list_map_keys({}) == ()


@pytest.mark.parametrize(
    ("additional", "expected"), [(True, True), (STRING, True), (False, False), (None, False)]
)
def test_other_fields_may_be_allowed(additional: Any, expected: bool) -> None:
    schema = {} if additional is None else {"additionalProperties": additional}
    assert questions.has_other_fields(schema) is expected


def test_what_is_malformed_is_as_good_as_absent() -> None:
    broken: Schema = {"properties": [], "items": True, "required": "x", "type": 3}
    assert questions.find(broken, ("x", 0)) is None
    assert questions.required(broken) == ()
    assert questions.types(broken) == ()
