"""What a runtime class makes of a pod, as on a real API server."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject
from kube_sandbox.admission.plugins.runtime_class import merged
from kube_sandbox.api_errors import StatusError


def runtime_class(name: str, **more: Any) -> KubeObject:
    known = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "h"}
    return {**known, "metadata": {"name": name}, **more}


EVERYTHING = {"operator": "Exists"}
KATA = {"key": "kata", "operator": "Exists"}
PLAIN = runtime_class("plain")
FULL = runtime_class(
    "full",
    overhead={"podFixed": {"cpu": "10m"}},
    scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [KATA]},
)


def pod(name: str | None, **spec: Any) -> KubeObject:
    named = {} if name is None else {"runtimeClassName": name}
    spec = {"tolerations": [EVERYTHING], **named, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def admitted(obj: KubeObject) -> KubeObject:
    gate = Gate(PLAIN, FULL)
    gate.change(obj)
    assert gate.admit(obj) == []
    found: KubeObject = obj["spec"]
    return found


def test_a_class_says_what_a_pod_costs_and_where_it_runs() -> None:
    spec = admitted(pod("full", nodeSelector={"a": "b"}, overhead={"cpu": "0.010"}))
    assert spec["overhead"] == {"cpu": "10m"}
    assert spec["nodeSelector"] == {"a": "b", "kata": "yes"}
    assert spec["tolerations"] == [EVERYTHING]  # that says it already
    assert "overhead" not in admitted(pod("plain"))


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (pod("nope"), 'pod rejected: RuntimeClass "nope" not found'),
        (
            pod("full", overhead={"cpu": "11m"}),
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            pod("plain", overhead={"cpu": "11m"}),
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            pod(None, overhead={"cpu": "11m"}),
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            pod("full", nodeSelector={"kata": "no"}),
            "conflict: runtimeClass.scheduling.nodeSelector[kata] = yes; "
            "pod.spec.nodeSelector[kata] = no",
        ),
    ],
    ids=["no such class", "another overhead", "no overhead", "no class", "other nodes"],
)
def test_a_pod_that_does_not_fit_its_class_is_refused(obj: KubeObject, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        admitted(obj)
    assert (caught.value.code, caught.value.message) == (403, f'pods "p" is forbidden: {why}')


def test_tolerations_that_others_cover_are_left_out() -> None:
    brief = {**KATA, "effect": "NoExecute", "tolerationSeconds": 5}
    long = {**brief, "tolerationSeconds": 9}
    equal = {"key": "kata", "operator": "Equal", "value": "v"}
    assert merged([KATA, brief, equal]) == [KATA]
    assert merged([brief, long]) == [long]
    assert merged([brief, KATA]) == [KATA]
    assert merged([equal, {**equal, "value": "w"}, equal]) == [equal, {**equal, "value": "w"}]
