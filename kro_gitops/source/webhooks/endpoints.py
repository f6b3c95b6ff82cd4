"""
Which source hears what is called at which path.

The controller of sources writes here, and the server that listens reads, from a thread of its
own. A path is found by its digest, so that the time it takes tells nothing of the paths there are.
"""

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.matching import concerns
from kro_gitops.source.webhooks.push import Heard
from kro_gitops.source.webhooks.ratelimit import Admission, Deliveries, Outcome, Pace, SourcePace
from kube_objects.refs import ObjectRef

PREFIX = "/hook/"
PACE = Pace()


@dataclass(frozen=True, slots=True)
class Receiver:
    """A source that can be called."""

    key: ObjectRef
    path: str = field(repr=False)
    token: bytes = field(repr=False)
    forge: Forge | None
    url: str
    ref: WantedRef


def receiver_path(token: bytes, name: str, namespace: str) -> str:
    """
    Return the path of a source: it cannot be guessed without the token.

    Zero bytes keep apart `a` in `bc` and `ab` in `c`. It is a digest and no HMAC, since an HMAC
    with this token over something known would be a signature that everybody may read.
    """
    parts = (token, name.encode(), namespace.encode())
    return PREFIX + hashlib.sha256(b"\0".join(parts)).hexdigest()


def webhook_token(data: Mapping[str, bytes], secret: str) -> bytes:
    """Return the token in the data of a webhook's Secret."""
    token = data.get("token", b"").strip()
    if not token:
        raise UserError("bad-secret", f"Secret {secret} has no 'token' for the webhook")
    return token


class Receivers:
    """All sources that can be called, from any thread."""

    def __init__(self, pace: Pace = PACE) -> None:
        self._lock = threading.Lock()
        self._pace = pace
        self._by_path: dict[bytes, Receiver] = {}
        self._paths: dict[ObjectRef, bytes] = {}
        self._paces: dict[ObjectRef, SourcePace] = {}
        self._deliveries = Deliveries()

    def set(self, key: ObjectRef, receiver: Receiver | None) -> None:
        """Let a source be called, in this way only, or not any more."""
        with self._lock:
            former = self._paths.pop(key, None)
            if former is not None:
                del self._by_path[former]
            if receiver is None:
                self._paces.pop(key, None)
                return
            self._paths[key] = digest = _digest(receiver.path)
            self._by_path[digest] = receiver

    def of(self, key: ObjectRef) -> Receiver | None:
        """Return how a source is called."""
        with self._lock:
            return self._by_path.get(self._paths.get(key, b""))

    def find(self, path: str) -> Receiver | None:
        """Return who is called at a path."""
        with self._lock:
            return self._by_path.get(_digest(path))

    def admit(self, receiver: Receiver, heard: Heard, now: float) -> Admission:
        """
        Decide what becomes of a genuine call, and remember it if it wakes its source.

        One that is turned away, or is about something else, may be sent again.
        """
        delivery = (receiver.path, heard.forge.value, heard.delivery)
        is_of_interest = concerns(heard, receiver.url, receiver.ref)
        with self._lock:
            if heard.delivery and self._deliveries.has(delivery, now):
                return Admission(Outcome.REPEATED)
            if not is_of_interest:
                return Admission(Outcome.IGNORED)
            pace = self._paces.setdefault(receiver.key, SourcePace(self._pace))
            admission = pace.admit(now)
            if heard.delivery and admission.outcome is not Outcome.LIMITED:
                self._deliveries.add(delivery, now)
            return admission


def _digest(path: str) -> bytes:
    return hashlib.sha256(path.encode("utf-8", "replace")).digest()
