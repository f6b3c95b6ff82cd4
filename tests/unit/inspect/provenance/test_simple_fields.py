import pytest

from kro_gitops.inspect.provenance.simple_fields import schema_place
from kube_objects.problems import Path

DEFINITION = {
    "spec": {
        "schema": {
            "types": {
                "Size": 'string | default="small"',
                "Shelf": {"label": "string", "depth": "integer | default=4", "inner": "[]Shelf"},
            },
            "spec": {
                "replicas": "integer | default=1",
                "size": "Size",
                "other": 'Size | default="large"',
                "limits": {"cpu": "string"},
                "shelves": "[]Shelf | required=true",
                "named": "map[string]Shelf",
                "deep": "[][]Shelf",
                "texts": "[]string",
            },
        }
    }
}
SPEC: Path = ("spec", "schema", "spec")
TYPES: Path = ("spec", "schema", "types")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("spec", "replicas"), (*SPEC, "replicas")),
        (("spec", "limits", "cpu"), (*SPEC, "limits", "cpu")),
        (("spec", "size"), (*TYPES, "Size")),
        (("spec", "other"), (*SPEC, "other")),
        (("spec", "shelves"), (*SPEC, "shelves")),
        (("spec", "shelves", 1, "depth"), (*TYPES, "Shelf", "depth")),
        (("spec", "shelves", 1, "inner", 0, "label"), (*TYPES, "Shelf", "label")),
        (("spec", "named", "x", "depth"), (*TYPES, "Shelf", "depth")),
        (("spec", "deep", 0, 1, "depth"), (*TYPES, "Shelf", "depth")),
        (("spec", "texts", 1), (*SPEC, "texts")),
        (("spec", "replicas", "more"), (*SPEC, "replicas")),
        (("spec", "nothing"), None),
        (("metadata", "name"), None),
    ],
)
def test_where_a_definition_describes_a_field(path: Path, place: Path | None) -> None:
    assert schema_place(DEFINITION, path) == place


def test_a_definition_without_a_schema() -> None:
    assert schema_place({}, ("spec", "x")) is None
