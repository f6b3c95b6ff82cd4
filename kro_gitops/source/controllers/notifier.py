"""
Notifications about sources, sent to chat systems and webhooks.

Reporting a status never waits for them: notifications are queued by Secret, and one task per queue
sends them. A notification that fails is retried a few times, then an Event reports that it did not
arrive. Equal ones in a row are sent once, and the rate per address is limited. Sending blocks, so
it runs in threads, which namespaces share fairly.
"""

import asyncio
import hashlib
import logging
import random
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kro_gitops.control.backoff import Backoff
from kro_gitops.control.slots import FairThreads
from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.kube.ratelimit import TokenBucket
from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.types import NotificationEvent, NotificationType
from kro_gitops.source.controllers.state import SourceState
from kro_gitops.source.git.types import FetchRules
from kro_gitops.source.notify.events import Chronicle, Letter, News, compose, concerns
from kro_gitops.source.notify.http import BusyError, Target, parse_target, post
from kro_gitops.source.notify.messages import body_of, signature
from kube_objects.refs import KubeObject

log = logging.getLogger(__name__)

FAILED = "NotificationFailed"  # the reason of the Event
_THREADS = 8
_MOST_PACES = 1000
_MOST_LAST = 10_000

SecretReader = Callable[[str, str], Awaitable[Mapping[str, bytes]]]
FailureRecorder = Callable[[KubeObject, str, str], None]  # source, reason, text


@dataclass(frozen=True, slots=True)
class Manners:
    """How often, how fast and how long; times in seconds."""

    attempts: int = 3
    backoff: Backoff = field(default_factory=lambda: Backoff(first=1.0, cap=30.0))
    timeout: float = 10.0  # of one attempt
    per_second: float = 0.5  # notifications to one address
    burst: int = 20
    most_waiting: int = 100  # notifications of one Secret
    remembered: float = 300.0  # for which a notification is not followed by an equal one


@dataclass(frozen=True, slots=True)
class _Posting:
    """A notification in the queue."""

    letter: Letter
    type: NotificationType
    secret: str
    source: KubeObject = field(repr=False, hash=False, compare=False)

    @property
    def conversation(self) -> tuple[str, ...]:
        """Return the source and the receiver: equal notifications in a row are sent once."""
        return (self.letter.source, self.secret, self.type)


class Notifier:
    """Sends notifications; nothing here blocks or raises for the caller."""

    def __init__(
        self,
        secret: SecretReader,
        rules: FetchRules,
        record_failure: FailureRecorder,
        manners: Manners | None = None,
    ) -> None:
        self._secret = secret
        self._rules = rules
        self._record_failure = record_failure
        self._manners = manners or Manners()
        # By source: its uid, and what was reported before.
        self._chronicles: dict[str, tuple[str, Chronicle]] = {}
        self._queues: dict[tuple[str, str], deque[_Posting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._paces: OrderedDict[str, TokenBucket] = OrderedDict()
        self._last: OrderedDict[tuple[str, ...], tuple[float, tuple[str, ...]]] = OrderedDict()
        self._threads = FairThreads(_THREADS, "notify")

    def reported(
        self, state: SourceState, former: Mapping[str, Any], written: Mapping[str, Any]
    ) -> None:
        """Send what is new in a status that was written."""
        uid = state.source["metadata"].get("uid", "")
        known_uid, chronicle = self._chronicles.get(state.name, ("", None))
        if chronicle is None or known_uid != uid:
            chronicle = Chronicle(former)
            self._chronicles[state.name] = (uid, chronicle)
        for news in chronicle.news(written):
            self._send(state, news, written)

    def happened(self, state: SourceState, event: NotificationEvent, text: str) -> None:
        """Send an event that is not part of a status."""
        self._send(state, News(event, text), state.source.get("status") or {})

    def forget(self, name: str) -> None:
        """Drop what is remembered of a source that is gone."""
        self._chronicles.pop(name, None)

    def close(self) -> None:
        """Cancel what is running."""
        for task in self._tasks:
            task.cancel()
        self._threads.close()

    # Queues

    def _send(self, state: SourceState, news: News, written: Mapping[str, Any]) -> None:
        requested = state.spec.notifications if state.spec is not None else ()
        for each in requested:
            if not concerns(each, news.event):
                continue
            letter = compose(news, state.source, written, datetime.now(UTC))
            posting = _Posting(letter, each.type, each.secret, state.source)
            if self._is_repetition(posting):
                continue
            key = (state.key.namespace, each.secret)
            queue = self._queues.get(key)
            if queue is None:
                self._queues[key] = deque([posting])
                task = asyncio.create_task(self._deliver_all(key))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            elif len(queue) >= self._manners.most_waiting:
                self._give_up(posting, f"more than {len(queue)} others are waiting")
            else:
                queue.append(posting)

    def _is_repetition(self, posting: _Posting) -> bool:
        """Return True if the last notification to this receiver was the same, a short time ago."""
        now, likeness = asyncio.get_running_loop().time(), posting.letter.likeness
        sent, last = self._last.get(posting.conversation, (0.0, ()))
        if last == likeness and now - sent < self._manners.remembered:
            return True
        self._last[posting.conversation] = (now, likeness)
        self._last.move_to_end(posting.conversation)
        while len(self._last) > _MOST_LAST:
            self._last.popitem(last=False)
        return False

    # Delivery

    async def _deliver_all(self, key: tuple[str, str]) -> None:
        """Send what is in a queue, at the rate that its address allows."""
        queue = self._queues[key]
        try:
            while queue:
                posting = queue.popleft()
                known: list[str | bytes] = []
                try:
                    data = await self._secret(key[0], posting.secret)
                    known = [data.get("token", b""), data.get("address", b"")]
                    target = parse_target(data, self._rules)
                    # The rate limit is the address's, whichever Secrets name it.
                    name = hashlib.sha256(target.place.encode()).hexdigest()
                    pace = self._paces.get(name)
                    if pace is None:
                        pace = TokenBucket(self._manners.per_second, self._manners.burst)
                        self._paces[name] = pace
                    self._paces.move_to_end(name)
                    while len(self._paces) > _MOST_PACES:
                        self._paces.popitem(last=False)
                    await asyncio.sleep(pace.reserve(asyncio.get_running_loop().time()))
                    await self._post(key[0], target, posting)
                except KroGitopsError as error:
                    self._give_up(posting, redact(error.full_text, known))
                except Exception:  # whatever it is, the next notification is another matter
                    facts = {"source": posting.letter.source}
                    log.exception("a notification failed", extra=facts)
        finally:
            del self._queues[key]

    async def _post(self, namespace: str, target: Target, posting: _Posting) -> None:
        """Post until it is accepted, a few times."""
        manners, rules = self._manners, self._rules
        body = body_of(posting.letter, posting.type)
        headers = {"Content-Type": "application/json", "X-Delivery": posting.letter.id}
        if target.token and posting.type is NotificationType.GENERIC:
            headers["X-Signature"] = signature(body, target.token)
        for attempt in range(1, manners.attempts + 1):
            try:
                await self._threads.run(
                    namespace, lambda: post(target, body, headers, rules, manners.timeout)
                )
                return
            except Unavailable as error:
                if attempt == manners.attempts:
                    raise
                pause = error.pause if isinstance(error, BusyError) else 0.0
            delay = manners.backoff.delay(attempt, random.random())
            await asyncio.sleep(max(pause, delay))

    def _give_up(self, posting: _Posting, why: str) -> None:
        """Log and record that a notification was not sent; the target's URL is not shown."""
        letter = posting.letter
        facts = {"source": letter.source, "event": letter.event.value, "secret": posting.secret}
        log.warning("a notification did not arrive", extra={**facts, "error": why})
        text = f"{letter.event.value} was not sent to {posting.type} of Secret {posting.secret}"
        self._record_failure(posting.source, FAILED, f"{text}: {why}")
