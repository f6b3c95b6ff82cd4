"""
The lease, on a thread and event loop of its own.

However busy the main loop is, the lease is renewed in time; and when it cannot be, the main loop is
notified at once.
"""

import asyncio
import os
import socket
import threading
import time
import uuid
from pathlib import Path

from kro_gitops.control.leader_election import ElectionConfig, ElectionResult, LeaderElector
from kro_gitops.control.lease import API_VERSION, KIND, LEASE_NAME
from kro_gitops.errors import Unavailable, UserError
from kro_gitops.kube.api import JsonPatch
from kro_gitops.kube.client import Client
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.transport import Access, Transport
from kro_gitops.settings.settings import Settings
from kube_objects.refs import Kind, KubeObject, ObjectRef

_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_LEASE_KIND = Kind.of(API_VERSION, KIND)
_SHUTDOWN_TIMEOUT = 10.0  # seconds to give the lease back


class _ClusterLease:
    """The Lease, through a client."""

    def __init__(self, client: Client, ref: ObjectRef) -> None:
        self._client = client
        self._ref = ref

    async def get(self) -> KubeObject | None:
        """Return the Lease, or `None` if there is none yet."""
        return await self._client.find(self._ref)

    async def update(self, lease: KubeObject) -> KubeObject:
        """Write the Lease; one that another client changed meanwhile is rejected."""
        version = lease["metadata"].get("resourceVersion")
        if version is None:
            return await self._client.create(lease)
        operations = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/spec", "value": lease["spec"]},
        ]
        return await self._client.patch(self._ref, JsonPatch(operations))


class Leadership:
    """Campaigns and leads, beside the main loop."""

    def __init__(self, access: Access, settings: Settings) -> None:
        namespace = controller_namespace(settings)
        if not namespace:
            raise UserError(
                "no-lease-namespace",
                "leader election needs a namespace for its lease, and this process is not in a pod",
                hint="set --leader-election-namespace",
            )
        self._access = access
        self._terms = ElectionConfig(
            identity=f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}",
            namespace=namespace,
            duration=max(1, round(settings.leader_election_lease_duration)),
            renew_deadline=settings.leader_election_renew_deadline,
            retry_period=settings.leader_election_retry_period,
        )
        self._main = asyncio.get_running_loop()
        self._elected = asyncio.Event()
        self._lost = asyncio.Event()
        self._elector: LeaderElector | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="leadership", daemon=True)

    def start(self) -> None:
        """Begin to campaign."""
        self._thread.start()

    def stop(self) -> None:
        """Release the lease and end the thread."""
        self._is_stopped = True
        if self._elector is not None:
            self._elector.stop()
        self._thread.join(_SHUTDOWN_TIMEOUT)

    async def elected(self) -> None:
        """Wait to be elected; raise if the campaign ends without that."""
        waits = [asyncio.create_task(each.wait()) for each in (self._elected, self._lost)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        if not self._elected.is_set():
            raise Unavailable("no-campaign", "cannot campaign for the lease: see the log above")

    def leads(self) -> bool:
        """Return whether the lease is ours now, by a clock that goes on while a process sleeps."""
        return self._elector is not None and time.monotonic() < self._elector.leads_until

    async def lost(self) -> None:
        """Wait for the lease to be lost."""
        await self._lost.wait()

    def _run(self) -> None:
        try:
            ending = asyncio.run(self._campaign())
        except Exception:
            self._notify(self._lost)
            raise
        if ending is ElectionResult.LOST:
            self._notify(self._lost)

    async def _campaign(self) -> ElectionResult:
        async with Transport(self._access) as transport:
            client = Client(transport, Discovery(transport))
            ref = ObjectRef(_LEASE_KIND, self._terms.namespace, self._terms.name)
            self._elector = LeaderElector(
                _ClusterLease(client, ref), self._terms, lambda: self._notify(self._elected)
            )
            if self._is_stopped:
                self._elector.stop()
            return await self._elector.run()

    def _notify(self, event: asyncio.Event) -> None:
        self._main.call_soon_threadsafe(event.set)


def own_lease(settings: Settings) -> ObjectRef:
    """Return the Lease that this controller campaigns for."""
    return ObjectRef(_LEASE_KIND, controller_namespace(settings), LEASE_NAME)


def controller_namespace(settings: Settings) -> str:
    """Return the namespace of the controller: that of its lease, or of its pod; may be empty."""
    if settings.leader_election_namespace:
        return settings.leader_election_namespace
    try:
        return _POD_NAMESPACE.read_text().strip()
    except OSError:
        return ""
