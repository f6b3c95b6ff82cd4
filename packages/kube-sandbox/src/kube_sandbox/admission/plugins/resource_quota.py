"""
ResourceQuota: limits what a namespace may use in total.

An admitted write is added to the quota's status at once, so that the next one sees it; the
quota's controller subtracts what is deleted. A quota without a status limits nothing yet.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
CheckRequest, quotaEvaluator.checkQuotas.
"""

from collections.abc import Sequence

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    ClusterPlugin,
    ValidatingPlugin,
    forbidden_by_plugin,
)
from kube_sandbox.admission.plugins.quota_scopes import is_terminating, scopes_of
from kube_sandbox.admission.plugins.quota_usage import (
    CLAIMS,
    PODS,
    SERVICES,
    QuotaEvaluator,
    evaluator_for,
)
from kube_sandbox.admission.plugins.resource_sums import (
    Amount,
    added,
    amounts,
    increased,
    listed,
    restricted_to,
    texts,
)

BUCKET = "resourcequotas"


class Quotas(ClusterPlugin, ValidatingPlugin):
    """Rejects writes that exceed a quota of their namespace."""

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject what there is no room for; note what there is."""
        if not attributes.namespace or (
            attributes.old is not None and attributes.served.bucket not in _MEASURED
        ):
            return []
        quotas = list(self._context.all(BUCKET, attributes.namespace))
        if quotas:
            for charged in charge(attributes, quotas):
                if not attributes.dry_run:
                    self._context.charge(charged)
        return []


# Kinds whose changes may use more.
_MEASURED = frozenset((PODS, SERVICES, CLAIMS))


def charge(attributes: AdmissionAttributes, quotas: Sequence[KubeObject]) -> list[KubeObject]:
    """Return the quotas that a write changes, with the new usage; reject what exceeds them."""
    measure = evaluator_for(attributes.served.bucket)
    if measure is None or attributes.obj is None or not _is_subject_to_quota(attributes):
        return []
    concerned = [each for each in quotas if _concerns(each, measure, attributes.obj)]
    for quota in concerned:
        # The object must state its usage, and the quota its status.
        name, limited = quota["metadata"]["name"], measure.counted(_hard(quota))
        if why := measure.missing(limited, attributes.obj or {}):
            raise forbidden_by_plugin(attributes, f"failed quota: {name}: {why}")
        if not _used(quota).keys() >= set(limited):
            resources = ",".join(limited)
            raise forbidden_by_plugin(
                attributes, f"status unknown for quota: {name}, resources: {resources}"
            )
    used = measure.uses(attributes.obj, None)
    negative = sorted(name for name, each in used.items() if each.nanos < 0)
    if negative:
        names = ",".join(negative)
        raise forbidden_by_plugin(attributes, f"quota usage is negative for resource(s): {names}")
    found: list[KubeObject] = []
    for quota in concerned:
        more = used
        if attributes.old is not None and _concerns(quota, measure, attributes.old):
            more = increased(used, measure.uses(attributes.old, None))
        more = {name: each for name, each in more.items() if each.nanos}
        if more:
            hard, charged_used = amounts(_hard(quota)), amounts(_used(quota))
            requested = restricted_to(more, hard)
            after: dict[str, Amount] = restricted_to(added(charged_used, requested), requested)
            if attributes.subresource != "status":
                exceeded = {name for name, each in after.items() if each.nanos > hard[name].nanos}
                if exceeded:
                    raise forbidden_by_plugin(
                        attributes,
                        f"exceeded quota: {quota['metadata']['name']}, "
                        f"requested: {listed(restricted_to(requested, exceeded))}, "
                        f"used: {listed(restricted_to(charged_used, exceeded))}, "
                        f"limited: {listed(restricted_to(hard, exceeded))}",
                    )
            if requested:
                status = {**quota["status"], "used": {**_used(quota), **texts(after)}}
                found.append({**quota, "status": status})
    return found


def _is_subject_to_quota(attributes: AdmissionAttributes) -> bool:
    bucket, part = attributes.served.bucket, attributes.subresource
    if attributes.old is None:
        return not part
    if bucket == PODS:
        moves = is_terminating(attributes.obj or {}) != is_terminating(attributes.old)
        return part == "resize" or (not part and moves)
    if bucket == CLAIMS:
        return part in ("", "status")
    return bucket == SERVICES and not part


def _concerns(quota: KubeObject, measure: QuotaEvaluator, obj: KubeObject) -> bool:
    """Return whether a quota is about an object."""
    return any(map(measure.counts, _hard(quota))) and all(
        measure.in_scope(each, obj) for each in scopes_of(quota)
    )


def _hard(quota: KubeObject) -> dict[str, str]:
    return (quota.get("status") or {}).get("hard") or {}


def _used(quota: KubeObject) -> dict[str, str]:
    return (quota.get("status") or {}).get("used") or {}
