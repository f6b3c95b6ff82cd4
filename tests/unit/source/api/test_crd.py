"""The CRDs of sources: complete for readers, and the same in every file that holds them."""

from collections.abc import Iterator
from typing import Any

import pytest

from kro_gitops.preview.crds import check_crd
from kro_gitops.source.api.crd import git_source_crd, source_crds, source_inventory_crd
from kube_objects.refs import KubeObject
from tools.update_deploy import crd_files


def schema_of(crd: KubeObject) -> dict[str, Any]:
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def parts(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from parts(part, f"{path}.{name}")
    if "items" in schema:
        yield from parts(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from parts(schema["additionalProperties"], f"{path}{{}}")


@pytest.mark.parametrize("crd", source_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_every_field_is_explained(crd: KubeObject) -> None:
    unexplained = [path for path, part in parts(schema_of(crd)) if not part.get("description")]
    assert unexplained == [".metadata"]  # the API server explains it


@pytest.mark.parametrize("crd", source_crds(), ids=lambda crd: crd["metadata"]["name"])
def test_our_own_check_of_crds_finds_nothing(crd: KubeObject) -> None:
    assert list(check_crd(crd)) == []


@pytest.mark.parametrize(
    ("crd", "columns"),
    [
        (git_source_crd(), "URL* READY PHASE* REVISION OBJECTS STATUS AGE"),
        (source_inventory_crd(), "SOURCE AGE"),
    ],
    ids=["gs", "si"],
)
def test_columns(crd: KubeObject, columns: str) -> None:
    found = crd["spec"]["versions"][0]["additionalPrinterColumns"]
    shown = [each["name"] + "*" * each.get("priority", 0) for each in found]
    assert shown == columns.split()


def test_sources_live_in_namespaces_and_have_short_names() -> None:
    found = [
        (crd["spec"]["scope"], crd["spec"]["names"]["plural"], crd["spec"]["names"]["shortNames"])
        for crd in source_crds()
    ]
    assert found == [
        ("Namespaced", "gitsources", ["gs"]),
        ("Namespaced", "sourceinventories", ["si"]),
    ]


def test_files_hold_what_the_program_would_install() -> None:
    written = crd_files()
    assert {"gitops.kro.run_gitsources.yaml", "gitops.kro.run_sourceinventories.yaml"} <= {
        path.name for path in written
    }
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tools.update_deploy"
