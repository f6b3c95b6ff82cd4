"""What happened to an object, from what the cluster still knows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.cli.tables import format_table
from kro_gitops.cli.timeline import entry_row
from kro_gitops.inspect.timeline.assembly import Material, timeline
from kro_gitops.inspect.timeline.entries import (
    What,
    commits,
    events,
    is_about,
    pod_states,
    revisions,
    transitions,
    writes,
)
from kro_gitops.metadata import CHILD_MANAGER, INSTANCE_MANAGER, SOURCE_MANAGER
from kube_objects.refs import KubeObject

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


def made(kind: str = "Deployment", name: str = "front", **more: Any) -> KubeObject:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}"}
    metadata |= {"creationTimestamp": at("09:00"), **more.pop("metadata", {})}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, **more}


def manager(name: str, clock: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    entry = {"manager": name, "operation": "Update", "time": at(clock), "fieldsV1": fields}
    return {**entry, **more}


def event(reason: str, message: str, clock: str = "11:00", **more: Any) -> KubeObject:
    about = {"kind": "Deployment", "name": "front", "namespace": "shop", "uid": "uid-front"}
    found = {"involvedObject": about, "reason": reason, "message": message, "type": "Normal"}
    return {**found, "lastTimestamp": at(clock), "source": {"component": "kubelet"}, **more}


def test_the_history_of_a_source_is_its_commits() -> None:
    run: dict[str, Any] = {
        "revision": f"main@sha1:{'1a' * 20}",
        "started": at("10:00"),
        "finished": at("10:01"),
    }
    run |= {"author": "Ann", "message": "Add the cart", "created": 1, "changed": 2}
    going = {**run, "revision": f"main@sha1:{'2b' * 20}", "finished": "", "message": ""}
    status = {"history": [going, {**run, "result": "Failed", "failed": 3}, {"revision": "x"}]}
    found = list(commits(made("GitSource", "shop", status=status)))
    assert [(each.text, each.by, each.is_bad) for each in found] == [
        ("main@2b2b2b2 in progress (+1 ~2)", "Ann", False),
        ("main@1a1a1a1 Failed (+1 ~2 !3): Add the cart", "Ann", True),
    ]


def test_revisions_of_a_definition() -> None:
    spec = {"revision": 2, "snapshot": {"name": "webapp"}}
    (found,) = revisions([made("GraphRevision", "webapp-r2", spec=spec)])
    assert (found.what, found.text) == (
        What.REVISION,
        "revision 2 of definition 'webapp' was issued",
    )


def test_writes_of_managers_say_who_applied_and_who_changed_which_fields() -> None:
    ports: dict[str, Any] = {'k:{"port":80}': {".": {}, "f:name": {}}}
    fields = {"f:spec": {"f:replicas": {}, "f:ports": ports}, "f:data": {'v:"hunter2"': {}}}
    listed = [
        manager(CHILD_MANAGER, "10:00", {}, operation="Apply"),
        manager(SOURCE_MANAGER, "09:00", {}, operation="Apply"),  # when it was created
        manager(INSTANCE_MANAGER, "10:00", {}, operation="Apply"),
        manager("kubectl-edit", "11:00", fields),
        manager("kube-controller-manager", "11:30", {}, subresource="status"),
        manager("nobody", "", {}),
    ]
    found = list(writes(made(metadata={"managedFields": listed, "deletionTimestamp": at("11:40")})))
    assert [(each.what, each.text, each.by) for each in found] == [
        (What.CREATED, "created", ""),
        (What.DELETED, "deletion was requested", ""),
        (What.CHANGED, "wrote spec.replicas, spec.ports, data", "kubectl-edit"),
        (What.APPLIED, "applied by the instance", CHILD_MANAGER),
    ]
    assert "hunter2" not in str(found)


def test_conditions_tell_when_they_became_what_they_are() -> None:
    def condition(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
        found = {"type": type_, "status": status, "reason": reason, "message": message}
        return {**found, "lastTransitionTime": at("10:30")}

    conditions = [
        condition("Ready", "True", "AllReady", "all is well"),
        condition("GraphResolved", "True"),
        condition("ResourcesReady", "False", "NotReady", "waiting\nfor ever"),
        condition("Stalled", "True", "Stalled", "it fails"),
        condition("PruneBlocked", "True", "Brake", "40 objects would be deleted"),
        {**condition("Odd", "False"), "lastTransitionTime": "yesterday"},
    ]
    found = list(transitions(made(status={"conditions": conditions})))
    assert [(each.text, each.is_bad) for each in found] == [
        ("Ready became True (AllReady)", False),
        ("ResourcesReady became False (NotReady): waiting …", True),
        ("Stalled became True (Stalled): it fails", True),
        ("PruneBlocked became True (Brake): 40 objects would be deleted", True),
    ]


def pod(*containers: dict[str, Any], **status: Any) -> KubeObject:
    return made("Pod", "front-1", status={"containerStatuses": list(containers), **status})


def test_a_container_that_is_out_of_memory_and_restarted() -> None:
    terminated = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": at("11:00")}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}
    state = {"waiting": waiting}
    broken = {"name": "web", "restartCount": 5, "lastState": {"terminated": terminated}}
    found = list(pod_states(pod({**broken, "state": state})))
    assert [(each.text, each.is_bad) for each in found] == [
        ("container web: OOMKilled (exit code 137)", True),
        ("container web: CrashLoopBackOff, 5 restarts: back-off 5m0s restarting", True),
    ]
    assert {each.object for each in found} == {"Pod/front-1"}


def test_what_a_container_printed_is_not_shown() -> None:
    terminated = {"reason": "Error", "exitCode": 1, "finishedAt": at("11:00")}
    ended = {"terminated": {**terminated, "message": "password=hunter2"}}
    running = {"running": {"startedAt": at("11:01")}}
    one = {"name": "web", "restartCount": 1, "lastState": ended, "state": running}
    found = list(pod_states(pod(one)))
    assert "hunter2" not in str(found)
    assert [each.text for each in found] == [
        "container web: Error (exit code 1)",
        "container web: started, 1 restart",
    ]


def test_an_image_that_cannot_be_pulled_and_a_pod_without_a_node() -> None:
    waiting = {"name": "web", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    unscheduled |= {"message": "0/3 nodes", "lastTransitionTime": at("09:01")}
    found = list(pod_states(pod(waiting, conditions=[unscheduled])))
    assert [each.text for each in found] == [
        "not scheduled: 0/3 nodes",
        "container web: ImagePullBackOff",
    ]


def test_events_of_old_and_new_clients() -> None:
    series = {"count": 7, "lastObservedTime": at("11:20")}
    new: dict[str, Any] = {"lastTimestamp": None, "series": series, "note": "b", "type": "Warning"}
    listed = [
        event("Scaled", "to 3", count=2, firstTimestamp=at("10:00")),
        event("BackOff", "", **new, reportingComponent="kubelet", source={}),
        event("Repaired", "ConfigMap shop/a was changed by field manager 'kubectl'"),
        event("Lost", "no time", lastTimestamp="?", metadata={}),
    ]
    found = list(events(listed))
    assert [(each.what, each.text, each.count, each.is_bad) for each in found] == [
        (What.EVENT, "Scaled: to 3", 2, False),
        (What.EVENT, "BackOff: b", 7, True),
        (What.REPAIRED, "ConfigMap shop/a was changed by field manager 'kubectl'", 1, False),
    ]


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"uid": "uid-front"}, True),
        ({"kind": "Pod", "name": "front-6f4fcf88b-2cnp4", "namespace": "shop", "uid": "x"}, True),
        ({"kind": "ReplicaSet", "name": "front-6f4fcf88b", "namespace": "shop", "uid": "x"}, True),
        ({"kind": "Pod", "name": "front-admin-6f4fcf88b-2cnp4", "namespace": "shop"}, False),
        ({"kind": "Pod", "name": "front-6f4fcf88b-2cnp4", "namespace": "other"}, False),
        ({"kind": "Service", "name": "front-6f4fcf88b", "namespace": "shop"}, False),
        ({"uid": ""}, False),
    ],
)
def test_events_of_pods_that_are_gone_belong_to_their_workload(
    about: dict[str, str], expected: bool
) -> None:
    front = made(spec={"template": {"spec": {}}})
    assert is_about({"involvedObject": about}, [front]) is expected


def test_entries_are_in_order_and_repeated_ones_are_summed_up() -> None:
    again = [event("BackOff", "restarting", clock) for clock in ("11:30", "11:10", "11:20")]
    found = timeline(Material([made()], events=[*again, event("Scaled", "to 3")]))
    assert [(each.text, each.count) for each in found] == [
        ("created", 1),
        ("Scaled: to 3", 1),
        ("BackOff: restarting", 3),
    ]
    assert found[-1].first == datetime(2026, 3, 1, 11, 10, tzinfo=UTC)
    assert found[-1].to_json() == {
        "time": at("11:30"),
        "what": "event",
        "object": "Deployment/front",
        "text": "BackOff: restarting",
        "bad": False,
        "by": "kubelet",
        "count": 3,
        "first": at("11:10"),
    }


def test_only_recent_entries() -> None:
    material = Material([made()], events=[event("Scaled", "to 3")])
    since = datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert [each.text for each in timeline(material, since)] == ["Scaled: to 3"]


def test_hostile_text_stays_on_its_line_and_is_short() -> None:
    hostile = event("Evil", "\x1b[31mred\u202e" + "x" * 500)
    (_, entry) = timeline(Material([made()], events=[hostile]))
    line = format_table(("A", "B", "C", "D", "E", "F"), [entry_row(entry, NOW)])
    assert len(line.splitlines()) == 2
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert len(line) < 700


def test_nothing_of_a_malformed_object_is_taken_for_granted() -> None:
    odd: list[KubeObject] = [
        {},
        {"metadata": [], "status": {"conditions": "x", "containerStatuses": [None, {}]}},
        {"involvedObject": [], "lastTimestamp": 7, "count": "many", "series": "x"},
    ]
    assert timeline(Material(odd, odd, odd, odd, odd)) == []
