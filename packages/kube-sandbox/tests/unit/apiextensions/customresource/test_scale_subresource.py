"""The scale subresource of custom kinds."""

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.apiextensions.customresource.scale_subresource import (
    check_scale,
    has_replicas,
    no_replicas,
    put_replicas,
    scale_of,
)
from kube_sandbox.registry.kinds import ScalePaths

PATHS = ScalePaths(".spec.size.n", ".status.n", ".status.selector")
METADATA = {
    "name": "one",
    "namespace": "here",
    "uid": "u",
    "resourceVersion": "7",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"a": "b"},
}


def test_a_scale_shows_numbers_selector_and_identity() -> None:
    status = {"n": 2, "selector": "a=b"}
    obj = {"metadata": METADATA, "spec": {"size": {"n": 3}}, "status": status}
    assert scale_of(obj, PATHS) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: part for key, part in METADATA.items() if key != "labels"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "a=b"},
    }


def test_an_object_without_replicas_has_no_scale() -> None:
    obj = {"metadata": METADATA, "spec": {}}
    assert not has_replicas(obj, PATHS)
    with pytest.raises(StatusError) as refused:
        scale_of(obj, PATHS)
    told = 'Internal error occurred: the spec replicas field ".spec.size.n" does not exist'
    assert (refused.value.code, refused.value.message) == (500, told)
    assert scale_of(obj, PATHS, writing=True)["spec"] == {}
    expected = 'the spec replicas field ".spec.size.n" cannot be empty'
    assert no_replicas(PATHS).message == expected


def test_replicas_are_written_where_they_are_read() -> None:
    obj = {"metadata": METADATA}
    put_replicas(obj, PATHS, 4)
    assert scale_of(obj, PATHS)["spec"] == {"replicas": 4}


def test_only_what_a_write_reaches_is_checked() -> None:
    obj = {"metadata": METADATA, "spec": {"size": {"n": -1}}, "status": {"n": -2}}
    fields = [error.field for error in check_scale(obj, PATHS)]
    assert fields == [".spec.size.n", ".status.n"]
    assert [error.field for error in check_scale(obj, PATHS, status_only=True)] == [".status.n"]
