"""
The webhook endpoints of sources, on every replica.

A Service sends a call to any replica. So each of them watches sources and reads the tokens of their
webhooks itself, whether it leads or not. A genuine call becomes an annotation of the source, the
same that people and Flux write to request a reconcile; the leader sees it within milliseconds.
Nothing else is written here, and that annotation does no harm, so it does not need the lease.

The leader takes the same way: the annotation costs one small request, is answered in the same
status field as every other request, and survives a leader that dies just then.
"""

import asyncio
import logging
from collections.abc import Collection
from datetime import UTC, datetime

from kro_gitops.control.backoff import Backoff
from kro_gitops.control.loop import Loop
from kro_gitops.control.loop import LoopSettings as LoopSettings
from kro_gitops.control.outcome import DONE, Result, RetryDelays
from kro_gitops.control.workqueue import WorkItem, WorkQueue
from kro_gitops.errors import KroGitopsError, NotServed, NotYet, UserError
from kro_gitops.kube.api import Cluster, MergePatch, Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.controllers.secrets import read_receiver
from kro_gitops.source.webhooks.endpoints import Receivers
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_REFRESH_INTERVAL = 180.0  # seconds after which a token is read again in any case
_RETRY_DELAY = 10.0  # after which a missing or invalid token is read again
_POLL_INTERVAL = 1.0  # until our kind is served
_SETTINGS = LoopSettings(
    workers=4, time_limit=60.0, grace=2.0, pace=RetryDelays(backoff=Backoff(0.2, 10.0))
)


class WebhookEndpoints:
    """Keeps the endpoints of this replica, and passes calls on."""

    def __init__(
        self,
        cluster: Cluster,
        discovery: Discovery,
        receivers: Receivers,
        defaults: Defaults,
        namespaces: Collection[str] = (),
    ) -> None:
        """Take a cluster client that writes without the lease."""
        self._cluster = cluster
        self._discovery = discovery
        self._receivers = receivers
        self._defaults = defaults
        self._namespaces = namespaces
        self._informer = Informer(cluster, Selection(GIT_SOURCE_KIND))
        self._informer.listen(self._changed)
        self._endpoints: Loop[ObjectRef] = Loop(WorkQueue(lambda _: None), self._update, _SETTINGS)
        self._requests: Loop[ObjectRef] = Loop(WorkQueue(lambda _: None), self._pass_on, _SETTINGS)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._requests.run())
            group.create_task(self._endpoints.run())
            while True:  # the leader may be about to install the kind of sources
                try:
                    await self._discovery.resource_of(GIT_SOURCE_KIND)
                    break
                except KroGitopsError:
                    await asyncio.sleep(_POLL_INTERVAL)
            group.create_task(self._informer.run())

    def request_reconcile(self, key: ObjectRef) -> None:
        """Request a reconcile by the leader; requests that repeat before that are one."""
        self._requests.add(key)

    # Endpoints

    def _changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or after is None or _concerns(before) != _concerns(after):
            self._endpoints.add(ObjectRef.of(change.object))

    async def _update(self, work: WorkItem[ObjectRef]) -> Result:
        """Set or remove the endpoint of a source."""
        key = work.key
        source = self._informer.cache.find(key.namespace, key.name)
        is_watched = not self._namespaces or key.namespace in self._namespaces
        if source is None or not is_watched or source["metadata"].get("deletionTimestamp"):
            self._receivers.set(key, None)
            return DONE
        try:
            spec = read_spec(source, self._defaults)
            receiver = await read_receiver(self._cluster, key, spec)
        except (UserError, NotYet) as error:
            # The leader reports the error in the source's status.
            log.debug("source has no webhook endpoint", extra={"source": key, "code": error.code})
            self._receivers.set(key, None)
            return Result(_RETRY_DELAY)
        if receiver != self._receivers.of(key):
            self._receivers.set(key, receiver)
        return Result(_REFRESH_INTERVAL) if receiver is not None else DONE

    # Calls

    async def _pass_on(self, work: WorkItem[ObjectRef]) -> Result:
        request = {"metadata": {"annotations": {REQUESTED_AT: datetime.now(UTC).isoformat()}}}
        try:
            await self._cluster.patch(work.key, MergePatch(request))
        except (NotFound, NotServed):
            log.debug("the source of a webhook call is gone", extra={"source": work.key})
        return DONE


def _concerns(source: KubeObject) -> tuple[object, ...]:
    """Return what decides about an endpoint; a new path means that the leader saw a new token."""
    metadata, status = source["metadata"], source.get("status") or {}
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        status.get("webhookPath"),
    )
