"""
Parses a webhook call: the entry point of `kro_gitops.source.webhooks`.

The order matters. The headers name the forge; the call is authenticated on the raw bytes; only
then is the body parsed. The only error is `RefusedError`, and its text quotes nothing that was
sent.
"""

from collections.abc import Mapping

from kro_gitops.source.api.types import Forge
from kro_gitops.source.webhooks.forges import delivery_of, event_of, recognise
from kro_gitops.source.webhooks.headers import lowered, plain
from kro_gitops.source.webhooks.matching import concerns
from kro_gitops.source.webhooks.payloads import read_payload
from kro_gitops.source.webhooks.push import WebhookCall
from kro_gitops.source.webhooks.repositories import normal_url, same_repository
from kro_gitops.source.webhooks.signatures import authenticate
from kube_objects.errors import RefusedError

__all__ = ["LARGEST_BODY", "WebhookCall", "concerns", "normal_url", "parse_call", "same_repository"]

LARGEST_BODY = 1 << 20  # bytes


def parse_call(
    headers: Mapping[str, str], body: bytes, token: bytes, forge: Forge | None, now: float
) -> WebhookCall:
    """
    Authenticate and parse a call, or raise `RefusedError`.

    `forge` is the expected one, `None` if the headers decide; `now` are seconds since 1970.
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
    media_type = given.get("content-type", "").partition(";")[0].strip().lower()
    is_plain = given.get("content-encoding", "identity").strip().lower() == "identity"
    is_json = media_type == "application/json" and is_plain
    if caller is not Forge.GENERIC and not is_json:  # the body of a generic call is not read
        raise RefusedError(
            "hook-unsupported-encoding",
            "the body of a webhook must be JSON, neither a form nor compressed",
            hint="choose the content type application/json at the forge",
        )
    event = event_of(given, caller)
    payload = read_payload(caller, event, body)
    return WebhookCall(
        forge=caller,
        event=plain(event or payload.event),
        is_push=payload.is_push,
        refs=payload.refs,
        urls=payload.urls,
        delivery=plain(delivery_of(given, caller) or payload.delivery),
    )
