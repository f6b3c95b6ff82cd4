"""ClusterRoles that add up others, as a real controller manager leaves them."""

from datetime import UTC, datetime
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.bootstrap import bootstrap_objects
from kube_sandbox.controllers.workloads.cluster_role_aggregation import CONTROLLER, plan
from kube_sandbox.controllers.workloads.plan_steps import Apply, PlanContext, Settings

BUCKET = "clusterroles.rbac.authorization.k8s.io"
MOMENT = PlanContext(datetime(2026, 1, 1, tzinfo=UTC), Settings())


def rule(resource: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}


def role(name: str, *rules: str, adds: str = "", **more: Any) -> KubeObject:
    labels = {"labels": {"adds-to": adds}} if adds else {}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, **labels},
        "rules": [rule(each) for each in rules],
        **more,
    }


def adding_up(*values: str, rules: tuple[str, ...] = ()) -> KubeObject:
    selectors = [{"matchLabels": {"adds-to": value}} for value in values]
    return role("sum", *rules, adds="a", aggregationRule={"clusterRoleSelectors": selectors})


def applied(of: KubeObject, *others: KubeObject) -> list[str] | None:
    """Return the resources that a role is given rules for, `None` if it stays as it is."""
    steps = plan(of, {BUCKET: [of, *others]}, MOMENT).steps
    if not steps:
        return None
    (step,) = steps
    assert isinstance(step, Apply)
    assert step.obj["metadata"] == {"name": "sum"}
    return [each["resources"][0] for each in step.obj["rules"]]


def test_it_has_the_rules_of_all_that_are_chosen_each_once_and_never_its_own() -> None:
    others = (role("one", "pods", "secrets", adds="a"), role("two", "pods", adds="b"))
    found = applied(adding_up("b", "a"), *others, role("three", "nodes", adds="c"))
    assert found == ["pods", "secrets"]


def test_nothing_is_done_where_nothing_differs() -> None:
    assert applied(adding_up("a", rules=("pods",)), role("one", "pods", adds="a")) is None
    assert applied(role("sum", "pods"), role("one", "nodes", adds="a")) is None
    assert applied(adding_up("a")) is None


def test_what_is_added_up_no_more_goes() -> None:
    assert applied(adding_up("a", rules=("pods",))) == []


def test_only_those_that_add_up_have_to_look_at_all_others() -> None:
    assert CONTROLLER.minds(adding_up("a"))
    assert not CONTROLLER.minds(role("sum", "pods"))
    assert not CONTROLLER.minds(role("sum", "pods", aggregationRule=None))


def test_admin_gathers_edit_and_edit_gathers_view() -> None:
    roles = [each for each in bootstrap_objects(1) if each["kind"] == "ClusterRole"]
    found: dict[str, Any] = {}
    for name in ("view", "edit", "admin"):
        (summed,) = (each for each in roles if each["metadata"]["name"] == name)
        (step,) = plan(summed, {BUCKET: roles}, MOMENT).steps
        assert isinstance(step, Apply)
        found[name] = summed["rules"] = step.obj["rules"]
    assert [len(found[name]) for name in ("view", "edit", "admin")] == [12, 27, 29]
    assert all(rule in found["edit"] for rule in found["view"])
    assert all(rule in found["admin"] for rule in found["edit"])
    assert not any(plan(each, {BUCKET: roles}, MOMENT).steps for each in roles)
