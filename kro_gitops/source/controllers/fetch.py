"""
From a source's spec to a snapshot: Secrets, the remote's refs, a fetch, signatures, files.

Git blocks, so it runs in threads; nothing here blocks the event loop. Errors of git are redacted
before they arrive here.

A poll asks the cheap question first: which commit does the ref point to. Only if that changed is
anything fetched, and only files that were not read before are read. If a webhook or a person
requested the reconcile, a new commit is expected: then a branch is fetched without asking first,
which saves one round trip.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.types import Pin, SourceSpec
from kro_gitops.source.controllers.observer import SourceObserver
from kro_gitops.source.controllers.reporter import Reporter
from kro_gitops.source.controllers.secrets import read_receiver, read_secret
from kro_gitops.source.controllers.state import Fetched, SourceState
from kro_gitops.source.files.manifests import fitting
from kro_gitops.source.files.revision import Library
from kro_gitops.source.files.selection import ignore_paths
from kro_gitops.source.git.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.git.errors import too_large
from kro_gitops.source.git.github_app import AppTokens
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.revisions import (
    Chosen,
    RemoteRefs,
    choose,
    patterns,
    refs_to_follow,
    wider_patterns,
)
from kro_gitops.source.git.types import Entry, FetchRules, Listing, Remote
from kro_gitops.source.git.verify import Signature, parse_keys, verify
from kro_gitops.source.plan.conclude import UnverifiedError
from kro_gitops.source.webhooks.endpoints import Receiver
from kube_objects.errors import RefusedError
from kube_objects.problems import Finding, Origin, Problem, Severity
from kube_objects.refs import ObjectRef
from kube_objects.times import format_time

log = logging.getLogger(__name__)

_THREADS = 8
_NO_REFS = RemoteRefs()

T = TypeVar("T")


class Fetcher:
    """Fetches revisions of repositories."""

    def __init__(self, reader: Reader, mirrors: Mirrors, rules: FetchRules) -> None:
        self._reader = reader
        self._mirrors = mirrors
        self._tokens = AppTokens(rules)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="git")

    async def remote(self, namespace: str, spec: SourceSpec) -> Remote:
        """Return how to reach a source's repository; its Secrets are read each time."""
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

    async def receiver(self, key: ObjectRef, spec: SourceSpec) -> Receiver | None:
        """Return the webhook endpoint of a source; None if it has none."""
        return await read_receiver(self._reader, key, spec)

    async def ask(self, remote: Remote, spec: SourceSpec, pin: str) -> Chosen:
        """Ask the remote which commit the ref points to; nothing is fetched."""
        asked = () if pin else patterns(spec.ref)
        if not asked:
            return choose(_NO_REFS, spec.ref, pin)
        refs = await self._visit(remote, lambda mirror: mirror.ask(asked))
        try:
            return choose(refs, spec.ref)
        except UserError:
            # Ask for more refs: the error then names similar ones.
            wider = await self._visit(remote, lambda mirror: mirror.ask(wider_patterns()))
            return choose(wider, spec.ref)

    async def follow(self, remote: Remote, spec: SourceSpec, former: Chosen) -> Chosen | None:
        """Fetch a branch without asking first; None if that is not possible for the ref."""
        refs = refs_to_follow(spec.ref, former)
        if not refs:
            return None
        return await self._visit(remote, lambda mirror: mirror.follow(former, refs))

    async def fetch(
        self, remote: Remote, chosen: Chosen, spec: SourceSpec, namespace: str
    ) -> tuple[Signature, ...]:
        """Fetch a commit and verify its signature."""
        await self._visit(remote, lambda mirror: mirror.fetch(chosen))
        rule = spec.verify
        if rule is None:
            return ()
        path = self._mirrors.of(await self._logged_in(remote)).path
        keys = parse_keys(await self.secret(namespace, rule.secret))
        try:
            return await self._run(
                lambda: verify(path, chosen, rule.mode, keys, timeout=spec.timeout)
            )
        except UserError as error:
            raise UnverifiedError(error) from error

    async def read(
        self,
        remote: Remote,
        chosen: Chosen,
        spec: SourceSpec,
        library: Library,
        signatures: tuple[Signature, ...],
    ) -> Fetched:
        """Read the manifests of a commit that was fetched."""
        return await self._visit(
            remote, lambda mirror: _read(mirror, chosen, spec, library, signatures)
        )

    async def was_rewritten(self, remote: Remote, old: str, new: str) -> bool:
        """Return True if a branch was force-pushed to a commit that does not descend from `old`."""
        found = await self._visit(remote, lambda mirror: mirror.is_ancestor(old, new))
        return found is False

    async def forget(self, keep: set[str]) -> None:
        """Delete mirrors that are not in `keep`."""
        await self._run(lambda: self._mirrors.forget(keep))

    def close(self) -> None:
        """Cancel what is running."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _logged_in(self, remote: Remote) -> Remote:
        """Exchange the key of a GitHub App for a token, if the remote uses one."""
        app = remote.credentials.app
        if app is None:
            return remote
        login = await self._run(lambda: self._tokens.login(remote.credentials, remote.proxy))
        # The app stays: it identifies the mirror, not the token of this hour.
        return replace(remote, credentials=replace(login, app=app))

    async def _visit(self, remote: Remote, work: Callable[[Mirror], T]) -> T:
        """Call `work` with the mirror of a remote, logged in."""
        mirror = self._mirrors.of(await self._logged_in(remote))
        try:
            return await self._run(lambda: work(mirror))
        except KroGitopsError as error:
            if error.code == "git-auth-failed":  # a token may have been revoked
                self._tokens.forget(remote.credentials)
            raise

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll found; `fetched` only if it is new. On an error the rest is what was known."""

    fetched: Fetched | None = None
    webhook_path: str = ""
    mirror: str = ""
    error: KroGitopsError | None = None


class Poller:
    """Polls the remotes of sources."""

    def __init__(self, fetcher: Fetcher, reporter: Reporter, observer: SourceObserver) -> None:
        self._fetcher = fetcher
        self._reporter = reporter
        self._observer = observer
        self._tasks: set[asyncio.Task[None]] = set()

    async def poll(
        self, state: SourceState, spec: SourceSpec, pin: Pin | None, *, is_expected: bool
    ) -> Polled:
        """Fetch the commit that the ref points to, if it is new; errors are part of the result."""
        began = time.perf_counter()
        polled = Polled(webhook_path=state.webhook_path, mirror=state.mirror)
        try:
            receiver = await self._fetcher.receiver(state.key, spec)
            path = receiver.path if receiver is not None else ""
            polled = replace(polled, webhook_path=path)
            remote = await self._fetcher.remote(state.key.namespace, spec)
            polled = replace(polled, mirror=remote.identity)
            fetched = await self._fetch(state, spec, pin, remote, is_expected=is_expected)
        except KroGitopsError as error:
            self._observer.polled(state.name, time.perf_counter() - began, "failed")
            return replace(polled, error=error)
        outcome = "unchanged" if fetched is None else "changed"
        self._observer.polled(state.name, time.perf_counter() - began, outcome)
        return replace(polled, fetched=fetched)

    def check_history(self, state: SourceState, spec: SourceSpec, new: Fetched) -> None:
        """Report in the background if a branch was force-pushed: commits may be lost."""
        former = state.fetched
        if former is None or former.chosen.ref != new.chosen.ref:
            return
        if former.commit.id not in (new.commit.id, *new.commit.parents):
            work = self._check_history(state, spec, former.commit.id, new.commit.id)
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _fetch(
        self,
        state: SourceState,
        spec: SourceSpec,
        pin: Pin | None,
        remote: Remote,
        *,
        is_expected: bool,
    ) -> Fetched | None:
        """Return the new revision; None if there is none."""
        chosen: Chosen | None = None
        if is_expected and state.fetched and not state.is_fetch_outdated and pin is None:
            with self._observer.step(state.name, "fetch"):
                chosen = await self._fetcher.follow(remote, spec, state.fetched.chosen)
        if chosen is None:
            with self._observer.step(state.name, "ask"):
                chosen = await self._fetcher.ask(remote, spec, pin.commit if pin else "")
        is_known = state.fetched is not None and state.fetched.chosen == chosen
        if is_known and not state.is_fetch_outdated:
            return None
        with self._observer.step(state.name, "fetch"):
            signatures = await self._fetcher.fetch(remote, chosen, spec, state.key.namespace)
        with self._observer.step(state.name, "read"):
            return await self._fetcher.read(remote, chosen, spec, state.library, signatures)

    async def _check_history(
        self, state: SourceState, spec: SourceSpec, old: str, new: str
    ) -> None:
        try:
            remote = await self._fetcher.remote(state.key.namespace, spec)
            if await self._fetcher.was_rewritten(remote, old, new):
                text = f"{new[:12]} does not follow from {old[:12]}: the branch was forced"
                log.warning("history was rewritten", extra={"source": state.name, "detail": text})
                self._reporter.record_event(state, "Warning", "HistoryRewritten", text)
        except KroGitopsError as error:
            facts = {"source": state.name, "error": error.message}
            log.debug("cannot tell whether history was rewritten", extra=facts)


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
    _reject_large_ignore_files(ignoring, mirror.rules.file_bytes)
    rules = mirror.read({each.id for each in ignoring})
    files = library.chooser.choose(
        listing.entries,
        spec.paths,
        spec.ignore,
        {each.path: rules[each.id] for each in ignoring if each.id in rules},
    )
    most = mirror.rules.file_bytes
    small = [each for each in files.entries if each.size <= most]
    # Before anything is read: a small pack can hold more than fits into memory.
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
        *_rejected_names(listing),
        *files.findings,
        *(_too_large(each, most) for each in large),
        *excess,
    )
    snapshot = library.snapshot(chosen.commit, readable, contents, findings)
    signed = ", ".join(f"{each.signer} ({each.kind} {each.fingerprint})" for each in signatures)
    at = format_time(datetime.now(UTC))
    return Fetched(chosen, commit, tuple(files.entries), snapshot, signed, at)


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


def _reject_large_ignore_files(files: Iterable[Entry], limit: int) -> None:
    """Reject ignore files that are too large together: each of them is a set of patterns."""
    if sum(max(each.size, 0) for each in files) > limit:
        raise RefusedError(
            "git-file-too-large",
            f"the ignore files have more than {limit:,} bytes together",
            hint="write the patterns into one file at the top, or into spec.ignore",
        )


def _too_large(entry: Entry, limit: int) -> Finding:
    text = f"the file has more than {limit:,} bytes"
    return Finding(Problem("file-too-large", text, hint="split it"), Origin(entry.path, 1, 1))


def _rejected_names(listing: Listing) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            Problem("refused-path", f"{each.reason}: it is not read", severity=Severity.WARNING),
            Origin(each.shown, 1, 1),
        )
        for each in listing.refused
    )
