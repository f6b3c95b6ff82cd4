import pytest

from kro_gitops.errors import UserError
from kro_gitops.inspect.provenance.context import Case
from kro_gitops.inspect.provenance.field_names import parse_field
from kro_gitops.inspect.provenance.git_location import Commit, Page
from kro_gitops.inspect.provenance.object_report import (
    report_object,
    report_with_commits,
    trace_field,
    with_commits,
)
from kube_objects.paths import format_path
from tests.provenance_world import World, examples


@pytest.fixture
def repo() -> World:
    return examples()


def test_a_child_names_its_instance_node_and_lines(repo: World) -> None:
    found = report_object(repo.cases["Ingress/front"])
    assert found.text == "made by WebApp shop/front, as node 'ingress' of definition 'webapp'"
    assert [(each.what, each.place.file) for each in found.written] == [
        ("template", "rgds/webapp.yaml:77:7"),
        ("instance", "instances/team-shop/front.yaml:1:1"),
    ]
    (condition,) = found.included
    assert (condition.text, condition.value) == ("${schema.spec.ingress.enabled}", "true")
    assert condition.reads == ("schema.spec.ingress.enabled",)
    assert (found.shares, found.drift) == ((), ())


def test_an_item_of_a_collection_names_its_element(repo: World) -> None:
    found = report_object(repo.cases["Deployment/imports-returns"])
    assert found.node == "workers[1]"
    (iteration,) = found.iterations
    assert iteration.text == "queue = item 1 of ${schema.spec.queues}"


def test_a_child_of_a_child_names_everybody_above(repo: World) -> None:
    found = report_object(repo.cases["Deployment/outlet"])
    assert [str(each) for each in found.chain] == ["WebApp shop/outlet", "Shop shop/outlet"]
    assert [each.place.file for each in found.written] == [
        "rgds/webapp.yaml:38:7",
        "rgds/shop.yaml:30:7",
        "instances/team-shop/outlet.yaml:1:1",
    ]


def test_an_instance_and_a_definition_name_their_files(repo: World) -> None:
    assert [each.place.file for each in report_object(repo.cases["WebApp/admin"]).written] == [
        "instances/team-shop/front.yaml:16:1",
        "rgds/webapp.yaml:2:1",
    ]
    found = report_object(repo.cases["ResourceGraphDefinition/shop"])
    assert (found.text, len(found.written)) == ("applied by source flux/platform", 1)


def test_what_others_did_and_what_drifted(repo: World) -> None:
    repo.take("Deployment/front", ("spec", "replicas"), 9)
    repo.take("Deployment/front", ("metadata", "labels", "mine"), "x", "kubectl-label")
    found = report_object(repo.cases["Deployment/front"])
    assert [format_path(each.path) for each in found.drift] == ["spec.replicas"]
    assert [(each.writer.manager, each.fields) for each in found.shares] == [
        ("kubectl-edit", ("spec.replicas",)),
        ("kubectl-label", ("metadata.labels.mine",)),
    ]


def test_a_secret_that_drifted_shows_hashes(repo: World) -> None:
    repo.take("Secret/warehouse-credentials", ("data", "password"), "c2VjcmV0")
    (drift,) = report_object(repo.cases["Secret/warehouse-credentials"]).drift
    assert format_path(drift.path) == "data.password"
    assert drift.desired.startswith("hash:")
    assert drift.live.startswith("hash:")


def test_a_child_whose_instance_is_gone_is_not_taken_for_an_object_of_the_source(
    repo: World,
) -> None:
    found = report_object(Case(Page(repo.cases["Service/front"].object)))
    assert found.text == "its labels say that WebApp front made it, of which no more is known"
    assert found.written == ()


def test_an_object_of_nobody() -> None:
    entry = {"manager": "helm", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}}
    metadata = {"name": "x", "managedFields": [entry]}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    found = report_object(Case(Page(obj)))
    assert found.text == "no instance and no source made it; its oldest fields are those of helm"


@pytest.mark.parametrize(
    ("name", "words", "hint"),
    [
        ("Deployment/front", "spec.replcas", "'spec' has: replicas, selector, template"),
        (
            *("Deployment/front", "spec.template.spec.containers[name=web].image"),
            "'spec.template.spec.containers' has: [name=app]",
        ),
        ("Deployment/front", "metadata.name.x", "'metadata.name' has no fields"),
        ("Deployment/front", "specs", "it has: spec"),
    ],
)
def test_a_field_that_is_not_there(name: str, words: str, hint: str, repo: World) -> None:
    with pytest.raises(UserError) as raised:
        trace_field(repo.cases[name], parse_field(words))
    assert raised.value.code == "no-such-field"
    assert raised.value.hint.startswith(hint)


def test_places_get_their_commits_at_any_depth(repo: World) -> None:
    commit = Commit("abc", "Ada")
    field = with_commits(repo.ask("Service/front", "spec.selector.app"), lambda _: commit)
    places = [place for part in field.walk() for place in part.places]
    assert len(places) == 3
    assert {place.commit for place in places} == {commit}
    whole = report_with_commits(report_object(repo.cases["Service/front"]), lambda _: commit)
    assert {each.place.commit for each in whole.written} == {commit}
