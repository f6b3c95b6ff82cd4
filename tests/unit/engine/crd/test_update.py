"""A generated CRD against the one in the cluster."""

from copy import deepcopy
from typing import Any

import pytest

from kro_gitops.engine.crd.build import with_ownership
from kro_gitops.engine.crd.update import (
    changes_needed,
    is_served,
    owner_of,
    served_kind_name,
    why_not_served,
)
from kro_gitops.metadata import ALLOW_BREAKING_CHANGES, KRO_VERSION, MANAGED_BY, OWNED
from kube_objects.errors import RefusedError
from tests.builders import definition, graph, resource

Obj = dict[str, Any]


def rgd(*, allowed: str = "", uid: str = "u", **schema: Any) -> Obj:
    made = definition(resource(), **schema)
    made["metadata"]["uid"] = uid
    if allowed:
        made["metadata"]["annotations"] = {ALLOW_BREAKING_CHANGES: allowed}
    return made


def wanted(made: Obj, version: str = "v1") -> Obj:
    about = made["metadata"]
    return with_ownership(graph(made).crd, about["name"], about["uid"], version)


def live(crd: Obj, **labels: str) -> Obj:
    """Return a CRD as the API server gives it back."""
    found = deepcopy(crd)
    found["metadata"].update(uid="x", resourceVersion="1", generation=1)
    found["metadata"]["labels"].update(labels)
    found["spec"]["conversion"] = {"strategy": "None"}
    return found


def compared(before: Obj, after: Obj) -> Obj | None:
    return changes_needed(live(wanted(before)), wanted(after), after)


def schema_of(crd: Obj) -> Obj:
    found: Obj = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def test_what_is_as_wanted_is_left_alone() -> None:
    made = rgd(spec={"name": "string"})
    assert compared(made, made) is None


def test_what_the_server_does_not_keep_is_no_difference() -> None:
    made = rgd(spec={"name": "string"})
    bare = live(wanted(made))
    schema_of(bare).pop("required", None)
    full = wanted(made)
    schema_of(full)["required"] = []
    schema_of(full)["description"] = ""
    assert changes_needed(bare, full, made) is None


def test_which_version_labelled_it_last_is_no_difference() -> None:
    made = rgd()
    assert changes_needed(live(wanted(made), **{KRO_VERSION: "v0.8.0"}), wanted(made), made) is None


def test_labels_of_others_are_no_difference() -> None:
    made = rgd()
    assert changes_needed(live(wanted(made), team="shop"), wanted(made), made) is None


def test_an_added_field_is_a_patch() -> None:
    patch = compared(rgd(spec={"a": "string"}), rgd(spec={"a": "string", "b": "string"}))
    assert patch is not None
    assert set(schema_of(patch)["properties"]) == {"a", "b"}
    assert patch["spec"]["names"]["shortNames"] is None
    assert patch["spec"]["names"]["categories"] is None
    assert "resourceVersion" not in patch["metadata"]


def test_names_that_were_given_up_are_taken_away() -> None:
    before = rgd(shortNames=["ki"], categories=["all"])
    patch = compared(before, rgd())
    assert patch is not None
    assert patch["spec"]["names"]["shortNames"] is None


@pytest.mark.parametrize(
    "changed",
    [
        {"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]},
        {"metadata": {"labels": {"team": "shop"}}},
        {"metadata": {"annotations": {"note": "hello"}}},
        {"shortNames": ["ki"]},
        {"spec": {"a": 'string | pattern="^a$" description="new words"'}},
    ],
)
def test_what_does_not_concern_values_is_put_right_too(changed: dict[str, Any]) -> None:
    before: dict[str, Any] = {"spec": {"a": 'string | pattern="^a$"'}}
    assert compared(rgd(**before), rgd(**{**before, **changed})) is not None


def test_a_definition_made_anew_takes_over_its_crd() -> None:
    patch = compared(rgd(uid="old"), rgd(uid="new"))
    assert patch is not None
    assert "new" in patch["metadata"]["labels"].values()


def test_what_breaks_instances_is_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        compared(rgd(spec={"a": "string", "b": "string"}), rgd(spec={"a": "string"}))
    assert refused.value.message == (
        "cannot update CRD kiosks.kro.run: breaking changes detected: Property b was removed"
    )
    assert ALLOW_BREAKING_CHANGES in refused.value.hint


def test_many_breaks_are_summed_up() -> None:
    names = dict.fromkeys("abcde", "string")
    with pytest.raises(RefusedError, match=r"; and 2 more changes$"):
        compared(rgd(spec=names), rgd())


def test_breaking_is_allowed_by_exactly_true() -> None:
    before = rgd(spec={"a": "string", "b": "string"})
    patch = compared(before, rgd(spec={"a": "string"}, allowed="true"))
    assert patch is not None
    assert set(schema_of(patch)["properties"]) == {"a"}
    for word in ("True", "yes", "1"):
        with pytest.raises(RefusedError):
            compared(before, rgd(spec={"a": "string"}, allowed=word))


@pytest.mark.parametrize("labels", [{OWNED: "false"}, {OWNED: "false", MANAGED_BY: "kro"}])
def test_a_crd_of_somebody_else_is_refused(labels: dict[str, str]) -> None:
    made = rgd()
    with pytest.raises(RefusedError) as refused:
        changes_needed(live(wanted(made), **labels), wanted(made), made)
    assert refused.value.message == (
        "failed to update CRD kiosks.kro.run: CRD already exists and is not owned by KRO"
    )


def test_a_crd_without_our_labels_is_refused() -> None:
    made = rgd()
    theirs = live(wanted(made))
    del theirs["metadata"]["labels"]
    with pytest.raises(RefusedError, match="is not owned by KRO"):
        changes_needed(theirs, wanted(made), made)


def test_the_crd_of_another_definition_is_refused() -> None:
    made, other = rgd(), rgd()
    other["metadata"]["name"] = "stand"
    with pytest.raises(RefusedError) as refused:
        changes_needed(live(wanted(other)), wanted(made), made)
    assert refused.value.message == (
        "failed to update CRD kiosks.kro.run: CRD is owned by another ResourceGraphDefinition stand"
    )


def test_a_crd_of_several_versions_cannot_be_compared() -> None:
    made = rgd()
    theirs = live(wanted(made))
    theirs["spec"]["versions"].append(deepcopy(theirs["spec"]["versions"][0]))
    with pytest.raises(RefusedError) as refused:
        changes_needed(theirs, wanted(made), made)
    assert refused.value.message == (
        "failed to check schema compatibility: "
        "expected exactly one version in each CRD, got 2 old and 1 new versions"
    )


# What a CRD says about itself


def crd(*conditions: dict[str, str], **labels: str) -> Obj:
    return {
        "metadata": {"labels": labels},
        "spec": {"names": {"kind": "Kiosk"}},
        "status": {"conditions": list(conditions)},
    }


def test_a_crd_is_served_when_it_is_established() -> None:
    assert is_served(crd({"type": "Established", "status": "True"}))
    assert not is_served(crd({"type": "Established", "status": "False"}))
    assert not is_served(crd())
    assert not is_served({"metadata": {}, "spec": {}})


def test_why_a_crd_is_not_served() -> None:
    taken = {"type": "NamesAccepted", "status": "False", "message": '"kiosks" is already in use'}
    assert why_not_served(crd(taken)) == '"kiosks" is already in use'
    assert why_not_served(crd()) == "it is not established yet"


def test_the_kind_is_called_what_the_server_accepted() -> None:
    found = crd()
    assert served_kind_name(found) == "Kiosk"
    found["status"]["acceptedNames"] = {"kind": "Booth"}
    assert served_kind_name(found) == "Booth"


def test_only_kros_crds_have_an_owner() -> None:
    named = {"kro.run/resource-graph-definition-name": "kiosk"}
    assert owner_of(crd(**named, **{OWNED: "true"})) == "kiosk"
    assert owner_of(crd(**named)) == ""
