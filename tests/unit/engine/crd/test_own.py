"""The CRDs we bring along: complete for readers, and the same in every file that holds them."""

from collections.abc import Iterator
from typing import Any

import pytest

from kro_gitops.engine.crd.own import definition_crd, own_crds, revision_crd
from kro_gitops.preview.crds import check_crd
from kube_objects.refs import KubeObject
from tools.update_deploy import crd_files


def schema_of(crd: KubeObject) -> dict[str, Any]:
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from fields(part, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")


@pytest.mark.parametrize("crd", own_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_every_field_is_explained(crd: KubeObject) -> None:
    unexplained = [path for path, part in fields(schema_of(crd)) if not part.get("description")]
    assert unexplained == [".metadata"]  # the API server explains it


@pytest.mark.parametrize("crd", own_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_our_own_check_of_crds_finds_nothing(crd: KubeObject) -> None:
    assert list(check_crd(crd)) == []


def test_a_revision_holds_what_a_definition_says() -> None:
    kept = schema_of(revision_crd())["properties"]["spec"]["properties"]["snapshot"]["properties"]
    assert kept["spec"] == schema_of(definition_crd())["properties"]["spec"]


@pytest.mark.parametrize(
    ("crd", "columns"),
    [
        (definition_crd(), "APIVERSION KIND STATE READY TOPOLOGICALORDER* AGE"),
        (revision_crd(), "RGD* REVISION HASH* READY AGE"),
    ],
    ids=["rgd", "gr"],
)
def test_columns_stand_in_kros_order(crd: KubeObject, columns: str) -> None:
    found = crd["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [each["name"] + "*" * each.get("priority", 0) for each in found]
    assert shown == columns.split()


def test_files_hold_what_the_program_would_install() -> None:
    for path, text in crd_files().items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tools.update_deploy"
