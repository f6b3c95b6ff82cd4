"""
Which fields of a kind can be asked for in a field selector, and where they are.

Every kind has `metadata.name`, and nearly every one `metadata.namespace`; those need no reader.

Follows kubernetes 1.35 pkg/apis/core/v1/conversion.go AddFieldLabelConversionsForNamespace,
AddFieldLabelConversionsForEvent; pkg/registry/core/pod/strategy.go ToSelectableFields;
k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go
customResourceStrategy.GetAttrs; k8s.io/apimachinery/pkg/runtime/conversion.go
DefaultMetaV1FieldSelectorConversion.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kube_objects.go_format import format_value
from kube_objects.refs import Kind, KubeObject

Reader = Callable[[KubeObject], str]


def _read(*path: str, absent: str = "") -> Reader:
    def read(obj: KubeObject) -> str:
        here: Any = obj
        for step in path:
            here = here.get(step) if isinstance(here, dict) else None
        if here is None:
            return absent
        return format_value(here)

    return read


def _pod_ip(obj: KubeObject) -> str:
    addresses = obj.get("status", {}).get("podIPs") or [{}]
    return str(addresses[0].get("ip", ""))


def _source(part: str, reporter: str) -> Reader:
    def read(obj: KubeObject) -> str:
        return str((obj.get(part) or {}).get("component") or obj.get(reporter) or "")

    return read


@dataclass(frozen=True, slots=True)
class Fields:
    """What can be asked of a kind: fields, and how another one is rejected."""

    readers: Mapping[str, Reader]
    has_namespace: bool = True
    refusal: str = "field label not supported: {field}"


def _paths(*written: str) -> dict[str, Reader]:
    return {each: _read(*each.split(".")) for each in written}


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_PLAIN = Fields(
    {}, refusal='{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'
)
_SUPPORTED: Mapping[tuple[str, str], Fields] = {
    ("", "Pod"): Fields(
        {
            **_paths(
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "status.phase",
                "status.nominatedNodeName",
            ),
            "spec.host": _read("spec", "nodeName"),
            "spec.hostNetwork": _read("spec", "hostNetwork", absent="false"),
            "status.podIP": _pod_ip,
            "status.podIPs": lambda _: "",
        }
    ),
    ("", "Node"): Fields(
        {"spec.unschedulable": _read("spec", "unschedulable", absent="false")}, has_namespace=False
    ),
    ("", "ReplicationController"): Fields(
        {"status.replicas": _read("status", "replicas", absent="0")}
    ),
    ("", "Namespace"): Fields(_paths("status.phase"), has_namespace=False),
    ("", "Secret"): Fields(_paths("type")),
    ("", "Service"): Fields(_paths("spec.clusterIP", "spec.type")),
    ("", "Event"): Fields(
        {
            **_paths(*(f"involvedObject.{each}" for each in _REFERENCE)),
            **_paths("reason", "reportingComponent", "type"),
            "source": _source("source", "reportingComponent"),
        }
    ),
    ("events.k8s.io", "Event"): Fields(
        {
            **_paths(*(f"regarding.{each}" for each in _REFERENCE)),
            **_paths("reason", "reportingController", "type"),
        }
    ),
    ("batch", "Job"): Fields(
        {"status.successful": _read("status", "succeeded", absent="0")},
        refusal="field label {quoted} not supported for Job",
    ),
    ("certificates.k8s.io", "CertificateSigningRequest"): Fields(
        _paths("spec.signerName"), has_namespace=False
    ),
    ("certificates.k8s.io", "ClusterTrustBundle"): Fields(
        _paths("spec.signerName"), has_namespace=False
    ),
    ("resource.k8s.io", "ResourceSlice"): Fields(
        _paths("spec.nodeName", "spec.driver"),
        has_namespace=False,
        refusal="field label not supported for {version}, Kind=ResourceSlice: {field}",
    ),
}


def fields_of(kind: Kind) -> Fields:
    """Return what can be asked of a built-in kind."""
    return _SUPPORTED.get((kind.group, kind.kind), _PLAIN)


@dataclass(frozen=True, slots=True)
class CustomFields:
    """What can be asked of a custom kind: `spec.color` for the JSONPath `.spec.color`."""

    is_namespaced: bool
    paths: tuple[str, ...] = ()

    def fields(self) -> Fields:
        """Return them as those of any kind."""
        return Fields(_paths(*(each.removeprefix(".") for each in self.paths)), self.is_namespaced)
