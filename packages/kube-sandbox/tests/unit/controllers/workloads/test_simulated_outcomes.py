"""How pods fare, and what becomes of those that own them."""

from collections.abc import Mapping
from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.controllers.workloads.simulated_outcomes import (
    OUTCOME_ANNOTATION,
    Outcome,
    outcome_text_of,
    parse_outcomes,
)

POD = {"containers": [{"name": "a", "image": "x:1"}]}


@pytest.fixture
def world() -> World:
    """Return a cluster in which everything takes a second."""
    return World(Settings(step=1.0))


def pod(outcome: str = "", restarts: str = "Always") -> Any:
    """Make a Pod."""
    annotations = {"annotations": {OUTCOME_ANNOTATION: outcome}} if outcome else {}
    spec = {**POD, "restartPolicy": restarts}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **annotations}} | {
        "spec": spec
    }


def job(outcome: str, restarts: str, **spec: Any) -> Any:
    """Make a Job."""
    made = pod(outcome, restarts)
    template = {"metadata": {"annotations": made["metadata"]["annotations"]}, "spec": made["spec"]}
    given = {"parallelism": 1, "completions": 1, "backoffLimit": 2, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}} | {
        "spec": {**given, **spec}
    }


def conditions(obj: Any) -> dict[str, tuple[str, str]]:
    """Return an object's conditions: status and reason by type."""
    found = obj["status"]["conditions"]
    return {each["type"]: (each["status"], each.get("reason", "")) for each in found}


def annotated(world: World, outcome: str) -> None:
    """Give the pod an outcome."""
    found = world.find("pods", "p")
    metadata = {**found["metadata"], "annotations": {OUTCOME_ANNOTATION: outcome}}
    world.change({**found, "metadata": metadata})


def waiting(found: Any) -> str:
    """Return what the container of a pod waits for."""
    (status,) = found["status"]["containerStatuses"]
    reason: str = status["state"].get("waiting", {}).get("reason", "")
    return reason


@pytest.mark.parametrize(
    ("outcome", "restarts", "phase", "ready", "waits"),
    [
        ("Running", "Always", "Running", "True", ""),
        ("Succeeded", "Never", "Succeeded", "False", ""),
        ("Succeeded", "OnFailure", "Succeeded", "False", ""),
        ("Succeeded", "Always", "Running", "False", "CrashLoopBackOff"),
        ("Failed", "Never", "Failed", "False", ""),
        ("Failed", "OnFailure", "Running", "False", "CrashLoopBackOff"),
        ("Failed", "Always", "Running", "False", "CrashLoopBackOff"),
        ("CrashLoopBackOff", "Always", "Running", "False", "CrashLoopBackOff"),
        ("CrashLoopBackOff", "Never", "Failed", "False", ""),
        ("ImagePullBackOff", "Always", "Pending", "False", "ImagePullBackOff"),
        ("ImagePullBackOff", "Never", "Pending", "False", "ImagePullBackOff"),
    ],
)
def test_a_pod_fares_as_its_annotation_says(
    world: World, outcome: Outcome, restarts: str, phase: str, ready: str, waits: str
) -> None:
    world.add(pod(outcome, restarts))
    world.run(10)
    found = world.find("pods", "p")
    assert found["status"]["phase"] == phase
    assert conditions(found)["Ready"][0] == ready
    assert waiting(found) == waits
    assert found["spec"]["nodeName"] == "embedded"


def test_a_container_that_is_started_again_says_how_it_ended(world: World) -> None:
    made = world.add(pod("Failed"))
    world.run(10)
    (status,) = world.find("pods", "p")["status"]["containerStatuses"]
    assert status["state"]["waiting"]["message"] == (
        f"back-off 10s restarting failed container=a pod=p_n({made['metadata']['uid']})"
    )
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 1
    world.remove(made)
    world.run(10)
    world.add(pod("Succeeded"))
    world.run(10)
    (status,) = world.find("pods", "p")["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["exitCode"] == 0


def test_a_pod_that_runs_can_be_made_to_fail_and_to_recover(world: World) -> None:
    world.add(pod())
    world.run(10)
    for outcome, ready in (("CrashLoopBackOff", "False"), ("Running", "True")):
        annotated(world, outcome)
        world.run(10)
        assert conditions(world.find("pods", "p"))["Ready"][0] == ready


def test_an_outcome_nobody_knows_is_told_and_ignored(world: World) -> None:
    world.add(pod("Explodes"))
    world.run(10)
    assert conditions(world.find("pods", "p"))["Ready"][0] == "True"
    (event,) = world.all("events")
    assert (event["type"], event["reason"]) == ("Warning", "UnknownOutcome")
    assert event["involvedObject"]["name"] == "p"
    assert event["message"] == (
        "annotation kube-sandbox.dev/outcome: 'Explodes' is none of Running, Succeeded, "
        "Failed, Pending, Unschedulable, CrashLoopBackOff, ImagePullBackOff, and is ignored"
    )


def test_another_annotation_can_name_the_outcome() -> None:
    world = World(Settings(step=1.0, outcome_annotation="example.com/outcome"))
    made = pod()
    made["metadata"]["annotations"] = {
        OUTCOME_ANNOTATION: "ImagePullBackOff",
        "example.com/outcome": "CrashLoopBackOff",
    }
    world.add(made)
    world.run(10)
    (status,) = world.find("pods", "p")["status"]["containerStatuses"]
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"


@pytest.mark.parametrize("node", ["", "embedded"])
@pytest.mark.parametrize("outcome", ["Pending", "Unschedulable"])
def test_a_pod_stays_pending_whether_it_has_a_node_or_not(
    world: World, outcome: str, node: str
) -> None:
    made = pod(outcome)
    world.add({**made, "spec": {**made["spec"], **({"nodeName": node} if node else {})}})
    world.run(10)
    assert world.find("pods", "p")["status"].get("phase", "Pending") == "Pending"


def test_a_pod_whose_image_cannot_be_had_does_not_run_because_it_is_to_be_pending(
    world: World,
) -> None:
    world.add(pod("ImagePullBackOff"))
    world.run(10)
    annotated(world, "Pending")
    world.run(10)
    assert world.find("pods", "p")["status"]["phase"] == "Pending"
    annotated(world, "Running")
    world.run(10)
    assert world.find("pods", "p")["status"]["phase"] == "Running"


def test_a_word_nobody_knows_is_told_of_a_pod_that_runs(world: World) -> None:
    world.add(pod())
    world.run(10)
    for word in ("Explodes", "Vanishes"):
        annotated(world, word)
        world.run(10)
    assert [each["message"].split("'")[1] for each in world.all("events")] == [
        "Explodes",
        "Vanishes",
    ]


INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 2}


@pytest.mark.parametrize(
    ("more", "pods", "failed", "reason"),
    [
        ({"backoffLimitPerIndex": 1}, 6, "0-2", "FailedIndexes"),
        ({"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}, 2, "0,1", "MaxFailedIndexesExceeded"),
    ],
    ids=["all", "too-many"],
)
def test_a_number_of_a_job_is_tried_only_so_often(
    world: World, more: dict[str, int], pods: int, failed: str, reason: str
) -> None:
    endless = {"backoffLimit": 2**31 - 1}  # the default, where each number has a limit
    world.add(job("Failed", "Never", **INDEXED, **endless, **more))
    world.run(60)
    found = world.find("jobs.batch", "j")
    assert conditions(found)["Failed"] == ("True", reason)
    assert found["status"]["failedIndexes"] == failed
    assert len(world.all("pods")) == pods


@pytest.mark.parametrize(
    ("restarts", "pods", "failed"), [("Never", 3, 3), ("OnFailure", 0, 1)], ids=str
)
def test_a_job_fails_after_its_last_try(
    world: World, restarts: str, pods: int, failed: int
) -> None:
    world.add(job("Failed", restarts))
    world.run(30)
    found = world.find("jobs.batch", "j")
    assert conditions(found) == {
        "FailureTarget": ("True", "BackoffLimitExceeded"),
        "Failed": ("True", "BackoffLimitExceeded"),
    }
    assert found["status"]["failed"] == failed
    assert "active" not in found["status"]
    # One that is restarted on its node is stopped; those that have ended stay to be looked at.
    assert len(world.all("pods")) == pods


@pytest.mark.parametrize(
    ("image", "outcomes", "expected"),
    [
        ("web", {"web": "Failed"}, "Failed"),
        ("web:1", {"web": "Failed"}, "Failed"),
        ("web:1", {"web:1": "Failed"}, "Failed"),
        ("web:2", {"web:1": "Failed"}, None),
        ("web", {"web:1": "Failed"}, None),
        ("web:1", {"web": "Failed", "web:1": "Pending"}, "Pending"),
        ("web:1@sha256:ab", {"web:1": "Failed"}, "Failed"),
        ("web:1@sha256:ab", {"web": "Failed"}, "Failed"),
        ("web@sha256:ab", {"web@sha256:ab": "Failed"}, "Failed"),
        ("localhost:5000/web", {"localhost": "Failed"}, None),
        ("localhost:5000/web:1", {"localhost:5000/web": "Failed"}, "Failed"),
        ("ghcr.io/acme/web:1", {"web": "Failed"}, None),
    ],
)
def test_an_image_without_a_tag_means_all_of_them(
    image: str, outcomes: Mapping[str, Outcome], expected: Outcome | None
) -> None:
    spec = {"containers": [{"name": "a", "image": "other"}, {"name": "b", "image": image}]}
    assert outcome_text_of({"metadata": {}, "spec": spec}, OUTCOME_ANNOTATION, outcomes) == expected


def test_an_annotation_beats_the_image() -> None:
    found = pod("Running")
    assert outcome_text_of(found, OUTCOME_ANNOTATION, {"x": "Failed"}) == "Running"
    assert outcome_text_of(pod("Explodes"), OUTCOME_ANNOTATION, {"x": "Failed"}) == "Failed"


def test_outcomes_are_read_as_image_and_word() -> None:
    words = ["web=Failed", "r.example:5000/db@sha256:ab=Pending", "web=Running"]
    assert parse_outcomes(words) == {"web": "Running", "r.example:5000/db@sha256:ab": "Pending"}


@pytest.mark.parametrize("text", ["", "web", "web=", "=Failed", "web=failed", "a b=Failed"])
def test_what_is_no_outcome_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        parse_outcomes([text])
