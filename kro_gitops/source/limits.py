"""
What a source may touch: namespaces, kinds, scopes.

Whoever writes a `GitSource` says what its repository may do; whoever pushes to the repository is
held to it. Asked before every apply, and again for the children of instances. What is not opened
is closed:

| object | needs |
|---|---|
| in the source's own namespace | nothing |
| in another namespace | a glob in `allow.namespaces` |
| cluster-scoped, a Namespace too | `allow.clusterScoped` |
| a ResourceGraphDefinition | `allow.rgds`, and nothing else |
| of a generated kind | a glob in `allow.instancesOf`; if there is none, as any other kind |
| of any other kind | a glob in `allow.kinds`; if there is none, nothing, but see below |

Three groups are about rights, and globs must not open them by accident:

* `rbac.authorization.k8s.io` (any source) has to be named: in the glob that fits, the group is
  written out (`RoleBinding.rbac.authorization.k8s.io`, `*.rbac.authorization.k8s.io`). Naming it
  is bearable, because the API server lets nobody hand out rights that he has not got himself.
* `gitops.kro.run`: a source that can write sources can write one that has no limits. So it is
  never opened by a name, only for a source that is open in every respect.
* `internal.kro.run`: graph revisions decide what instances are made of; the same.

Open in every respect means `*` in namespaces and kinds, cluster scope and definitions: such a
source is the platform's own, and no limit would hold it anyway.

Children are made from the words of a definition. Their namespace and scope are limited as those
of everything else. Their kinds are the business of the definition's author, unless the source may
bring definitions itself: then they are its own words, and `allow.kinds` holds for them as well.

Globs know `*` (anything, also nothing, also dots) and `?` (one character), and match whole.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.metadata import GITOPS_GROUP, INTERNAL_GROUP
from kro_gitops.source.spec import Allow
from kube_objects.refs import Kind, ObjectRef

_NAMED_GROUPS = frozenset(("rbac.authorization.k8s.io",))
_CLOSED_GROUPS = frozenset((GITOPS_GROUP, INTERNAL_GROUP))
_ANY = "*"
_OPEN = 'allow: {namespaces: ["*"], kinds: ["*"], clusterScoped: true, rgds: true}'


def refusal(
    allow: Allow,
    own_namespace: str,
    ref: ObjectRef,
    *,
    namespaced: bool,
    is_definition: bool,
    is_instance: bool,
) -> str:
    """Say why a source may not touch an object, and what would allow it; empty if it may."""
    if is_definition:
        return _definition_refusal(allow, ref)
    return _place_refusal(allow, own_namespace, ref, namespaced) or _kind_refusal(
        allow, ref, is_instance
    )


def child_refusal(allow: Allow, own_namespace: str, ref: ObjectRef, namespaced: bool) -> str:
    """Say the same of a child of one of the source's instances."""
    if (ref.kind.group, ref.kind.kind) == (DEFINITION_KIND.group, DEFINITION_KIND.kind):
        return _definition_refusal(allow, ref)
    refused = _place_refusal(allow, own_namespace, ref, namespaced)
    if refused or not allow.rgds:
        return refused
    return _kind_refusal(allow, ref, is_instance=False)


def matches(text: str, globs: Sequence[str]) -> bool:
    """Say whether a text fits one of the globs."""
    # A bracket is a character here, not the beginning of a class.
    return any(fnmatchcase(text, glob.replace("[", "[[]")) for glob in globs)


def kind_text(kind: Kind) -> str:
    """Write a kind as globs see it: `Kind.group`, in the core group `Kind`."""
    return f"{kind.kind}.{kind.group}" if kind.group else kind.kind


def _definition_refusal(allow: Allow, ref: ObjectRef) -> str:
    if allow.rgds:
        return ""
    return f"{ref} may not be brought by this source; to allow it: allow.rgds: true"


def _place_refusal(allow: Allow, own_namespace: str, ref: ObjectRef, namespaced: bool) -> str:
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


def _kind_refusal(allow: Allow, ref: ObjectRef, is_instance: bool) -> str:
    if ref.kind.group in _CLOSED_GROUPS:
        return _closed_refusal(allow, ref)
    if ref.kind.group in _NAMED_GROUPS:
        return _named_refusal(allow, ref)
    text = kind_text(ref.kind)
    setting, globs = (
        ("instancesOf", allow.instances_of)
        if is_instance and allow.instances_of
        else ("kinds", allow.kinds)
    )
    if not globs or matches(text, globs):
        return ""
    line = _line(setting, globs, text)
    return f"{ref} is of a kind that this source may not touch; to allow it: {line}"


def _closed_refusal(allow: Allow, ref: ObjectRef) -> str:
    if _is_unlimited(allow):
        return ""
    return (
        f"{ref} decides what others may do ({ref.kind.group}), so a source with limits "
        f"may not touch it; to allow it: {_OPEN}"
    )


def _named_refusal(allow: Allow, ref: ObjectRef) -> str:
    text = kind_text(ref.kind)
    named = [glob for glob in allow.kinds if _names_group(glob, ref.kind.group)]
    if _is_unlimited(allow) or matches(text, named):
        return ""
    # An empty list stands for any kind: one that names this alone would close all others.
    line = _line("kinds", allow.kinds or (_ANY,), text)
    return f"{ref} is about rights, so its kind must be named; to allow it: {line}"


def _names_group(glob: str, group: str) -> bool:
    return glob.endswith(f".{group}")


def _is_unlimited(allow: Allow) -> bool:
    return _ANY in allow.namespaces and _ANY in allow.kinds and allow.cluster_scoped and allow.rgds


def _line(setting: str, now: Sequence[str], more: str) -> str:
    return f"allow.{setting}: [{', '.join(_quoted(each) for each in (*now, more))}]"


def _quoted(text: str) -> str:
    return f'"{text}"' if _ANY in text else text
