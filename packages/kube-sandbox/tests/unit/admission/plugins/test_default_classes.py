"""Which class an object has that names none, as on a real API server."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject

STORAGE = "storageclass.kubernetes.io/is-default-class"
BETA = "storageclass.beta.kubernetes.io/is-default-class"
INGRESS = "ingressclass.kubernetes.io/is-default-class"
KINDS = {
    "storageClassName": ("storage.k8s.io/v1", "StorageClass", "v1", "PersistentVolumeClaim"),
    "ingressClassName": (
        "networking.k8s.io/v1",
        "IngressClass",
        "networking.k8s.io/v1",
        "Ingress",
    ),
}


def known(field: str, name: str, mark: str, second: int = 0, said: str = "true") -> KubeObject:
    version, kind = KINDS[field][:2]
    metadata = {
        "name": name,
        "annotations": {mark: said},
        "creationTimestamp": f"2026-01-01T00:00:{second:02}Z",
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def asking(field: str, annotations: Any = None, **spec: Any) -> KubeObject:
    version, kind = KINDS[field][2:]
    metadata = {"name": "a", **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def given(field: str, obj: KubeObject, *classes: KubeObject) -> Any:
    Gate(*classes).change(obj)
    return obj["spec"].get(field)


@pytest.mark.parametrize(
    ("field", "mark"), [("storageClassName", STORAGE), ("ingressClassName", INGRESS)]
)
def test_the_newest_class_that_is_marked_is_given(field: str, mark: str) -> None:
    a, b = known(field, "a", mark, 3), known(field, "b", mark, 3)
    assert given(field, asking(field)) is None
    assert given(field, asking(field), known(field, "n", mark, 9, "false")) is None
    assert given(field, asking(field), b, a) == "a"
    assert given(field, asking(field), b, known(field, "z", mark, 4), a) == "z"


def test_a_class_of_storage_may_be_marked_as_it_was_done_once() -> None:
    field = "storageClassName"
    assert given(field, asking(field), known(field, "old", BETA)) == "old"


@pytest.mark.parametrize(
    ("field", "mark", "annotation"),
    [
        ("storageClassName", STORAGE, "volume.beta.kubernetes.io/storage-class"),
        ("ingressClassName", INGRESS, "kubernetes.io/ingress.class"),
    ],
)
def test_who_names_a_class_keeps_it(field: str, mark: str, annotation: str) -> None:
    marked = known(field, "a", mark)
    assert given(field, asking(field, **{field: "own"}), marked) == "own"
    assert given(field, asking(field, **{field: ""}), marked) == ""
    assert given(field, asking(field, {annotation: ""}), marked) is None


def test_an_object_that_is_there_stays_without_a_class() -> None:
    field = "ingressClassName"
    obj = asking(field)
    Gate(known(field, "a", INGRESS)).change(obj, asking(field))
    assert obj["spec"] == {}
