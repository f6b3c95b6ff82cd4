"""Definitions → served kinds."""

from sandbox_testing.crd_recordings import NOW, define, established, serve
from sandbox_testing.definitions import definition, spec

from kube_objects.refs import Kind
from kube_sandbox.apiextensions.customresourcedefinition.conditions import deleted
from kube_sandbox.apiextensions.served_kinds import served_of
from kube_sandbox.registry.kinds import ScalePaths

SCHEMA = spec(a={"type": "string"})
SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}


def test_nothing_is_served_before_a_definition_is_established() -> None:
    assert served_of(define(definition(SCHEMA), [])) == []


def test_a_kind_is_served_with_names_and_an_age() -> None:
    crd = definition(SCHEMA)
    crd["spec"]["names"].update(shortNames=["th"], categories=["all"])
    served = serve(crd)
    assert served.kind == Kind("example.com", "v1", "Thing")
    assert (served.plural, served.singular, served.list_name) == ("things", "thing", "ThingList")
    assert (served.short_names, served.categories) == (("th",), ("all",))
    assert [(each.name, each.type, each.path) for each in served.columns] == [
        ("Age", "date", ".metadata.creationTimestamp")
    ]
    assert served.subresources == {}
    assert set(served.schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}


def test_columns_of_the_author_are_all_columns() -> None:
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a", "priority": 1}]
    served = serve(definition(SCHEMA, additionalPrinterColumns=columns))
    assert [(each.name, each.path, each.priority) for each in served.columns] == [
        ("A", ".spec.a", 1)
    ]


def test_subresources_are_served() -> None:
    served = serve(definition(SCHEMA, subresources={"status": {}, "scale": SCALE}))
    assert served.scale == ScalePaths(".spec.n", ".status.n")
    kinds = {name: each.kind for name, each in served.subresources.items()}
    assert kinds == {"status": served.kind, "scale": Kind("autoscaling", "v1", "Scale")}


def test_a_version_that_is_not_served_is_not_there() -> None:
    hidden = {
        "name": "v2",
        "served": False,
        "storage": False,
        "schema": {"openAPIV3Schema": spec(b={"type": "string"})},
    }
    assert [each.kind.version for each in served_of(established(definition(SCHEMA, hidden)))] == [
        "v1"
    ]


def test_a_deprecated_version_names_the_best_one() -> None:
    others = [
        {
            "name": name,
            "served": True,
            "storage": False,
            "schema": {"openAPIV3Schema": spec(**{name: {"type": "string"}})},
        }
        for name in ("v2beta1", "v2", "v10alpha1")
    ]
    crd = definition(SCHEMA, *others, deprecated=True)
    first, *rest = served_of(established(crd))
    assert first.deprecation == "example.com/v1 Thing is deprecated; use example.com/v2 Thing"
    assert {each.deprecation for each in rest} == {""}
    crd["spec"]["versions"][0]["deprecationWarning"] = "do not"
    assert served_of(established(crd))[0].deprecation == "do not"


def test_a_definition_that_goes_serves_reading_and_deleting() -> None:
    served = served_of(deleted(established(definition(SCHEMA)), NOW))[0]
    assert served.verbs == ("delete", "deletecollection", "get", "list", "watch")


def test_objects_can_be_selected_by_fields_that_are_named() -> None:
    crd = definition(SCHEMA, selectableFields=[{"jsonPath": ".spec.a"}])
    assert serve(crd).selectable == (".spec.a",)
