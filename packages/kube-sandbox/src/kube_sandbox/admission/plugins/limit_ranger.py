"""
LimitRanger: default requests and limits of containers, and their bounds.

Quantities are compared in thousandths. All violations of a LimitRange are reported, in the order
of resource names.

Follows kubernetes 1.35 plugin/pkg/admission/limitranger/admission.go LimitRanger.runLimitFunc,
mergePodResourceRequirements, PodValidateLimitFunc, PersistentVolumeClaimValidateLimitFunc.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import ClusterPlugin, forbidden_by_plugin
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


class LimitRanger(ClusterPlugin):
    """Defaults and validates the requests of pods and claims."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Set the default requests and limits of the namespace's LimitRanges."""
        pod = attributes.obj
        if attributes.served.bucket != "pods" or pod is None or not _applies_to(attributes):
            return
        for limit_range in self._limit_ranges(attributes):
            given: dict[Part, dict[str, str]] = {"requests": {}, "limits": {}}
            for limit in _limits(limit_range):
                if limit.get("type") == "Container":
                    given["requests"] |= limit.get("defaultRequest") or {}
                    given["limits"] |= limit.get("default") or {}
            done: list[str] = []
            for sort, name in (("container", "containers"), ("init container", "initContainers")):
                for container in pod["spec"].get(name) or ():
                    set_here = []
                    resources = container.setdefault("resources", {})
                    parts: tuple[tuple[Part, str], ...] = (
                        ("limits", "limit"),
                        ("requests", "request"),
                    )
                    for part, word in parts:
                        own = resources.get(part) or {}
                        missing = {
                            name: text for name, text in given[part].items() if name not in own
                        }
                        if missing:
                            resources[part] = {**own, **missing}
                            names = ", ".join(sorted(missing))
                            set_here.append(
                                f"{names} {word} for {sort} {container.get('name', '')}"
                            )
                    done += set_here[::-1]  # requests come first
            if done:
                annotations = pod["metadata"].setdefault("annotations", {})
                annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(done)}"

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject requests and limits out of bounds."""
        if attributes.obj is None or not _applies_to(attributes):
            return []
        bucket = attributes.served.bucket
        for limit_range in self._limit_ranges(attributes):
            spec = attributes.obj.get("spec") or {}
            found = [text for each in _limits(limit_range) for text in _errors(each, spec, bucket)]
            if found:
                messages = list(dict.fromkeys(found))
                message = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
                raise forbidden_by_plugin(attributes, message)
        return []

    def _limit_ranges(self, attributes: AdmissionAttributes) -> Iterable[KubeObject]:
        return self._context.all("limitranges", attributes.namespace)


def _applies_to(attributes: AdmissionAttributes) -> bool:
    if attributes.old is not None and "deletionTimestamp" in attributes.old["metadata"]:
        return False
    if attributes.served.bucket == "pods":
        # Besides a resize, no update of a pod reaches its resources.
        return attributes.subresource == ("resize" if attributes.operation == "UPDATE" else "")
    return not attributes.subresource


def _limits(limit_range: KubeObject) -> Iterable[Mapping[str, Any]]:
    return (limit_range.get("spec") or {}).get("limits") or ()


# Limits


def _errors(limit: Mapping[str, Any], spec: KubeObject, bucket: str) -> Iterable[str]:
    """Return how a pod or a claim exceeds a limit of a LimitRange."""
    match bucket, limit.get("type", ""):
        case "pods", "Container":
            for container in containers_of(spec):
                requests = container_requests(container, "requests")
                limits = container_requests(container, "limits")
                yield from _min_errors(limit, requests, limits)
                yield from _max_errors(limit, requests, limits)
                yield from _ratio_errors(limit, requests, limits)
        case "pods", "Pod":
            requests, limits = pod_requests(spec, "requests"), pod_requests(spec, "limits")
            yield from _min_errors(limit, requests, limits)
            yield from _max_errors(limit, requests, limits)
            yield from _ratio_errors(limit, requests, limits)
        case "persistentvolumeclaims", "PersistentVolumeClaim":
            requests = container_requests(spec, "requests")
            yield from _min_errors(limit, requests, {})
            # A claim has no limits: its request is compared alone.
            for name, most in sorted(amounts(limit.get("max")).items()):
                message = f"maximum {name} usage per {limit['type']} is {most}"
                if name not in requests:
                    yield f"{message}.  No request is specified"
                elif _milli(requests[name]) > _milli(most):
                    yield f"{message}, but request is {requests[name]}"
        case _:
            pass


def _min_errors(limit: Mapping[str, Any], requests: Amounts, limits: Amounts) -> Iterable[str]:
    for name, least in sorted(amounts(limit.get("min")).items()):
        message = f"minimum {name} usage per {limit['type']} is {least}"
        if name not in requests:
            yield f"{message}.  No request is specified"
        elif _milli(requests[name]) < _milli(least):
            yield f"{message}, but request is {requests[name]}"
        elif name in limits and _milli(limits[name]) < _milli(least):
            yield f"{message}, but limit is {limits[name]}"


def _max_errors(limit: Mapping[str, Any], requests: Amounts, limits: Amounts) -> Iterable[str]:
    for name, most in sorted(amounts(limit.get("max")).items()):
        message = f"maximum {name} usage per {limit['type']} is {most}"
        if name not in limits:
            yield f"{message}.  No limit is specified"
        elif _milli(limits[name]) > _milli(most):
            yield f"{message}, but limit is {limits[name]}"
        elif name in requests and _milli(requests[name]) > _milli(most):
            yield f"{message}, but request is {requests[name]}"


def _ratio_errors(limit: Mapping[str, Any], requests: Amounts, limits: Amounts) -> Iterable[str]:
    for name, most in sorted(amounts(limit.get("maxLimitRequestRatio")).items()):
        message = f"{name} max limit to request ratio per {limit['type']} is {most}"
        request_milli = _milli(requests.get(name, NOTHING))
        limit_milli = _milli(limits.get(name, NOTHING))
        if not request_milli:
            yield f"{message}, but no request is specified or request is 0"
        elif not limit_milli:
            yield f"{message}, but no limit is specified or limit is 0"
        elif (ratio := limit_milli / request_milli) * 1000 > _milli(most):
            yield f"{message}, but provided ratio is {ratio:.6f}"


def _milli(amount: Amount) -> int:
    return -(-amount.nanos // _MILLI)
