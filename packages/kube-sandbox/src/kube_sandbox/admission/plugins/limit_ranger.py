"""
LimitRanger: what containers have if they ask for nothing, and how much each may ask for.

Quantities are compared by thousandths; where a LimitRange says several things, everything that is
wrong is told, in the order of resource names.

Follows kubernetes 1.35 plugin/pkg/admission/limitranger/admission.go LimitRanger.runLimitFunc,
mergePodResourceRequirements, PodValidateLimitFunc, PersistentVolumeClaimValidateLimitFunc.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, forbidden_by_plugin
from kube_sandbox.admission.plugins.pod_requests import (
    Part,
    container_requests,
    containers_of,
    pod_requests,
)
from kube_sandbox.admission.plugins.resource_sums import NOTHING, Amount, Amounts, amounts

BUCKETS = ("pods", "persistentvolumeclaims")
_ANNOTATION = "kubernetes.io/limit-ranger"
_MILLI = 10**6  # of billionths

# What is limited, of what, by how much; what is asked for and what the limits are.
_Rule = Callable[[str, str, Amount, Amounts, Amounts], str]


class LimitRanger:
    """Fills in and judges what pods and claims ask for."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Give containers what the LimitRanges of their namespace say."""
        if deed.served.bucket == "pods" and deed.obj is not None and _is_asked(deed):
            for limit_range in self._limit_ranges(deed):
                _fill_in(deed.obj, limit_range)

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse what asks for too much or too little."""
        if deed.obj is None or not _is_asked(deed):
            return []
        judge = _pod_errors if deed.served.bucket == "pods" else _claim_errors
        for limit_range in self._limit_ranges(deed):
            spec = deed.obj.get("spec") or {}
            found = [text for each in _limits(limit_range) for text in judge(each, spec)]
            if found:
                raise forbidden_by_plugin(deed, _told(list(dict.fromkeys(found))))
        return []

    def _limit_ranges(self, deed: AdmissionAttributes) -> Iterable[KubeObject]:
        return self._around.all("limitranges", deed.namespace)


def _is_asked(deed: AdmissionAttributes) -> bool:
    if deed.old is not None and "deletionTimestamp" in deed.old["metadata"]:
        return False
    if deed.served.bucket == "pods":
        # Besides a resize, no update of a pod reaches its resources.
        return deed.subresource == ("resize" if deed.operation == "UPDATE" else "")
    return not deed.subresource


def _limits(limit_range: KubeObject) -> Iterable[Mapping[str, Any]]:
    return (limit_range.get("spec") or {}).get("limits") or ()


def _told(found: list[str]) -> str:
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]"


# Defaults


def _fill_in(pod: KubeObject, limit_range: KubeObject) -> None:
    given: dict[Part, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in _limits(limit_range):
        if limit.get("type") == "Container":
            given["requests"] |= limit.get("defaultRequest") or {}
            given["limits"] |= limit.get("default") or {}
    told: list[str] = []
    for sort, name in (("container", "containers"), ("init container", "initContainers")):
        for container in pod["spec"].get(name) or ():
            told += _filled(container, given, sort)
    if told:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"


def _filled(
    container: dict[str, Any], given: Mapping[Part, Mapping[str, str]], sort: str
) -> list[str]:
    """Fill in what a container does not ask for; return what is told of it."""
    told = []
    resources = container.setdefault("resources", {})
    parts: tuple[tuple[Part, str], ...] = (("limits", "limit"), ("requests", "request"))
    for part, word in parts:
        own = resources.get(part) or {}
        missing = {name: text for name, text in given[part].items() if name not in own}
        if missing:
            resources[part] = {**own, **missing}
            names = ", ".join(sorted(missing))
            told.append(f"{names} {word} for {sort} {container.get('name', '')}")
    return told[::-1]  # requests come first


# Limits


def _pod_errors(limit: Mapping[str, Any], spec: KubeObject) -> Iterable[str]:
    sort = limit.get("type", "")
    if sort == "Container":
        for each in containers_of(spec):
            yield from _limit_errors(
                limit, container_requests(each, "requests"), container_requests(each, "limits")
            )
    elif sort == "Pod":
        yield from _limit_errors(
            limit, pod_requests(spec, "requests"), pod_requests(spec, "limits")
        )


def _claim_errors(limit: Mapping[str, Any], spec: KubeObject) -> Iterable[str]:
    if limit.get("type") == "PersistentVolumeClaim":
        yield from _applied(limit, "min", _min_errors, container_requests(spec, "requests"), {})
        yield from _applied(
            limit, "max", _claims_too_much, container_requests(spec, "requests"), {}
        )


def _limit_errors(limit: Mapping[str, Any], requests: Amounts, limits: Amounts) -> Iterable[str]:
    yield from _applied(limit, "min", _min_errors, requests, limits)
    yield from _applied(limit, "max", _max_errors, requests, limits)
    yield from _applied(limit, "maxLimitRequestRatio", _ratio_errors, requests, limits)


def _applied(
    limit: Mapping[str, Any], part: str, rule: _Rule, requests: Amounts, limits: Amounts
) -> Iterable[str]:
    for name, amount in sorted(amounts(limit.get(part)).items()):
        if told := rule(name, limit["type"], amount, requests, limits):
            yield told


def _min_errors(name: str, sort: str, least: Amount, requests: Amounts, limits: Amounts) -> str:
    words = f"minimum {name} usage per {sort} is {least}"
    if name not in requests:
        return f"{words}.  No request is specified"
    if _milli(requests[name]) < _milli(least):
        return f"{words}, but request is {requests[name]}"
    if name in limits and _milli(limits[name]) < _milli(least):
        return f"{words}, but limit is {limits[name]}"
    return ""


def _max_errors(name: str, sort: str, greatest: Amount, requests: Amounts, limits: Amounts) -> str:
    words = f"maximum {name} usage per {sort} is {greatest}"
    if name not in limits:
        return f"{words}.  No limit is specified"
    if _milli(limits[name]) > _milli(greatest):
        return f"{words}, but limit is {limits[name]}"
    if name in requests and _milli(requests[name]) > _milli(greatest):
        return f"{words}, but request is {requests[name]}"
    return ""


def _claims_too_much(
    name: str, sort: str, greatest: Amount, requests: Amounts, limits: Amounts
) -> str:
    del limits
    words = f"maximum {name} usage per {sort} is {greatest}"
    if name not in requests:
        return f"{words}.  No request is specified"
    if _milli(requests[name]) > _milli(greatest):
        return f"{words}, but request is {requests[name]}"
    return ""


def _ratio_errors(
    name: str, sort: str, greatest: Amount, requests: Amounts, limits: Amounts
) -> str:
    words = f"{name} max limit to request ratio per {sort} is {greatest}"
    request, limit = (_milli(each.get(name, NOTHING)) for each in (requests, limits))
    if not request:
        return f"{words}, but no request is specified or request is 0"
    if not limit:
        return f"{words}, but no limit is specified or limit is 0"
    ratio = limit / request
    if ratio * 1000 > _milli(greatest):
        return f"{words}, but provided ratio is {ratio:.6f}"
    return ""


def _milli(amount: Amount) -> int:
    return -(-amount.nanos // _MILLI)
