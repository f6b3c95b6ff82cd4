import json
from typing import Any

import pytest

from kro_gitops.engine.crd.build import CrdInputs, build_crd, with_ownership
from kube_objects.refs import KubeObject

SPEC: dict[str, Any] = {"type": "object", "properties": {"size": {"type": "integer"}}}
STATUS: dict[str, Any] = {"type": "object"}
KIOSK = CrdInputs("Kiosk", "v1")


def version_of(crd: KubeObject) -> dict[str, Any]:
    [version] = crd["spec"]["versions"]
    found: dict[str, Any] = version
    return found


def schema_of(crd: KubeObject) -> dict[str, Any]:
    found: dict[str, Any] = version_of(crd)["schema"]["openAPIV3Schema"]
    return found


def test_the_smallest_crd_as_a_whole() -> None:
    text = {"type": "string"}
    assert build_crd(KIOSK, SPEC, STATUS) == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "kiosks.kro.run"},
        "spec": {
            "group": "kro.run",
            "names": {
                "kind": "Kiosk",
                "listKind": "KioskList",
                "plural": "kiosks",
                "singular": "kiosk",
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "apiVersion": text,
                                "kind": text,
                                "metadata": {"type": "object"},
                                "spec": SPEC,
                                "status": {
                                    "type": "object",
                                    "properties": {
                                        "state": text,
                                        "conditions": {
                                            "type": "array",
                                            "items": {
                                                "type": "object",
                                                "properties": {
                                                    "type": text,
                                                    "status": text,
                                                    "reason": text,
                                                    "message": text,
                                                    "lastTransitionTime": text,
                                                    "observedGeneration": {"type": "integer"},
                                                },
                                            },
                                        },
                                    },
                                },
                            },
                        }
                    },
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {
                            "name": "State",
                            "type": "string",
                            "description": "The state of a ResourceGraphDefinition instance",
                            "jsonPath": ".status.state",
                        },
                        {
                            "name": "Ready",
                            "type": "string",
                            "description": "Whether a ResourceGraphDefinition instance is ready",
                            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                        },
                        {
                            "name": "Age",
                            "type": "date",
                            "description": "Age of the resource",
                            "jsonPath": ".metadata.creationTimestamp",
                        },
                    ],
                }
            ],
        },
    }


def test_keys_come_in_the_order_people_write_them() -> None:
    crd = build_crd(KIOSK, SPEC, STATUS)
    assert list(crd) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(crd["spec"]) == ["group", "names", "scope", "versions"]
    assert next(iter(schema_of(crd))) == "type"


def test_131_names_follow_from_kind_and_group() -> None:
    crd = build_crd(CrdInputs("GatewayPolicy", "v1", group="edge.example.org"), SPEC, STATUS)
    assert crd["metadata"]["name"] == "gatewaypolicies.edge.example.org"
    assert crd["spec"]["group"] == "edge.example.org"
    assert crd["spec"]["names"] == {
        "kind": "GatewayPolicy",
        "listKind": "GatewayPolicyList",
        "plural": "gatewaypolicies",
        "singular": "gatewaypolicy",
    }


def columns_of(inputs: CrdInputs) -> list[str]:
    version = version_of(build_crd(inputs, SPEC, STATUS))
    return [column["name"] for column in version["additionalPrinterColumns"]]


def test_132_without_printer_columns_there_are_three() -> None:
    assert columns_of(KIOSK) == ["State", "Ready", "Age"]


def test_132_printer_columns_of_the_author_replace_them() -> None:
    size = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    assert columns_of(CrdInputs("Kiosk", "v1", printer_columns=(size,))) == ["Size"]


@pytest.mark.parametrize(("scope", "expected"), [("Cluster", "Cluster"), ("", "Namespaced")])
def test_the_scope_is_the_authors_or_namespaced(scope: str, expected: str) -> None:
    assert build_crd(CrdInputs("Kiosk", "v1", scope=scope), SPEC, STATUS)["spec"]["scope"] == (
        expected
    )


def test_short_names_categories_labels_and_annotations_are_passed_on() -> None:
    inputs = CrdInputs(
        "Kiosk",
        "v1",
        short_names=("ks", "kk"),
        categories=("all",),
        labels={"team": "web"},
        annotations={"note": "x"},
    )
    crd = build_crd(inputs, SPEC, STATUS)
    assert crd["spec"]["names"]["shortNames"] == ["ks", "kk"]
    assert crd["spec"]["names"]["categories"] == ["all"]
    assert crd["metadata"]["labels"] == {"team": "web"}
    assert crd["metadata"]["annotations"] == {"note": "x"}


def test_a_status_field_of_the_author_keeps_its_schema() -> None:
    status = {"type": "object", "properties": {"state": {"type": "integer"}, "url": {}}}
    found = schema_of(build_crd(KIOSK, SPEC, status))["properties"]["status"]["properties"]
    assert found["state"] == {"type": "integer"}
    assert found["url"] == {}
    assert found["conditions"]["type"] == "array"


def test_ownership_is_laid_over_the_authors_labels() -> None:
    inputs = CrdInputs("Kiosk", "v1", labels={"team": "web", "kro.run/owned": "no"})
    crd = build_crd(inputs, SPEC, STATUS)
    assert with_ownership(crd, "kiosk", "uid-1", "v0.9.4")["metadata"]["labels"] == {
        "team": "web",
        "kro.run/owned": "true",
        "kro.run/kro-version": "v0.9.4",
        "kro.run/resource-graph-definition-id": "uid-1",
        "kro.run/resource-graph-definition-name": "kiosk",
    }


def test_nothing_given_is_changed() -> None:
    crd = build_crd(KIOSK, SPEC, STATUS)
    before = json.dumps([SPEC, STATUS, crd])
    with_ownership(crd, "kiosk", "uid-1", "v0.9.4")
    build_crd(KIOSK, SPEC, STATUS)
    assert json.dumps([SPEC, STATUS, crd]) == before
