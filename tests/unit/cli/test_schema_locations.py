"""Kinds of other products: `--schema-location` and `--external-kind`."""

import json
from pathlib import Path

import pytest

from tests.command import Outcome, run

BUCKET = "apiVersion: example.com/v1\nkind: Bucket\nmetadata: {name: data}\nspec: {sise: 3}\n"
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}}}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "buckets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Bucket", "plural": "buckets"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
        ],
    },
}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "bucket.yaml"
    path.write_text(BUCKET, encoding="utf-8")
    return path


def codes(done: Outcome) -> list[str]:
    return [each["code"] for each in done.json]


def test_a_kind_of_another_product_is_unknown_unless_it_is_listed(manifest: Path) -> None:
    assert codes(run("validate", manifest, "-o", "json")) == ["unknown-kind"]
    for kind in ("example.com/Bucket", "example.com/*"):
        assert codes(run("validate", manifest, "-o", "json", "--external-kind", kind)) == []


@pytest.mark.parametrize("layout", ["crd", "dump", "catalogue", "template"])
def test_schemas_are_read_in_every_layout(manifest: Path, tmp_path: Path, layout: str) -> None:
    folder = tmp_path / "schemas"
    content, location = {
        "crd": ("crds/bucket.yaml", str(folder)),
        "dump": ("all.json", str(folder / "all.json")),
        "catalogue": ("example.com/bucket_v1.json", str(folder)),
        "template": (
            "bucket-v1.json",
            f"{folder}/{{{{.ResourceKind}}}}-{{{{ .ResourceAPIVersion }}}}.json",
        ),
    }[layout]
    written = {"crd": CRD, "dump": {"apiVersion": "v1", "kind": "List", "items": [CRD]}}
    path = folder / content
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(written.get(layout, SCHEMA)), encoding="utf-8")
    done = run("validate", manifest, "-o", "json", "--schema-location", location)
    assert codes(done) == ["unknown-field"]


@pytest.mark.parametrize("location", ["https://example.com/schemas", "nowhere", "{{ .Colour }}"])
def test_a_location_that_cannot_be_read_is_an_error(manifest: Path, location: str) -> None:
    done = run("validate", manifest, "--schema-location", location)
    assert done.code == 1
    assert "--schema-location" in done.err
