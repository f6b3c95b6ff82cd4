"""Refusals that need no server: what is unknown, or not for sure, is not refused."""

from typing import Any

import pytest

from kro_gitops.engine.plan.placeholder import Placeholder
from kro_gitops.preview.admission.refusal import is_type_checked, refusal_of
from kro_gitops.preview.admission.shapes import shape_of
from kro_gitops.preview.cluster import AssumedCluster
from kro_gitops.preview.render import Renderer
from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema
from tests.builders import config_map, definition, graph, instance, resource

UNKNOWN = Placeholder(("a.b",), "string")


def served(**spec: Any) -> KindSchema:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    return KindSchema(Kind("example.com", "v1", "Thing"), "things", True, schema)


def thing(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "y"}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def message(obj: dict[str, Any], schema: KindSchema) -> str:
    found = refusal_of(obj, schema)
    return found.message if found is not None else ""


def test_what_is_unknown_is_not_refused() -> None:
    schema = served(properties={"a": {"type": "integer", "maximum": 3}}, required=["a"])
    assert message(thing(a=UNKNOWN), schema) == ""
    obj = config_map("x", **{"k": UNKNOWN})
    obj["metadata"] = {"name": UNKNOWN, "labels": {"a": UNKNOWN}, "annotations": UNKNOWN}
    of_kind = catalog.schema_of(Kind("", "v1", "ConfigMap"))
    assert of_kind is not None
    assert refusal_of(obj, of_kind) is None


def test_a_null_takes_the_default_if_there_is_one() -> None:
    schema = served(properties={"a": {"type": "string", "default": "x"}}, required=["a"])
    assert message(thing(a=None), schema) == ""
    assert message(thing(), schema) == ""
    schema = served(properties={"a": {"type": "string", "nullable": True}})
    assert message(thing(a=None), schema) == ""


def test_rules_are_not_evaluated_after_an_error_of_shape() -> None:
    ruled = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3"}]}
    schema = served(properties={"a": ruled, "b": {"type": "string"}})
    assert message(thing(a=2), schema) == (
        'Thing.example.com "x" is invalid: spec.a: Invalid value: 2: failed rule: self > 3'
    )
    assert message(thing(a=2, b=None), schema) == (
        'Thing.example.com "x" is invalid: [spec.b: Invalid value: "null": spec.b in body must be '
        'of type string: "null", <nil>: Invalid value: null: some validation rules were not '
        "checked because the object was invalid; correct the existing errors to complete "
        "validation]"
    )


def test_a_combination_of_schemas_is_refused_in_our_words() -> None:
    schema = served(properties={"a": {"type": "string"}}, anyOf=[{"required": ["a"]}])
    assert message(thing(), schema).startswith('Thing.example.com "x" is invalid: ')


@pytest.mark.parametrize("value", [1, "1", "1Gi"])
def test_a_quantity_may_be_a_number_or_a_text(value: Any) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "x"},
        "spec": {"resources": {"requests": {"storage": value}}},
    }
    of_kind = catalog.schema_of(Kind("", "v1", "PersistentVolumeClaim"))
    assert of_kind is not None
    assert refusal_of(claim, of_kind) is None


@pytest.mark.parametrize(
    ("expression", "is_checked"),
    [("${schema.spec.text}", True), ("${schema.spec.any.x}", False), ("a-${schema.spec.n}", True)],
)
def test_types_are_compared_where_the_compiler_could_not(expression: str, is_checked: bool) -> None:
    spec = {"text": "string", "any": "object", "n": "string"}
    made = graph(definition(resource("cm", config_map(k=expression)), spec=spec))
    assert is_type_checked(made.nodes["cm"]) is is_checked


def test_children_that_differ_in_stamps_only_are_sent_once() -> None:
    sent: list[str] = []

    def error_of(obj: dict[str, Any]) -> None:
        sent.append(obj["metadata"]["name"])

    renderer = Renderer(cluster=AssumedCluster(error_of))
    for kind in ("Shop", "Menu"):
        body = config_map("${schema.metadata.name}")
        compiled = graph(definition(resource("config", body), kind=kind))
        for number in range(10):
            made = instance()
            made["metadata"]["name"] = f"{kind.lower()}-{number}"
            made["kind"] = kind
            assert renderer.render(compiled, made).failures == []
    assert sent == ["shop-0"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"labels": {"a": "B-1"}}, {"labels": {"a": "B-1-"}}),
        ({"labels": {"a": "B"}}, {"labels": {"a": "B" * 64}}),
        ({"labels": {"a": "B"}}, {"labels": {"a": 1}}),
        ({"annotations": {"a.io/b": "A:1"}}, {"annotations": {"a.io/b": "A" * 300_000}}),
        ({"annotations": {"a.io/b": "A:1"}}, {"annotations": {"a.io/b": 1}}),
        (
            {"annotations": {"x.kubernetes.io/b": "A:1"}},
            {"annotations": {"x.kubernetes.io/b": "A:2"}},
        ),
        ({"ownerReferences": [{"kind": "A", "uid": "1"}]}, {"ownerReferences": [{"uid": "1"}]}),
        (
            {"ownerReferences": [{"kind": "A", "uid": UNKNOWN}]},
            {"ownerReferences": [{"kind": "Event", "uid": UNKNOWN}]},
        ),
    ],
)
def test_metadata_that_the_api_server_tells_apart_has_different_shapes(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, second = config_map("x"), config_map("x")
    first["metadata"] |= one
    second["metadata"] |= other
    assert shape_of(first)[0] != shape_of(second)[0]
