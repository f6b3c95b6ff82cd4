"""Deployments that are paused, or scaled in the middle of a rollout."""

from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.workloads.plan_steps import Settings

LABELS = {"a": "b"}


@pytest.fixture
def world() -> World:
    """Return a world with an image that cannot be had."""
    return World(Settings(outcomes={"broken": "ImagePullBackOff"}))


def template(image: str) -> Any:
    """Make a template."""
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "a", "image": image}]}}


def deployment(**spec: Any) -> Any:
    """Make a Deployment."""
    given = {
        "replicas": 10,
        "selector": {"matchLabels": LABELS},
        "template": template("x"),
        "progressDeadlineSeconds": 60,
        "strategy": {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {**given, **spec},
    }


def respecify(world: World, **spec: Any) -> None:
    """Change fields of the Deployment's spec, and let it settle."""
    found = world.find("deployments.apps", "web")
    world.change({**found, "spec": {**found["spec"], **spec}})
    world.run(5)


def sizes(world: World) -> dict[str, int]:
    """Return the sizes of ReplicaSets by their images."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
        for each in world.all("replicasets.apps")
    }


def progress(world: World) -> tuple[str, str]:
    """Return how the rollout is said to be."""
    found = world.find("deployments.apps", "web")["status"]["conditions"]
    return next((e["status"], e["reason"]) for e in found if e["type"] == "Progressing")


def test_old_and_new_pods_grow_and_shrink_in_proportion(world: World) -> None:
    world.add(deployment())
    world.run(5)
    respecify(world, template=template("broken"))
    assert sizes(world) == {"x": 8, "broken": 5}
    respecify(world, replicas=15)
    assert sizes(world) == {"x": 11, "broken": 7}
    respecify(world, replicas=10)
    assert sizes(world) == {"x": 8, "broken": 5}
    respecify(world, replicas=0)
    assert sizes(world) == {"x": 0, "broken": 0}


def test_a_paused_deployment_says_so_is_scaled_and_goes_on_later(world: World) -> None:
    world.add(deployment())
    world.run(5)
    respecify(world, paused=True)
    assert progress(world) == ("Unknown", "DeploymentPaused")
    respecify(world, template=template("y"))
    respecify(world, replicas=4)
    assert sizes(world) == {"x": 4}
    assert len(world.all("pods")) == 4
    respecify(world, paused=False)
    world.run(20)
    assert sizes(world) == {"x": 0, "y": 4}
    assert progress(world) == ("True", "NewReplicaSetAvailable")


def test_a_rollout_that_goes_on_and_gets_nowhere_is_late(world: World) -> None:
    world.add(deployment(paused=True, template=template("broken")))
    world.run(100)
    assert progress(world) == ("Unknown", "DeploymentPaused")
    respecify(world, paused=False)
    world.run(100)
    assert progress(world) == ("False", "ProgressDeadlineExceeded")
    respecify(world, paused=True)
    assert progress(world) == ("False", "ProgressDeadlineExceeded")


def test_a_replica_set_remembers_the_revisions_it_had(world: World) -> None:
    world.add(deployment(replicas=1))
    world.run(5)
    for image in ("y", "x"):
        respecify(world, template=template(image))
        world.run(10)
    notes = [each["metadata"]["annotations"] for each in world.all("replicasets.apps")]
    own = "deployment.kubernetes.io/revision"
    assert sorted((each[own], each.get(f"{own}-history", "")) for each in notes) == [
        ("2", ""),
        ("3", "1"),
    ]
