"""What pretended controllers make of workloads; statuses are those of the real controllers."""

from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.controllers.workloads.simulated_outcomes import OUTCOME_ANNOTATION

POD = {
    "containers": [{"name": "a", "image": "x", "ports": [{"name": "web", "containerPort": 8080}]}]
}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
LABELS = {"matchLabels": {"a": "b"}}


@pytest.fixture
def world() -> World:
    """Return a cluster in which everything takes a second."""
    return World(Settings(step=1.0))


def deployment(**spec: Any) -> Any:
    """Make a Deployment."""
    given = {"replicas": 2, "selector": LABELS, "template": TEMPLATE, "progressDeadlineSeconds": 60}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {**given, **spec},
    }


def conditions(obj: Any) -> dict[str, tuple[str, str]]:
    """Return an object's conditions: status and reason by type, in order."""
    return {each["type"]: (each["status"], each["reason"]) for each in obj["status"]["conditions"]}


def test_a_deployment_gets_its_pods_and_says_so(world: World) -> None:
    world.add(deployment())
    world.run()
    (replica_set,) = world.all("replicasets.apps")
    mark = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{mark}"
    assert replica_set["metadata"]["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    }
    assert replica_set["spec"]["selector"]["matchLabels"] == {"a": "b", "pod-template-hash": mark}
    found = world.find("deployments.apps", "web")
    assert found["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}
    assert {k: v for k, v in found["status"].items() if k != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "unavailableReplicas": 2,
        "terminatingReplicas": 0,
    }
    assert conditions(found) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("True", "ReplicaSetUpdated"),
    }
    world.run(5)
    found = world.find("deployments.apps", "web")
    assert {k: v for k, v in found["status"].items() if k != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }
    assert list(conditions(found).items()) == [
        ("Available", ("True", "MinimumReplicasAvailable")),
        ("Progressing", ("True", "NewReplicaSetAvailable")),
    ]
    assert found["status"]["conditions"][1]["message"] == (
        f'ReplicaSet "web-{mark}" has successfully progressed.'
    )
    (status,) = [each["status"] for each in world.all("replicasets.apps")]
    assert status == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }


def images(world: World) -> list[str]:
    """Return the images of the pods that are there."""
    return sorted(each["spec"]["containers"][0]["image"] for each in world.all("pods"))


def retemplated(obj: Any, image: str) -> Any:
    """Return a workload with another image."""
    container = {**POD["containers"][0], "image": image}
    template = {**obj["spec"]["template"], "spec": {"containers": [container]}}
    return {**obj, "spec": {**obj["spec"], "template": template}}


def test_a_rollout_replaces_pods_without_losing_any(world: World) -> None:
    world.add(deployment())
    world.run(5)
    world.change(retemplated(world.find("deployments.apps", "web"), "y"))
    for _ in range(40):
        world.run(0.25)
        status = world.find("deployments.apps", "web")["status"]
        assert status["availableReplicas"] >= 2
        assert len(world.all("pods")) <= 3 + status["terminatingReplicas"]
    assert images(world) == ["y", "y"]
    found = world.find("deployments.apps", "web")
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert conditions(found)["Progressing"] == ("True", "NewReplicaSetAvailable")
    sizes = {
        each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: each["spec"][
            "replicas"
        ]
        for each in world.all("replicasets.apps")
    }
    assert sizes == {"1": 0, "2": 2}


def test_a_rollback_gives_the_old_replica_set_a_new_revision(world: World) -> None:
    world.add(deployment())
    world.run(5)
    for image in ("y", "x"):
        world.change(retemplated(world.find("deployments.apps", "web"), image))
        world.run(10)
    found = {
        each["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: each["spec"][
            "replicas"
        ]
        for each in world.all("replicasets.apps")
    }
    assert found == {"2": 0, "3": 2}
    assert images(world) == ["x", "x"]


def test_recreate_ends_all_old_pods_first(world: World) -> None:
    world.add(deployment(strategy={"type": "Recreate"}))
    world.run(5)
    world.change(retemplated(world.find("deployments.apps", "web"), "y"))
    for _ in range(40):
        world.run(0.25)
        assert len(set(images(world))) < 2
    assert images(world) == ["y", "y"]


def test_a_deployment_is_scaled_and_forgets_old_replica_sets(world: World) -> None:
    world.add(deployment(revisionHistoryLimit=1))
    world.run(5)
    found = world.find("deployments.apps", "web")
    world.change({**found, "spec": {**found["spec"], "replicas": 5}})
    world.run(5)
    assert len(world.all("pods")) == 5
    found = world.find("deployments.apps", "web")
    world.change({**found, "spec": {**found["spec"], "replicas": 1}})
    world.run(5)
    assert len(world.all("pods")) == 1
    for image in ("y", "z"):
        world.change(retemplated(world.find("deployments.apps", "web"), image))
        world.run(10)
    assert len(world.all("replicasets.apps")) == 2


def test_a_rollout_that_gets_nowhere_is_late() -> None:
    world = World(Settings(outcomes={"broken": "ImagePullBackOff"}))
    world.add(retemplated(deployment(), "broken"))
    world.run(30)
    found = world.find("deployments.apps", "web")
    assert conditions(found)["Progressing"] == ("True", "ReplicaSetUpdated")
    (pod, *_) = world.all("pods")
    assert pod["status"]["phase"] == "Pending"
    waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "broken"'}
    world.run(40)
    found = world.find("deployments.apps", "web")
    assert conditions(found)["Progressing"] == ("False", "ProgressDeadlineExceeded")


def test_deleting_a_deployment_deletes_everything(world: World) -> None:
    made = world.add(deployment())
    world.run(5)
    world.remove(made, "Foreground")
    world.run(5)
    for bucket in ("deployments.apps", "replicasets.apps", "pods"):
        assert world.names(bucket) == []


def stateful_set(**spec: Any) -> Any:
    """Make a StatefulSet."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    given = {"replicas": 2, "serviceName": "db", "selector": LABELS, "template": TEMPLATE}
    templates = [{"metadata": {"name": "data"}, "spec": claim}]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {**given, "volumeClaimTemplates": templates, **spec},
    }


def test_a_stateful_set_makes_its_pods_one_after_the_other(world: World) -> None:
    world.add(stateful_set())
    world.run()
    assert world.names("pods") == ["db-0"]
    (pod,) = world.all("pods")
    (revision,) = world.names("controllerrevisions.apps")
    assert pod["metadata"]["labels"] == {
        "a": "b",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": "db-0",
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-0", "db")
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    ]
    assert world.find("statefulsets.apps", "db")["status"] == {
        "observedGeneration": 1,
        "replicas": 1,
        "currentReplicas": 1,
        "updatedReplicas": 1,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
        "availableReplicas": 0,
    }
    world.run(10)
    assert world.names("pods") == ["db-0", "db-1"]
    assert world.names("persistentvolumeclaims") == ["data-db-0", "data-db-1"]
    status = world.find("statefulsets.apps", "db")["status"]
    assert (status["readyReplicas"], status["availableReplicas"]) == (2, 2)


def test_a_stateful_set_is_updated_from_the_top(world: World) -> None:
    world.add(stateful_set())
    world.run(10)
    world.change(retemplated(world.find("statefulsets.apps", "db"), "y"))
    world.run(1.5)
    by_name = {
        each["metadata"]["name"]: each["spec"]["containers"][0]["image"]
        for each in world.all("pods")
    }
    assert by_name["db-0"] == "x"
    world.run(20)
    assert images(world) == ["y", "y"]
    status = world.find("statefulsets.apps", "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]
    found = world.find("statefulsets.apps", "db")
    world.change({**found, "spec": {**found["spec"], "replicas": 0}})
    world.run(10)
    assert world.names("pods") == []
    assert world.names("persistentvolumeclaims") == ["data-db-0", "data-db-1"]


def stateful_images(world: World) -> dict[str, str]:
    """Return the images of the pods by their names."""
    pods = world.all("pods")
    return {each["metadata"]["name"]: each["spec"]["containers"][0]["image"] for each in pods}


@pytest.mark.parametrize("start", [0, 5])
def test_a_pod_below_the_partition_comes_back_with_the_old_template(
    world: World, start: int
) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    world.add(stateful_set(updateStrategy=rolling, ordinals={"start": start}))
    world.run(10)
    world.change(retemplated(world.find("statefulsets.apps", "db"), "y"))
    world.run(10)
    expected = {f"db-{start}": "x", f"db-{start + 1}": "y"}
    assert stateful_images(world) == expected
    for pod in world.all("pods"):
        world.remove(pod)
        world.run(10)
    assert stateful_images(world) == expected


def test_a_stateful_set_waits_until_each_pod_has_been_ready_long_enough(world: World) -> None:
    world.add(stateful_set(minReadySeconds=30))
    world.run(20)
    assert world.names("pods") == ["db-0"]
    world.run(20)
    assert world.names("pods") == ["db-0", "db-1"]


def test_pods_replaced_by_hand_leave_the_current_revision_as_it_is(world: World) -> None:
    world.add(stateful_set(replicas=1, updateStrategy={"type": "OnDelete"}))
    world.run(10)
    world.change(retemplated(world.find("statefulsets.apps", "db"), "y"))
    world.run(10)
    assert images(world) == ["x"]
    world.remove(world.find("pods", "db-0"))
    world.run(10)
    assert images(world) == ["y"]
    status = world.find("statefulsets.apps", "db")["status"]
    assert status["currentRevision"] != status["updateRevision"]


@pytest.mark.parametrize(
    ("scaled", "deleted", "after_scaling", "after_deletion"),
    [
        ("Retain", "Retain", ["data-db-0", "data-db-1"], ["data-db-0", "data-db-1"]),
        ("Delete", "Retain", ["data-db-0"], ["data-db-0"]),
        ("Retain", "Delete", ["data-db-0", "data-db-1"], []),
        ("Delete", "Delete", ["data-db-0"], []),
    ],
)
def test_claims_go_with_their_pod_or_stateful_set_if_they_are_to(
    world: World, scaled: str, deleted: str, after_scaling: list[str], after_deletion: list[str]
) -> None:
    policy = {"whenScaled": scaled, "whenDeleted": deleted}
    world.add(stateful_set(persistentVolumeClaimRetentionPolicy=policy))
    world.run(10)
    found = world.find("statefulsets.apps", "db")
    world.change({**found, "spec": {**found["spec"], "replicas": 1}})
    world.run(10)
    assert world.names("persistentvolumeclaims") == after_scaling
    world.remove(world.find("statefulsets.apps", "db"))
    world.run(10)
    assert world.names("persistentvolumeclaims") == after_deletion


def test_a_daemon_set_has_a_pod_on_the_one_node(world: World) -> None:
    spec = {"selector": LABELS, "template": TEMPLATE}
    world.add(
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "ds"}, "spec": spec}
    )
    world.run(5)
    assert len(world.all("pods")) == 1
    assert world.find("daemonsets.apps", "ds")["status"] == {
        "currentNumberScheduled": 1,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 1,
        "numberReady": 1,
        "observedGeneration": 1,
        "updatedNumberScheduled": 1,
        "numberAvailable": 1,
    }
    world.change(retemplated(world.find("daemonsets.apps", "ds"), "y"))
    world.run(6)
    assert images(world) == ["y"]


def job(name: str = "job", **spec: Any) -> Any:
    """Make a Job."""
    template = {**TEMPLATE, "spec": {**POD, "restartPolicy": "Never"}}
    given = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**given, **spec},
    }


def test_a_job_succeeds_as_often_as_it_is_to(world: World) -> None:
    world.add(job(completions=2))
    world.run()
    assert world.find("jobs.batch", "job")["status"] == {
        "startTime": "2026-11-16T12:00:00Z",
        "active": 1,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "ready": 0,
    }
    world.run(20)
    found = world.find("jobs.batch", "job")
    assert list(conditions(found).items()) == [
        ("SuccessCriteriaMet", ("True", "CompletionsReached")),
        ("Complete", ("True", "CompletionsReached")),
    ]
    status = {k: v for k, v in found["status"].items() if k not in ("conditions", "completionTime")}
    assert status == {
        "startTime": "2026-11-16T12:00:00Z",
        "succeeded": 2,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "ready": 0,
    }
    pods = world.all("pods")
    assert [each["status"]["phase"] for each in pods] == ["Succeeded", "Succeeded"]
    assert not any("finalizers" in each["metadata"] for each in pods)


def test_a_job_fails_once_it_failed_too_often() -> None:
    world = World(Settings(outcomes={"x": "Failed"}))
    world.add(job(backoffLimit=1, ttlSecondsAfterFinished=100))
    world.run(20)
    found = world.find("jobs.batch", "job")
    assert conditions(found)["Failed"] == ("True", "BackoffLimitExceeded")
    assert found["status"]["failed"] == 2
    world.run(100)
    assert world.names("jobs.batch") == []
    assert world.names("pods") == []


def test_an_indexed_job_says_which_numbers_are_done(world: World) -> None:
    world.add(job(completions=3, parallelism=2, completionMode="Indexed"))
    world.run(20)
    assert world.find("jobs.batch", "job")["status"]["completedIndexes"] == "0-2"


def test_a_suspended_job_does_nothing_until_it_is_resumed(world: World) -> None:
    world.add(job(suspend=True))
    world.run(5)
    found = world.find("jobs.batch", "job")
    assert conditions(found) == {"Suspended": ("True", "JobSuspended")}
    assert world.names("pods") == []
    world.change({**found, "spec": {**found["spec"], "suspend": False}})
    world.run(10)
    assert conditions(world.find("jobs.batch", "job"))["Complete"][0] == "True"


def test_a_cron_job_makes_a_job_when_it_is_time(world: World) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}}
    world.add(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": spec}
    )
    world.run(30)
    assert world.names("jobs.batch") == []
    world.run(31)
    minutes = int(world.now.timestamp()) // 60
    assert world.names("jobs.batch") == [f"cron-{minutes}"]
    status = world.find("cronjobs.batch", "cron")["status"]
    assert status["lastScheduleTime"] == "2026-11-16T12:01:00Z"
    assert status["active"][0]["name"] == f"cron-{minutes}"
    world.run(400)
    assert len(world.names("jobs.batch")) == 3
    assert "lastSuccessfulTime" in world.find("cronjobs.batch", "cron")["status"]


@pytest.mark.parametrize("schedule", ["@every 45s", "TZ=Europe/Rome * * * * *"])
def test_every_schedule_that_is_accepted_makes_jobs(world: World, schedule: str) -> None:
    spec = {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}}
    world.add(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": spec}
    )
    world.run(61)
    assert len(world.names("jobs.batch")) == 1
    world.run(60)
    assert len(world.names("jobs.batch")) == 2


def conditions_of_pod(pod: Any) -> dict[str, str]:
    """Return the statuses of a pod's conditions."""
    return {each["type"]: each["status"] for each in pod["status"]["conditions"]}


def test_a_pod_that_fits_nowhere_says_so(world: World) -> None:
    metadata = {"name": "p", "annotations": {OUTCOME_ANNOTATION: "Unschedulable"}}
    world.add({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": POD})
    world.run(10)
    found = world.find("pods", "p")
    assert conditions_of_pod(found) == {"PodScheduled": "False"}
    assert "nodeName" not in found["spec"]


def service(**spec: Any) -> Any:
    """Make a Service."""
    port = {"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}
    given = {"selector": {"a": "b"}, "ports": [port], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": given}


def test_a_service_lists_the_pods_behind_it(world: World) -> None:
    world.add(service())
    world.add(deployment())
    world.run()
    (found,) = world.all("endpointslices.discovery.k8s.io")
    assert (found["endpoints"], found["ports"]) == (None, None)
    assert found["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "svc",
    }
    world.run(5)
    (found,) = world.all("endpointslices.discovery.k8s.io")
    assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    ready = {"ready": True, "serving": True, "terminating": False}
    assert [each["conditions"] for each in found["endpoints"]] == [ready, ready]


def test_what_is_reached_from_outside_gets_an_address(world: World) -> None:
    world.add(service(type="LoadBalancer"))
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}
    world.add({**ingress, "metadata": {"name": "in"}, "spec": {}})
    world.run(0.5)
    assert "status" not in world.find("services", "svc")
    world.run(2)
    for bucket, name in (("services", "svc"), ("ingresses.networking.k8s.io", "in")):
        (point,) = world.find(bucket, name)["status"]["loadBalancer"]["ingress"]
        assert point["ip"].startswith("203.0.113.")


def test_a_claim_is_bound_to_a_volume_that_goes_with_it(world: World) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "c", "finalizers": ["kubernetes.io/pvc-protection"]}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    made = world.add({**claim, "metadata": metadata, "spec": spec})
    world.run(3)
    found = world.find("persistentvolumeclaims", "c")
    assert found["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
    }
    assert world.names("persistentvolumes") == [found["spec"]["volumeName"]]
    world.remove(made)
    world.run(1)
    assert world.names("persistentvolumeclaims") == []
    assert world.names("persistentvolumes") == []


def test_nothing_is_pretended_without_settings() -> None:
    world = World()
    world.add(deployment())
    world.run(10)
    assert world.names("replicasets.apps") == []
