"""
Whether a webhook call matters to a source.

When in doubt it does: then the remote is polled once too often, and has nothing new.
"""

from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.push import WebhookCall
from kro_gitops.source.webhooks.repositories import same_repository

_BRANCHES = "refs/heads/"
_TAGS = "refs/tags/"


def concerns(call: WebhookCall, url: str, ref: WantedRef) -> bool:
    """Return whether a call may change the desired revision of a source."""
    if call.forge is Forge.GENERIC:
        return True
    if call.urls and not any(same_repository(url, each) for each in call.urls):
        return False
    if not call.is_push:  # a pull request has refs of its own, and is no push
        return ref.name in call.refs
    if not call.refs or (ref.commit and not ref.branch):
        return True
    # The refs that may change the revision: one, or all below a folder. Later fields of a ref win.
    if ref.commit:
        exact, folder = _BRANCHES + ref.branch, ""
    elif ref.name and ref.name != "HEAD":
        exact, folder = ref.name, ""
    elif ref.name:
        exact, folder = "", _BRANCHES
    elif ref.semver:
        exact, folder = "", _TAGS
    elif ref.tag:
        exact, folder = _TAGS + ref.tag, ""
    else:
        exact, folder = (_BRANCHES + ref.branch, "") if ref.branch else ("", _BRANCHES)
    return any(pushed.startswith(folder) if folder else pushed == exact for pushed in call.refs)
