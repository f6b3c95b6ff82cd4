"""Jobs: how many pods they have, what they count, and how they end."""

from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.workloads import job_pods
from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.controllers.workloads.simulated_outcomes import OUTCOME_ANNOTATION


@pytest.fixture
def world() -> World:
    """Return a world where workloads are looked after."""
    return World(Settings())


def job(outcome: str = "Running", **spec: Any) -> Any:
    """Make a Job whose pods fare as they are told."""
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {OUTCOME_ANNOTATION: outcome}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "x"}]},
    }
    given = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job"},
        "spec": {**given, **spec},
    }


INDEXED: dict[str, Any] = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}


def found_job(world: World) -> Any:
    """Return the Job."""
    return world.find("jobs.batch", "job")


def status(world: World, *names: str) -> list[Any]:
    """Return some fields of the Job's status."""
    return [found_job(world)["status"].get(name) for name in names]


def respecify(world: World, **spec: Any) -> None:
    """Change fields of the Job's spec."""
    found = found_job(world)
    world.change({**found, "spec": {**found["spec"], **spec}})


def ends(world: World) -> list[tuple[str, str, str]]:
    """Return how the Job has ended."""
    found = found_job(world)["status"].get("conditions") or ()
    return [(each["type"], each["reason"], each["message"]) for each in found]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_the_pods_of_a_job_that_is_deleted_go(world: World, propagation: str) -> None:
    world.add(job())
    world.run(5)
    world.remove(found_job(world), propagation)
    world.run(5)
    assert world.names("pods") == []


def test_pods_that_a_job_leaves_behind_need_not_be_counted(world: World) -> None:
    world.add(job())
    world.run(5)
    world.remove(found_job(world), "Orphan")
    world.run(5)
    (pod,) = world.all("pods")
    assert "finalizers" not in pod["metadata"]


def test_a_pod_that_is_deleted_has_failed_and_is_replaced(world: World) -> None:
    world.add(job())
    world.run(5)
    (pod,) = world.all("pods")
    world.remove(pod)
    world.run(5)
    assert status(world, "active", "failed") == [1, 1]
    assert world.names("pods") != [pod["metadata"]["name"]]


def test_fewer_at_a_time_stops_some_and_counts_none_as_failed(world: World) -> None:
    world.add(job(completions=3, parallelism=3))
    world.run(5)
    respecify(world, parallelism=1)
    world.run(5)
    assert len(world.all("pods")) == 1
    assert status(world, "active", "ready", "failed") == [1, 1, None]


def test_a_job_that_is_suspended_loses_its_pods_and_starts_again_later(world: World) -> None:
    world.add(job())
    world.run(5)
    (begun,) = status(world, "startTime")
    respecify(world, suspend=True)
    world.run(5)
    assert world.names("pods") == []
    assert status(world, "active", "failed", "startTime") == [None, None, begun]
    respecify(world, suspend=False)
    world.run(5)
    assert status(world, "active") == [1]
    assert status(world, "startTime") > [begun]


def test_numbers_stay_done_when_their_pods_are_deleted(world: World) -> None:
    world.add(job("Succeeded", **{**INDEXED, "parallelism": 1}))
    world.run(5)
    (first, *_) = world.all("pods")
    world.remove(first)
    world.run(15)
    assert status(world, "completedIndexes", "succeeded") == ["0-2", 3]


def test_a_pod_with_a_number_is_told_it(world: World) -> None:
    world.add(job(**INDEXED))
    world.run()
    (first, *_) = world.all("pods")
    path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    assert first["spec"]["containers"][0]["env"] == [variable]


def test_each_number_has_its_own_limit_of_failures(world: World) -> None:
    world.add(job("Failed", **{**INDEXED, "completions": 2}, backoffLimitPerIndex=1))
    world.run(20)
    pods = [each["metadata"]["annotations"] for each in world.all("pods")]
    failures = [each["batch.kubernetes.io/job-index-failure-count"] for each in pods]
    assert failures == ["0", "1", "0", "1"]
    assert status(world, "failed", "failedIndexes") == [4, "0,1"]
    text = "Job has failed indexes"
    assert ends(world) == [
        ("FailureTarget", "FailedIndexes", text),
        ("Failed", "FailedIndexes", text),
    ]


def test_too_many_numbers_may_not_fail(world: World) -> None:
    limits = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
    world.add(job("Failed", **{**INDEXED, "parallelism": 1}, **limits))
    world.run(20)
    assert ends(world)[1][:2] == ("Failed", "MaxFailedIndexesExceeded")
    assert len(world.all("pods")) == 2


def policy(action: str) -> dict[str, Any]:
    """Make a podFailurePolicy for what pods that fail here exit with."""
    codes = {"operator": "In", "values": [1]}
    return {"podFailurePolicy": {"rules": [{"action": action, "onExitCodes": codes}]}}


def test_a_pod_can_fail_its_whole_job(world: World) -> None:
    world.add(job("Failed", **policy("FailJob")))
    world.run(20)
    (pod,) = world.names("pods")
    text = f"Container a for pod n/{pod} failed with exit code 1 matching FailJob rule at index 0"
    assert ends(world)[1] == ("Failed", "PodFailurePolicy", text)


def test_a_failure_that_is_ignored_does_not_count(world: World) -> None:
    world.add(job("Failed", backoffLimit=0, **policy("Ignore")))
    world.run(20)
    assert ends(world) == []
    assert status(world, "failed") == [None]
    assert len(world.all("pods")) > 1


def test_a_number_can_be_given_up_at_once(world: World) -> None:
    world.add(job("Failed", **INDEXED, backoffLimitPerIndex=5, **policy("FailIndex")))
    world.run(20)
    assert status(world, "failedIndexes") == ["0-2"]
    assert len(world.all("pods")) == 3


def test_a_job_can_succeed_before_all_is_done(world: World) -> None:
    rules = {"rules": [{"succeededIndexes": "1-2"}, {"succeededCount": 1}]}
    world.add(job("Succeeded", **{**INDEXED, "parallelism": 1}, successPolicy=rules))
    world.run(20)
    text = "Matched rules at index 1"
    assert ends(world) == [
        ("SuccessCriteriaMet", "SuccessPolicy", text),
        ("Complete", "SuccessPolicy", text),
    ]
    assert status(world, "completedIndexes") == ["0"]


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((1,), "1"), ((0, 1), "0,1"), ((0, 2, 3, 4, 6), "0,2-4,6")]
)
def test_numbers_are_printed_in_runs(numbers: tuple[int, ...], text: str) -> None:
    assert job_pods.format_indexes(numbers) == text
    assert job_pods.parse_indexes(text) == set(numbers)
