"""An OpenAPI v3 document → schemas of kinds."""

from typing import Any

from kro_gitops.kube.api import Resource
from kro_gitops.kube.openapi import OpenAPIDocument, index_entry, without_descriptions
from kube_objects.refs import Kind

THING = Resource(Kind("example.org", "v1", "Thing"), "things", True)
DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {
            "org.example.v1.Thing": {
                "type": "object",
                "description": "words",
                "properties": {"spec": {"$ref": "#/components/schemas/Spec"}},
                "x-kubernetes-group-version-kind": [
                    {"group": "example.org", "version": "v1", "kind": "Thing"}
                ],
            },
            "Spec": {"type": "object", "properties": {"description": {"type": "string"}}},
        }
    }
}


def test_a_kind_has_a_schema_without_references_and_words() -> None:
    found = OpenAPIDocument(DOCUMENT).schema_of(THING)
    assert found is not None
    assert (found.plural, found.namespaced) == ("things", True)
    assert found.schema == {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"description": {"type": "string"}}}
        },
    }


def test_a_kind_that_is_not_published_has_none() -> None:
    other = Resource(Kind("example.org", "v1", "Other"), "others", True)
    assert OpenAPIDocument(DOCUMENT).schema_of(other) is None
    assert OpenAPIDocument({}).schema_of(THING) is None


def test_words_go_at_every_depth() -> None:
    part = {"type": "string", "description": "words"}
    bare = {"type": "string"}
    schema = {
        "items": part,
        "additionalProperties": part,
        "anyOf": [part],
        "properties": {"description": part},
        "default": {"description": "kept: it is a value"},
    }
    assert without_descriptions(schema) == {
        "items": bare,
        "additionalProperties": bare,
        "anyOf": [bare],
        "properties": {"description": bare},
        "default": {"description": "kept: it is a value"},
    }


def test_the_index_knows_groups_by_their_paths() -> None:
    assert index_entry(Kind("", "v1", "Pod")) == "api/v1"
    assert index_entry(Kind("apps", "v1", "Deployment")) == "apis/apps/v1"
