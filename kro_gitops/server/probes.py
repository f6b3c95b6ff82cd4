"""
/healthz, /readyz and /metrics.

They are served by a thread with an event loop of its own, so that they answer while the main loop
is busy or hangs. The answers come from `Health`, to which the parts of the program report; no part
is asked while a probe waits.

`/healthz` is about this process: if it fails, start it again. `/readyz` is about what it can do:
it fails until everything it needs has been there once.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass

from aiohttp import web

from kro_gitops.server.thread import SHUTDOWN_TIMEOUT, ServerThread, listen
from kro_gitops.settings.address import Address
from kro_gitops.telemetry.metrics import CONTENT_TYPE, Metrics

MAIN_LOOP = "main-loop"
LIMITS: Mapping[str, float] = {MAIN_LOOP: 30.0}  # seconds between two heartbeats

_METRICS_FLAG = "--metrics-bind-address"
_PROBES_FLAG = "--health-probe-bind-address"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; empty `failure`: it passed."""

    name: str
    failure: str = ""

    def __str__(self) -> str:
        return f"[-]{self.name} failed: {self.failure}" if self.failure else f"[+]{self.name} ok"


class Health:
    """
    The health that the parts of the program report, from any thread.

    Heartbeats are counted from `started`, so that a part that never starts is noticed, too. Times
    are of a monotonic clock.
    """

    def __init__(
        self,
        started: float,
        readiness: Iterable[str] = (),
        limits: Mapping[str, float] = LIMITS,
    ) -> None:
        self._lock = threading.Lock()
        self._limits = dict(limits)
        self._beats = dict.fromkeys(limits, started)
        self._missing = dict.fromkeys(readiness, "not ready yet")  # empty: ready

    def heartbeat(self, name: str, now: float) -> None:
        """Report that a part is alive."""
        with self._lock:
            self._beats[_declared(name, self._limits)] = now

    def set_ready(self, name: str, ready: bool, reason: str = "") -> None:
        """Report that a part is ready, or why it is not."""
        with self._lock:
            self._missing[_declared(name, self._missing)] = "" if ready else reason or "not ready"

    def alive(self, now: float) -> list[Check]:
        """Check the heartbeats."""
        with self._lock:
            silences = {name: now - beat for name, beat in self._beats.items()}
        checks = [Check("ping")]
        for name, silence in silences.items():
            is_silent = silence > self._limits[name]
            checks.append(Check(name, f"no heartbeat for {silence:.0f} s" if is_silent else ""))
        return checks

    def ready(self, now: float) -> list[Check]:
        """Check everything: a part that hangs is not ready, either."""
        with self._lock:
            reported = [Check(name, failure) for name, failure in self._missing.items()]
        return [*self.alive(now), *reported]


def _declared(name: str, known: Mapping[str, object]) -> str:
    """Return a name if it was declared: a mistyped one would never be noticed."""
    if name not in known:
        raise ValueError(f"'{name}' was not declared; there is {', '.join(known) or 'nothing'}")
    return name


class HealthServer:
    """Serves probes and metrics, at two addresses or at one, or not at all."""

    def __init__(
        self,
        metrics_address: Address | None,
        probe_address: Address | None,
        health: Health,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._addresses = {_METRICS_FLAG: metrics_address, _PROBES_FLAG: probe_address}
        self._routes = {
            _METRICS_FLAG: [web.get("/metrics", self._metrics_page)],
            _PROBES_FLAG: [
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
            ],
        }
        self._health = health
        self._metrics = metrics
        self._clock = clock
        self._thread = ServerThread("health")
        self._ports: dict[str, int] = {}

    @property
    def metrics_port(self) -> int | None:
        """Return the port at which metrics are served."""
        return self._ports.get(_METRICS_FLAG)

    @property
    def probe_port(self) -> int | None:
        """Return the port at which probes are served."""
        return self._ports.get(_PROBES_FLAG)

    def start(self) -> None:
        """Listen, and serve until stopped; raise if an address is not available."""
        first, second = self._addresses.values()
        shared = first is not None and second is not None and first.shares_socket_with(second)
        sites: list[tuple[socket.socket, list[web.RouteDef]]] = []
        with ExitStack() as opened:
            for flag, address in self._addresses.items():
                if shared and sites:
                    sites[0][1].extend(self._routes[flag])
                elif address is not None:
                    bound = opened.enter_context(listen(flag, address))
                    sites.append((bound, list(self._routes[flag])))
                else:
                    continue
                self._ports[flag] = sites[-1][0].getsockname()[1]
            opened.pop_all()  # nothing went wrong: they stay open
        if not sites:
            return
        self._thread.start(lambda closing: _run_all(sites, closing))

    def stop(self) -> None:
        """Stop serving; does nothing if it was never started."""
        self._thread.stop()
        self._ports.clear()

    async def _healthz(self, request: web.Request) -> web.Response:
        return _answer(request, self._health.alive(self._clock()), 500)

    async def _readyz(self, request: web.Request) -> web.Response:
        return _answer(request, self._health.ready(self._clock()), 503)

    async def _metrics_page(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.page(), headers={"Content-Type": CONTENT_TYPE})


async def _run_all(
    sites: list[tuple[socket.socket, list[web.RouteDef]]], closing: AsyncExitStack
) -> None:
    for bound, routes in sites:
        application = web.Application()
        application.add_routes(routes)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_TIMEOUT)
        await runner.setup()
        await web.SockSite(runner, bound).start()
        closing.push_async_callback(runner.cleanup)


def _answer(request: web.Request, checks: list[Check], failure_code: int) -> web.Response:
    """Answer as Kubernetes' components do: `ok`, or the checks one by one."""
    failed = any(check.failure for check in checks)
    if not failed and "verbose" not in request.query:
        return web.Response(text="ok")
    name = request.path.strip("/")
    listed = "".join(f"{check}\n" for check in checks)
    verdict = f"{name} check {'failed' if failed else 'passed'}\n"
    return web.Response(text=listed + verdict, status=failure_code if failed else 200)
