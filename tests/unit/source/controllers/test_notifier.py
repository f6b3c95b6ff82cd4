"""Real servers are told; time is short, not mocked."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from kro_gitops.control.backoff import Backoff
from kro_gitops.errors import NotYet
from kro_gitops.source.api.types import (
    Notification,
    NotificationEvent,
    NotificationType,
    SourceSpec,
)
from kro_gitops.source.controllers.notifier import Manners, Notifier
from kro_gitops.source.controllers.state import SourceState
from kro_gitops.source.git.types import FetchRules
from kro_gitops.source.notify.messages import signature
from kro_gitops.tracking.inventory import Inventory
from kube_objects.refs import KubeObject, ObjectRef
from tests.certificates import Certificates, certificates
from tests.message_receiver import Receiver, message_receiver

OPEN = FetchRules(allow_private_networks=True, allow_plain_http=True)
QUICK = Manners(backoff=Backoff(first=0.01, cap=0.01), timeout=2.0)
SYNCED, FAILED = NotificationEvent.SYNCED, NotificationEvent.FAILED


@dataclass
class World:
    """A notifier, its Secrets, and the Events it wrote."""

    secrets: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    made: list[Notifier] = field(default_factory=list)

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes]:
        if (namespace, name) not in self.secrets:
            raise NotYet("secret-not-found", f"there is no Secret {namespace}/{name}")
        return self.secrets[namespace, name]

    def give(self, address: str, name: str = "chat", **more: bytes) -> None:
        data = {key.replace("_", "."): value for key, value in more.items()}
        self.secrets["team", name] = {"address": address.encode(), **data}

    def complain(self, _: KubeObject, reason: str, text: str) -> None:
        assert reason == "NotificationFailed"
        self.complaints.append(text)

    def notifier(self, rules: FetchRules = OPEN, manners: Manners = QUICK) -> Notifier:
        self.made.append(Notifier(self.secret, rules, self.complain, manners))
        return self.made[-1]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    for each in made.made:
        each.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with message_receiver() as running:
        yield running


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("tls"))


def held(*notifications: Notification, name: str = "shop") -> SourceState:
    source: KubeObject = {
        "apiVersion": "gitops.kro.run/v1alpha1",
        "kind": "GitSource",
        "metadata": {"namespace": "team", "name": name, "uid": name},
        "spec": {"url": "https://git.example.com/x.git"},
    }
    wanted = notifications or (Notification("chat"),)
    spec = SourceSpec(url="https://git.example.com/x.git", notifications=wanted)
    return SourceState(ObjectRef.of(source), source, Inventory(), spec=spec)


async def until(check: Any, within: float = 10.0) -> None:
    async with asyncio.timeout(within):
        while not check():  # noqa: ASYNC110 - the server is a thread
            await asyncio.sleep(0.01)


async def test_news_arrive_signed(world: World, receiver: Receiver) -> None:
    world.give(receiver.address("/hook/x?sig=1"), token=b"key")
    world.notifier().happened(held(), FAILED, "bad")
    await until(lambda: receiver.received)
    [message] = receiver.received
    assert message.path == "/hook/x?sig=1"
    assert (message.json["event"], message.json["message"]) == ("Failed", "bad")
    assert message.headers["X-Signature"] == signature(message.body, b"key")
    assert message.headers["X-Delivery"] == message.json["id"]
    assert message.headers["Content-Type"] == "application/json"


async def test_a_changed_status_is_told_to_those_who_want_to_know(
    world: World, receiver: Receiver
) -> None:
    world.give(receiver.address())
    source = held(Notification("chat", events=("Healthy",)))
    ready = {"type": "Ready", "status": "True", "reason": "Succeeded"}
    written = {"phase": "Healthy", "lastAppliedRevision": "main@sha1:a", "conditions": [ready]}
    world.notifier().reported(source, {}, written)
    await until(lambda: receiver.received)
    await asyncio.sleep(0.1)
    assert receiver.events == ["Healthy"]


async def test_who_does_not_listen_is_tried_again(world: World, receiver: Receiver) -> None:
    world.give(receiver.address())
    receiver.answers = [503, 500]
    world.notifier().happened(held(), SYNCED, "a")
    await until(lambda: len(receiver.received) == 3)
    assert len({each.headers["X-Delivery"] for each in receiver.received}) == 1
    assert world.complaints == []


async def test_who_never_listens_is_given_up_and_the_next_letter_is_sent(
    world: World, receiver: Receiver
) -> None:
    world.give(receiver.address("/T0/SECRETPATH"))
    receiver.answers = [500, 500, 500]
    notifier, source = world.notifier(), held()
    notifier.happened(source, FAILED, "one")
    notifier.happened(source, SYNCED, "two")
    await until(lambda: receiver.events[-1:] == ["Synced"])
    assert receiver.events == ["Failed"] * 3 + ["Synced"]
    [complaint] = world.complaints
    assert complaint == ("Failed was not sent to generic of Secret chat: '127.0.0.1' answered 500")


@pytest.mark.parametrize(
    ("answer", "text"),
    [(404, "'127.0.0.1' answered 404"), (302, "points elsewhere, where we do not follow")],
)
async def test_a_refusal_is_not_tried_again(
    world: World, receiver: Receiver, answer: int, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.give(receiver.address("/T0/SECRETPATH"), token=b"SECRETTOKEN")
    receiver.answers = [answer]
    receiver.headers = {"Location": receiver.address("/elsewhere")}
    with caplog.at_level(logging.WARNING):
        world.notifier().happened(held(), FAILED, "one")
        await until(lambda: world.complaints)
    assert text in world.complaints[0]
    assert len(receiver.received) == 1
    said = f"{world.complaints} {[each.__dict__ for each in caplog.records]}"
    assert "SECRET" not in said


@pytest.mark.parametrize(
    ("address", "rules", "text"),
    [
        ("https://127.0.0.1/SECRET", FetchRules(), "is not on the public internet"),
        ("http://example.com/SECRET", FetchRules(), "it is not encrypted"),
        ("ssh://git@example.com/SECRET", OPEN, "it is no https:// URL"),
        ("https://u:SECRET@example.com/x", OPEN, "rejected"),
        ("https://example.com/x?a=b#SECRET", OPEN, "its query"),
        ("SECRET", OPEN, "rejected"),
        ("", OPEN, "has no 'address'"),
    ],
)
async def test_an_address_that_is_refused_is_not_shown(
    world: World, address: str, rules: FetchRules, text: str
) -> None:
    world.give(address)
    world.notifier(rules).happened(held(), FAILED, "one")
    await until(lambda: world.complaints)
    assert text in world.complaints[0]
    assert "SECRET" not in world.complaints[0].replace("Secret", "")


async def test_a_missing_secret_is_told_of(world: World) -> None:
    world.notifier().happened(held(), FAILED, "one")
    await until(lambda: world.complaints)
    assert "there is no Secret team/chat" in world.complaints[0]


async def test_certificates_are_verified(world: World, tls: Certificates) -> None:
    with message_receiver(tls.server) as receiver:
        world.give(receiver.address(), "trusted", ca_crt=tls.ca.certificate)
        world.give(receiver.address(), "untrusted", ca_crt=tls.other_ca.certificate)
        notifier = world.notifier()
        notifier.happened(held(Notification("trusted")), FAILED, "one")
        notifier.happened(held(Notification("untrusted")), FAILED, "two")
        await until(lambda: receiver.received and world.complaints)
        assert [each.json["message"] for each in receiver.received] == ["one"]
        assert "no trusted connection to '127.0.0.1'" in world.complaints[0]


async def test_the_same_twice_in_a_row_is_sent_once(world: World, receiver: Receiver) -> None:
    world.give(receiver.address())
    notifier, source = world.notifier(), held()
    for text in ("a", "a", "b", "a"):
        notifier.happened(source, SYNCED, text)
    await until(lambda: len(receiver.received) == 3)
    await asyncio.sleep(0.1)
    assert [each.json["message"] for each in receiver.received] == ["a", "b", "a"]


async def test_an_address_is_not_written_to_faster_than_it_likes(
    world: World, receiver: Receiver
) -> None:
    world.give(receiver.address())
    world.give(receiver.address(), "other")
    notifier = world.notifier(manners=Manners(per_second=5.0, burst=2))
    began = asyncio.get_running_loop().time()
    for index, secret in enumerate(("chat", "other") * 3):
        notifier.happened(held(Notification(secret)), SYNCED, str(index))
    await until(lambda: len(receiver.received) == 6)
    assert asyncio.get_running_loop().time() - began >= 0.7


async def test_one_receiver_that_hangs_does_not_keep_others_waiting(
    world: World, receiver: Receiver
) -> None:
    silent = socket.create_server(("127.0.0.1", 0))  # takes calls, and never answers
    port = silent.getsockname()[1]
    world.give(f"http://127.0.0.1:{port}/x", "slow")
    world.give(receiver.address())
    notifier = world.notifier(manners=Manners(timeout=0.5, attempts=1))
    notifier.happened(held(Notification("slow"), Notification("chat")), SYNCED, "a")
    await until(lambda: receiver.received)
    assert world.complaints == []
    await until(lambda: world.complaints)
    assert "no answer from '127.0.0.1'" in world.complaints[0]
    silent.close()


async def test_a_line_has_an_end(world: World) -> None:
    world.give("https://192.0.2.1/x")
    notifier = world.notifier(manners=Manners(most_waiting=3, attempts=1, timeout=1.0))
    source = held()
    for index in range(5):
        notifier.happened(source, SYNCED, str(index))
    assert ["more than 3 others are waiting" in each for each in world.complaints] == [True] * 2


async def test_each_type_gets_its_form(world: World, receiver: Receiver) -> None:
    world.give(receiver.address(), token=b"key")
    types = (NotificationType.SLACK, NotificationType.TEAMS)
    world.notifier().happened(held(*(Notification("chat", each) for each in types)), SYNCED, "a")
    await until(lambda: len(receiver.received) == 2)
    slack, teams = receiver.received
    assert slack.json["blocks"]
    assert teams.json["attachments"]
    assert "X-Signature" not in slack.headers
