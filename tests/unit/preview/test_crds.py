import json
from typing import Any

import pytest

from kro_gitops.preview.crds import check_crd
from kro_gitops.preview.repository import compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from tests.builders import definition, resource


def crd(**properties: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "doors.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Door", "plural": "doors"},
            "versions": [version],
        },
    }


ROOT = "spec.versions[0].schema.openAPIV3Schema.properties.spec"


def test_a_schema_of_any_depth_and_form_is_fine() -> None:
    deep: dict[str, Any] = {"type": "string", "x-kubernetes-preserve-unknown-fields": True}
    for _ in range(10):
        deep = {"type": "object", "properties": {"a": deep}, "anyOf": [{"required": ["a"]}]}
    listed = {"type": "array", "items": {"type": "object", "additionalProperties": True}}
    assert (
        list(check_crd(crd(deep=deep, listed=listed, any={"x-kubernetes-int-or-string": True})))
        == []
    )


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        pytest.param({"a": "x"}, "properties.a", id="no schema"),
        pytest.param({"a": {"type": 3}}, "properties.a.type", id="no type"),
        pytest.param({"a": {"typ": "string"}}, "properties.a.typ", id="a typo"),
        pytest.param(
            {"a": {"type": "array", "items": {"properties": {"b": "x"}}}},
            "properties.a.items.properties.b",
            id="deep down",
        ),
        pytest.param(
            {"a": {"type": "object", "required": "b"}},
            "properties.a.required",
            id="a text for a list",
        ),
    ],
)
def test_what_is_no_schema_is_found_at_any_depth(properties: dict[str, Any], place: str) -> None:
    (problem,) = check_crd(crd(**properties))
    assert problem.code == "invalid-crd"
    assert problem.summary.startswith(f"'{ROOT}.{place}' ")


def findings(*objects: dict[str, Any]) -> list[str]:
    files = [(f"{index}.yaml", json.dumps(each).encode()) for index, each in enumerate(objects)]
    return [f.problem.code for f in compile_repository(read(files), catalog).findings]


BODY = {
    "apiVersion": "example.com/v1",
    "kind": "Door",
    "metadata": {"name": "x"},
    "spec": {"a": "${schema.metadata.name}"},
}


def test_all_that_is_wrong_with_a_crd_is_reported() -> None:
    wrong = crd(a="x", b={"type": 3})
    wrong["spec"]["bogus"] = True
    assert findings(wrong) == ["invalid-crd"] * 3


@pytest.mark.parametrize("scope", ["Namespaced", "Namespace"], ids=["its shape", "its scope"])
def test_who_uses_a_kind_whose_crd_is_wrong_is_not_to_blame(scope: str) -> None:
    wrong = crd(a="x") if scope == "Namespaced" else crd()
    wrong["spec"]["scope"] = scope
    instance = {**BODY, "metadata": {"name": "y"}}
    assert len(findings(wrong, definition(resource("door", BODY)), instance)) == 1


def test_a_kind_of_a_crd_can_be_used() -> None:
    assert findings(crd(a={"type": "string"}), definition(resource("door", BODY))) == []
    wrong = findings(crd(a={"type": "integer"}), definition(resource("door", BODY)))
    assert wrong == ["type-mismatch"]
