"""
From a source's spec to a snapshot: secrets, the remote's refs, a fetch, signatures, files.

Git is slow and blocks, so it works in threads; nothing here keeps the event loop waiting. Every
error of git has been made harmless (no secret, no userinfo) before it arrives here.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from kro_gitops.errors import Finding, KroGitopsError, Origin, Problem, Severity, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.objects.times import format_time
from kro_gitops.source.chosen_files import choose_files, ignore_paths
from kro_gitops.source.controllers.registry import Fetched
from kro_gitops.source.controllers.secrets import read_secret
from kro_gitops.source.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.fetch.github_app import AppTokens
from kro_gitops.source.fetch.mirror import Mirror, Mirrors
from kro_gitops.source.fetch.model import Entry, FetchRules, Listing, Remote
from kro_gitops.source.fetch.verify import Signature, parse_keys, verify
from kro_gitops.source.revision import Chosen, RemoteRefs, choose, patterns, wider_patterns
from kro_gitops.source.snapshot import Library
from kro_gitops.source.spec import SourceSpec

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
        mirror = self._mirrors.of(await self._logged_in(remote))
        wanted = () if pin else patterns(spec.ref)
        refs = await self._run(lambda: mirror.ask(wanted)) if wanted else None
        if refs is None:
            return choose(_NO_REFS, spec.ref, pin)
        try:
            return choose(refs, spec.ref)
        except UserError:
            # Asked again, more widely: the error then names what is near.
            wider = await self._run(lambda: mirror.ask(wider_patterns()))
            return choose(wider, spec.ref)

    async def fetch(
        self, remote: Remote, chosen: Chosen, spec: SourceSpec, namespace: str
    ) -> tuple[Signature, ...]:
        """Fetch a commit, and check who signed it."""
        mirror = self._mirrors.of(await self._logged_in(remote))
        await self._run(lambda: mirror.fetch(chosen))
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
        mirror = self._mirrors.of(await self._logged_in(remote))
        return await self._run(lambda: _read(mirror, chosen, spec, library, signatures))

    async def was_rewritten(self, remote: Remote, old: str, new: str) -> bool:
        """Say whether a branch was forced to a commit that does not follow from the old one."""
        mirror = self._mirrors.of(await self._logged_in(remote))
        return await self._run(lambda: mirror.is_ancestor(old, new)) is False

    def forget(self, keep: set[str]) -> None:
        """Drop mirrors that nobody uses."""
        self._mirrors.forget(keep)

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
    rules = mirror.read({each.id for each in ignoring})
    files = choose_files(
        listing.entries,
        spec.paths,
        spec.ignore,
        {each.path: rules[each.id] for each in ignoring if each.id in rules},
    )
    large = [each for each in files.entries if each.size > mirror.rules.file_bytes]
    readable = [each for each in files.entries if each.size <= mirror.rules.file_bytes]
    contents = mirror.read(library.unread(readable))
    findings = (
        *_refused_names(listing),
        *files.findings,
        *(_too_large(each, mirror.rules.file_bytes) for each in large),
    )
    snapshot = library.snapshot(chosen.commit, readable, contents, findings)
    signed = ", ".join(map(str, signatures))
    at = format_time(datetime.now(UTC))
    return Fetched(chosen, commit, tuple(files.entries), snapshot, signed, at)


def _too_large(entry: Entry, limit: int) -> Finding:
    text = f"the file has {entry.size:,} bytes, more than {limit:,}"
    return Finding(Problem("file-too-large", text, hint="split it"), Origin(entry.path, 1, 1))


def _refused_names(listing: Listing) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            Problem("refused-path", f"{each.reason}: it is not read", severity=Severity.WARNING),
            Origin(each.shown, 1, 1),
        )
        for each in listing.refused
    )
