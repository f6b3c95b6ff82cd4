"""
Ask the remote of a source, and bring what is new.

The cheap question comes first: which commit is wanted now. Only if it is another is anything
fetched, and then only files that were not read before are read. Who was called, by a push or a
person, expects something new: then a branch is fetched without asking, and one visit is saved.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable, Iterator

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.controllers.fetching import Fetcher
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.registry import Fetched, Held
from kro_gitops.source.controllers.reporting import Reporter
from kro_gitops.source.fetch.model import Remote
from kro_gitops.source.limits import matches
from kro_gitops.source.receivers import receiver_path, webhook_token
from kro_gitops.source.revision import Chosen
from kro_gitops.source.snapshot import Item, Snapshot
from kro_gitops.source.spec import Allow, Pin, SourceSpec
from kro_gitops.source.stages import Stage, stage_of
from kro_gitops.tracking.inventory import Key

log = logging.getLogger(__name__)


class Poller:
    """Asks remotes."""

    def __init__(
        self,
        fetcher: Fetcher,
        reporter: Reporter,
        observer: SourceObserver,
    ) -> None:
        self._fetcher = fetcher
        self._reporter = reporter
        self._observer = observer
        self._asides: set[asyncio.Task[None]] = set()

    async def poll(self, held: Held, spec: SourceSpec, pin: Pin | None) -> KroGitopsError | None:
        """Have the commit that is wanted now; return what went wrong, if anything did."""
        began = time.perf_counter()
        held.wants_poll = False
        try:
            await self._name_path(held, spec)
            found = await self._bring(held, spec, pin)
        except KroGitopsError as error:
            held.wants_poll = True
            self._observer.polled(held.name, time.perf_counter() - began, "failed")
            return error
        outcome = "unchanged"
        if found is not None:
            outcome = "changed"
            self._take(held, spec, found)
        held.fetch_failures = 0
        self._observer.polled(held.name, time.perf_counter() - began, outcome)
        return None

    async def _bring(self, held: Held, spec: SourceSpec, pin: Pin | None) -> Fetched | None:
        """Return what is new, or nothing."""
        remote = await self._fetcher.remote(held.key.namespace, spec)
        held.mirror = remote.identity
        chosen = await self._wanted(held, spec, pin, remote)
        is_known = held.fetched is not None and held.fetched.chosen == chosen
        if is_known and not held.is_respecified:
            return None
        with self._observer.step(held.name, "fetch"):
            signatures = await self._fetcher.fetch(remote, chosen, spec, held.key.namespace)
        with self._observer.step(held.name, "read"):
            return await self._fetcher.read(remote, chosen, spec, held.library, signatures)

    async def _wanted(
        self, held: Held, spec: SourceSpec, pin: Pin | None, remote: Remote
    ) -> Chosen:
        """Find out which commit is wanted; who was told of a new one fetches it at once."""
        is_called, held.is_called = held.is_called, False
        if is_called and held.fetched is not None and not held.is_respecified and pin is None:
            with self._observer.step(held.name, "fetch"):
                chosen = await self._fetcher.follow(remote, spec, held.fetched.chosen)
            if chosen is not None:
                return chosen
        with self._observer.step(held.name, "ask"):
            return await self._fetcher.ask(remote, spec, pin.commit if pin else "")

    def _take(self, held: Held, spec: SourceSpec, found: Fetched) -> None:
        former, held.fetched = held.fetched, found
        # A commit that touches nothing of ours only moves the revision, unless its message may
        # lift a brake.
        is_braked = held.account is not None and bool(held.account.braked)
        is_new = former is None or former.files != found.files
        if is_new or held.is_respecified or is_braked:
            held.is_dirty = True
            # Claimed at once: whoever had an object until now must not delete it meanwhile.
            held.coming = claims(held.key.namespace, spec.allow, unclaimed(held, found.snapshot))
        held.is_respecified = False
        held.attempts = 0
        if former is None or former.chosen.ref != found.chosen.ref:
            return
        old, new = former.commit.id, found.commit
        if old != new.id and old not in new.parents:
            self._aside(self._tell_rewrite(held, spec, old, new.id))

    async def _name_path(self, held: Held, spec: SourceSpec) -> None:
        """Find out at which path a source is called by its forge; `doorbells` hears the calls."""
        if spec.webhook is None:
            held.webhook_path = ""
            return
        data = await self._fetcher.secret(held.key.namespace, spec.webhook.secret)
        token = webhook_token(data, spec.webhook.secret)
        held.webhook_path = receiver_path(token, held.key.name, held.key.namespace)

    async def _tell_rewrite(self, held: Held, spec: SourceSpec, old: str, new: str) -> None:
        """Tell of a branch that was forced: what it had may be gone from history."""
        try:
            remote = await self._fetcher.remote(held.key.namespace, spec)
            if await self._fetcher.was_rewritten(remote, old, new):
                text = f"{new[:12]} does not follow from {old[:12]}: the branch was forced"
                log.warning("history was rewritten", extra={"source": held.name, "detail": text})
                self._reporter.tell(held, "Warning", "HistoryRewritten", text)
        except KroGitopsError as error:
            facts = {"source": held.name, "error": error.message}
            log.debug("cannot tell whether history was rewritten", extra=facts)

    def _aside(self, work: Coroutine[None, None, None]) -> None:
        """Do something that nobody waits for."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)


def unclaimed(held: Held, snapshot: Snapshot) -> Iterator[Item]:
    """Return the objects of a revision that a source is not known to want already."""
    wanted, made = held.wanted or frozenset(), held.made
    for item in snapshot.items:
        known = made.get(item)
        if known is None or known.key not in wanted:
            yield item


def claims(own: str, allow: Allow, items: Iterable[Item]) -> frozenset[Key]:
    """Return what a revision may want where it may, whether its kinds are namespaced or not."""
    refs = [item.ref for item in items]
    open_places = {
        place
        for place in {ref.namespace or own for ref in refs}
        if place == own or matches(place, allow.namespaces)
    }
    found: set[Key] = set()
    for ref in refs:
        kind, place = ref.kind, ref.namespace or own
        if place in open_places:
            found.add((kind.group, kind.kind, place, ref.name))
        if allow.rgds if stage_of(kind) is Stage.DEFINITIONS else allow.cluster_scoped:
            found.add((kind.group, kind.kind, "", ref.name))
    return frozenset(found)
