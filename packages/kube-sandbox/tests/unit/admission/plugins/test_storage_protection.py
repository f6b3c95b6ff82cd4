"""What keeps storage, as on a real API server."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError

SMALL = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
    "must support resize"
)


def claim(size: str = "1Gi", phase: str = "Bound", **more: Any) -> KubeObject:
    spec = {"resources": {"requests": {"storage": size}}, "storageClassName": "fast", **more}
    metadata: dict[str, Any] = {"name": "c"}
    known = {"metadata": metadata, "spec": spec, "status": {"phase": phase}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **known}


def storage_class(*, grows: bool) -> KubeObject:
    known = {"metadata": {"name": "fast"}, "allowVolumeExpansion": grows}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **known}


@pytest.mark.parametrize(
    ("version", "kind", "finalizer"),
    [
        ("v1", "PersistentVolumeClaim", "kubernetes.io/pvc-protection"),
        ("v1", "PersistentVolume", "kubernetes.io/pv-protection"),
        ("storage.k8s.io/v1", "VolumeAttributesClass", "kubernetes.io/vac-protection"),
    ],
)
def test_what_may_be_in_use_is_protected(version: str, kind: str, finalizer: str) -> None:
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "a", "finalizers": ["a.b/c"]}}
    Gate().change(obj)
    assert obj["metadata"]["finalizers"] == ["a.b/c", finalizer]  # type: ignore[index]
    Gate().change(obj)
    assert obj["metadata"]["finalizers"] == ["a.b/c", finalizer]  # type: ignore[index]


def test_a_protection_that_is_taken_off_stays_off() -> None:
    obj = claim()
    Gate().change(obj, claim())
    assert "finalizers" not in obj["metadata"]


@pytest.mark.parametrize(
    ("old", "known", "why"),
    [
        pytest.param(
            claim(phase="Pending"),
            storage_class(grows=True),
            "Only bound persistent volume claims can be expanded",
            id="no volume yet",
        ),
        pytest.param(claim(), storage_class(grows=False), SMALL, id="its class says no"),
        pytest.param(claim(storageClassName=""), storage_class(grows=True), SMALL, id="no class"),
    ],
)
def test_not_every_claim_can_grow(old: KubeObject, known: KubeObject, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        Gate(known).admit(claim("2Gi"), old)
    assert caught.value.code == 403
    assert caught.value.message == f'persistentvolumeclaims "c" is forbidden: {why}'


def test_a_claim_grows_if_its_class_lets_it() -> None:
    assert Gate(storage_class(grows=True)).admit(claim("2Gi"), claim()) == []
    assert Gate().admit(claim("1024Mi"), claim()) == []
