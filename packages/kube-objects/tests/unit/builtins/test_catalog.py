import shutil
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from kube_objects.builtins.catalog import Catalog, catalog
from kube_objects.paths import find
from kube_objects.problems import Path as FieldPath
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema, LayeredSchemas, Schema

KIBIBYTE = 1024
KINDS = sorted(catalog.kinds())

QUANTITY = {"oneOf": [{"type": "string"}, {"type": "number"}]}
INT_OR_STRING = {
    "format": "int-or-string",
    "oneOf": [{"type": "integer"}, {"type": "string"}],
}


def known(api_version: str, kind: str) -> KindSchema:
    found = catalog.find(Kind.of(api_version, kind))
    assert found is not None
    return found


def field(api_version: str, kind: str, path: str) -> Schema:
    """Read a schema along `spec.ports[].port`; `{}` steps into map values."""
    steps: list[str | int] = []
    for name in path.split("."):
        bare = name.removesuffix("[]").removesuffix("{}")
        steps += ["properties", bare]
        if name.endswith("[]"):
            steps.append("items")
        if name.endswith("{}"):
            steps.append("additionalProperties")
    schema: Schema = find(known(api_version, kind).schema, tuple(steps))
    return schema


def parts(schema: Schema, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Schema]]:
    """Walk a schema and everything below it."""
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from parts(part, (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], (*path, key))


@pytest.mark.parametrize(
    ("api_version", "kind", "plural", "namespaced"),
    [
        ("v1", "Namespace", "namespaces", False),
        ("v1", "Endpoints", "endpoints", True),
        ("v1", "Service", "services", True),
        ("apps/v1", "Deployment", "deployments", True),
        ("networking.k8s.io/v1", "Ingress", "ingresses", True),
        ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False),
        ("rbac.authorization.k8s.io/v1", "Role", "roles", True),
        ("storage.k8s.io/v1", "StorageClass", "storageclasses", False),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            False,
        ),
        ("apiregistration.k8s.io/v1", "APIService", "apiservices", False),
    ],
)
def test_a_kind_has_the_plural_and_scope_it_is_served_with(
    api_version: str, kind: str, plural: str, namespaced: bool
) -> None:
    found = known(api_version, kind)
    assert (found.plural, found.namespaced) == (plural, namespaced)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        pytest.param("example.com/v1", "Widget", id="an unknown group"),
        pytest.param("apps/v1beta1", "Deployment", id="a version no longer served"),
        pytest.param("apps/v1", "Pod", id="a kind of another group"),
        pytest.param("autoscaling/v1", "Scale", id="a subresource's kind"),
        pytest.param("apps/v1", "DeploymentList", id="a list"),
        pytest.param("apps/v1", "deployment", id="a kind in the wrong case"),
    ],
)
def test_what_is_not_served_is_not_found(api_version: str, kind: str) -> None:
    assert catalog.find(Kind.of(api_version, kind)) is None


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "expected"),
    [
        pytest.param("v1", "ConfigMap", "data{}", {"type": "string"}, id="text"),
        pytest.param(
            "v1",
            "ConfigMap",
            "binaryData{}",
            {"type": "string", "format": "byte"},
            id="bytes in a map",
        ),
        pytest.param(
            "v1", "Secret", "data{}", {"type": "string", "format": "byte"}, id="a secret's bytes"
        ),
        pytest.param("v1", "Secret", "stringData{}", {"type": "string"}, id="a secret's text"),
        pytest.param(
            "apps/v1",
            "Deployment",
            "spec.replicas",
            {"type": "integer", "format": "int32"},
            id="an integer",
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            "metadata.creationTimestamp",
            {"type": "string", "format": "date-time"},
            id="a time",
        ),
        pytest.param(
            "coordination.k8s.io/v1",
            "Lease",
            "spec.renewTime",
            {"type": "string", "format": "date-time"},
            id="a time in microseconds",
        ),
        pytest.param(
            "v1", "Pod", "spec.containers[].resources.limits{}", QUANTITY, id="a quantity in a map"
        ),
        pytest.param(
            "v1", "Pod", "spec.volumes[].emptyDir.sizeLimit", QUANTITY, id="a quantity in a field"
        ),
        pytest.param(
            "v1", "Service", "spec.ports[].targetPort", INT_OR_STRING, id="a port by number or name"
        ),
        pytest.param(
            "apps/v1",
            "Deployment",
            "spec.strategy.rollingUpdate.maxSurge",
            INT_OR_STRING,
            id="a count or a percentage",
        ),
        pytest.param(
            "apps/v1", "ControllerRevision", "data", {"type": "object"}, id="an object of any form"
        ),
        pytest.param(
            "v1",
            "Pod",
            "metadata.managedFields[].fieldsV1",
            {"type": "object"},
            id="a set of fields",
        ),
        pytest.param(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "spec.versions[].schema.openAPIV3Schema.default",
            {},
            id="any JSON",
        ),
        pytest.param(
            "v1",
            "Service",
            "spec.type",
            {"type": "string", "enum": ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]},
            id="a choice",
        ),
        pytest.param(
            "v1",
            "Service",
            "spec.ports[].protocol",
            {"type": "string", "default": "TCP", "enum": ["SCTP", "TCP", "UDP"]},
            id="a choice with a default",
        ),
        pytest.param(
            "v1",
            "Pod",
            "spec.containers[].name",
            {"type": "string"},
            id="nobody's default is none",
        ),
    ],
)
def test_a_field_has_the_form_typing_rules_look_for(
    api_version: str, kind: str, path: str, expected: Schema
) -> None:
    assert field(api_version, kind, path) == expected


def test_places_are_known_without_schemas() -> None:
    found = {kind: (plural, namespaced) for kind, plural, namespaced in catalog.places()}
    assert list(found) == list(catalog.kinds())
    for kind, place in found.items():
        known = catalog.find(kind)
        assert known is not None
        assert (known.plural, known.namespaced) == place


def test_lists_keep_how_they_merge() -> None:
    ports = field("v1", "Service", "spec.ports")
    assert ports["x-kubernetes-list-type"] == "map"
    assert ports["x-kubernetes-list-map-keys"] == ["port", "protocol"]
    assert ports["items"]["required"] == ["port"]


def test_what_stands_beside_a_reference_is_laid_over_it() -> None:
    strategy = field("apps/v1", "Deployment", "spec.strategy")
    assert strategy["x-kubernetes-patch-strategy"] == "retainKeys"
    assert "rollingUpdate" in strategy["properties"]


def test_a_schema_within_itself_is_cut_and_takes_anything() -> None:
    schema = "spec.versions[].schema.openAPIV3Schema"
    nested = field(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{schema}.properties{{}}"
    )
    assert nested == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_is_an_object_without_references(kind: Kind) -> None:
    found = catalog.find(kind)
    assert found is not None
    assert {"apiVersion", "kind"} <= found.schema["properties"].keys()
    seen = dict(parts(found.schema))
    assert [path for path, part in seen.items() if "$ref" in part or "allOf" in part] == []


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_shares_one_object_meta(kind: Kind) -> None:
    found = catalog.find(kind)
    assert found is not None
    metadata = found.schema["properties"].get("metadata")
    assert metadata is catalog.object_meta()


def test_object_meta_has_all_its_fields() -> None:
    assert set(catalog.object_meta()["properties"]) == {
        *("annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp"),
        *("finalizers", "generateName", "generation", "labels", "managedFields", "name"),
        *("namespace", "ownerReferences", "resourceVersion", "selfLink", "uid"),
    }


def test_a_label_selector_is_known_by_itself() -> None:
    assert set(catalog.label_selector()["properties"]) == {"matchExpressions", "matchLabels"}


def test_the_same_part_is_the_same_dict() -> None:
    deployed = field("apps/v1", "Deployment", "spec.template")
    assert deployed is field("apps/v1", "StatefulSet", "spec.template")


def test_asking_twice_gives_the_same_answer() -> None:
    assert known("v1", "Pod") is known("v1", "Pod")


def test_the_version_is_told() -> None:
    assert catalog.version == "1.35.4"


def test_the_catalogue_can_be_layered() -> None:
    kind = Kind.of("v1", "Pod")
    assert LayeredSchemas(catalog).schema_of(kind) is catalog.find(kind)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with as_file(files("kube_objects.builtins") / "data") as data:
        return shutil.copytree(data, tmp_path / "data")


def test_only_the_files_asked_for_are_read(folder: Path) -> None:
    for file in folder.glob("*.zlib"):
        if file.name not in ("apps.v1.json.zlib", "shared.json.zlib"):
            file.unlink()
    partial = Catalog(folder)
    assert list(partial.kinds()) == list(catalog.kinds())
    assert partial.find(Kind.of("apps/v1", "Deployment")) is not None
    with pytest.raises(FileNotFoundError):
        partial.find(Kind.of("batch/v1", "Job"))


def test_the_data_stays_small(folder: Path) -> None:
    assert sum(file.stat().st_size for file in folder.iterdir()) < 500 * KIBIBYTE


def test_no_file_lies_about_unused(folder: Path) -> None:
    groups = {kind.api_version.replace("/", ".") for kind in KINDS}
    expected = {f"{group}.json.zlib" for group in groups} | {"index.json", "shared.json.zlib"}
    assert {file.name for file in folder.iterdir()} == expected
