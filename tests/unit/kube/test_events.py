"""Events: what is folded, held back, dropped; and that trouble with one stays small."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube.api import (
    DEFAULT_DELETE,
    DEFAULT_WRITE,
    DeleteOptions,
    MergePatch,
    Patch,
    WriteOptions,
)
from kro_gitops.kube.event_aggregation import (
    AggregatedEvent,
    EventAggregator,
    EventKey,
    EventLimits,
)
from kro_gitops.kube.events import EventRecorder, controller_component
from kro_gitops.kube.responses import error_of
from kube_objects.refs import KubeObject, ObjectRef
from tests import virtual_time

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def obj(name: str = "front", namespace: str = "shop", uid: str = "u-1") -> KubeObject:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": "7"}
    return {"apiVersion": "kro.run/v1", "kind": "WebApp", "metadata": metadata}


def happening(message: str = "gone", about: KubeObject | None = None) -> EventKey:
    return EventKey.of(about or obj(), "Warning", "Ready", message)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def add(folding: EventAggregator, seconds: float, *messages: str) -> None:
    for message in messages:
        folding.add(happening(message), at(seconds), seconds)


def write_all(folding: EventAggregator, seconds: float) -> list[AggregatedEvent]:
    found = []
    while (folded := folding.take_due(seconds)) is not None:
        found.append(folded)
        folding.written(folded, seconds)
    return found


def test_an_event_says_whom_it_is_about() -> None:
    folding = EventAggregator()
    folding.add(replace(happening(), component="kro/x"), START, 0.0)
    folded = folding.take_due(0.0)
    assert folded is not None
    event = folded.to_object("host-1")
    assert event["involvedObject"] == {
        "apiVersion": "kro.run/v1",
        "kind": "WebApp",
        "name": "front",
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "7",
    }
    assert (event["metadata"]["namespace"], event["type"], event["count"]) == ("shop", "Warning", 1)
    assert event["source"] == {"component": "kro/x", "host": "host-1"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-03-01T09:30:00Z"


def test_events_of_cluster_scoped_objects_are_in_default() -> None:
    event = AggregatedEvent(happening(about=obj(namespace="")), START, START).to_object("")
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("front", "front."),
        ("a--b.c", "a--b.c."),
        ("system:node:X", "system-node-x."),
        ("a" * 253, "a" * 236 + "."),
        (":", "event."),
    ],
)
def test_the_name_is_the_objects_and_a_hash(name: str, stem: str) -> None:
    found = AggregatedEvent(happening(about=obj(name)), START, START).name
    assert found.startswith(stem)
    assert len(found) == len(stem) + 16 <= 253


def test_what_happens_again_is_one_event_with_a_count() -> None:
    folding = EventAggregator()
    add(folding, 0, "gone", "gone", "gone")
    (first,) = write_all(folding, 0)
    assert (first.count, first.is_written) == (3, False)
    add(folding, 20, "gone")
    (again,) = write_all(folding, 20)
    assert again.is_written
    assert again.name == first.name
    assert again.changes() == {"count": 4, "lastTimestamp": "2026-03-01T09:30:20Z"}


@pytest.mark.parametrize(
    "other",
    [
        happening("else"),
        happening(about=obj("back")),
        happening(about=obj(uid="u-2")),
        replace(happening(), type="Normal"),
        replace(happening(), reason="GraphResolved"),
        replace(happening(), component="kro/else"),
    ],
)
def test_what_differs_is_an_event_of_its_own(other: EventKey) -> None:
    folding = EventAggregator()
    folding.add(happening(), START, 0)
    folding.add(other, START, 0)
    written = write_all(folding, 0)
    assert len({folded.name for folded in written}) == 2


def test_an_event_is_written_at_most_once_in_a_while() -> None:
    folding = EventAggregator(EventLimits(interval=10))
    writes = []
    for second in range(35):
        add(folding, second, "gone")
        writes += [(second, folded.count) for folded in write_all(folding, second)]
    assert writes == [(0, 1), (10, 11), (20, 21), (30, 31)]
    assert folding.next_due() == 40


def test_an_object_with_too_much_news_is_cut_short() -> None:
    folding = EventAggregator()
    add(folding, 0, *(f"news {number}" for number in range(100)))
    assert len(write_all(folding, 0)) == 25
    assert folding.dropped == 75
    folding.add(happening(about=obj("calm", uid="u-2")), START, 0)
    assert len(write_all(folding, 0)) == 1
    add(folding, 299, "early")
    add(folding, 301, "later")
    assert [folded.key.message for folded in write_all(folding, 301)] == ["later"]


def test_counts_of_an_object_without_tokens_wait_and_are_not_lost() -> None:
    folding = EventAggregator(EventLimits(burst=1, refill=300, interval=10))
    add(folding, 0, "gone")
    write_all(folding, 0)
    add(folding, 20, "gone")
    add(folding, 30, "gone")
    assert write_all(folding, 30) == []
    due = folding.next_due()
    assert due is not None
    assert due == pytest.approx(300)
    (folded,) = write_all(folding, due)
    assert folded.count == 3


def test_the_oldest_is_dropped_from_a_full_queue() -> None:
    folding = EventAggregator(EventLimits(queued=2))
    add(folding, 0, "a", "b", "c")
    assert [folded.key.message for folded in write_all(folding, 0)] == ["b", "c"]
    assert folding.dropped == 1


def test_what_is_remembered_is_bounded() -> None:
    folding = EventAggregator(EventLimits(remembered=2))
    for number in range(5):
        folding.add(happening(about=obj(f"o-{number}", uid=f"u-{number}")), START, 0)
    assert len(write_all(folding, 0)) == 2
    assert folding.dropped == 3


def test_a_long_message_is_cut() -> None:
    folding = EventAggregator()
    add(folding, 0, "x" * 5000)
    (folded,) = write_all(folding, 0)
    assert folded.key.message == "x" * 1023 + "…"


@dataclass(slots=True)
class Server:
    """A cluster that answers as it is told, first to last; then it accepts."""

    answers: list[Exception] = field(default_factory=list)
    written: list[tuple[str, KubeObject]] = field(default_factory=list)
    tries: int = 0

    def _answer(self) -> None:
        self.tries += 1
        if self.answers:
            raise self.answers.pop(0)

    async def create(self, obj: KubeObject, options: WriteOptions = DEFAULT_WRITE) -> KubeObject:
        self._answer()
        self.written.append(("create", obj))
        return obj

    async def patch(
        self, ref: ObjectRef, patch: Patch, options: WriteOptions = DEFAULT_WRITE
    ) -> KubeObject:
        self._answer()
        assert isinstance(patch, MergePatch)
        self.written.append(("patch", dict(patch.changes)))
        return {}

    async def apply(self, obj: KubeObject, options: WriteOptions) -> KubeObject:
        raise NotImplementedError

    async def delete(self, ref: ObjectRef, options: DeleteOptions = DEFAULT_DELETE) -> KubeObject:
        raise NotImplementedError


def answer(code: int, reason: str, **details: Any) -> Exception:
    body = f'{{"kind":"Status","reason":"{reason}","message":"no","details":{{"name":"x"}}}}'
    if details:
        cause = '{"reason":"NamespaceTerminating","message":"","field":""}'
        body = body.replace('"name":"x"', f'"name":"x","causes":[{cause}]')
    return error_of(code, body.encode())


def story(server: Server, tell: Callable[[EventRecorder], Awaitable[None]]) -> EventRecorder:
    """Run a recorder in virtual time while something is told."""

    async def play() -> EventRecorder:
        loop = asyncio.get_running_loop()
        recorder = EventRecorder(server, "kro-gitops", "host-1", lambda: at(loop.time()))
        task = asyncio.create_task(recorder.run())
        await tell(recorder)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return recorder

    return virtual_time.run(play())


async def again_and_again(recorder: EventRecorder) -> None:
    for _ in range(4):
        recorder.record(obj(), "Warning", "Ready", "gone")
        await asyncio.sleep(20)


def test_an_event_is_created_once_and_then_patched() -> None:
    server = Server()
    story(server, again_and_again)
    assert [verb for verb, _ in server.written] == ["create", "patch", "patch", "patch"]
    assert server.written[0][1]["source"]["component"] == "kro-gitops"
    assert server.written[-1][1] == {"count": 4, "lastTimestamp": "2026-03-01T09:31:00Z"}


def test_the_component_can_be_the_controller_of_a_kind() -> None:
    server = Server()

    async def tell(recorder: EventRecorder) -> None:
        component = controller_component("webapps.kro.run")
        recorder.record(obj(), "Normal", "Ready", "none -> True: Ready", component)
        await asyncio.sleep(1)

    story(server, tell)
    ((_, event),) = server.written
    assert event["source"]["component"] == "kro/webapps.kro.run-controller"


def test_an_event_that_the_cluster_forgot_is_created_anew() -> None:
    server = Server()

    async def tell(recorder: EventRecorder) -> None:
        recorder.record(obj(), "Warning", "Ready", "gone")
        await asyncio.sleep(4000)
        server.answers.append(answer(404, "NotFound"))
        recorder.record(obj(), "Warning", "Ready", "gone")
        await asyncio.sleep(20)

    story(server, tell)
    assert [verb for verb, _ in server.written] == ["create", "create"]
    assert server.written[1][1]["count"] == 2


def test_a_lost_answer_makes_no_second_event() -> None:
    lost = ClusterUnavailable("cluster-unavailable", "no answer")
    server = Server([lost, answer(409, "AlreadyExists")])

    async def tell(recorder: EventRecorder) -> None:
        recorder.record(obj(), "Warning", "Ready", "gone")
        await asyncio.sleep(20)

    story(server, tell)
    assert server.written == [("patch", {"count": 1, "lastTimestamp": "2026-03-01T09:30:00Z"})]


@pytest.mark.parametrize(
    ("trouble", "tries"),
    [
        (lambda: ClusterUnavailable("cluster-unavailable", "no answer"), 3),
        (lambda: answer(429, "TooManyRequests"), 3),
        (lambda: answer(403, "Forbidden"), 1),
        (lambda: answer(403, "Forbidden", terminating=True), 1),
        (lambda: answer(404, "NotFound"), 1),
        (lambda: answer(422, "Invalid"), 1),
        (lambda: ValueError("no path"), 1),
    ],
    ids=["unavailable", "busy", "forbidden", "terminating", "no namespace", "invalid", "bug"],
)
def test_trouble_is_said_once_and_does_not_last(
    trouble: Callable[[], Exception], tries: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server([trouble() for _ in range(2 * tries)])
    counted = []

    async def tell(recorder: EventRecorder) -> None:
        recorder.record(obj(), "Warning", "Ready", "gone")
        recorder.record(obj(), "Warning", "Ready", "worse")
        await asyncio.sleep(60)
        counted.append(server.tries)
        recorder.record(obj("calm", uid="u-2"), "Normal", "Ready", "back")
        await asyncio.sleep(1)

    with caplog.at_level(logging.INFO):
        recorder = story(server, tell)
    assert counted == [2 * tries]
    assert recorder.dropped == 2
    assert [record.message for record in caplog.records] == ["event not written"]
    assert [event["involvedObject"]["name"] for _, event in server.written] == ["calm"]


def test_a_process_that_talks_too_much_is_slowed_down() -> None:
    server = Server()

    async def tell(recorder: EventRecorder) -> None:
        for number in range(150):
            recorder.record(obj(uid=f"u-{number}"), "Normal", "Ready", "back")
        await asyncio.sleep(5)
        assert 95 <= len(server.written) <= 101
        await asyncio.sleep(6)
        assert len(server.written) == 150

    story(server, tell)


def test_an_object_without_a_name_or_metadata_does_no_harm() -> None:
    server = Server()

    async def tell(recorder: EventRecorder) -> None:
        recorder.record({}, "Normal", "Ready", "")
        recorder.record({"metadata": "?"}, "Normal", "Ready", "")
        await asyncio.sleep(1)

    story(server, tell)
    assert server.written == []
