import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kro_gitops.server.probes import MAIN_LOOP, Health, HealthServer
from kro_gitops.server.thread import ListenError
from kro_gitops.settings.address import Address
from kro_gitops.telemetry.metrics import Metrics

LOCAL = Address("127.0.0.1", 0)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Answer:
    code: int
    text: str
    content_type: str


def get(port: int | None, path: str) -> Answer:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
            return Answer(
                response.status, response.read().decode(), response.headers["Content-Type"]
            )
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read().decode(), error.headers["Content-Type"])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health() -> Health:
    return Health(started=0.0, readiness=["api-server", "own-crds"])


@pytest.fixture
def server(health: Health, clock: Clock) -> Iterator[HealthServer]:
    made = HealthServer(LOCAL, LOCAL, health, Metrics("v0.9.4"), clock)
    made.start()
    yield made
    made.stop()


def test_a_process_that_lives_is_healthy(server: HealthServer) -> None:
    assert get(server.probe_port, "/healthz") == Answer(200, "ok", "text/plain; charset=utf-8")


def test_checks_are_listed_on_demand(server: HealthServer, health: Health) -> None:
    assert get(server.probe_port, "/healthz?verbose").text == (
        "[+]ping ok\n[+]main-loop ok\nhealthz check passed\n"
    )
    health.set_ready("own-crds", True)
    assert get(server.probe_port, "/readyz?verbose").text == (
        "[+]ping ok\n[+]main-loop ok\n[-]api-server failed: not ready yet\n[+]own-crds ok\n"
        "readyz check failed\n"
    )


def test_a_main_loop_without_a_heartbeat_is_unhealthy_and_not_ready(
    server: HealthServer, health: Health, clock: Clock
) -> None:
    health.heartbeat(MAIN_LOOP, 100.0)
    clock.now = 130.0
    assert get(server.probe_port, "/healthz").code == 200
    clock.now = 135.0
    answer = get(server.probe_port, "/healthz")
    assert answer.code == 500
    assert "[-]main-loop failed: no heartbeat for 35 s\n" in answer.text
    assert get(server.probe_port, "/readyz").code == 503
    health.heartbeat(MAIN_LOOP, 134.0)
    assert get(server.probe_port, "/healthz").code == 200


def test_a_main_loop_that_never_starts_is_noticed(server: HealthServer, clock: Clock) -> None:
    clock.now = 31.0
    assert get(server.probe_port, "/healthz").code == 500


def test_it_is_ready_when_everything_declared_is(server: HealthServer, health: Health) -> None:
    assert get(server.probe_port, "/readyz").code == 503
    health.set_ready("api-server", True)
    assert get(server.probe_port, "/readyz").code == 503
    health.set_ready("own-crds", True)
    assert get(server.probe_port, "/readyz") == Answer(200, "ok", "text/plain; charset=utf-8")
    health.set_ready("api-server", False, "no answer since 10:00")
    assert "[-]api-server failed: no answer since 10:00\n" in get(server.probe_port, "/readyz").text


def test_a_name_that_was_not_declared_is_a_mistake(health: Health) -> None:
    with pytest.raises(
        ValueError, match="'own-crd' was not declared; there is api-server, own-crds"
    ):
        health.set_ready("own-crd", True)
    with pytest.raises(ValueError, match="'loop' was not declared"):
        health.heartbeat("loop", 0.0)


def test_metrics_are_served_apart_from_probes(server: HealthServer) -> None:
    page = get(server.metrics_port, "/metrics")
    assert (page.code, page.content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert 'kro_version="v0.9.4"' in page.text
    assert get(server.metrics_port, "/healthz").code == 404
    assert get(server.probe_port, "/metrics").code == 404


def test_probes_are_answered_while_the_main_thread_computes(server: HealthServer) -> None:
    codes: list[int] = []
    probe = threading.Thread(target=lambda: codes.append(get(server.probe_port, "/healthz").code))
    probe.start()
    end = time.monotonic() + 30
    while probe.is_alive() and time.monotonic() < end:
        sum(range(10_000))
    assert codes == [200]


def test_one_address_for_both_is_one_server(health: Health, clock: Clock) -> None:
    address = Address("127.0.0.1", free_port())
    server = HealthServer(address, address, health, Metrics(), clock)
    server.start()
    try:
        assert server.metrics_port == server.probe_port == address.port
        assert get(address.port, "/metrics").code == 200
        assert get(address.port, "/healthz").code == 200
    finally:
        server.stop()


@pytest.mark.parametrize("host", ["", "localhost", "127.0.0.1"])
def test_it_listens_where_it_is_told(health: Health, clock: Clock, host: str) -> None:
    server = HealthServer(None, Address(host, 0), health, Metrics(), clock)
    server.start()
    try:
        assert server.metrics_port is None
        assert get(server.probe_port, "/healthz").code == 200
    finally:
        server.stop()


def test_without_addresses_nothing_is_served(health: Health) -> None:
    before = threading.active_count()
    server = HealthServer(None, None, health, Metrics())
    server.start()
    assert (server.metrics_port, server.probe_port) == (None, None)
    assert threading.active_count() == before
    server.stop()


@pytest.mark.parametrize("taken_by", ["metrics", "probes"])
def test_a_port_that_is_taken_is_named_with_its_flag(health: Health, taken_by: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = Address("127.0.0.1", other.getsockname()[1])
        addresses = (taken, LOCAL) if taken_by == "metrics" else (LOCAL, taken)
        server = HealthServer(*addresses, health, Metrics())
        with pytest.raises(ListenError) as caught:
            server.start()
    flag = "--metrics-bind-address" if taken_by == "metrics" else "--health-probe-bind-address"
    assert (
        caught.value.message
        == f"{flag} {taken}: cannot listen there: another process listens there already"
    )
    assert caught.value.hint
    server.stop()


def test_a_host_that_does_not_exist_is_named_with_its_flag(health: Health) -> None:
    server = HealthServer(Address("no-such-host.invalid", 0), None, health, Metrics())
    with pytest.raises(ListenError) as caught:
        server.start()
    assert caught.value.message.startswith("--metrics-bind-address no-such-host.invalid:0: cannot")


def test_after_a_stop_the_port_is_free_and_the_thread_gone(health: Health) -> None:
    server = HealthServer(LOCAL, None, health, Metrics())
    server.start()
    port = server.metrics_port
    assert port is not None
    server.stop()
    server.stop()
    assert "health" not in [thread.name for thread in threading.enumerate()]
    with socket.create_server(("127.0.0.1", port)):
        pass


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
