"""
Forges call any replica, and the one that leads hears of it.

A Service hands a call to whichever replica it likes. So each of them knows who can be called: it
watches sources and reads the tokens of their webhooks itself, whether it leads or not. A call that
is genuine becomes a note on the source, the same that people and Flux write to have a source looked
at; whoever leads sees it within milliseconds. Nothing else is written here, and that one note is
harmless from anybody, so it does not wait for the lease.

There is one way for all calls, also on a replica that leads: the note costs one small request, is
seen in the same status field as every other wish, and outlives a leader that dies just then.
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
from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.source.controllers.secrets import read_secret
from kro_gitops.source.receivers import Receiver, Receivers, receiver_path, webhook_token
from kro_gitops.source.spec_reading import Defaults, read_spec
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_REFRESH = 180.0  # seconds after which a token is read again, though nothing says it changed
_DOUBT = 10.0  # after which one that is not there, or no good, is looked for again
_SERVED = 1.0  # between two questions whether our kind is served
_SETTINGS = LoopSettings(
    workers=4, time_limit=60.0, grace=2.0, pace=RetryDelays(backoff=Backoff(0.2, 10.0))
)


class Doorbells:
    """Who can be called, on this replica; and what happens then."""

    def __init__(
        self,
        cluster: Cluster,
        discovery: Discovery,
        receivers: Receivers,
        defaults: Defaults,
        namespaces: Collection[str] = (),
    ) -> None:
        """Take a cluster that may be written to without the lease."""
        self._cluster = cluster
        self._discovery = discovery
        self._receivers = receivers
        self._defaults = defaults
        self._namespaces = namespaces
        self._informer = Informer(cluster, Selection(GIT_SOURCE_KIND))
        self._informer.listen(self._changed)
        self._doors: Loop[ObjectRef] = Loop(_queue(), self._fit, _SETTINGS)
        self._rings: Loop[ObjectRef] = Loop(_queue(), self._pass_on, _SETTINGS)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._rings.run())
            group.create_task(self._doors.run())
            await self._served()
            group.create_task(self._informer.run())

    def ring(self, key: ObjectRef) -> None:
        """Have a source looked at by whoever leads; rung again before that, it is one wish."""
        self._rings.add(key)

    async def _served(self) -> None:
        """Wait until there can be sources: the leader may be about to install their kind."""
        while True:
            try:
                await self._discovery.resource_of(GIT_SOURCE_KIND)
            except KroGitopsError:
                await asyncio.sleep(_SERVED)
            else:
                return

    # Who can be called

    def _changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or after is None or _concerns(before) != _concerns(after):
            self._doors.add(ObjectRef.of(change.object))

    async def _fit(self, work: WorkItem[ObjectRef]) -> Result:
        """Let a source be called as it wants to be now."""
        key = work.key
        source = self._informer.cache.find(key.namespace, key.name)
        if source is None or not self._is_callable(source):
            self._receivers.set(key, None)
            return DONE
        try:
            receiver = await self._receiver(key, source)
        except (UserError, NotYet) as error:
            # What is wrong stands in the source's status; the leader puts it there.
            log.debug("source cannot be called", extra={"source": key, "code": error.code})
            self._receivers.set(key, None)
            return Result(_DOUBT)
        if receiver != self._receivers.of(key):
            self._receivers.set(key, receiver)
        return Result(_REFRESH) if receiver is not None else DONE

    def _is_callable(self, source: KubeObject) -> bool:
        metadata = source["metadata"]
        is_watched = not self._namespaces or metadata["namespace"] in self._namespaces
        return is_watched and not metadata.get("deletionTimestamp")

    async def _receiver(self, key: ObjectRef, source: KubeObject) -> Receiver | None:
        spec = read_spec(source, self._defaults)
        if spec.webhook is None:
            return None
        data = await read_secret(self._cluster, key.namespace, spec.webhook.secret)
        token = webhook_token(data, spec.webhook.secret)
        path = receiver_path(token, key.name, key.namespace)
        return Receiver(key, path, token, spec.webhook.forge, spec.url, spec.ref)

    # What happens then

    async def _pass_on(self, work: WorkItem[ObjectRef]) -> Result:
        wish = {"metadata": {"annotations": {REQUESTED_AT: datetime.now(UTC).isoformat()}}}
        try:
            await self._cluster.patch(work.key, MergePatch(wish))
        except (NotFound, NotServed):
            log.debug("a source that was called is gone", extra={"source": work.key})
        return DONE


def _queue() -> WorkQueue[ObjectRef]:
    return WorkQueue(lambda _: None)


def _concerns(source: KubeObject) -> tuple[object, ...]:
    """Return what decides who is called how; a new path says that the leader saw a new token."""
    metadata, status = source["metadata"], source.get("status") or {}
    return (
        metadata["uid"],
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        status.get("webhookPath"),
    )
