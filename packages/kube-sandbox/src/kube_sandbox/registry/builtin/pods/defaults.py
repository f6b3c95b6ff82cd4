"""
Defaults of pods and pod templates.

Templates get fewer defaults than pods: what depends on a whole pod is set when a pod is created.
Fields that are structs in Go are always present, even if empty.

Follows kubernetes 1.35 pkg/apis/core/v1/defaults.go SetDefaults_Pod, SetDefaults_PodSpec,
SetDefaults_Container, SetDefaults_Probe; pkg/apis/core/v1/zz_generated.defaults.go
SetObjectDefaults_Pod.
"""

import re
from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.pods.resource_totals import aggregated
from kube_sandbox.registry.builtin.resource_lists import round_up

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_MODE = 0o644
_HOUR = 3600

_SPEC: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HUGE = "hugepages-"
_COMPUTE = frozenset(("cpu", "memory"))
# An image: what may name its registry, then the rest, a tag, a digest.
_IMAGE = re.compile(
    r"(?:(?:localhost|[\w.-]*[.:A-Z][\w.:-]*)/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z0-9]+)*:[0-9a-f]{32,})?",
    re.ASCII,
)
_BARE_DIGEST = re.compile("[a-f0-9]{64}")


def default_template(template: KubeObject) -> None:
    """Default a template of pods."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_pod(pod: KubeObject) -> None:
    """Default a pod."""
    default_addresses(pod.setdefault("status", {}))
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    for container in _containers_and_init_containers(spec):
        # Requests default to limits.
        if limits := container["resources"].get("limits"):
            container["resources"]["requests"] = limits | container["resources"].get("requests", {})
    if resources := spec.get("resources"):
        _request_for_all(spec, resources)
    spec.setdefault("enableServiceLinks", True)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("hostNetwork"):
        for container in _containers_and_init_containers(spec):
            for port in container.get("ports", ()):
                if not port.get("hostPort") and "containerPort" in port:
                    port["hostPort"] = port["containerPort"]


def _containers_and_init_containers(spec: KubeObject) -> list[KubeObject]:
    return [*(spec.get("containers") or ()), *spec.get("initContainers", ())]


def default_addresses(status: KubeObject) -> None:
    """Tell a pod's address in both fields that hold it; the older one is right."""
    address, others = status.get("podIP"), status.get("podIPs")
    if address and (not others or others[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif others:
        status["podIP"] = others[0].get("ip", "")


def default_pod_spec(spec: KubeObject) -> None:
    """Default the spec of a pod or a template."""
    for key, value in _SPEC.items():
        spec.setdefault(key, value)
    spec.setdefault("securityContext", {})
    # Name the service account in both fields that hold its name.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for name in CONTAINER_LISTS:
        for container in spec.get(name) or ():
            _default_container(container)
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    round_up(spec.get("overhead"))
    if resources := spec.get("resources"):
        _round_all(resources)


def pull_policy(image: str) -> str:
    """Return the default pull policy of an image: Always for the tag latest."""
    match = None if _BARE_DIGEST.fullmatch(image) else _IMAGE.fullmatch(image)
    if match is None:
        return "IfNotPresent"
    tag = match["tag"] or ("" if match["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _default_container(container: KubeObject) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    for key, value in _CONTAINER.items():
        container.setdefault(key, value)
    _round_all(container.setdefault("resources", {}))
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        if source := variable.get("valueFrom"):
            _default_source(source)
    for name in _PROBES:
        if (probe := container.get(name)) is not None:
            for key, number in _PROBE.items():
                probe.setdefault(key, number)
            _default_handler(probe)
            grpc = probe.get("grpc")
            if grpc is not None and grpc.get("service") is None:
                grpc["service"] = ""
    for handler in container.get("lifecycle", {}).values():
        _default_handler(handler)


def _default_handler(handler: KubeObject | str) -> None:
    # Beside handlers the lifecycle has the name of a signal.
    if isinstance(handler, dict) and (get := handler.get("httpGet")) is not None:
        get.setdefault("path", "/")
        get.setdefault("scheme", "HTTP")


def _default_source(source: KubeObject) -> None:
    """Default where a variable or a file has its value from."""
    if (field := source.get("fieldRef")) is not None:
        field.setdefault("apiVersion", "v1")
    if (resource := source.get("resourceFieldRef")) is not None:
        resource.setdefault("divisor", "0")
    if (key := source.get("fileKeyRef")) is not None:
        key.setdefault("optional", False)


_SOURCES = (
    *("hostPath", "emptyDir", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "secret"),
    *("nfs", "iscsi", "glusterfs", "persistentVolumeClaim", "rbd", "flexVolume", "cinder"),
    *("cephfs", "flocker", "downwardAPI", "fc", "azureFile", "configMap", "vsphereVolume"),
    *("quobyte", "azureDisk", "photonPersistentDisk", "projected", "portworxVolume", "scaleIO"),
    *("storageos", "csi", "ephemeral", "image"),
)
# Defaults of the lesser kinds of volumes.
_OF_SOURCES: Mapping[str, Mapping[str, Any]] = {
    "secret": {"defaultMode": _MODE},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE, "sources": None},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "kind": "Shared",
        "fsType": "ext4",
        "readOnly": False,
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _default_volume(volume: KubeObject) -> None:
    names = [name for name in _SOURCES if name in volume]
    if not names:
        volume["emptyDir"] = {}
    for name in names:
        source = volume[name]
        for key, value in _OF_SOURCES.get(name, {}).items():
            source.setdefault(key, value)
    for file in volume.get("downwardAPI", {}).get("items", ()):
        _default_source(file)
    for source in volume.get("projected", {}).get("sources") or ():
        if (token := source.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", _HOUR)
        for file in source.get("downwardAPI", {}).get("items", ()):
            _default_source(file)
    if claim := volume.get("ephemeral", {}).get("volumeClaimTemplate"):
        claim.setdefault("metadata", {})
        default_claim_spec(claim.setdefault("spec", {}))
    if (image := volume.get("image")) is not None and "pullPolicy" not in image:
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


def default_claim_spec(spec: KubeObject) -> None:
    """Default what a claim of storage asks for."""
    spec.setdefault("volumeMode", "Filesystem")
    _round_all(spec.setdefault("resources", {}))


def _round_all(resources: KubeObject) -> None:
    round_up(resources.get("limits"))
    round_up(resources.get("requests"))


def _request_for_all(spec: KubeObject, resources: KubeObject) -> None:
    """Request for the pod what its containers request, or else as much as it may have."""
    given, requests = resources.get("limits", {}), resources.get("requests", {})
    if given or requests:
        # The pod is limited to the huge pages of its containers unless it limits them itself.
        added = {
            name: text
            for name, text in aggregated(spec, "limits").items()
            if name.startswith(_HUGE) and name not in requests and name not in given
        }
        if added:
            resources["limits"] = {**given, **added}
    limits = resources.get("limits")
    if not limits:
        return
    containers = aggregated(spec, "requests")
    wanted: dict[str, str] = dict(resources.get("requests", {}))
    for name, text in containers.items():
        if name in _COMPUTE:
            wanted.setdefault(name, text)
    for name, text in limits.items():
        if name in _COMPUTE or name.startswith(_HUGE):
            wanted.setdefault(name, text)
    if wanted:
        resources["requests"] = wanted
