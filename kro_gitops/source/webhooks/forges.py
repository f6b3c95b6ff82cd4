"""
Which forge calls: the headers name it, but they are not signed.

So they decide only how a call must authenticate, and the order is fixed. Gitea, Forgejo and Gogs
send GitHub's headers as well, and come first.
"""

from collections.abc import Mapping

from kro_gitops.source.api.types import Forge
from kro_gitops.source.webhooks.headers import Headers, first
from kube_objects.errors import RefusedError

_MARKS: Mapping[Forge, tuple[str, ...]] = {
    Forge.GITEA: ("x-forgejo-event", "x-gitea-event", "x-gogs-event"),
    Forge.GITHUB: ("x-github-event",),
    Forge.GITLAB: ("x-gitlab-event",),
    Forge.BITBUCKET: ("x-hook-uuid",),
    Forge.BITBUCKET_SERVER: ("x-event-key",),
    Forge.AZURE: ("x-vss-activityid",),
    Forge.GENERIC: ("x-signature",),
}

# Azure names it in the body.
_EVENTS: Mapping[Forge, tuple[str, ...]] = {
    Forge.GITEA: _MARKS[Forge.GITEA],
    Forge.GITHUB: _MARKS[Forge.GITHUB],
    Forge.GITLAB: _MARKS[Forge.GITLAB],
    Forge.BITBUCKET: ("x-event-key",),
    Forge.BITBUCKET_SERVER: ("x-event-key",),
}

# Of GitLab's, the first is signed. Azure's is in the body.
_DELIVERIES: Mapping[Forge, tuple[str, ...]] = {
    Forge.GITEA: ("x-forgejo-delivery", "x-gitea-delivery", "x-gogs-delivery"),
    Forge.GITHUB: ("x-github-delivery",),
    Forge.GITLAB: ("webhook-id", "idempotency-key", "x-gitlab-event-uuid"),
    Forge.BITBUCKET: ("x-request-uuid",),
    Forge.BITBUCKET_SERVER: ("x-request-id",),
    Forge.GENERIC: ("x-delivery",),
}

_MAY_BE_UNMARKED = (Forge.AZURE, Forge.GENERIC)  # not every Azure server names itself


def recognise(headers: Headers, expected: Forge | None) -> Forge:
    """Return the forge that calls; raise if it is unknown, or not the expected one."""
    found = next((forge for forge, marks in _MARKS.items() if first(headers, marks)), None)
    if expected is not None and found is expected:
        return expected
    if found is None and expected in _MAY_BE_UNMARKED:
        return expected
    if expected is not None:
        who = found.value if found else "an unknown sender"
        raise RefusedError(
            "hook-wrong-forge",
            f"a webhook of {expected.value} is expected, and the headers are those of {who}",
            hint="correct `webhook.forge`, or leave it out",
        )
    if found is None:
        raise RefusedError(
            "hook-unauthenticated",
            "the headers are those of no forge we know, and there is no X-Signature",
            hint="sign the body with HMAC-SHA256, and send it as `X-Signature: sha256=<hex>`",
        )
    return found


def event_of(headers: Headers, forge: Forge) -> str:
    """Return the event that the headers name."""
    return first(headers, _EVENTS.get(forge, ()))


def delivery_of(headers: Headers, forge: Forge) -> str:
    """Return the forge's name for this very call."""
    return first(headers, _DELIVERIES.get(forge, ()))
