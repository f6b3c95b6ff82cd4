"""
What a condition of a source means, and what to do: a table.

The guide about operating sources has a row for each.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kro_gitops.inspect.views.sources import is_true
from kube_objects.refs import KubeObject

# The first that applies is used: causes come before their effects.
ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "Suspended": "it is suspended: `kro-gitops resume` resumes it",
        "DependencyNotReady": "look at the source that it depends on: `kro-gitops get sources -A`",
        "FetchFailed": "check spec.url, spec.ref and the Secret; what was applied before stays",
        "Stale": "the git server is slow, or many sources of this namespace wait for theirs",
        "ForeignOwner": "let the other owner give the object up, or take it out of the repository",
        "Conflict": "let the other manager give the field up, or list it in spec.drift.ignore",
        "PruneBlocked": "if the deletions are meant, raise spec.maxPrune; if not, revert in git",
        "Stalled": "it fails the same way each time: correct what is listed, in git or in the spec",
        "Pinned": "a pin holds it back: `kro-gitops rollback SOURCE --undo` removes it",
    }
)
_BY_FILE = "correct the files in git: the next commit is applied by itself"


def advice(source: KubeObject, *, has_failures: bool) -> str:
    """Return what to do about a source that is not ready; empty if there is no advice."""
    urgent = (
        text for type_, text in ADVICE.items() if type_ != "Pinned" and is_true(source, type_)
    )
    return next(urgent, _BY_FILE if has_failures else "")
