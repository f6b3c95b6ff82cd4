"""
A forge's call, from bytes to what it means: the door of `kro_gitops.source.webhooks`.

The order matters. Who calls is told by headers; whether the call is genuine is decided on the raw
bytes; only then is anything of the body looked at. Whatever is wrong, the one error is
`RefusedError`, and its text quotes nothing that was sent.
"""

from collections.abc import Mapping

from kro_gitops.source.api.types import Forge
from kro_gitops.source.webhooks.forges import delivery_of, event_of, recognise
from kro_gitops.source.webhooks.headers import Headers, lowered, plain
from kro_gitops.source.webhooks.matching import concerns
from kro_gitops.source.webhooks.payloads import read_payload
from kro_gitops.source.webhooks.push import Heard
from kro_gitops.source.webhooks.repositories import normal_url, same_repository
from kro_gitops.source.webhooks.signatures import authenticate
from kube_objects.errors import RefusedError

__all__ = ["LARGEST_BODY", "Heard", "concerns", "hear", "normal_url", "same_repository"]

LARGEST_BODY = 1 << 20  # bytes


def hear(
    headers: Mapping[str, str], body: bytes, token: bytes, forge: Forge | None, now: float
) -> Heard:
    """
    Understand a call, or raise `RefusedError`.

    `forge` is who must be calling, `None` if the headers may say; `now` are seconds since 1970.
    """
    given = lowered(headers)
    if len(body) > LARGEST_BODY:
        raise RefusedError(
            "hook-too-large",
            f"a webhook may have {LARGEST_BODY:,} bytes at most",
            hint="let the forge send pushes only",
        )
    caller = recognise(given, forge)
    authenticate(given, body, token, caller, now)
    if caller is not Forge.GENERIC:  # of a generic call, the body is not read
        _require_json(given)
    event = event_of(given, caller)
    told = read_payload(caller, event, body)
    return Heard(
        forge=caller,
        event=plain(event or told.event),
        is_push=told.is_push,
        refs=told.refs,
        urls=told.urls,
        delivery=plain(delivery_of(given, caller) or told.delivery),
    )


def _require_json(headers: Headers) -> None:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_plain = headers.get("content-encoding", "identity").strip().lower() == "identity"
    if media_type != "application/json" or not is_plain:
        raise RefusedError(
            "hook-unsupported-encoding",
            "the body of a webhook must be JSON, neither a form nor compressed",
            hint="choose the content type application/json at the forge",
        )
