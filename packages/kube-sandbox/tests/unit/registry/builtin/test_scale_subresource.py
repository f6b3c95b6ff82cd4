from typing import Any

import pytest

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.scale_subresource import (
    check_scale,
    scale_of,
    selector_text,
    with_scale,
)

METADATA = {
    "name": "web",
    "namespace": "d",
    "uid": "u",
    "resourceVersion": "5",
    "creationTimestamp": "2026-01-01T00:00:00Z",
}
SPEC = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}}


def deployment(**spec: Any) -> KubeObject:
    metadata = {**METADATA, "labels": {"x": "y"}, "generation": 3}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_a_scale_shows_how_many_are_wanted_and_there() -> None:
    obj = deployment(**SPEC) | {"status": {"replicas": 1}}
    assert scale_of(obj) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": METADATA,
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "a=b"},
    }


def test_a_scale_of_nothing_has_an_empty_spec() -> None:
    scale = scale_of(deployment(replicas=0, selector={"matchLabels": {"a": "b"}}))
    assert scale["spec"] == {}
    assert scale["status"] == {"replicas": 0, "selector": "a=b"}


def test_a_scale_changes_the_number_and_says_which_version_it_means() -> None:
    scale = {"metadata": {"name": "web", "resourceVersion": "4"}, "spec": {"replicas": 7}}
    obj = deployment(**SPEC)
    found = with_scale(obj, scale)
    assert found["spec"] == {**SPEC, "replicas": 7}
    assert found["metadata"]["resourceVersion"] == "4"
    assert obj["spec"]["replicas"] == 2


def test_a_scale_that_leaves_out_the_number_wants_none() -> None:
    assert with_scale(deployment(**SPEC), {"metadata": {"name": "web"}})["spec"]["replicas"] == 0


def test_a_negative_number_is_refused() -> None:
    (error,) = check_scale({"spec": {"replicas": -1}})
    assert str(error) == "spec.replicas: Invalid value: -1: must be greater than or equal to 0"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param(None, "", id="no selector"),
        pytest.param({"matchLabels": {"b": "1", "a": "2"}}, "a=2,b=1", id="in order of the keys"),
        pytest.param({"b": "1", "a": "2"}, "a=2,b=1", id="labels of a ReplicationController"),
        pytest.param(
            {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["z", "y"]}],
            },
            "a=b,a notin (y,z)",
            id="values are sorted",
        ),
        pytest.param(
            {
                "matchExpressions": [
                    {"key": "c", "operator": "DoesNotExist"},
                    {"key": "b", "operator": "Exists"},
                    {"key": "a", "operator": "In", "values": ["x"]},
                ]
            },
            "a in (x),b,!c",
            id="expressions",
        ),
    ],
)
def test_a_selector_is_printed_as_a_query(selector: Any, text: str) -> None:
    assert selector_text(selector) == text
