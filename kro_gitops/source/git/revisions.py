"""
Chooses the desired revision among those of the remote.

Branch, tag, version range, ref or commit, in Flux's order: the more exact wins. `patterns` returns
what to ask the remote for, `choose` picks from its answer. When a ref is missing, ask again with
`wider_patterns`: the error then names similar refs.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches

import re2

from kro_gitops.errors import UserError
from kro_gitops.source.api.semver import highest, parse_range
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.api.url_policy import check_commit, check_ref
from kube_objects.errors import RefusedError

_HEADS = "refs/heads/"
_TAGS = "refs/tags/"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RemoteRefs:
    """
    The refs of a remote.

    `head` is the branch that HEAD points at. `refs` maps full names to object ids, `peeled`
    the refs of annotated tags to the commits they stand for.
    """

    head: str = ""
    refs: Mapping[str, str] = field(default_factory=dict)
    peeled: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The desired revision: its full ref (empty for a bare commit) and commit."""

    ref: str
    commit: str
    tag_object: str = ""  # of an annotated tag
    name: str = ""  # as people call it: main, v1.2.3, refs/pull/7/head

    def revision(self) -> str:
        """Write it as Flux does: `main@sha1:…`."""
        kind = "sha1" if len(self.commit) == 40 else "sha256"
        at = f"{self.name}@" if self.name else ""
        return f"{at}{kind}:{self.commit}"


def patterns(wanted: WantedRef) -> tuple[str, ...]:
    """
    Return the full refs to ask a remote for; none, if only a commit is desired.

    To learn what an annotated tag stands for, git must be asked for `REF^{}` beside each.
    """
    if wanted.commit:
        return (_HEADS + wanted.branch,) if wanted.branch else ()
    if wanted.name:
        return (wanted.name,)
    if wanted.semver:
        return (f"{_TAGS}*",)
    if wanted.tag:
        return (_TAGS + wanted.tag,)
    return (_HEADS + wanted.branch,) if wanted.branch else ("HEAD",)


def wider_patterns() -> tuple[str, ...]:
    """Return what to ask a remote for when the desired ref does not exist."""
    return ("HEAD", f"{_HEADS}*", f"{_TAGS}*")


def refs_to_follow(wanted: WantedRef, former: Chosen) -> tuple[str, ...]:
    """
    Return the refs whose tips are the new revision; none, if it must be chosen among several.

    They must all name one commit. HEAD alone does not name its branch: renaming the default branch
    moves HEAD away from the former one.
    """
    if wanted.commit or wanted.name or wanted.semver or wanted.tag or former.tag_object:
        return ()
    if not former.ref.startswith(_HEADS):
        return ()
    if not wanted.branch:
        return ("HEAD", former.ref)
    return (former.ref,) if former.ref == _HEADS + wanted.branch else ()


def choose(refs: RemoteRefs, wanted: WantedRef, pin: str = "") -> Chosen:
    """Return the desired revision, or raise `UserError`; a pinned commit comes first."""
    if pin:
        return Chosen("", check_commit(pin))
    if wanted.commit:
        commit = check_commit(wanted.commit)
        if not wanted.branch:
            return Chosen("", commit)
        branch = _ref(refs, _HEADS + check_ref(wanted.branch), wanted.branch)
        return Chosen(branch.ref, commit, name=branch.name)
    if wanted.name:
        name = check_ref(wanted.name)
        if name != "HEAD" and not name.startswith("refs/"):
            raise RefusedError(
                "bad-ref",
                f"'ref.name' is '{name}', which is no full ref",
                hint=f"write refs/heads/{name} or refs/tags/{name}, or use 'ref.branch' or"
                " 'ref.tag'",
            )
        return _ref(refs, name, name)
    if wanted.semver:
        return _version(refs, wanted)
    if wanted.tag:
        return _ref(refs, _TAGS + check_ref(wanted.tag), wanted.tag)
    if wanted.branch:
        return _ref(refs, _HEADS + check_ref(wanted.branch), wanted.branch)
    return _head(refs)


def _ref(refs: RemoteRefs, ref: str, name: str) -> Chosen:
    """Return where a ref points, or raise an error that names similar refs."""
    found, commit = refs.refs.get(ref), refs.peeled.get(ref)
    if found is not None and commit is None:
        return Chosen(ref, check_commit(found), name=name)
    if found is not None and commit is not None:
        return Chosen(ref, check_commit(commit), check_commit(found), name)
    prefix = next((each for each in (_HEADS, _TAGS) if ref.startswith(each)), "")
    kind = {_HEADS: "branch", _TAGS: "tag"}.get(prefix, "ref")
    short = ref.removeprefix(prefix)
    near = get_close_matches(short, _names(refs, prefix), n=3, cutoff=0.6)
    other = {_HEADS: _TAGS, _TAGS: _HEADS}.get(prefix, "")
    if near:
        hint = f"did you mean {_listed(near)}?"
    elif other and other + short in refs.refs:
        hint = f"there is a {'tag' if other == _TAGS else 'branch'} of that name"
    else:
        hint = _existing(refs, prefix)
    raise UserError("ref-not-found", f"the repository has no {kind} '{short}'", hint=hint)


def _head(refs: RemoteRefs) -> Chosen:
    commit = refs.refs.get("HEAD") or refs.refs.get(refs.head)
    if commit is None:
        raise UserError(
            "empty-repository",
            "the repository's HEAD points at no commit: it is empty, or its default branch is gone",
            hint=_existing(refs, _HEADS) or "push a commit, or name a branch in 'ref.branch'",
        )
    if not refs.head:
        return Chosen("HEAD", check_commit(commit), name="HEAD")
    # The remote chose this name, not the author.
    head = check_ref(refs.head)
    return Chosen(head, check_commit(commit), name=head.removeprefix(_HEADS))


def _version(refs: RemoteRefs, wanted: WantedRef) -> Chosen:
    options = re2.Options()
    options.log_errors = False
    try:
        accepts = re2.compile(wanted.semver_filter, options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise UserError(
            "bad-semver-filter",
            f"'ref.semverFilter' is no regular expression: {text}",
            hint="write it in RE2's dialect, ^v[0-9.]+$ say",
        ) from None
    tags = [tag for tag in _names(refs, _TAGS) if accepts.search(tag)]
    found = highest(tags, parse_range(wanted.semver))
    if found is not None:
        return _ref(refs, _TAGS + found, found)
    filtered = f" and filter '{wanted.semver_filter}'" if wanted.semver_filter else ""
    raise UserError(
        "no-matching-version",
        f"no tag matches the version range '{wanted.semver}'{filtered}",
        hint=_existing(refs, _TAGS) or "the repository has no tags",
    )


def _existing(refs: RemoteRefs, prefix: str) -> str:
    """Return the hint that lists refs that exist, at most a few of them."""
    names = sorted(_names(refs, prefix))
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there are {_listed(names[:_SHOWN])}{more}"


def _names(refs: RemoteRefs, prefix: str) -> list[str]:
    """List the remote's names below a prefix, as far as they may be used."""
    found = []
    for ref in refs.refs:
        if ref.startswith(prefix) and ref != "HEAD":
            with suppress(RefusedError):
                found.append(check_ref(ref).removeprefix(prefix))
    return found


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
