"""What PodDisruptionBudgets say of the pods they are about."""

from typing import Any

import pytest
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.workloads.plan_steps import Settings

LABELS = {"a": "b"}


def started(replicas: int, **budget: Any) -> World:
    """Return a world with a budget for the pods of a Deployment, which all run."""
    world = World(Settings())
    selector = {"matchLabels": LABELS}
    containers = [{"name": "a", "image": "x"}]
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": containers}}
    spec = {"replicas": replicas, "selector": selector, "template": template}
    metadata = {"name": "web"}
    world.add({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    spec = {"selector": selector, **budget}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    world.add({**kind, "metadata": metadata, "spec": spec})
    world.run(5)
    return world


@pytest.mark.parametrize(
    ("replicas", "budget", "expected", "wanted", "allowed"),
    [
        (3, {"minAvailable": 2}, 3, 2, 1),
        (2, {"minAvailable": 2}, 2, 2, 0),
        (3, {"minAvailable": "50%"}, 3, 2, 1),
        (3, {"maxUnavailable": 1}, 3, 2, 1),
        (3, {"maxUnavailable": "50%"}, 3, 1, 2),
        (0, {"maxUnavailable": 1}, 0, 0, 0),
    ],
)
def test_a_budget_says_how_many_pods_may_go(
    replicas: int, budget: Any, expected: int, wanted: int, allowed: int
) -> None:
    found = started(replicas, **budget).find("poddisruptionbudgets.policy", "web")["status"]
    assert found["expectedPods"] == expected
    assert found["desiredHealthy"] == wanted
    assert found["currentHealthy"] == replicas
    assert found["disruptionsAllowed"] == allowed
    (condition,) = found["conditions"]
    assert condition["type"] == "DisruptionAllowed"
    reasons = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    assert (condition["status"], condition["reason"]) == reasons
