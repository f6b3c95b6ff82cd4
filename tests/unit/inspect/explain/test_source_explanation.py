"""Why a source is not healthy: the cause, the place, the worst objects, the next command."""

from datetime import UTC, datetime
from typing import Any

from kro_gitops.inspect.explain.causes import Cause
from kro_gitops.inspect.explain.source_explanation import (
    WORST,
    SourceCase,
    explain_source,
    worst_first,
)
from kro_gitops.inspect.views.instances import Branch
from kro_gitops.tracking.health import Health, HealthStatus
from kube_objects.refs import KubeObject

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COMMIT = "1a2b3c4d" * 5
REVISION = f"main@sha1:{COMMIT}"
FAILURE = {
    "object": "WebApp shop/back",
    "file": "apps/back.yaml",
    "line": 7,
    "column": 3,
    "code": "invalid",
    "message": "spec.replicas: must be a number",
}


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    since = {"lastTransitionTime": "2026-03-01T11:55:00Z"}
    return {"type": type_, "status": status, "reason": reason, "message": message, **since}


READY = condition("Ready", "True", "Succeeded", "applied main")
FAILED = condition("Ready", "False", "ApplyFailed", "1 of 3 objects failed")


def source(*conditions: dict[str, Any], **status: Any) -> KubeObject:
    commit = {"id": COMMIT, "author": "Ann", "message": "Add the cart"}
    whole = {
        "observedGeneration": 1,
        "lastAppliedRevision": REVISION,
        "lastAttemptedRevision": REVISION,
        "commit": {**commit, "time": "2026-03-01T11:50:00Z"},
        "inventory": {"objects": 3, "ready": 3},
        "conditions": list(conditions),
        **status,
    }
    metadata = {"name": "shop", "namespace": "gitops", "generation": 1}
    kind = {"apiVersion": "gitops.kro.run/v1alpha1", "kind": "GitSource"}
    spec = {"url": "https://ann:secret@git.example.com/shop.git"}
    return {**kind, "metadata": metadata, "spec": spec, "status": whole}


def branch(
    kind: str, name: str, health: Health, *inner: Branch, message: str = "", uid: str = ""
) -> Branch:
    metadata = {"name": name, "namespace": "shop", "uid": uid or name}
    obj = {"apiVersion": "kro.run/v1", "kind": kind, "metadata": metadata}
    return Branch(obj, "", HealthStatus(health, message), inner)


def test_a_healthy_source_is_one_paragraph() -> None:
    found = explain_source(SourceCase(source(READY), NOW))
    assert found.is_healthy
    assert found.headline == (
        "GitSource gitops/shop is healthy: 3/3 objects are ready at main@1a2b3c4 "
        "(Add the cart, by Ann), and nothing has changed for 5m. There is nothing to do."
    )


def test_what_failed_comes_first_with_its_place_and_the_command_that_checks_it() -> None:
    found = explain_source(SourceCase(source(FAILED, failures=[FAILURE]), NOW))
    assert not found.is_healthy
    assert found.headline == "GitSource gitops/shop is Degraded: 1 failure"
    assert found.cause == ("apps/back.yaml:7:3: WebApp shop/back: spec.replicas: must be a number",)
    assert found.steps[0] == (
        "correct apps/back.yaml and commit; check it: kro-gitops validate apps/back.yaml"
    )
    sections = {each.title: each.lines for each in found.sections}
    assert sections["Last commit"] == ("1a2b3c4d1a2b by Ann, 10m ago", "Add the cart")
    assert sections["State"][0] == "Ready is False (ApplyFailed) for 5m"


def test_no_password_of_a_url_is_shown() -> None:
    assert "secret" not in str(explain_source(SourceCase(source(FAILED), NOW)))


def test_a_ready_source_with_a_broken_pod_is_not_healthy() -> None:
    pod = branch("Pod", "front-1", Health.DEGRADED, message="CrashLoopBackOff")
    front = branch("WebApp", "front", Health.HEALTHY, pod)
    fine = branch("WebApp", "fine", Health.HEALTHY)
    case = SourceCase(source(READY), NOW, (fine, front), instances=frozenset(("front", "fine")))
    found = explain_source(case)
    assert not found.is_healthy
    assert found.headline == "GitSource gitops/shop is ready, but Pod/front-1 is Degraded"
    assert found.cause == ("Pod/front-1 in shop is Degraded: CrashLoopBackOff",)
    assert found.steps[0] == "see why: kro-gitops explain webapp/front -n shop"


def test_the_worst_objects_are_the_innermost_degraded_first_and_few() -> None:
    listed = [branch("Pod", f"p{number}", Health.PROGRESSING) for number in range(WORST)]
    worst = branch("Pod", "worst", Health.DEGRADED)
    tree = branch("WebApp", "front", Health.DEGRADED, *listed, worst)
    assert worst_first([tree]) == [worst, *listed]
    found = explain_source(SourceCase(source(READY), NOW, (tree,)))
    sections = {each.title: each.lines for each in found.sections}
    assert sections["Worst objects"][0] == "Pod/worst in shop is Degraded"
    assert sections["Worst objects"][-1] == "and 1 more"
    assert len(sections["Worst objects"]) == WORST + 1


def test_an_object_that_was_deleted_is_applied_again_by_a_sync() -> None:
    found = explain_source(SourceCase(source(READY), NOW, absent=("ConfigMap/a in shop",)))
    assert not found.is_healthy
    assert "apply it again: kro-gitops sync gitops/shop --wait" in found.steps


def test_a_held_prune_names_the_remedy() -> None:
    held = condition("PruneBlocked", "True", "Brake", "would delete 40 of 50 objects")
    ready = condition("Ready", "False", "PruneBlocked", "would delete 40 of 50 objects")
    found = explain_source(SourceCase(source(ready, held), NOW))
    assert "PruneBlocked: would delete 40 of 50 objects" in found.cause
    assert "raise spec.maxPrune" in found.steps[0]


def test_without_a_controller_the_source_may_be_outdated() -> None:
    cause = Cause("no controller seems to run", ("Lease a/b was last renewed 3h ago",))
    found = explain_source(SourceCase(source(READY), NOW, causes=(cause,)))
    assert found.headline == "GitSource gitops/shop: no controller seems to run"
    assert found.cause[0] == "Lease a/b was last renewed 3h ago"


def test_a_source_that_nobody_picked_up() -> None:
    fresh = {**source(), "status": {}}
    found = explain_source(SourceCase(fresh, NOW))
    assert not found.is_healthy
    assert "no controller has processed it yet" in found.headline


def test_a_pin_of_one_object_is_named_and_the_source_is_not_pinned_as_a_whole() -> None:
    pinned = condition("Pinned", "True", "ObjectsPinned", "WebApp shop/back is held at 1a1a1a1")
    found = explain_source(SourceCase(source(READY, pinned), NOW))
    assert not found.is_healthy
    assert found.headline == (
        "GitSource gitops/shop is ready, but held back: Pinned: WebApp shop/back is held at 1a1a1a1"
    )
