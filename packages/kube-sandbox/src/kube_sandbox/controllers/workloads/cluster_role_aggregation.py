"""
Aggregated ClusterRoles: their rules are those of all roles that their selectors match.

Follows kubernetes 1.35 pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go
ClusterRoleAggregationController.syncClusterRole.
"""

from typing import Any

from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.indexes import (
    RelatedBucket,
    label_index_keys,
    label_query,
)
from kube_sandbox.controllers.workloads.plan_steps import (
    Apply,
    Controller,
    Plan,
    PlanContext,
    RelatedObjects,
)

_ROLES = "clusterroles.rbac.authorization.k8s.io"


def plan(role: KubeObject, seen: RelatedObjects, _: PlanContext) -> Plan:
    """Return what gives a role the rules it is to have, if it has others."""
    if not _adds_up(role):
        return Plan()
    selectors = role["aggregationRule"].get("clusterRoleSelectors")
    name, rules = role["metadata"]["name"], list[Any]()
    others = [each for each in seen.get(_ROLES, ()) if each["metadata"]["name"] != name]
    for selector in map(Selector.parse, selectors or ()):
        for each in others:
            if selector.matches(each["metadata"].get("labels") or {}):
                rules += [rule for rule in each.get("rules") or () if rule not in rules]
    if rules == (role.get("rules") or []):
        return Plan()
    head = {key: role[key] for key in ("apiVersion", "kind")}
    return Plan((Apply(_ROLES, {**head, "metadata": {"name": name}, "rules": rules}),))


def _adds_up(role: KubeObject) -> bool:
    return role.get("aggregationRule") is not None


CONTROLLER = Controller(
    _ROLES,
    plan,
    sees=(
        RelatedBucket(
            _ROLES,
            wishes=lambda role: [
                label_query("", selector.get("matchLabels"))
                for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors", ())
            ],
            ties=label_index_keys,
        ),
    ),
    manager="clusterrole-aggregation-controller",
    minds=_adds_up,
)
