"""What controllers tell when they may not make what they want to, as real ones do."""

from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError, forbidden
from kube_sandbox.controllers.workloads.plan_steps import Settings

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}
SELECTED: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
WHY = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"


class Full(World):
    """A cluster in which there is room for one object of some kind."""

    full = "pods"
    room = 1
    going = False

    def create(self, by: str, bucket: str, obj: KubeObject) -> None:
        """Create an object, if there is room."""
        if bucket == self.full and len(self.names(bucket)) >= self.room:
            error: StatusError = forbidden("", bucket, obj["metadata"].get("name", "x"), WHY)
            if self.going:
                error.details["causes"] = [{"reason": "NamespaceTerminating"}]
            raise error
        super().create(by, bucket, obj)


def workload(kind: str, group: str = "apps", **spec: Any) -> KubeObject:
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "w"},
        "spec": {**SELECTED, **spec},
    }


def conditions(obj: Any) -> list[tuple[str, str, str, str]]:
    names = ("type", "status", "reason", "message")
    return [tuple(each[name] for name in names) for each in obj["status"]["conditions"]]


def failure(message: str) -> tuple[str, str, str, str]:
    return ("ReplicaFailure", "True", "FailedCreate", message)


def test_a_replica_set_has_a_condition_until_all_pods_are_there() -> None:
    world = Full(Settings())
    world.add(workload("ReplicaSet", replicas=3))
    world.run(4)
    found = world.find("replicasets.apps", "w")
    assert found["status"]["replicas"] == 1
    assert conditions(found) == [failure(f'pods "x" is forbidden: {WHY}')]
    world.room = 3
    world.run(60)
    found = world.find("replicasets.apps", "w")
    assert found["status"]["replicas"] == 3
    assert "conditions" not in found["status"]


def test_a_deployment_tells_what_its_replica_set_cannot_do() -> None:
    world = Full(Settings())
    world.add(workload("Deployment", replicas=3, progressDeadlineSeconds=600))
    world.run(4)
    found = world.find("deployments.apps", "w")
    assert failure(f'pods "x" is forbidden: {WHY}') in conditions(found)
    world.room = 3
    world.run(60)
    found = world.find("deployments.apps", "w")
    assert [each[:2] for each in conditions(found)] == [
        ("Available", "True"),
        ("Progressing", "True"),
    ]


def test_a_new_deployment_tells_of_its_replica_set_first() -> None:
    world = Full(Settings())
    world.room = 0
    world.add(workload("Deployment", replicas=1, progressDeadlineSeconds=600))
    world.run(4)
    found = world.find("deployments.apps", "w")
    names = [each[0] for each in conditions(found)]
    assert names == ["Progressing", "Available", "ReplicaFailure"]


def test_a_deployment_without_a_replica_set_does_not_progress() -> None:
    world = Full(Settings())
    world.full, world.room = "replicasets.apps", 0
    world.add(workload("Deployment", progressDeadlineSeconds=600))
    world.run(4)
    found = world.find("deployments.apps", "w")
    ((sort, status, reason, message),) = conditions(found)
    assert (sort, status, reason) == ("Progressing", "False", "ReplicaSetCreateError")
    assert message.startswith('Failed to create new replica set "w-')
    assert found["status"].keys() == {"conditions"}


@pytest.mark.parametrize(
    ("obj", "component"),
    [
        (workload("ReplicaSet"), "replicaset-controller"),
        (workload("StatefulSet"), "statefulset-controller"),
        (workload("DaemonSet"), "daemonset-controller"),
        (workload("Job", "batch", completions=1), "job-controller"),
    ],
    ids=lambda found: found["kind"] if isinstance(found, dict) else "",
)
def test_events_tell_of_it_with_growing_pauses(obj: KubeObject, component: str) -> None:
    world = Full(Settings())
    world.room = 0
    world.add(obj)
    world.run(1000)
    (found,) = world.all("events")
    assert found["involvedObject"]["kind"] == obj["kind"]
    assert (found["reason"], found["source"]) == ("FailedCreate", {"component": component})
    assert found["message"].endswith(WHY)
    # 1, 2, 4 … 512 seconds apart, and sometimes once more since its own status changed.
    assert 10 <= found["count"] <= 12


def test_a_job_has_no_active_pods_that_could_not_be_made() -> None:
    world = Full(Settings())
    world.add(workload("Job", "batch", completions=3, parallelism=3))
    world.run()
    assert world.find("jobs.batch", "w")["status"]["active"] == 1


def test_a_cron_job_does_not_count_a_job_that_could_not_be_made() -> None:
    world = Full(Settings())
    world.full, world.room = "jobs.batch", 0
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}
    world.add({**workload("CronJob", "batch"), "spec": spec})
    world.run(70)
    assert "lastScheduleTime" not in world.find("cronjobs.batch", "w").get("status", {})
    world.room = 1
    world.run(60)
    assert len(world.names("jobs.batch")) == 1


def test_nothing_is_told_in_a_namespace_that_goes() -> None:
    world = Full(Settings())
    world.room, world.going = 0, True
    world.add(workload("ReplicaSet"))
    world.run(10)
    assert world.names("events") == []


def test_an_event_that_was_deleted_is_made_again() -> None:
    world = Full(Settings())
    world.room = 0
    world.add(workload("ReplicaSet"))
    world.run(2)
    world.remove(world.all("events")[0])
    world.run(100)
    assert world.all("events")[0]["count"] > 2
