"""
Runs the controller process: connect, lead, reconcile, stop.

The main thread has the event loop in which everything is reconciled. Probes and metrics
(`server.probes`) and the lease (`control.leadership`) must not wait for it and have threads of
their own.
"""

import asyncio
import gc
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kro_gitops import __version__
from kro_gitops.app.companions import Companion, ControllerView, run_with_companion
from kro_gitops.app.controllers import Controllers, build_controllers
from kro_gitops.app.observers import ResourceNames, SourceMetrics, WatchMetrics
from kro_gitops.app.wiring import named_source, request_limits, source_defaults
from kro_gitops.control.leadership import Leadership, own_lease
from kro_gitops.control.rival_controllers import reject_rivals
from kro_gitops.engine.controllers.engine import Engine
from kro_gitops.engine.crd.own import own_crds
from kro_gitops.engine.crd.update import is_served, is_up_to_date
from kro_gitops.errors import ClusterUnavailable, KroGitopsError, NotYet
from kro_gitops.kube.api import Cluster, WriteOptions
from kro_gitops.kube.client import Client
from kro_gitops.kube.credentials import from_kubeconfigs, in_cluster, kubeconfigs_of_user
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.transport import Access, Transport
from kro_gitops.server.probes import MAIN_LOOP, Health, HealthServer
from kro_gitops.server.webhooks import WebhookServer
from kro_gitops.settings.settings import Settings
from kro_gitops.source.api.crd import source_crds
from kro_gitops.source.controllers.webhook_endpoints import WebhookEndpoints
from kro_gitops.source.git.locks import own_folder
from kro_gitops.source.webhooks.endpoints import Receivers
from kro_gitops.telemetry.metrics import Metrics
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

API_SERVER = "api-server"
OWN_CRDS = "own-crds"
ENGINE = "definitions"
SOURCES = "sources"

_HEARTBEAT_INTERVAL = 1.0
_OBJECT_COUNT_INTERVAL = 15.0
_RETRY_DELAY = 2.0
_CRD_TIMEOUT = 60.0  # seconds for the API server to serve our own kinds
_SIGINT_EXIT_CODE = 128 + signal.SIGINT  # the exit code, as shells have it
_INSTALL_OPTIONS = WriteOptions(manager="kro-gitops", force=True)


def run(settings: Settings, beside: Companion | None = None) -> int:
    """
    Run the controller until a signal stops it; return the exit code.

    If the companion `beside` it returns, the controller stops and exits with its code. If it
    raises, everything ends at once.
    """
    metrics = Metrics(settings.kro_version)
    health = Health(time.monotonic(), (API_SERVER, OWN_CRDS, ENGINE, SOURCES))
    server = HealthServer(
        settings.metrics_bind_address, settings.health_probe_bind_address, health, metrics
    )
    server.start()
    try:
        return asyncio.run(_Process(settings, metrics, health, beside).run())
    finally:
        server.stop()


class _Process:
    """One run of the program."""

    def __init__(
        self, settings: Settings, metrics: Metrics, health: Health, beside: Companion | None
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._health = health
        self._beside = beside
        self._begun: Controllers | None = None
        self._interrupted = False
        self._stopping = asyncio.Event()

    async def run(self) -> int:
        """Connect, be elected, work, stop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop, number)
        beating = asyncio.create_task(self._send_heartbeats())
        access = await access_of(self._settings)
        facts = {"version": __version__, "kro_version": self._settings.kro_version}
        log.info("starting", extra={**facts, "server": access.server})
        limits = request_limits(self._settings)
        observe = self._metrics.observe_request
        agent = f"kro-gitops/{__version__}"
        try:
            async with (
                Transport(access, limits, observe, user_agent=agent) as transport,
                # Without the lease: a replica that does not lead receives webhooks, too.
                Transport(access, limits, observe, user_agent=agent) as unbound,
            ):
                discovery = Discovery(transport)
                client = Client(transport, discovery)
                work = self._controlled(client, discovery, access, transport, unbound)
                if self._beside is None:
                    code = await work
                else:
                    seen = ControllerView(
                        client,
                        discovery,
                        lambda: self._begun is not None and self._begun.is_idle(),
                    )
                    code = await run_with_companion(work, self._beside(seen), self._stopping.set)
        finally:
            beating.cancel()
        return _SIGINT_EXIT_CODE if self._interrupted and not code else code

    async def _controlled(
        self,
        client: Client,
        discovery: Discovery,
        access: Access,
        transport: Transport,
        unbound: Transport,
    ) -> int:
        if not await self._reach(discovery):
            return 0
        if not await self._or_stopped(self._reject_rivals(client)):
            return 0
        async with self._serve_webhooks(Client(unbound, discovery), discovery):
            named = self._settings.storage_path
            # Without a folder that is named, mirrors are deleted with the process.
            folder = (
                own_folder("kro-gitops-storage-") if named is None else nullcontext(Path(named))
            )
            with folder as storage:
                system = build_controllers(
                    self._settings, self._metrics, client, discovery, storage
                )
                if not self._settings.leader_elect:
                    await self._work(system, client, discovery)
                    return 0
                leadership = Leadership(access, self._settings)
                transport.may_write = leadership.leads
                leadership.start()
                try:
                    if self._settings.enable_controller_warmup:
                        await system.engine.warm_up()
                    # A replica that waits for the lease is as ready as it can be.
                    for name in (OWN_CRDS, ENGINE, SOURCES):
                        self._health.set_ready(name, True)
                    log.info("waiting to be elected")
                    if not await self._or_stopped(leadership.elected()):
                        return 0
                    # Again: the other one may have been elected at the same time.
                    if not await self._or_stopped(self._reject_rivals(client)):
                        return 0
                    working = self._work(system, client, discovery)
                    working_task = asyncio.create_task(working)
                    losing = asyncio.create_task(leadership.lost())
                    await asyncio.wait((working_task, losing), return_when=asyncio.FIRST_COMPLETED)
                    if working_task.done():
                        losing.cancel()
                        await working_task
                        return 0
                    # Another replica may lead already: running reconciles are abandoned.
                    log.error("the lease is lost: stopping at once")
                    working_task.cancel()
                    return 1
                finally:
                    await asyncio.to_thread(leadership.stop)

    async def _reach(self, discovery: Discovery) -> bool:
        """Wait until the API server answers; return False if a signal comes first."""
        while not self._stopping.is_set():
            try:
                await discovery.kinds()
            except ClusterUnavailable as error:
                self._health.set_ready(API_SERVER, False, error.message)
                log.warning("the API server does not answer", extra={"error": error.message})
                await self._or_stopped(asyncio.sleep(_RETRY_DELAY))
            else:
                self._health.set_ready(API_SERVER, True)
                return True
        return False

    async def _reject_rivals(self, client: Client) -> None:
        """Raise `UserError` if another controller reconciles the same kinds."""
        if not self._settings.allow_second_controller:
            own = own_lease(self._settings) if self._settings.leader_elect else None
            await reject_rivals(client, own, datetime.now(UTC))

    @asynccontextmanager
    async def _serve_webhooks(self, client: Client, discovery: Discovery) -> AsyncIterator[None]:
        """Receive webhooks from git servers, whether this replica leads or not."""
        settings = self._settings
        if not settings.sources or settings.webhook_bind_address is None:
            yield
            return
        receivers, loop = Receivers(), asyncio.get_running_loop()
        endpoints = WebhookEndpoints(
            client, discovery, receivers, source_defaults(settings), settings.watch_namespaces
        )
        hooks = WebhookServer(
            settings.webhook_bind_address,
            receivers,
            lambda key: _call_from_thread(loop, endpoints.request_reconcile, key),
            SourceMetrics(self._metrics).called,
        )
        hooks.start()
        answering = asyncio.create_task(endpoints.run())
        try:
            yield
        finally:
            await asyncio.to_thread(hooks.stop)
            answering.cancel()

    async def _work(self, system: Controllers, client: Client, discovery: Discovery) -> None:
        self._metrics.kro_gitops_leader.set(1)
        for name in (OWN_CRDS, ENGINE, SOURCES):
            self._health.set_ready(name, False)
        if self._settings.install_crds:
            ours = source_crds() if self._settings.sources else ()
            if not await self._or_stopped(install_crds(client, discovery, (*own_crds(), *ours))):
                return
        self._health.set_ready(OWN_CRDS, True)
        is_required = system.sources is not None
        loading = system.records.load(system.engine.wake, is_required=is_required)
        if not await self._or_stopped(loading):
            return
        if self._settings.in_cluster and not self._settings.default_service_account:
            log.warning(
                "instances without a source are reconciled with the permissions of the controller: "
                "set --default-service-account if tenants may write instances"
            )
        if system.sources is not None:
            system.sources.load()
        engine = system.engine
        background = [
            asyncio.create_task(self._announce(engine)),
            asyncio.create_task(self._count_objects(engine)),
        ]
        if system.events is not None:
            background.append(asyncio.create_task(system.events.run()))
        working = asyncio.create_task(self._run(system))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            log.info("stopping")
            system.stop()
            if not engine.is_ready:
                working.cancel()  # nothing is running, and what it waits for may never come
            await asyncio.wait((working,))
            if not working.cancelled():
                working.result()
        finally:
            system.records.close()
            for task in (working, stopping, *background):
                task.cancel()

    async def _run(self, system: Controllers) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(system.engine.run())
            # Sources can be reconciled when the engine is ready.
            if system.sources is None or await self._or_stopped(system.engine.wait_ready()):
                named = named_source(self._settings) if system.sources is not None else None
                while system.sources and named is not None and not self._stopping.is_set():
                    try:
                        await system.sources.ensure(named)
                        named = None
                    except KroGitopsError as error:
                        log.warning("the source is not there yet", extra={"error": error.message})
                        await self._or_stopped(asyncio.sleep(_RETRY_DELAY))
                self._begun = system
                self._health.set_ready(SOURCES, True)
                await system.run_sources(self._stopping)
            system.engine.stop()

    async def _count_objects(self, engine: Engine) -> None:
        plurals = ResourceNames()
        plurals.set_engine(engine)
        watches = WatchMetrics(self._metrics, plurals)
        while True:
            watches.update(engine.watches)
            await asyncio.sleep(_OBJECT_COUNT_INTERVAL)

    async def _announce(self, engine: Engine) -> None:
        await engine.wait_ready()
        self._health.set_ready(ENGINE, True)
        # The objects of now stay: the garbage collector need not traverse them again.
        gc.collect()
        gc.freeze()
        log.info("ready", extra={"kinds": len(engine.served_kinds)})

    async def _send_heartbeats(self) -> None:
        while True:
            self._health.heartbeat(MAIN_LOOP, time.monotonic())
            await asyncio.sleep(_HEARTBEAT_INTERVAL)

    def _stop(self, number: int) -> None:
        if self._stopping.is_set():
            os._exit(128 + number)  # the second signal: end at once
        self._interrupted = number == signal.SIGINT
        self._stopping.set()

    async def _or_stopped(self, waited_for: Coroutine[Any, Any, object]) -> bool:
        """Wait for a coroutine or for the stop signal; return whether the coroutine finished."""
        waiting = asyncio.create_task(waited_for)
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait((waiting, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if waiting.done():
            await waiting
            return True
        waiting.cancel()
        return False


def _call_from_thread(
    loop: asyncio.AbstractEventLoop, function: Callable[[ObjectRef], None], key: ObjectRef
) -> None:
    """Call a function of the main loop from another thread."""
    with suppress(RuntimeError):  # the loop is closed: the process is ending
        loop.call_soon_threadsafe(function, key)


async def access_of(settings: Settings) -> Access:
    """Return the address and credentials of the cluster that was named."""
    if settings.in_cluster:
        return await in_cluster()
    paths = [Path(settings.kubeconfig)] if settings.kubeconfig else kubeconfigs_of_user()
    return await from_kubeconfigs(paths, settings.context or None)


async def install_crds(cluster: Cluster, discovery: Discovery, crds: Sequence[KubeObject]) -> None:
    """Apply our own CRDs and wait until they are served; retry while the cluster is unavailable."""
    missing = list(crds)
    until = time.monotonic() + _CRD_TIMEOUT
    while missing:
        try:
            for crd in list(missing):
                answer = await cluster.find(ObjectRef.of(crd))
                if answer is None or not is_up_to_date(answer, crd):
                    answer = await cluster.apply(crd, _INSTALL_OPTIONS)
                while not is_served(answer):
                    await asyncio.sleep(0.05)
                    answer = await cluster.get(ObjectRef.of(crd))
                    if time.monotonic() > until:
                        message = "the API server does not serve our own CRDs"
                        raise NotYet("not-established", message)
                discovery.learn(answer)
                missing.remove(crd)
        except ClusterUnavailable as error:
            log.warning("CRDs not installed yet", extra={"error": error.message})
            await asyncio.sleep(_RETRY_DELAY)
