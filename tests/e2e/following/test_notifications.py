"""
Those who want to know are told what happens to a source.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from kro_gitops.kube.api import Cluster, Selection
from kro_gitops.source.notify.messages import signature
from kube_objects.refs import Kind, KubeObject
from tests.e2e.following.world import SourceWorld, config_map
from tests.message_receiver import Receiver, message_receiver

EVENT = Kind("", "v1", "Event")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with message_receiver() as running:
        yield running


async def heard(world: SourceWorld, receiver: Receiver, *events: str) -> list[Any]:
    """Return what was told, when these were, in this order."""

    async def check() -> list[Any]:
        assert receiver.events == list(events)
        return [each.json for each in receiver.received]

    return await world.until(check, 30.0)


async def events_about(cluster: Cluster, namespace: str, reason: str) -> list[KubeObject]:
    found = await cluster.list(Selection(EVENT, namespace=namespace))
    return [each for each in found.items if each.get("reason") == reason]


async def test_a_source_tells_of_success_failure_and_recovery(
    world: SourceWorld, receiver: Receiver
) -> None:
    await world.secret("chat", address=receiver.address("/hook"), token="key")
    good = world.commit({"one.yaml": config_map("one", a="1")}, "Begin")
    await world.follow(notifications=[{"secretRef": {"name": "chat"}}])
    await heard(world, receiver, "Synced", "Healthy")
    bad = world.commit({"one.yaml": "apiVersion: v1\nkind: ["}, "Break <it>\n\nfor fun")
    told = await heard(world, receiver, "Synced", "Healthy", "Failed")
    assert told[0]["revision"].endswith(good)
    assert (told[2]["severity"], told[2]["commit"]["subject"]) == ("error", "Break <it>")
    assert told[2]["revision"].endswith(bad)
    assert told[2]["failures"][0]["file"] == "one.yaml"
    assert told[2]["source"]["name"] == "repo"
    world.commit({"one.yaml": config_map("one", a="2")}, "Repair")
    await heard(world, receiver, "Synced", "Healthy", "Failed", "Synced", "Healthy", "Recovered")
    for each in receiver.received:
        assert each.headers["X-Signature"] == signature(each.body, b"key")


async def test_only_what_is_wanted_is_told_and_a_forced_branch_is_news(
    world: SourceWorld, receiver: Receiver
) -> None:
    await world.secret("chat", address=receiver.address())
    first = world.commit({"one.yaml": config_map("one", a="1")})
    second = world.commit({"one.yaml": config_map("one", a="2")})
    wanted = ["HistoryRewritten", "Suspended"]
    await world.follow(notifications=[{"secretRef": {"name": "chat"}, "events": wanted}])
    await world.ready(second)
    world.repository.force_branch("main", first)
    await heard(world, receiver, "HistoryRewritten")
    await world.ready(first)
    await world.respec(suspend=True)
    await heard(world, receiver, "HistoryRewritten", "Suspended")


async def test_nobody_at_home_is_no_trouble_for_the_source(
    world: SourceWorld, cluster: Cluster, receiver: Receiver
) -> None:
    receiver.answers = [404]
    await world.secret("chat", address=receiver.address("/T0/SECRETPATH"))
    commit = world.commit({"one.yaml": config_map("one", a="1")})
    wanted = {"type": "slack", "secretRef": {"name": "chat"}, "events": ["Synced"]}
    await world.follow(notifications=[wanted])
    await world.ready(commit)

    async def check() -> KubeObject:
        found = await events_about(cluster, world.namespace, "NotificationFailed")
        assert len(found) == 1, found
        return found[0]

    event = await world.until(check, 20.0)
    assert "Synced was not sent to slack of Secret chat" in event["message"]
    assert "answered 404" in event["message"]
    assert "SECRETPATH" not in event["message"]
    assert event["involvedObject"]["name"] == "repo"
