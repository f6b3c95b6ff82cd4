"""Why an instance is as it is, and what is advised."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.inspect.explain.advice import (
    CHILD_STEPS,
    DEFINITION_ADVICE,
    INSTANCE_ADVICE,
    advice_for,
)
from kro_gitops.inspect.explain.explanation import (
    Case,
    Explanation,
    blockers,
    explain,
    explain_definition,
)
from kro_gitops.inspect.views.instances import Branch
from kro_gitops.tracking.health import health
from kro_gitops.tracking.workload_health import workload_health
from kube_objects.conditions import Condition
from kube_objects.refs import KubeObject
from tests.builders import definition

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FAILED = "resource reconciliation failed: "


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-03-01T11:00:00Z",
        "observedGeneration": 1,
    }


def instance(
    *conditions: dict[str, Any], state: str = "IN_PROGRESS", **metadata: Any
) -> KubeObject:
    named = {"name": "corner", "namespace": "town", "uid": "uid-0", "generation": 1, **metadata}
    status = {"state": state, "conditions": list(conditions)} if conditions else {}
    return {"apiVersion": "kro.run/v1", "kind": "Kiosk", "metadata": named, "status": status}


def waiting(reason: str, message: str, **metadata: Any) -> KubeObject:
    ready = condition("Ready", "False", reason, message)
    return instance(condition("ResourcesReady", "False", reason, message), ready, **metadata)


HEALTHY = instance(condition("Ready", "True", "Ready"), state="ACTIVE")


def deployment(name: str, available: int, *conditions: dict[str, Any]) -> KubeObject:
    status = {
        "observedGeneration": 1,
        "updatedReplicas": 1,
        "availableReplicas": available,
        "conditions": list(conditions),
    }
    metadata = {"name": name, "namespace": "town", "uid": f"uid-{name}", "generation": 1}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "status": status}


def leaf(node: str, obj: KubeObject) -> Branch:
    return Branch(obj, node, workload_health(obj))


def tree(obj: KubeObject, *branches: Branch, node: str = "") -> Branch:
    return Branch(obj, node, health(obj), branches)


def good_definition() -> KubeObject:
    made = definition()
    made["metadata"]["generation"] = 1
    conditions = [condition("Ready", "True", "Ready")]
    return {**made, "status": {"state": "Active", "conditions": conditions}}


def bad_definition(reason: str = "InvalidResourceGraph", message: str = "bad") -> KubeObject:
    conditions = [
        condition("GraphAccepted", "False", reason, message),
        condition("Ready", "False", reason, message),
    ]
    return {**good_definition(), "status": {"state": "Inactive", "conditions": conditions}}


def explained(root: Branch, made_by: KubeObject | None = None, **more: Any) -> Explanation:
    return explain(Case(root, "kiosks.kro.run", made_by or good_definition(), NOW, **more))


def text(found: Explanation) -> str:
    lines = [found.headline]
    for section in found.sections:
        lines += [section.title, *section.lines]
    return "\n".join([*lines, *found.steps])


def test_a_healthy_instance_is_one_paragraph() -> None:
    found = explained(tree(HEALTHY, leaf("web", deployment("web", 1))))
    assert found.is_healthy
    assert found.sections == ()
    assert found.steps == ()
    assert found.headline == (
        "Kiosk town/corner is healthy: the one object it made is there, "
        "and nothing has changed for 60m. "
        "Its definition 'kiosk' is Healthy. There is nothing to do."
    )


def test_a_ready_instance_with_an_unhealthy_child_is_not_healthy() -> None:
    found = explained(tree(HEALTHY, leaf("web", deployment("web", 0))))
    assert not found.is_healthy
    assert found.headline == (
        "Kiosk town/corner is ready, but Deployment/web is Progressing, "
        "and no readyWhen waits for it"
    )
    assert found.cause == ("Deployment/web: Progressing: 0 of 1 replicas available",)
    assert found.steps == ("look closer: kubectl describe deployment/web -n town",)


def test_an_instance_without_conditions_can_be_healthy() -> None:
    obj = {**HEALTHY, "status": {"state": "ACTIVE"}}
    assert explained(tree(obj)).headline.startswith("Kiosk town/corner is healthy. Its")


def test_the_child_in_the_way_is_the_innermost() -> None:
    inner = waiting("NotReady", FAILED + "x", name="inner", uid="uid-1")
    web = leaf("web", deployment("web", 0))
    root = tree(
        waiting("NotReady", FAILED + "x"),
        leaf("fine", deployment("fine", 1)),
        tree(inner, web, node="sub"),
    )
    assert blockers(root) == [web]
    assert blockers(tree(HEALTHY, tree(HEALTHY, web, node="sub"))) == [web]


def test_a_child_that_kro_waits_for_is_in_the_way_even_if_it_looks_healthy() -> None:
    message = FAILED + 'apply results contain errors: waiting for node "web": readyWhen is false'
    web, other = leaf("web[0]", deployment("a", 1)), leaf("other", deployment("b", 1))
    assert blockers(tree(waiting("NotReady", message), web, other)) == [web]


def test_the_sum_of_conditions_is_not_told_twice() -> None:
    found = explained(tree(waiting("NotReady", FAILED + "cluster mutated")))
    assert text(found).count("cluster mutated") == 1
    assert "ResourcesReady is False (NotReady) for 60m" in text(found)


def test_false_comes_before_unknown() -> None:
    obj = instance(
        condition("A", "Unknown", "AwaitingReconciliation"),
        condition("B", "False", "NotReady", FAILED),
        condition("C", "True", "Resolved"),
    )
    conditions = next(s for s in explained(tree(obj)).sections if s.title == "Conditions")
    assert [line.split()[0] for line in conditions.lines if line[0] != " "] == ["B", "A"]


def test_the_events_of_all_reporters_are_told_newest_first() -> None:
    old = {"reason": "Old", "message": "a", "lastTimestamp": "2026-03-01T10:00:00Z", "count": 3}
    new = {"reason": "New", "message": "b", "eventTime": "2026-03-01T11:59:00.000000Z"}
    series = {"count": 7, "lastObservedTime": "2026-03-01T11:50:00.000000Z"}
    again = {"reason": "Again", "message": "c\nd", "eventTime": None, "series": series}
    found = explained(tree(waiting("NotReady", FAILED + "x")), events={"uid-0": [old, again, new]})
    assert found.sections[-1].lines == (
        "60s ago, New: b",
        "10m ago, Again (7 times): c …",
        "120m ago, Old (3 times): a",
    )


@pytest.mark.parametrize("reason", sorted(CHILD_STEPS))
def test_a_child_with_a_known_reason_is_advised_on_first(reason: str) -> None:
    web = deployment("web", 0, condition("Progressing", "False", reason, "why"))
    found = explained(tree(waiting("NotReady", FAILED + "x"), leaf("web", web)))
    assert found.steps[0].startswith("Deployment/web: ")
    assert "{" not in found.steps[0]


def test_a_broken_definition_is_advised_on_before_its_instances() -> None:
    obj = waiting("ResolutionFailed", "latest issued graph revision 2 failed")
    found = explained(tree(obj), bad_definition(message="id is bad"))
    assert "GraphAccepted is False (InvalidResourceGraph)" in text(found)
    assert "id is bad" in text(found)
    assert found.steps[0].startswith("check the definition's file")
    assert len(found.steps) <= 3


def test_an_instance_without_a_definition() -> None:
    root = tree(waiting("NotReady", FAILED + "x"))
    found = explain(Case(root, "kiosks.kro.run", None, NOW))
    assert found.steps[0] == "apply the definition again, or delete the instance"


def test_the_file_is_named() -> None:
    places = {"gitops.kro.run/path": "a.yaml:3", "gitops.kro.run/source": "ops/shop"}
    obj = waiting("NotReady", FAILED + "Kiosk is invalid: spec.x", annotations=places)
    found = explained(tree(obj))
    assert found.sections[0].lines == ("a.yaml:3 of ops/shop",)
    assert "in a.yaml:3 or in the definition" in found.steps[0]


def test_what_nobody_knows_ends_with_a_place_to_look() -> None:
    found = explained(tree(instance(condition("Ready", "False", "Mine", "no"))))
    assert found.steps == ("look closer: kubectl describe kiosks.kro.run/corner -n town",)


# Messages of kro (runtime), each of which has words of its own.
MESSAGES = {
    "cluster mutated": "changed a moment ago",
    'apply results contain errors: waiting for node "web": readyWhen is false': "readyWhen",
    'apply results contain errors: waiting for external reference "input": not found': "refers to",
    'waiting for unresolved resource: gvr "x": node "y": no such key: z (data pending)': "needs a",
    'apply results contain errors: configmaps "x" is forbidden: no': "does not allow",
    'apply results contain errors: admission webhook "x" denied the request: no': "webhook",
    'apply results contain errors: Deployment "x" is invalid: spec: no': "does not accept",
    "apply results contain errors: resource belongs to a different ApplySet: a": "another instance",
    "collection size of 1156 is over the maximum collection size of 1000": "more objects",
    'node "x" identity collision: duplicate identity: a': "same object",
    'node "x" is namespaced and must resolve metadata.namespace when': "needs a namespace",
    'includeWhen "a": eval "a": no such key: foo': "an expression",
    "found resources with conflicts: resourceID: b conflicts with resourceID: a": "two nodes",
    "apply failed: failed to get REST mapping for a": "does not know the kind",
    "prune failed: delete ns/name: no": "cannot be deleted",
    "something new": "not there yet, or not ready",
}


@pytest.mark.parametrize(("message", "words"), MESSAGES.items(), ids=MESSAGES)
def test_messages_of_kro_are_put_in_plain_words(message: str, words: str) -> None:
    found = explained(tree(waiting("NotReady", FAILED + message)))
    assert words in found.headline
    assert 1 <= len(found.steps) <= 3


def test_every_reason_of_the_instance_controller_is_known() -> None:
    assert {row.reason for row in INSTANCE_ADVICE} == {
        *("AwaitingReconciliation", "ManagementFailed", "ResolutionFailed", "NotReady"),
        *("EvaluationLimitExceeded", "ResourceDeleting", "ReconciliationSuspended"),
        "UnderDeletion",
    }


@pytest.mark.parametrize(
    "reason",
    [
        *("InvalidResourceGraph", "Failed", "FailedToStart", "FailedLabelerSetup"),
        *("WaitingForGraphRevisionCompilation", "WaitingForGraphRevisionWarmup"),
        *("WaitingForGraphRevisionSettlement", "AwaitingReconciliation"),
    ],
)
def test_every_reason_of_the_definition_controller_is_known(reason: str) -> None:
    found = explain_definition(bad_definition(reason), NOW)
    assert not found.is_healthy
    assert found.steps
    assert "{" not in text(found)


def test_a_reason_of_somebody_else_is_not_guessed_at() -> None:
    assert advice_for(Condition("Mine", "False", "Strange")) is None
    assert advice_for(Condition("Mine", "False"), DEFINITION_ADVICE) is None


def test_a_healthy_definition() -> None:
    found = explain_definition(good_definition(), NOW)
    assert found.is_healthy
    assert found.headline == (
        "The definition 'kiosk' is healthy: its kind kro.run/v1 Kiosk is served."
    )


def test_an_explanation_as_data() -> None:
    found = explained(tree(waiting("NotReady", FAILED + "cluster mutated"))).to_json()
    assert (found["healthy"], found["next"]) == (False, ["ask again shortly"])
    assert list(found["details"]) == ["Definition", "Conditions"]
