"""Calls over a real socket, as forges make them and as others do."""

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from kro_gitops.server.thread import ListenError
from kro_gitops.server.webhooks import LIMITS, Limits, WebhookServer
from kro_gitops.settings.address import Address
from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.endpoints import PACE, Receiver, Receivers, receiver_path
from kro_gitops.source.webhooks.ratelimit import Pace
from kro_gitops.source.webhooks.receive import LARGEST_BODY
from kube_objects.refs import Kind, ObjectRef
from tests.unit.source.forge_calls import TOKEN, Call, generic, github, gitlab, payload

LOCAL = Address("127.0.0.1", 0)
KEY = ObjectRef(Kind("gitops.kro.run", "v1alpha1", "GitSource"), "team", "platform")
PATH = receiver_path(TOKEN, "platform", "team")
PUSH = github(payload("github-push"))


@dataclass
class Answer:
    code: int
    said: dict[str, str]
    headers: dict[str, str] = field(default_factory=dict, compare=False)


@dataclass
class World:
    """A server, and what came of the calls to it."""

    server: WebhookServer
    receivers: Receivers
    poked: list[ObjectRef]
    observed: list[tuple[str, str]]

    @property
    def port(self) -> int:
        assert self.server.port is not None
        return self.server.port

    def send(self, call: Call, path: str = PATH, method: str = "POST") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, call.body, dict(call.headers))
            return _answer(connection.getresponse())
        finally:
            connection.close()

    def raw(self, sent: bytes) -> Answer:
        """Send bytes as they are."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(sent)
            response = http.client.HTTPResponse(connection)
            response.begin()
            return _answer(response)


def _answer(response: http.client.HTTPResponse) -> Answer:
    text = response.read().decode()
    is_json = response.headers["Content-Type"].startswith("application/json")
    said = json.loads(text) if is_json else {"text": text}
    return Answer(response.status, said, dict(response.headers))


Make = Callable[..., World]


@pytest.fixture
def make() -> Iterator[Make]:
    servers: list[WebhookServer] = []

    def made(pace: Pace = PACE, limits: Limits = LIMITS, forge: Forge | None = None) -> World:
        receivers, poked, observed = Receivers(pace), list[ObjectRef](), list[tuple[str, str]]()
        url = "git@github.com:acme/platform.git"
        receivers.set(KEY, Receiver(KEY, PATH, TOKEN, forge, url, WantedRef(branch="main")))
        server = WebhookServer(
            LOCAL, receivers, poked.append, lambda *seen: observed.append(seen), limits
        )
        server.start()
        servers.append(server)
        return World(server, receivers, poked, observed)

    yield made
    for server in servers:
        server.stop()


@pytest.fixture
def world(make: Make) -> World:
    return make()


def until(is_so: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.01)
    return False


def test_a_push_wakes_its_source(world: World) -> None:
    answer = world.send(PUSH)
    expected = {"result": "poked", "message": "the repository is looked at"}
    assert answer == Answer(202, expected)
    assert answer.headers["Connection"] == "close"
    assert world.poked == [KEY]
    assert world.observed == [("github", "poked")]


def test_a_ping_is_fine_and_wakes_nobody(world: World) -> None:
    answer = world.send(github(payload("github-ping"), "ping"))
    assert answer == Answer(200, {"result": "ignored", "message": "nothing to do"})
    assert world.poked == []


def test_a_push_of_another_branch_or_repository_wakes_nobody(world: World) -> None:
    branch = PUSH.body.replace(b"refs/heads/main", b"refs/heads/other")
    elsewhere = PUSH.body.replace(b"acme/platform", b"acme/elsewhere")
    assert [world.send(github(body)).code for body in (branch, elsewhere)] == [200, 200]
    assert world.poked == []


def test_a_delivery_that_is_sent_again_wakes_nobody(world: World) -> None:
    world.send(PUSH)
    assert world.send(PUSH) == Answer(200, {"result": "repeated", "message": "already received"})
    assert world.poked == [KEY]


def test_pushes_in_a_row_are_looked_at_together_after_the_last(make: Make) -> None:
    world = make(Pace(gap=0.5))
    results = [
        world.send(PUSH.having(x_github_delivery=f"d{number}")).said["result"]
        for number in range(5)
    ]
    assert results[0] == "poked"
    assert set(results[1:]) == {"poked", "coalesced"}
    assert until(lambda: len(world.poked) == results.count("poked"))
    assert len(world.poked) < 5


def test_who_calls_without_end_is_told_when_to_come_back(make: Make) -> None:
    world = make(Pace(burst=1, per_second=0.01))
    world.send(PUSH)
    answer = world.send(PUSH.having(x_github_delivery="another"))
    assert answer == Answer(429, {"error": "limited", "message": "too many calls"})
    assert 90 <= int(answer.headers["Retry-After"]) <= 100
    assert world.poked == [KEY]


@pytest.mark.parametrize(
    ("call", "code", "error"),
    [
        (PUSH.without("x-hub-signature-256", "x-hub-signature"), 401, "hook-unauthenticated"),
        (Call(b"{}"), 401, "hook-unauthenticated"),
        (github(PUSH.body, token=b"wrong"), 403, "hook-bad-signature"),
        (PUSH.without("x-hub-signature-256"), 403, "hook-weak-signature"),
        (gitlab(b"{}", token=b"wrong"), 403, "hook-bad-signature"),
        (github(b"payload=%7B%7D").having(content_type="application/x-www-form-urlencoded"),
         415, "hook-unsupported-encoding"),
        (PUSH.having(content_encoding="gzip"), 415, "hook-unsupported-encoding"),
        (github(b"{"), 400, "hook-bad-payload"),
        (github(b""), 400, "hook-bad-payload"),
        (github(b'{"repository": []}'), 400, "hook-bad-payload"),
    ],
)  # fmt: skip
def test_a_call_that_is_refused_is_told_why(
    world: World, call: Call, code: int, error: str
) -> None:
    answer = world.send(call)
    assert (answer.code, answer.said["error"]) == (code, error)
    assert answer.said["message"]
    assert ("WWW-Authenticate" in answer.headers) == (code == 401)
    assert world.poked == []
    assert world.observed == [("unknown", error)]


def test_only_the_forge_that_is_expected_is_heard(make: Make) -> None:
    answer = make(forge=Forge.GITLAB).send(PUSH)
    assert (answer.code, answer.said["error"]) == (403, "hook-wrong-forge")


@pytest.mark.parametrize(
    "path",
    ["/", "/hook", "/hook/", PATH[:-1], PATH + "/", "/healthz", "/%2e%2e", "//", "/?x=" + PATH],
)
def test_paths_that_nobody_has_are_all_the_same(world: World, path: str) -> None:
    expected = {"error": "not-found", "message": "there is nothing here"}
    assert world.send(PUSH, path) == Answer(404, expected)
    assert world.send(Call(b""), path) == Answer(404, expected)


def test_a_source_that_goes_is_not_found(world: World) -> None:
    world.receivers.set(KEY, None)
    assert world.send(PUSH).code == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_post_is_answered_on_every_path(world: World, method: str) -> None:
    for path in (PATH, "/hook/unknown"):
        answer = world.send(PUSH, path, method)
        assert (answer.code, answer.headers["Allow"]) == (405, "POST")
    assert world.poked == []


def test_a_body_that_says_it_is_too_large_is_not_read(world: World) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGEST_BODY + 1}\r\n\r\n"
    assert world.raw(head.encode()).code == 413


def test_a_body_that_is_too_large_is_refused_however_it_is_sent(world: World) -> None:
    body = PUSH.body.ljust(LARGEST_BODY + 1)
    assert world.send(github(body)).code == 413
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = world.raw(head + chunk * 17)  # and no end
    assert (answer.code, answer.said["error"]) == (413, "hook-too-large")
    assert world.send(github(body[:LARGEST_BODY])).code == 202


def test_a_body_in_chunks_is_read(world: World) -> None:
    lines = [f"POST {PATH} HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in PUSH.headers.items()]
    chunks = b"".join(b"1\r\n" + PUSH.body[at : at + 1] + b"\r\n" for at in range(len(PUSH.body)))
    assert world.raw("\r\n".join([*lines, "", ""]).encode() + chunks + b"0\r\n\r\n").code == 202


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\nx"])
def test_chunks_that_are_none_are_refused(world: World, chunks: bytes) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert world.raw(head.encode() + chunks).code == 400
    assert world.poked == []


def test_who_sends_a_body_too_slowly_is_told_so(make: Make) -> None:
    world = make(limits=replace(LIMITS, body_seconds=0.2))
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123"
    answer = world.raw(head.encode())
    assert (answer.code, answer.said["error"]) == (408, "too-slow")


@pytest.mark.parametrize(
    "spoken",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"POST ", id="a word"),
        pytest.param(b"POST /hook HTTP/1.1\r\nHost: x\r\nX-A: ", id="half a header"),
    ],
)
def test_who_never_finishes_the_headers_is_hung_up_on(make: Make, spoken: bytes) -> None:
    world = make(limits=replace(LIMITS, header_seconds=0.3))
    with socket.create_connection(("127.0.0.1", world.port), timeout=20) as connection:
        connection.sendall(spoken)
        assert _is_hung_up(connection)
    assert world.observed == [("unknown", "slow-headers")]
    assert world.send(PUSH).code == 202


def test_a_client_that_sends_bytes_now_and_then_has_no_more_time(make: Make) -> None:
    world = make(limits=replace(LIMITS, header_seconds=0.5))
    with socket.create_connection(("127.0.0.1", world.port), timeout=0.05) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\n")
        began = time.monotonic()
        while time.monotonic() < began + 20:
            try:
                connection.sendall(b"A: b\r\n")
                if _is_hung_up(connection):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() - began < 5


def _is_hung_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("limit", ["connections", "connections_of_peer"])
def test_so_many_connections_are_open_and_no_more(
    make: Make, limit: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = make(limits=replace(LIMITS, **{limit: 2}))
    with (
        socket.create_connection(("127.0.0.1", world.port), timeout=20) as first,
        socket.create_connection(("127.0.0.1", world.port), timeout=20) as second,
        socket.create_connection(("127.0.0.1", world.port), timeout=20),
    ):
        assert _is_hung_up(first)
        assert world.observed == [("unknown", "dropped")]
        assert world.send(PUSH).code == 202
        assert _is_hung_up(second)
    assert _errors(caplog) == []


def test_slow_connections_keep_no_forge_out(make: Make) -> None:
    world = make()
    slow = [
        socket.create_connection(("127.0.0.1", world.port), timeout=20)
        for _ in range(LIMITS.connections)
    ]
    try:
        for connection in slow:
            with suppress(OSError):
                connection.sendall(b"POST /hook HTTP/1.1\r\nHost: x\r\n")
        began = time.monotonic()
        assert world.send(PUSH).code == 202
        assert time.monotonic() - began < 5
    finally:
        for connection in slow:
            connection.close()


def test_other_addresses_have_connections_left(make: Make) -> None:
    world = make(limits=replace(LIMITS, connections=4, connections_of_peer=2))
    other = ("127.0.0.2", 0)
    with (
        socket.create_connection(("127.0.0.1", world.port), 20, other) as patient,
        socket.create_connection(("127.0.0.1", world.port), 20) as first,
        socket.create_connection(("127.0.0.1", world.port), 20),
        socket.create_connection(("127.0.0.1", world.port), 20),
    ):
        assert _is_hung_up(first)
        patient.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert patient.recv(12) == b"HTTP/1.1 405"


def test_a_call_to_an_existing_path_is_not_dropped_for_others(make: Make) -> None:
    world = make(limits=replace(LIMITS, connections=2))
    lines = [f"POST {PATH} HTTP/1.1", "Host: x", f"Content-Length: {len(PUSH.body)}"]
    lines += [f"{name}: {value}" for name, value in PUSH.headers.items()]
    head = "\r\n".join([*lines, "", ""]).encode()
    with socket.create_connection(("127.0.0.1", world.port), timeout=20) as genuine:
        genuine.sendall(head + PUSH.body[:10])
        assert until(lambda: world.send(PUSH, "/hook/unknown").code == 404)
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", world.port), timeout=20):
                pass
        genuine.sendall(PUSH.body[10:])
        assert genuine.recv(12) == b"HTTP/1.1 202"


def test_one_source_cannot_use_all_bodies(make: Make) -> None:
    world = make(limits=replace(LIMITS, bodies=4, bodies_of_source=2))
    other = ObjectRef(KEY.kind, "other", "shop")
    path = receiver_path(TOKEN, "shop", "other")
    url = "git@github.com:acme/platform.git"
    world.receivers.set(other, Receiver(other, path, TOKEN, None, url, WantedRef(branch="main")))
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123"
    with (
        socket.create_connection(("127.0.0.1", world.port), timeout=20) as first,
        socket.create_connection(("127.0.0.1", world.port), timeout=20) as second,
    ):
        first.sendall(head.encode())
        second.sendall(head.encode())
        assert until(lambda: world.send(PUSH).code == 503)
        assert world.send(PUSH, path).code == 202


def _sends(world: World) -> int:
    try:
        return world.send(PUSH).code
    except (ConnectionError, http.client.HTTPException):
        return 0


def test_so_many_bodies_are_read_at_a_time_and_no_more(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    world = make(limits=replace(LIMITS, bodies=1))
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123"
    with socket.create_connection(("127.0.0.1", world.port), timeout=20) as slow:
        slow.sendall(head.encode())
        assert until(lambda: world.send(PUSH).code == 503)
        assert world.send(PUSH, "/hook/unknown").code == 404
    assert until(lambda: _sends(world) == 202)
    assert _errors(caplog) == []


def test_a_second_request_on_a_connection_is_not_heard(world: World) -> None:
    lines = [f"POST {PATH} HTTP/1.1", "Host: x", f"Content-Length: {len(PUSH.body)}"]
    lines += [f"{name}: {value}" for name, value in PUSH.headers.items()]
    request = "\r\n".join([*lines, "", ""]).encode() + PUSH.body
    with socket.create_connection(("127.0.0.1", world.port), timeout=20) as connection:
        connection.sendall(request * 3)
        answers = b""
        while got := connection.recv(65536):
            answers += got
    assert answers.count(b"HTTP/1.1") == 1
    assert len(world.observed) == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nX-Gitlab-Token: t0ken\x00\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_not_logged(
    world: World, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert world.raw(sent).code == 400
    assert world.send(PUSH).code == 202
    assert [r for r in caplog.records if "t0ken" in r.getMessage() or r.exc_info] == []


def test_the_log_names_forge_event_delivery_and_source_and_nothing_else(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    world.send(PUSH)
    world.send(gitlab(b'{"secret": "in the body"}', token=b"wrong-token"))
    heard, refused = [r for r in caplog.records if r.name == "kro_gitops.server.webhooks"]
    fields = ("forge", "event", "delivery", "outcome", "source")
    assert [getattr(heard, each) for each in fields] == [
        *("github", "push", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "poked"),
        KEY,
    ]
    assert (refused.getMessage(), vars(refused)["code"]) == (
        "webhook rejected",
        "hook-bad-signature",
    )
    written = " ".join(str(vars(record)) for record in caplog.records)
    for secret in (TOKEN.decode(), "wrong-token", "in the body", "Größerer", PATH):
        assert secret not in written


def test_an_answer_holds_no_secret(world: World) -> None:
    for call in (PUSH, github(PUSH.body, token=b"wrong"), generic(b"x"), Call(b"")):
        said = str(world.send(call).said)
        assert TOKEN.decode() not in said
        assert PATH not in said


def test_a_failure_of_ours_is_answered_and_does_not_end_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_key: ObjectRef) -> None:
        raise ValueError("details of ours")

    receivers = Receivers(Pace(gap=0.1))
    receivers.set(KEY, Receiver(KEY, PATH, TOKEN, None, "", WantedRef()))
    server = WebhookServer(LOCAL, receivers, broken)
    server.start()
    try:
        answer = World(server, receivers, [], []).send(generic(b"x"))
        expected = {"error": "failed", "message": "that went wrong here; see the log"}
        assert answer == Answer(500, expected)
        assert until(lambda: _errors(caplog) == ["webhook failed"])
        later = World(server, receivers, [], []).send(generic(b"x"))
        assert later.code == 202
        assert until(lambda: _errors(caplog) == ["webhook failed"] * 2)
    finally:
        server.stop()


def _errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


def test_pokes_come_from_the_servers_own_thread() -> None:
    threads: list[str] = []
    receivers = Receivers()
    receivers.set(KEY, Receiver(KEY, PATH, TOKEN, None, "", WantedRef()))
    server = WebhookServer(
        LOCAL, receivers, lambda _key: threads.append(threading.current_thread().name)
    )
    server.start()
    try:
        World(server, receivers, [], []).send(generic(b"x"))
    finally:
        server.stop()
    assert threads == ["webhooks"]


def test_without_an_address_nothing_is_served() -> None:
    before = threading.active_count()
    server = WebhookServer(None, Receivers(), lambda _key: None)
    server.start()
    assert (server.port, threading.active_count()) == (None, before)
    server.stop()


def test_an_address_that_is_taken_is_named_with_its_flag() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = Address("127.0.0.1", other.getsockname()[1])
        server = WebhookServer(taken, Receivers(), lambda _key: None)
        with pytest.raises(ListenError, match=f"--webhook-bind-address {taken}: cannot listen"):
            server.start()
    server.stop()


def test_after_a_stop_the_port_is_free_and_the_thread_gone() -> None:
    server = WebhookServer(LOCAL, Receivers(), lambda _key: None)
    server.start()
    port = server.port
    assert port is not None
    server.stop()
    server.stop()
    assert "webhooks" not in [thread.name for thread in threading.enumerate()]
    with socket.create_server(("127.0.0.1", port)):
        pass
