"""
Does a call matter to a source?

When in doubt it does: then the remote is asked once too often, and says that nothing is new.
"""

from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.push import Heard
from kro_gitops.source.webhooks.repositories import same_repository

_BRANCHES = "refs/heads/"
_TAGS = "refs/tags/"


def concerns(heard: Heard, url: str, ref: WantedRef) -> bool:
    """Say whether what a call tells may change what a source wants."""
    if heard.forge is Forge.GENERIC:
        return True
    if heard.urls and not any(same_repository(url, each) for each in heard.urls):
        return False
    if not heard.is_push:  # a pull request has refs of its own, and is no push
        return ref.name in heard.refs
    return not heard.refs or any(_is_wanted(each, ref) for each in heard.refs)


def _is_wanted(pushed: str, ref: WantedRef) -> bool:
    """Compare a pushed ref with the wanted one, whose later fields win."""
    if ref.commit:
        return not ref.branch or pushed == _BRANCHES + ref.branch
    if ref.name and ref.name != "HEAD":
        return pushed == ref.name
    if ref.name:
        return pushed.startswith(_BRANCHES)
    if ref.semver:
        return pushed.startswith(_TAGS)
    if ref.tag:
        return pushed == _TAGS + ref.tag
    return pushed == _BRANCHES + ref.branch if ref.branch else pushed.startswith(_BRANCHES)
