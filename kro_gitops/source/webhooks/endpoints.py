"""
Which source is called at which path.

The controller of sources writes here, and the server reads from a thread of its own. A path is
looked up by its digest, so that the time it takes reveals nothing about existing paths.
"""

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.matching import concerns
from kro_gitops.source.webhooks.push import WebhookCall
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
    with this token over something known would be a signature that anyone may read.
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
        """Set how a source is called; None: it cannot be called any more."""
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
        """Return the receiver at a path."""
        with self._lock:
            return self._by_path.get(_digest(path))

    def admit(self, receiver: Receiver, call: WebhookCall, now: float) -> Admission:
        """
        Decide the outcome of an authenticated call, and remember it if it polls its source.

        One that is rejected, or is about something else, may be sent again.
        """
        delivery = (receiver.path, call.forge.value, call.delivery)
        is_of_interest = concerns(call, receiver.url, receiver.ref)
        with self._lock:
            if call.delivery and self._deliveries.has(delivery, now):
                return Admission(Outcome.REPEATED)
            if not is_of_interest:
                return Admission(Outcome.IGNORED)
            pace = self._paces.setdefault(receiver.key, SourcePace(self._pace))
            admission = pace.admit(now)
            if call.delivery and admission.outcome is not Outcome.LIMITED:
                self._deliveries.add(delivery, now)
            return admission


def _digest(path: str) -> bytes:
    return hashlib.sha256(path.encode("utf-8", "replace")).digest()
