"""
What a source may touch: namespaces, kinds, scopes (`spec.allow`).

The author of a `GitSource` decides what its repository may do; authors of commits are held to it.
Checked before every apply, and for the children of instances. What is not allowed is forbidden:

| object | needs |
|---|---|
| in the source's own namespace | nothing |
| in another namespace | a glob in `allow.namespaces` |
| cluster-scoped, a Namespace too | `allow.clusterScoped` |
| a ResourceGraphDefinition | `allow.rgds`, and nothing else |
| of a generated kind | a glob in `allow.instancesOf`; if there is none, as any other kind |
| of any other kind | a glob in `allow.kinds`; if there is none, nothing, but see below |

Three groups grant permissions themselves, and globs must not allow them by accident:

* `rbac.authorization.k8s.io` (any source) has to be named: in the glob that matches, the group is
  written out (`RoleBinding.rbac.authorization.k8s.io`, `*.rbac.authorization.k8s.io`). Naming it is
  acceptable because the API server prevents privilege escalation in RBAC.
* `gitops.kro.run`: a source that can write sources can write one without limits. So it is never
  allowed by name, only for a source that is unlimited in every respect.
* `internal.kro.run`: graph revisions decide what instances consist of; the same.

Unlimited in every respect means `*` in namespaces and kinds, cluster scope and definitions: such a
source is the platform's own, and no limit would hold it anyway.

Children come from the templates of a definition. Their namespace and scope are limited as those of
every other object. Their kinds are the decision of the definition's author, unless the source may
bring definitions itself: then it is the author, and `allow.kinds` holds for them as well.

Globs know `*` (any characters, also none, also dots) and `?` (one character), and match the whole
text.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.metadata import GITOPS_GROUP, INTERNAL_GROUP
from kro_gitops.source.api.types import Allow
from kube_objects.refs import Kind, ObjectRef

_NAMED_GROUPS = frozenset(("rbac.authorization.k8s.io",))
_CLOSED_GROUPS = frozenset((GITOPS_GROUP, INTERNAL_GROUP))
_ANY = "*"
_OPEN = 'allow: {namespaces: ["*"], kinds: ["*"], clusterScoped: true, rgds: true}'


def rejection(
    allow: Allow,
    own_namespace: str,
    ref: ObjectRef,
    *,
    namespaced: bool,
    is_definition: bool,
    is_instance: bool,
) -> str:
    """Return why a source may not touch an object and what would allow it; empty if it may."""
    if is_definition:
        return _definition_rejection(allow, ref)
    return _place_rejection(allow, own_namespace, ref, namespaced) or _kind_rejection(
        allow, ref, is_instance
    )


def child_rejection(allow: Allow, own_namespace: str, ref: ObjectRef, namespaced: bool) -> str:
    """Return the same for a child of one of the source's instances."""
    if (ref.kind.group, ref.kind.kind) == (DEFINITION_KIND.group, DEFINITION_KIND.kind):
        return _definition_rejection(allow, ref)
    rejected = _place_rejection(allow, own_namespace, ref, namespaced)
    if rejected or not allow.rgds:
        return rejected
    return _kind_rejection(allow, ref, is_instance=False)


def matches(text: str, globs: Sequence[str]) -> bool:
    """Return True if a text matches one of the globs."""
    # A bracket is an ordinary character here.
    return any(fnmatchcase(text, glob.replace("[", "[[]")) for glob in globs)


def kind_text(kind: Kind) -> str:
    """Format a kind as globs see it: `Kind.group`, in the core group `Kind`."""
    return f"{kind.kind}.{kind.group}" if kind.group else kind.kind


def _definition_rejection(allow: Allow, ref: ObjectRef) -> str:
    if allow.rgds:
        return ""
    return f"{ref} may not be brought by this source; to allow it: allow.rgds: true"


def _place_rejection(allow: Allow, own_namespace: str, ref: ObjectRef, namespaced: bool) -> str:
    if not namespaced:
        if allow.cluster_scoped:
            return ""
        return (
            f"{ref} is cluster-scoped, and this source may touch its own namespace only; "
            "to allow it: allow.clusterScoped: true"
        )
    if ref.namespace in ("", own_namespace) or matches(ref.namespace, allow.namespaces):
        return ""
    line = _line("namespaces", allow.namespaces, ref.namespace)
    return (
        f"{ref} is in namespace {ref.namespace}, outside of what this source may touch; "
        f"to allow it: {line}"
    )


def _kind_rejection(allow: Allow, ref: ObjectRef, is_instance: bool) -> str:
    text = kind_text(ref.kind)
    if ref.kind.group in _CLOSED_GROUPS:
        if _is_unlimited(allow):
            return ""
        return (
            f"{ref} decides what others may do ({ref.kind.group}), so a source with limits "
            f"may not touch it; to allow it: {_OPEN}"
        )
    if ref.kind.group in _NAMED_GROUPS:
        named = [glob for glob in allow.kinds if glob.endswith(f".{ref.kind.group}")]
        if _is_unlimited(allow) or matches(text, named):
            return ""
        # An empty list allows any kind: one that names this kind alone would forbid all others.
        line = _line("kinds", allow.kinds or (_ANY,), text)
        return f"{ref} is about rights, so its kind must be named; to allow it: {line}"
    setting, globs = (
        ("instancesOf", allow.instances_of)
        if is_instance and allow.instances_of
        else ("kinds", allow.kinds)
    )
    if not globs or matches(text, globs):
        return ""
    line = _line(setting, globs, text)
    return f"{ref} is of a kind that this source may not touch; to allow it: {line}"


def _is_unlimited(allow: Allow) -> bool:
    return _ANY in allow.namespaces and _ANY in allow.kinds and allow.cluster_scoped and allow.rgds


def _line(setting: str, globs: Sequence[str], more: str) -> str:
    """Format the setting with one more glob; those with a star need quotes in YAML."""
    quoted = (f'"{glob}"' if _ANY in glob else glob for glob in (*globs, more))
    return f"allow.{setting}: [{', '.join(quoted)}]"
