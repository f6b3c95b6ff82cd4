"""Which changes of others are undone, ignored or left alone."""

from typing import Any

import pytest

from kro_gitops.engine.plan.drift import DriftRules, plan_drift, with_annotations
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.metadata import ADOPT, DRIFT_ADDED_FIELDS, DRIFT_IGNORE
from kro_gitops.settings.option import AddedFields, AdoptionPolicy
from kro_gitops.tracking.ignored_fields import IgnoreRule
from kube_objects.errors import RefusedError
from kube_objects.field_sets import pack
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import KubeObject, ObjectRef

DESIRED: KubeObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "main"}]}}},
}
SIDECAR: dict[str, Any] = {'k:{"name":"sidecar"}': {".": {}, "f:image": {}}}


def pods(**fields: Any) -> dict[str, Any]:
    return {"f:spec": {"f:template": {"f:spec": fields}}}


ADDED = pods(**{"f:containers": SIDECAR})


def planned(added: dict[str, Any], rules: DriftRules) -> tuple[KubeObject, Any]:
    live = CachedObject(DESIRED, b"", pack(added))
    found = plan_drift(Apply("app", 0, ObjectRef.of(DESIRED), DESIRED, live), live, rules)
    return found.expected, found.added


def annotated(**annotations: str) -> KubeObject:
    return {"metadata": {"name": "front", "namespace": "shop", "annotations": annotations}}


def test_what_a_person_added_is_removed_unless_it_may_stay() -> None:
    assert planned(ADDED, DriftRules()) == (DESIRED, ADDED)
    assert planned({}, DriftRules()) == (DESIRED, {})
    assert planned(ADDED, DriftRules(AddedFields.KEEP)) == (DESIRED, {})
    ignoring = IgnoreRule(("/spec/template/spec/containers/sidecar",))
    assert planned(ADDED, DriftRules(ignore=(ignoring,))) == (DESIRED, {})


def test_what_was_there_before_us_is_not_wholly_ours() -> None:
    theirs = pods(**{"f:containers": {".": {}, **SIDECAR}})
    assert planned(theirs, DriftRules()) == (DESIRED, {})
    assert planned(theirs, DriftRules(AddedFields.ALL))[1]


def test_ignored_fields_are_not_expected() -> None:
    rules = DriftRules(ignore=(IgnoreRule(("/spec/replicas",), kind="Deployment"),))
    expected, _ = planned({}, rules)
    assert expected["spec"] == {"template": DESIRED["spec"]["template"]}
    other = DriftRules(ignore=(IgnoreRule(("/spec/replicas",), kind="StatefulSet"),))
    assert planned({}, other) == (DESIRED, {})


def test_an_instance_that_may_adopt_keeps_what_others_added_unless_it_says_so() -> None:
    rules, policy = DriftRules(), AdoptionPolicy.REFUSE
    adopting = annotated(**{ADOPT: "true"})
    assert rules.for_instance(annotated(), policy).added is AddedFields.OWN
    assert rules.for_instance(adopting, policy).added is AddedFields.KEEP
    assert rules.for_instance(adopting, AdoptionPolicy.NEVER).added is AddedFields.OWN
    assert rules.for_instance(annotated(), AdoptionPolicy.ADOPT).added is AddedFields.KEEP
    asked = annotated(**{ADOPT: "true", DRIFT_ADDED_FIELDS: "all"})
    assert rules.for_instance(asked, policy).added is AddedFields.ALL


def test_rules_of_definition_and_instance_add_up() -> None:
    definition = with_annotations(DriftRules(), annotated(**{DRIFT_IGNORE: "[{paths: [/a]}]"}))
    text = "- target: {kind: Deployment, name: web*}\n  paths: [/b, /c]"
    both = definition.for_instance(annotated(**{DRIFT_IGNORE: text}), AdoptionPolicy.REFUSE)
    assert both.ignore == (
        IgnoreRule(("/a",)),
        IgnoreRule(("/b", "/c"), kind="Deployment", name="web*"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{paths: [/a]}", "it is not a list"),
        ("[", "it is not YAML"),
        ("[1]", "[0] is not an object"),
        ("[{path: [/a]}]", "[0]: unknown field 'path'"),
        ("[{target: {}}]", "[0].paths is not a list of 1 to 64 JSON pointers"),
        ("[{paths: []}]", "[0].paths is not a list"),
        ("[{paths: [/a, b]}]", "[0].paths[1]: 'b' is not a JSON pointer"),
        ("[{paths: ['']}]", "[0].paths[0] is not a JSON pointer to a field"),
        ("[{paths: [/a], target: {kinds: A}}]", "[0].target: unknown field 'kinds'"),
        ("[{paths: [/a], target: {kind: 1}}]", "[0].target.kind is not a text"),
        (str([{"paths": ["/a"]}] * 65), "it has 65 rules; at most 64"),
    ],
)
def test_bad_rules_name_the_place(text: str, message: str) -> None:
    with pytest.raises(RefusedError) as caught:
        with_annotations(DriftRules(), annotated(**{DRIFT_IGNORE: text}))
    assert f"annotation {DRIFT_IGNORE}: {message}" in caught.value.message


def test_a_bad_choice_lists_the_good_ones() -> None:
    with pytest.raises(RefusedError, match="is none of own, all, keep"):
        with_annotations(DriftRules(), annotated(**{DRIFT_ADDED_FIELDS: "remove"}))
