"""
ClusterRoles that add up others: theirs are the rules of all that their selectors choose.
"""

from typing import Any

from kro_gitops.apiserver.workloads.plans import Apply, Controller, Moment, Plan, Seen
from kro_gitops.objects.refs import KubeObject
from kro_gitops.objects.selection import Selector

_ROLES = "clusterroles.rbac.authorization.k8s.io"


def plan(role: KubeObject, seen: Seen, _: Moment) -> Plan:
    """Return what gives a role the rules it is to have, if it has others."""
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
    if role.get("aggregationRule") is None:
        return Plan()
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


CONTROLLER = Controller(_ROLES, plan, sees=(_ROLES,), manager="clusterrole-aggregation-controller")
