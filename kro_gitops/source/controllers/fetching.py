"""
From a source's spec to a snapshot: secrets, the remote's refs, a fetch, signatures, files.

Git is slow and blocks, so it works in threads; nothing here keeps the event loop waiting. Every
error of git has been made harmless (no secret, no userinfo) before it arrives here.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.source.chosen_files import ignore_paths
from kro_gitops.source.controllers.registry import Fetched
from kro_gitops.source.controllers.secrets import read_secret
from kro_gitops.source.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.fetch.complaints import too_large
from kro_gitops.source.fetch.github_app import AppTokens
from kro_gitops.source.fetch.mirror import Mirror, Mirrors
from kro_gitops.source.fetch.model import Entry, FetchRules, Listing, Remote
from kro_gitops.source.fetch.verify import Signature, parse_keys, verify
from kro_gitops.source.manifests import fitting
from kro_gitops.source.revision import (
    Chosen,
    RemoteRefs,
    choose,
    patterns,
    refs_to_follow,
    wider_patterns,
)
from kro_gitops.source.snapshot import Library
from kro_gitops.source.spec import SourceSpec
from kube_objects.errors import RefusedError
from kube_objects.problems import Finding, Origin, Problem, Severity
from kube_objects.times import format_time

_THREADS = 8
_NO_REFS = RemoteRefs()

T = TypeVar("T")


class UnverifiedError(UserError):
    """A commit or tag that nobody signed whose signature counts."""

    def __init__(self, error: KroGitopsError) -> None:
        super().__init__(error.code, error.message, hint=error.hint)


class Fetcher:
    """Brings revisions of repositories."""

    def __init__(self, reader: Reader, mirrors: Mirrors, rules: FetchRules) -> None:
        self._reader = reader
        self._mirrors = mirrors
        self._tokens = AppTokens(rules)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="git")

    async def remote(self, namespace: str, spec: SourceSpec) -> Remote:
        """Return how to reach a source's repository; its secrets are read anew each time."""
        credentials = ANONYMOUS
        if spec.secret:
            data = await self.secret(namespace, spec.secret)
            credentials = parse_credentials(data, spec.url, spec.provider)
        proxy = None
        if spec.proxy_secret:
            proxy = parse_proxy(await self.secret(namespace, spec.proxy_secret))
        return Remote(spec.url, credentials, proxy, spec.timeout, spec.filters_blobs)

    async def secret(self, namespace: str, name: str) -> dict[str, bytes]:
        """Read a Secret of a source's own namespace."""
        return await read_secret(self._reader, namespace, name)

    async def ask(self, remote: Remote, spec: SourceSpec, pin: str) -> Chosen:
        """Ask the remote which commit is wanted now; nothing is fetched."""
        wanted = () if pin else patterns(spec.ref)
        if not wanted:
            return choose(_NO_REFS, spec.ref, pin)
        refs = await self._visit(remote, lambda mirror: mirror.ask(wanted))
        try:
            return choose(refs, spec.ref)
        except UserError:
            # Asked again, more widely: the error then names what is near.
            wider = await self._visit(remote, lambda mirror: mirror.ask(wider_patterns()))
            return choose(wider, spec.ref)

    async def follow(self, remote: Remote, spec: SourceSpec, former: Chosen) -> Chosen | None:
        """Fetch from where a branch stands now, without asking first; `None`: it must be asked."""
        refs = refs_to_follow(spec.ref, former)
        if not refs:
            return None
        return await self._visit(remote, lambda mirror: mirror.follow(former, refs))

    async def fetch(
        self, remote: Remote, chosen: Chosen, spec: SourceSpec, namespace: str
    ) -> tuple[Signature, ...]:
        """Fetch a commit, and check who signed it."""
        await self._visit(remote, lambda mirror: mirror.fetch(chosen))
        mirror = self._mirrors.of(await self._logged_in(remote))
        return await self._verified(mirror, chosen, spec, namespace)

    async def read(
        self,
        remote: Remote,
        chosen: Chosen,
        spec: SourceSpec,
        library: Library,
        signatures: tuple[Signature, ...],
    ) -> Fetched:
        """Read what a commit that was fetched wants."""
        return await self._visit(
            remote, lambda mirror: _read(mirror, chosen, spec, library, signatures)
        )

    async def was_rewritten(self, remote: Remote, old: str, new: str) -> bool:
        """Say whether a branch was forced to a commit that does not follow from the old one."""
        found = await self._visit(remote, lambda mirror: mirror.is_ancestor(old, new))
        return found is False

    async def forget(self, keep: set[str]) -> None:
        """Drop mirrors that nobody uses."""
        await self._run(lambda: self._mirrors.forget(keep))

    def close(self) -> None:
        """Give up what is under way."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _logged_in(self, remote: Remote) -> Remote:
        """Turn an app's key into a token, where that is the login."""
        app = remote.credentials.app
        if app is None:
            return remote
        login = await self._run(lambda: self._tokens.login(remote.credentials, remote.proxy))
        # The app stays: it, not the token of this hour, is whose mirror this is.
        return replace(remote, credentials=replace(login, app=app))

    async def _verified(
        self, mirror: Mirror, chosen: Chosen, spec: SourceSpec, namespace: str
    ) -> tuple[Signature, ...]:
        wanted = spec.verify
        if wanted is None:
            return ()
        keys = parse_keys(await self.secret(namespace, wanted.secret))
        try:
            return await self._run(
                lambda: verify(mirror.path, chosen, wanted.mode, keys, timeout=spec.timeout)
            )
        except UserError as error:
            raise UnverifiedError(error) from error

    async def _visit(self, remote: Remote, work: Callable[[Mirror], T]) -> T:
        """Do something with a remote's mirror, logged in."""
        mirror = self._mirrors.of(await self._logged_in(remote))
        try:
            return await self._run(lambda: work(mirror))
        except KroGitopsError as error:
            if error.code == "git-auth-failed":  # a token may have been taken back
                self._tokens.forget(remote.credentials)
            raise

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _read(
    mirror: Mirror,
    chosen: Chosen,
    spec: SourceSpec,
    library: Library,
    signatures: tuple[Signature, ...],
) -> Fetched:
    commit = mirror.commit(chosen.commit)
    listing = mirror.listing(chosen.commit)
    ignoring = ignore_paths(listing.entries, spec.paths)
    _refuse_many_rules(ignoring, mirror.rules.file_bytes)
    rules = mirror.read({each.id for each in ignoring})
    files = library.chooser.choose(
        listing.entries,
        spec.paths,
        spec.ignore,
        {each.path: rules[each.id] for each in ignoring if each.id in rules},
    )
    most = mirror.rules.file_bytes
    small = [each for each in files.entries if each.size <= most]
    # Before anything is read: small packs can hold more than fits into any memory.
    fit, excess = fitting(_sizes(small, {}), library.limits)
    unread = library.unread(small[:fit])
    contents = _contents(mirror, unread)
    readable = [each for each in small[:fit] if each.id not in unread or each.id in contents]
    large: list[Entry] = []
    if len(readable) < len(files.entries):
        kept = set(map(id, (*readable, *small[fit:])))
        large = [each for each in files.entries if id(each) not in kept]
    if spec.filters_blobs:  # only now are their sizes known
        fit, excess = fitting(_sizes(readable, contents), library.limits)
        readable = readable[:fit]
    findings = (
        *_refused_names(listing),
        *files.findings,
        *(_too_large(each, most) for each in large),
        *excess,
    )
    snapshot = library.snapshot(chosen.commit, readable, contents, findings)
    signed = ", ".join(map(_signed_by, signatures))
    at = format_time(datetime.now(UTC))
    return Fetched(chosen, commit, tuple(files.entries), snapshot, signed, at)


def _signed_by(signature: Signature) -> str:
    return f"{signature.signer} ({signature.kind} {signature.fingerprint})"


def _contents(mirror: Mirror, ids: set[str]) -> dict[str, bytes]:
    """Read files; those that turn out to be too large are left out."""
    try:
        return mirror.read(ids)
    except RefusedError as error:
        if error.code != "git-file-too-large":
            raise
    # With a blob filter sizes are not known beforehand. All of them are here now.
    found: dict[str, bytes] = {}
    left = mirror.rules.read_bytes
    for each in ids:
        with suppress(RefusedError):
            found |= mirror.read({each})
        left -= len(found.get(each, b""))
        if left < 0:
            raise too_large(mirror.rules.read_bytes)
    return found


def _sizes(files: Iterable[Entry], contents: Mapping[str, bytes]) -> Iterator[tuple[str, int]]:
    for each in files:
        yield each.path, each.size if each.size >= 0 else len(contents.get(each.id, b""))


def _refuse_many_rules(files: Iterable[Entry], limit: int) -> None:
    """Refuse ignore files that are too large together: each of them is a set of patterns."""
    if sum(max(each.size, 0) for each in files) > limit:
        raise RefusedError(
            "git-file-too-large",
            f"the ignore files have more than {limit:,} bytes together",
            hint="write the patterns into one file at the top, or into spec.ignore",
        )


def _too_large(entry: Entry, limit: int) -> Finding:
    text = f"the file has more than {limit:,} bytes"
    return Finding(Problem("file-too-large", text, hint="split it"), Origin(entry.path, 1, 1))


def _refused_names(listing: Listing) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            Problem("refused-path", f"{each.reason}: it is not read", severity=Severity.WARNING),
            Origin(each.shown, 1, 1),
        )
        for each in listing.refused
    )
