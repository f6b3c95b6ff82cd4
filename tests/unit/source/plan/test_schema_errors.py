"""Answers of a real API server to objects that do not fit their schema."""

import pytest

from kro_gitops.source.plan.schema_errors import Violation, violations
from kube_objects.refs import KubeObject

PREFIX = "failed to create typed patch object (default/x; apps/v1, Kind=Deployment): "
DEPLOYMENT: KubeObject = {
    "spec": {
        "replicas": "three",
        "template": {
            "spec": {
                "containers": [
                    {"name": "a", "ports": [{"containerPort": 80}]},
                    {"name": "c", "imag": "x", "ports": [{"containerPort": 80, "foo": 1}]},
                ]
            }
        },
    }
}
CONTAINER = ("spec", "template", "spec", "containers", 1)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            ".dta: field not declared in schema",
            Violation(("dta",), "there is no field 'dta'", True),
        ),
        (
            ".data.x: expected string, got &value.valueUnstructured{Value:1}",
            Violation(("data", "x"), "'data.x': expected string"),
        ),
        (".data: expected map, got &{[x]}", Violation(("data",), "'data': expected map")),
        (
            ".spec.l[1].z: field not declared in schema",
            Violation(("spec", "l", 1, "z"), "there is no field 'spec.l[1].z'", True),
        ),
        (
            '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
            Violation(
                ("spec", "ports"),
                "'spec.ports': duplicate entries for key [port=80,protocol=\"TCP\"]",
            ),
        ),
    ],
)
def test_one_field(said: str, expected: Violation) -> None:
    assert violations(PREFIX + said, {"spec": {"l": [{}, {"z": 1}]}}) == (expected,)


def test_several_fields_in_lists_that_have_keys() -> None:
    ports = '.spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].foo'
    said = (
        "errors:\n"
        "  .spec.replicas: expected numeric (int or float), got string\n"
        f"  {ports}: field not declared in schema\n"
        '  .spec.template.spec.containers[name="c"].imag: field not declared in schema'
    )
    found = violations(PREFIX + said, DEPLOYMENT)
    assert [each.path for each in found] == [
        ("spec", "replicas"),
        (*CONTAINER, "ports", 0, "foo"),
        (*CONTAINER, "imag"),
    ]
    assert found[0].text == "'spec.replicas': expected numeric (int or float), got string"


def test_an_item_that_is_not_there_ends_the_path() -> None:
    said = '.spec.template.spec.containers[name="zz"].imag: field not declared in schema'
    [found] = violations(PREFIX + said, DEPLOYMENT)
    assert found.path == CONTAINER[:-1]


@pytest.mark.parametrize("said", ["etcdserver: request timed out", "", "x: y", PREFIX])
def test_other_trouble_names_no_field(said: str) -> None:
    assert violations(said, DEPLOYMENT) == ()
