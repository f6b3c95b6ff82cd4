"""What pods are worth, as a real API server told it."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError

FIELDS = ("priorityClassName", "priority", "preemptionPolicy")


def priority(name: str, value: int, **more: Any) -> KubeObject:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": "PreemptLowerPriority",
        **more,
    }


LOW = priority("low", 7, globalDefault=True, preemptionPolicy="Never")
HIGH = priority("high", 8)


def pod(**spec: Any) -> KubeObject:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def admitted(obj: KubeObject, *known: KubeObject) -> tuple[Any, ...]:
    Gate(*known).change(obj)
    return tuple(obj["spec"].get(each) for each in FIELDS)


def refusal(obj: KubeObject, *known: KubeObject) -> str:
    with pytest.raises(StatusError) as caught:
        admitted(obj, *known)
    assert caught.value.code == 403
    return caught.value.message.removeprefix('pods "p" is forbidden: ')


def test_a_pod_has_the_priority_of_its_class() -> None:
    assert admitted(pod()) == (None, 0, "PreemptLowerPriority")
    assert admitted(pod(), LOW, HIGH) == ("low", 7, "Never")
    assert admitted(pod(priority=7), LOW, HIGH) == ("low", 7, "Never")
    named = pod(priorityClassName="high")
    assert admitted(named, LOW, HIGH) == ("high", 8, "PreemptLowerPriority")


def test_a_pod_cannot_say_its_priority_itself() -> None:
    computed = "must not be provided in pod spec; priority admission controller computed"
    assert refusal(pod(priority=3), LOW) == (
        f"the integer value of priority (3) {computed} 7 from the given PriorityClass name"
    )
    assert refusal(pod(preemptionPolicy="PreemptLowerPriority"), LOW) == (
        f"the string value of PreemptionPolicy (PreemptLowerPriority) {computed} Never from the "
        "given PriorityClass name"
    )
    unknown = pod(priorityClassName="nope")
    assert refusal(unknown, LOW) == "no PriorityClass with name nope was found"


def test_a_pod_that_is_there_keeps_its_priority() -> None:
    old = pod(priorityClassName="gone", priority=5, preemptionPolicy="Never")
    new = pod(priorityClassName="gone")
    Gate(LOW).change(new, old)
    assert tuple(new["spec"][each] for each in FIELDS) == ("gone", 5, "Never")


def test_one_class_is_that_of_all_others() -> None:
    gate = Gate(LOW, HIGH)
    told = (
        'priorityclasses.scheduling.k8s.io "high" is forbidden: '
        "PriorityClass low is already marked as default. Only one default can exist"
    )
    with pytest.raises(StatusError) as caught:
        gate.admit({**HIGH, "globalDefault": True}, HIGH)
    assert (caught.value.code, caught.value.message) == (403, told)
    with pytest.raises(StatusError, match='"low" is forbidden'):
        gate.admit(LOW)  # it is there already, which would be told later
    assert gate.admit(LOW, LOW) == []
    assert gate.admit(HIGH) == []
    assert Gate(HIGH).admit(LOW) == []
