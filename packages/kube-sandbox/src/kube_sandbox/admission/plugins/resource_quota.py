"""
ResourceQuota: what a namespace may have altogether.

A write that fits is noted in the quota's status at once, so that the next one finds it there; what
goes is taken out of it by the quota's controller. A quota without a status counts nothing yet.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
CheckRequest, quotaEvaluator.checkQuotas.
"""

from collections.abc import Iterable, Sequence

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    AdmissionContext,
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
    Amounts,
    added,
    amounts,
    increased,
    listed,
    restricted_to,
    texts,
)

BUCKET = "resourcequotas"


class Quotas(ValidatingPlugin):
    """Lets in what the quotas of a namespace have room for."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse what there is no room for; note what there is."""
        if not deed.namespace or (deed.old is not None and deed.served.bucket not in _MEASURED):
            return []
        quotas = list(self._around.all(BUCKET, deed.namespace))
        if quotas:
            for charged in charge(deed, quotas):
                if not deed.dry_run:
                    self._around.charge(charged)
        return []


# Kinds whose changes may use more.
_MEASURED = frozenset((PODS, SERVICES, CLAIMS))


def charge(deed: AdmissionAttributes, quotas: Sequence[KubeObject]) -> list[KubeObject]:
    """Return the quotas that a write changes, as they are after it; refuse what does not fit."""
    measure = evaluator_for(deed.served.bucket)
    if measure is None or deed.obj is None or not _is_subject_to_quota(deed):
        return []
    concerned = [each for each in quotas if _concerns(each, measure, deed.obj)]
    for quota in concerned:
        _check_usage_stated(deed, measure, quota)
    used = measure.uses(deed.obj, None)
    _check_positive(deed, used)
    found: list[KubeObject] = []
    for quota in concerned:
        more = used
        if deed.old is not None and _concerns(quota, measure, deed.old):
            more = increased(used, measure.uses(deed.old, None))
        more = {name: each for name, each in more.items() if each.nanos}
        if more:
            found += _charged(deed, quota, more)
    return found


def _is_subject_to_quota(deed: AdmissionAttributes) -> bool:
    bucket, part = deed.served.bucket, deed.subresource
    if deed.old is None:
        return not part
    if bucket == PODS:
        moves = is_terminating(deed.obj or {}) != is_terminating(deed.old)
        return part == "resize" or (not part and moves)
    if bucket == CLAIMS:
        return part in ("", "status")
    return bucket == SERVICES and not part


def _concerns(quota: KubeObject, measure: QuotaEvaluator, obj: KubeObject) -> bool:
    """Say whether a quota is about an object."""
    return any(map(measure.counts, _hard(quota))) and all(
        measure.in_scope(each, obj) for each in scopes_of(quota)
    )


def _hard(quota: KubeObject) -> dict[str, str]:
    return (quota.get("status") or {}).get("hard") or {}


def _used(quota: KubeObject) -> dict[str, str]:
    return (quota.get("status") or {}).get("used") or {}


def _check_usage_stated(
    deed: AdmissionAttributes, measure: QuotaEvaluator, quota: KubeObject
) -> None:
    """Refuse an object that does not say what it uses, and a quota that does not either."""
    name, limited = quota["metadata"]["name"], measure.counted(_hard(quota))
    if why := measure.missing(limited, deed.obj or {}):
        raise forbidden_by_plugin(deed, f"failed quota: {name}: {why}")
    if not _used(quota).keys() >= set(limited):
        resources = ",".join(limited)
        raise forbidden_by_plugin(deed, f"status unknown for quota: {name}, resources: {resources}")


def _check_positive(deed: AdmissionAttributes, used: Amounts) -> None:
    negative = sorted(name for name, each in used.items() if each.nanos < 0)
    if negative:
        names = ",".join(negative)
        raise forbidden_by_plugin(deed, f"quota usage is negative for resource(s): {names}")


def _charged(deed: AdmissionAttributes, quota: KubeObject, more: Amounts) -> Iterable[KubeObject]:
    hard, used = amounts(_hard(quota)), amounts(_used(quota))
    requested = restricted_to(more, hard)
    after: dict[str, Amount] = restricted_to(added(used, requested), requested)
    if deed.subresource != "status":
        exceeded = {name for name, each in after.items() if each.nanos > hard[name].nanos}
        if exceeded:
            raise forbidden_by_plugin(
                deed,
                f"exceeded quota: {quota['metadata']['name']}, "
                f"requested: {listed(restricted_to(requested, exceeded))}, "
                f"used: {listed(restricted_to(used, exceeded))}, "
                f"limited: {listed(restricted_to(hard, exceeded))}",
            )
    if requested:
        status = {**quota["status"], "used": {**_used(quota), **texts(after)}}
        yield {**quota, "status": status}
