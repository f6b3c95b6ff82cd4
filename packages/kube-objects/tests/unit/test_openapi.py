import pytest

from kube_objects.errors import SchemaError
from kube_objects.openapi import RECURSION, Components
from kube_objects.schemas import Schema

PREFIX = "#/components/schemas/"
TEXT: Schema = {"type": "string"}


def ref(name: str) -> Schema:
    return {"$ref": PREFIX + name}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(ref("Text"), TEXT, id="a plain reference"),
        pytest.param({"allOf": [ref("Text")]}, TEXT, id="a wrapped reference"),
        pytest.param(
            {"allOf": [ref("Text")], "default": "x"},
            {"type": "string", "default": "x"},
            id="a reference with something beside it",
        ),
        pytest.param(
            {"type": "array", "items": ref("Text")}, {"type": "array", "items": TEXT}, id="items"
        ),
        pytest.param(
            {"additionalProperties": ref("Text")}, {"additionalProperties": TEXT}, id="map values"
        ),
        pytest.param(
            {"properties": {"a": {"properties": {"b": ref("Text")}}, "c": TEXT}},
            {"properties": {"a": {"properties": {"b": TEXT}}, "c": TEXT}},
            id="properties at any depth",
        ),
        pytest.param(
            {"additionalProperties": True}, {"additionalProperties": True}, id="no schema at all"
        ),
        pytest.param(
            {"properties": {"$ref": {"type": "string"}}},
            {"properties": {"$ref": {"type": "string"}}},
            id="a field that is called like a reference",
        ),
        pytest.param({"oneOf": [TEXT]}, {"oneOf": [TEXT]}, id="choices stay"),
        pytest.param({"allOf": [{"minLength": 1}]}, {"allOf": [{"minLength": 1}]}, id="rules stay"),
    ],
)
def test_references_are_resolved(schema: Schema, expected: Schema) -> None:
    components = Components({"Root": schema, "Text": TEXT})
    assert components.get("Root") == expected


def test_a_component_is_resolved_once_and_shared() -> None:
    components = Components(
        {
            "One": {"properties": {"meta": ref("Meta")}},
            "Two": {"items": ref("Meta")},
            "Meta": {"properties": {"name": ref("Text")}},
            "Text": TEXT,
        }
    )
    assert components.get("One")["properties"]["meta"] is components.get("Two")["items"]


def test_the_document_is_left_as_it_was() -> None:
    document: dict[str, Schema] = {"Root": {"properties": {"a": ref("Text")}}, "Text": TEXT}
    Components(document).get("Root")
    assert document == {"Root": {"properties": {"a": ref("Text")}}, "Text": TEXT}


@pytest.mark.parametrize(
    "schemas",
    [
        pytest.param({"Tree": {"properties": {"child": ref("Tree")}}}, id="directly"),
        pytest.param(
            {"Tree": {"properties": {"child": ref("Branch")}}, "Branch": ref("Tree")},
            id="through another",
        ),
    ],
)
def test_a_component_within_itself_is_cut(schemas: dict[str, Schema]) -> None:
    assert Components(schemas).get("Tree") == {"properties": {"child": RECURSION}}


def test_what_a_document_lacks_its_base_has() -> None:
    base = Components({"Text": TEXT})
    components = Components({"Root": {"items": ref("Text")}}, base)
    assert components.get("Root")["items"] is base.get("Text")


def test_slashes_in_names_are_escaped_in_references() -> None:
    components = Components({"Root": ref("a~1b~0c"), "a/b~c": TEXT})
    assert components.get("Root") == TEXT


def test_a_reference_to_nothing_is_an_error_that_names_it() -> None:
    with pytest.raises(SchemaError, match="there is no schema named 'Gone' to refer to"):
        Components({"Root": {"properties": {"a": ref("Gone")}}}).get("Root")
