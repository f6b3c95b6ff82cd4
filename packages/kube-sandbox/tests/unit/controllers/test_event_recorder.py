"""Events of controllers; what they look like was seen on a real control plane."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube_sandbox.controllers.event_recorder import EventContent, EventRecorder, refusal_events
from kube_sandbox.controllers.workloads.plan_steps import Create

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
OWNER: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"namespace": "n", "name": "w", "uid": "u", "resourceVersion": "7"},
}


def notice(message: str) -> EventContent:
    return EventContent("replicaset-controller", "FailedCreate", message)


def test_an_event_says_who_warns_of_what() -> None:
    found = EventRecorder().event(OWNER, notice("no"), NOW)
    assert found["metadata"].pop("name").startswith("w.")
    assert found == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "n"},
        "involvedObject": {
            "kind": "ReplicaSet",
            "namespace": "n",
            "name": "w",
            "uid": "u",
            "apiVersion": "apps/v1",
            "resourceVersion": "7",
        },
        "reason": "FailedCreate",
        "message": "no",
        "source": {"component": "replicaset-controller"},
        "firstTimestamp": "2026-11-16T12:00:00Z",
        "lastTimestamp": "2026-11-16T12:00:00Z",
        "count": 1,
        "type": "Warning",
        "reportingComponent": "replicaset-controller",
    }


def test_the_same_words_raise_the_count() -> None:
    notices = EventRecorder()
    first = notices.event(OWNER, notice("no"), NOW)
    again = notices.event(OWNER, notice("no"), NOW + timedelta(seconds=5))
    assert again == {**first, "count": 2, "lastTimestamp": "2026-11-16T12:00:05Z"}


def test_the_tenth_of_its_kind_is_combined_with_those_after_it() -> None:
    notices = EventRecorder()
    found = [notices.event(OWNER, notice(f"no {each}"), NOW) for each in range(12)]
    assert len({each["metadata"]["name"] for each in found}) == 10
    assert [(each["message"], each["count"]) for each in found[8:]] == [
        ("no 8", 1),
        ("(combined from similar events): no 9", 1),
        ("(combined from similar events): no 10", 2),
        ("(combined from similar events): no 11", 3),
    ]


@pytest.mark.parametrize(
    ("bucket", "made_in", "name", "told"),
    [
        ("replicasets.apps", "pods", "w-x", ["Error creating: NO"]),
        ("cronjobs.batch", "jobs.batch", "w-1", ["Error creating job: NO"]),
        (
            "deployments.apps",
            "replicasets.apps",
            "w-1",
            ['Failed to create new replica set "w-1": NO'],
        ),
        ("statefulsets.apps", "pods", "w-0", ["Create Pod w-0 in StatefulSet w failed error: NO"]),
        (
            "statefulsets.apps",
            "persistentvolumeclaims",
            "v-w-0",
            [
                "Create Claim v-w-0 for Pod w-0 in StatefulSet w failed error: NO",
                "Create Pod w-0 in StatefulSet w failed error: failed to create PVC v-w-0: NO",
            ],
        ),
        ("statefulsets.apps", "controllerrevisions.apps", "w-1", []),
        ("services", "endpointslices.discovery.k8s.io", "w", []),
    ],
)
def test_what_controllers_say_of_a_refusal(
    bucket: str, made_in: str, name: str, told: list[str]
) -> None:
    step = Create(made_in, {"metadata": {"name": name}})
    assert [each.message for each in refusal_events(bucket, OWNER, step, "NO")] == told
