from copy import deepcopy
from typing import Any

import pytest

from kube_objects.builtins.catalog import catalog
from kube_objects.crds import kinds_of_crd
from kube_objects.errors import SchemaError
from kube_objects.paths import find
from kube_objects.problems import Path
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import Schema

EITHER = [{"type": "integer"}, {"type": "string"}]


def version(name: str, schema: Schema | None, served: bool = True) -> dict[str, Any]:
    described = {"name": name, "served": served, "storage": name == "v1"}
    return described if schema is None else described | {"schema": {"openAPIV3Schema": schema}}


def crd(*versions: dict[str, Any], scope: str = "Namespaced") -> KubeObject:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": list(versions),
        },
    }


def published(schema: Schema) -> Schema:
    [found] = kinds_of_crd(crd(version("v1", schema)))
    return found.schema


def published_field(schema: Schema) -> Schema:
    """Publish a CRD with one field and return what became of it."""
    root = published({"type": "object", "properties": {"field": schema}})
    field: Schema = root["properties"]["field"]
    return field


def test_every_served_version_is_a_kind() -> None:
    schema: Schema = {"type": "object"}
    found = kinds_of_crd(
        crd(version("v1", schema), version("v2", schema), version("v3", schema, served=False))
    )
    assert [each.kind for each in found] == [
        Kind("example.com", "v1", "Widget"),
        Kind("example.com", "v2", "Widget"),
    ]
    assert {each.plural for each in found} == {"widgets"}


@pytest.mark.parametrize(("scope", "namespaced"), [("Namespaced", True), ("Cluster", False)])
def test_the_scope_is_kept(scope: str, namespaced: bool) -> None:
    [found] = kinds_of_crd(crd(version("v1", {"type": "object"}), scope=scope))
    assert found.namespaced is namespaced


def test_a_custom_kind_has_the_fields_of_every_object() -> None:
    spec: Schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = published({"type": "object", "required": ["spec"], "properties": {"spec": spec}})
    assert schema == {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": catalog.object_meta(),
            "spec": spec,
        },
    }
    assert schema["properties"]["metadata"] is catalog.object_meta()


def test_what_the_author_says_about_metadata_gives_way() -> None:
    narrow = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}}
    schema = published({"type": "object", "properties": {"metadata": narrow}})
    assert schema["properties"]["metadata"] is catalog.object_meta()


def test_an_open_root_stays_open() -> None:
    schema = published({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert schema["x-kubernetes-preserve-unknown-fields"] is True
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata"}


def test_a_version_without_schema_is_an_object_of_no_known_fields() -> None:
    [found] = kinds_of_crd(crd(version("v1", None)))
    assert found.schema == {"type": "object"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param({}, {"anyOf": EITHER}, id="nothing said: both types are added"),
        pytest.param({"anyOf": EITHER}, {"anyOf": EITHER}, id="said already"),
        pytest.param(
            {"anyOf": [{"pattern": "a"}], "allOf": [{"minLength": 1}]},
            {"anyOf": [{"pattern": "a"}], "allOf": [{"anyOf": EITHER}, {"minLength": 1}]},
            id="anyOf taken: added beside it",
        ),
        pytest.param(
            {"anyOf": [{"pattern": "a"}], "allOf": [{"anyOf": EITHER}]},
            {"anyOf": [{"pattern": "a"}], "allOf": [{"anyOf": EITHER}]},
            id="said beside it already",
        ),
    ],
)
def test_int_or_string_is_spelled_out(written: Schema, expected: Schema) -> None:
    mark = {"x-kubernetes-int-or-string": True}
    assert published_field(written | mark) == expected | mark


@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda part: {"type": "array", "items": part}, id="in a list"),
        pytest.param(lambda part: {"type": "object", "additionalProperties": part}, id="in a map"),
        pytest.param(lambda part: {"type": "object", "properties": {"a": part}}, id="in an object"),
    ],
)
def test_shorthands_are_spelled_out_at_any_depth(wrap: Any) -> None:
    mark = {"x-kubernetes-int-or-string": True}
    assert published_field(wrap(mark)) == wrap(mark | {"anyOf": EITHER})


def test_an_embedded_resource_is_an_object_too() -> None:
    embedded: Schema = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "required": ["spec", "kind"],
        "properties": {"spec": {"type": "object"}},
    }
    schema = published_field(embedded)
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert schema["properties"]["metadata"] is catalog.object_meta()
    assert schema["required"] == ["spec", "kind", "apiVersion"]


def test_the_manifest_is_left_as_it_was() -> None:
    part = {"x-kubernetes-int-or-string": True}
    manifest = crd(version("v1", {"type": "object", "properties": {"port": part}}))
    before = deepcopy(manifest)
    kinds_of_crd(manifest)
    assert manifest == before


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("spec", "group"), None, "spec.group is missing"),
        (("spec", "group"), "", "spec.group is empty"),
        (("spec", "names", "kind"), 7, "spec.names.kind is not a string"),
        (("spec", "names", "plural"), None, "spec.names.plural is missing"),
        (("spec", "scope"), "Global", "spec.scope is neither Namespaced nor Cluster but 'Global'"),
        (("spec", "versions"), "v1", "spec.versions is not a list"),
        (("spec", "versions", 0), "v1", "spec.versions[0] is not an object"),
        (("spec", "versions", 0, "name"), None, "spec.versions[0].name is missing"),
    ],
)
def test_an_unreadable_manifest_is_refused_with_its_place(
    path: Path, value: Any, complaint: str
) -> None:
    manifest = crd(version("v1", {"type": "object"}))
    holder = find(manifest, path[:-1])
    if value is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    with pytest.raises(SchemaError) as raised:
        kinds_of_crd(manifest)
    assert raised.value.message == f"CustomResourceDefinition: {complaint}"
    assert raised.value.spot.path == path
