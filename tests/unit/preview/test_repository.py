import json
from typing import Any

import pytest

from kro_gitops.preview.cluster import AssumedCluster, ExternalKinds
from kro_gitops.preview.repository import Repository, compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from kube_objects.yaml_writer import to_yaml
from tests.builders import config_map, definition, instance, resource


def repository(*objects: dict[str, Any]) -> Repository:
    files = [(f"{index}.yaml", to_yaml(obj).encode()) for index, obj in enumerate(objects)]
    return compile_repository(read(files), catalog)


def codes(found: Repository) -> list[str]:
    return [finding.problem.code for finding in found.findings]


def user_of(kind: str, name: str, **schema: Any) -> dict[str, Any]:
    """Make a definition of `name` whose one resource is of a generated kind."""
    template = {"apiVersion": "kro.run/v1", "kind": kind, "metadata": {"name": "x"}, "spec": {}}
    obj = definition(resource("inner", template), kind=name.title(), **schema)
    obj["metadata"]["name"] = name
    return obj


def test_a_definition_may_come_before_the_one_whose_kind_it_uses() -> None:
    found = repository(user_of("Kiosk", "mall"), definition(resource()))
    assert codes(found) == []
    assert [each.manifest.ref.name for each in found.definitions] == ["kiosk", "mall"]


def test_definitions_that_need_each_other_are_shown_as_a_ring() -> None:
    found = repository(user_of("Mall", "kiosk"), user_of("Kiosk", "mall"))
    assert "definition-cycle" in codes(found)
    assert any("kiosk -> mall -> kiosk" in f.problem.summary for f in found.findings)


def test_a_kind_defined_twice_names_the_first_place() -> None:
    second = definition(resource())
    second["metadata"]["name"] = "other"
    found = repository(definition(resource()), second)
    (finding,) = found.findings
    assert finding.problem.code == "foreign-crd"
    assert finding.problem.message == (
        "failed to update CRD kiosks.kro.run: CRD is owned by another ResourceGraphDefinition kiosk"
    )
    assert finding.origin.file == "1.yaml"
    assert "0.yaml:" in finding.problem.hint


@pytest.mark.parametrize(("version", "kind"), [("v2", "Kiosk"), ("v1", "Kiosks")])
def test_two_definitions_cannot_have_one_crd(version: str, kind: str) -> None:
    second = definition(resource("other"), apiVersion=version, kind=kind)
    second["metadata"]["name"] = "other"
    wanted = {**instance(), "apiVersion": f"kro.run/{version}", "kind": kind}
    found = repository(definition(resource()), second, wanted)
    assert codes(found) == ["foreign-crd", "unknown-kind"]
    assert [each.is_served for each in found.definitions] == [True, False]
    assert found.instances == []


@pytest.mark.parametrize("labels", [{}, {"kro.run/owned": "true"}])
def test_a_crd_in_the_files_is_not_taken_over(labels: dict[str, str]) -> None:
    made = definition(resource())
    (graph,) = repository(made).graphs.values()
    crd = {**graph.crd, "metadata": {**graph.crd["metadata"], "labels": labels}}
    found = repository(crd, made, instance())
    assert "foreign-crd" in codes(found)
    assert found.instances == []
    labels["kro.run/resource-graph-definition-name"] = "kiosk"
    labels["kro.run/owned"] = "true"
    # A source would refuse its labels, but its kind belongs to the definition.
    assert set(codes(repository(crd, made, instance()))) == {"reserved-metadata"}


def test_what_needs_a_kind_that_is_not_served_is_not_served() -> None:
    broken = definition(resource("cm", config_map(a="${ghost}")))
    inner, outer = user_of("Kiosk", "mall"), user_of("Mall", "town")
    town = {**instance(), "kind": "Town"}
    found = repository(broken, inner, outer, town)
    assert codes(found) == ["unknown-identifier"]
    assert [each.is_served for each in found.definitions] == [False, False, False]
    assert found.instances == []


def test_what_is_in_a_ring_or_needs_it_is_not_served() -> None:
    ring = [user_of("Mall", "kiosk"), user_of("Kiosk", "mall"), user_of("Mall", "town")]
    free = {**definition(resource(), kind="Free"), "metadata": {"name": "free"}}
    found = repository(*ring, free, {**instance(), "kind": "Town"})
    assert [each.is_served for each in found.definitions] == [False, False, False, True]
    assert found.instances == []


def test_a_broken_definition_is_not_reported_by_its_users_again() -> None:
    broken = definition(resource("cm", config_map(a="${ghost}")))
    assert codes(repository(broken, user_of("Kiosk", "mall"))) == ["unknown-identifier"]


def test_a_definition_with_a_broken_schema_is_not_reported_by_its_users_again() -> None:
    broken = definition(resource(), spec={"a": "nonsense"})
    assert codes(repository(broken, user_of("Kiosk", "mall"))) == ["unknown-type"]


def test_instances_of_a_broken_definition_are_checked_by_its_schema() -> None:
    broken = definition(resource("cm", config_map(a="${ghost}")), spec={"size": "integer"})
    found = repository(broken, instance({"size": "big"}))
    assert codes(found) == ["unknown-identifier", "wrong-type"]


def test_a_misspelt_kind_in_a_group_of_ours_is_found() -> None:
    wrong = {**instance(), "kind": "Kioks"}
    (finding,) = repository(definition(resource()), wrong).findings
    assert finding.problem.code == "unknown-kind"
    assert finding.problem.hint == "did you mean kro.run/v1 Kiosk?"


def test_a_kind_that_nothing_serves_is_found_unless_it_is_listed() -> None:
    other = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}
    assert codes(repository(definition(resource()), other)) == ["unknown-kind"]
    for listed in (("example.org", "Thing"), ("example.org", "*")):
        cluster = AssumedCluster(schemas=ExternalKinds(frozenset([listed])))
        manifests = read([("a.yaml", json.dumps(other).encode())])
        assert compile_repository(manifests, catalog, cluster=cluster).findings == []


def test_an_instance_without_spec_is_warned_about_where_fields_are_required() -> None:
    bare = instance()
    del bare["spec"]
    found = repository(definition(resource(), spec={"a": "string | required=true"}), bare)
    assert codes(found) == ["KG-I01"]


def test_a_template_may_be_a_definition_itself() -> None:
    inner = definition()
    inner["metadata"] = {"name": "${schema.metadata.name}"}
    assert codes(repository(definition(resource("inner", inner)))) == []


def test_a_crd_in_the_repository_makes_its_kind_known() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    crd: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [version],
        },
    }
    gadget = {"apiVersion": "example.org/v1", "kind": "Gadget", "metadata": {"name": "x"}}
    assert codes(repository(definition(resource("g", gadget)), crd)) == []
    del crd["spec"]["names"]
    assert "invalid-crd" in codes(repository(crd))
