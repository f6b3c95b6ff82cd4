"""The health of children, and how it is summed up for their instance."""

from typing import Any

import pytest

from kro_gitops.engine.child_health import (
    child_health,
    health_condition,
    parse_readiness,
    worst_health,
)
from kro_gitops.tracking.health import Health, HealthStatus
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

DEPLOYMENT = Kind("apps", "v1", "Deployment")
BROKEN = HealthStatus(Health.DEGRADED, "CrashLoopBackOff")
READY = {"type": "Ready", "status": "True", "observedGeneration": 1}
ON_ITS_WAY = HealthStatus(Health.PROGRESSING, "not all replicas are updated and available")


def deployment(available: int, **spec: Any) -> KubeObject:
    counts = {"updatedReplicas": 3, "availableReplicas": available}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "generation": 2},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": {"observedGeneration": 2, **counts},
    }


def named(name: str) -> ObjectRef:
    return ObjectRef(DEPLOYMENT, "shop", name)


def test_a_healthy_child_has_nothing_to_report() -> None:
    assert child_health(deployment(3), is_instance=False) is None
    assert child_health(deployment(3, paused=True), is_instance=False) is None


def test_what_is_reported_does_not_change_with_every_pod() -> None:
    one, two = (child_health(deployment(count), is_instance=False) for count in (1, 2))
    assert one == two
    assert one == ON_ITS_WAY


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, Health.PROGRESSING),
        ({"state": "ERROR"}, Health.DEGRADED),
        ({"conditions": [READY]}, None),
        (
            {"conditions": [READY, {"type": "ChildrenHealthy", "status": "False"}]},
            Health.DEGRADED,
        ),
        (
            {"conditions": [READY, {"type": "ChildrenHealthy", "status": "Unknown"}]},
            Health.PROGRESSING,
        ),
    ],
)
def test_a_nested_instance_is_as_healthy_as_its_children(
    status: dict[str, Any], expected: Health | None
) -> None:
    instance = {
        "apiVersion": "kro.run/v1",
        "kind": "Web",
        "metadata": {"name": "a", "generation": 1},
    }
    found = child_health({**instance, "status": status}, is_instance=True)
    assert (found.health if found else None) == expected


def test_nothing_is_reported_while_all_are_healthy() -> None:
    assert worst_health({}) is None


def test_the_worst_children_are_named_first_and_three_at_most() -> None:
    children = {named(name): ON_ITS_WAY for name in "abcd"} | {named("z"): BROKEN}
    found = worst_health(children)
    assert found is not None
    assert found.message == (
        "Deployment shop/z: CrashLoopBackOff; "
        "Deployment shop/a: not all replicas are updated and available; "
        "Deployment shop/b: not all replicas are updated and available; and 2 more"
    )
    condition = health_condition(found)
    assert (condition.type, condition.status) == ("ChildrenHealthy", "False")
    assert condition.reason == "Degraded"


def test_children_that_are_on_their_way_are_no_failure() -> None:
    found = worst_health({named("a"): ON_ITS_WAY})
    assert found is not None
    condition = health_condition(found)
    assert (condition.status, condition.reason) == ("Unknown", "Progressing")


def test_what_a_child_reports_is_one_short_line() -> None:
    found = worst_health({named("a"): HealthStatus(Health.DEGRADED, "one\ntwo " + "x" * 40_000)})
    assert found is not None
    assert "one two xxx" in found.message
    assert len(found.message) < 400


def test_a_definition_says_what_ready_means() -> None:
    assert parse_readiness({}) == ""
    assert parse_readiness({"gitops.kro.run/readiness": "children"}) == "children"
    with pytest.raises(RefusedError, match="'childrn' is not kro or children"):
        parse_readiness({"gitops.kro.run/readiness": "childrn"})
