"""
From a source's spec to a snapshot: Secrets, the remote's refs, a fetch, signatures, files.

Git blocks, so it runs in threads; nothing here blocks the event loop. Namespaces share the threads
fairly (`control.slots`): hanging remotes of one tenant leave threads to the others. A thread cannot
be cancelled, so it keeps its slot until git has returned. Errors of git are redacted before they
arrive here.

A poll runs beside reconciles and never holds a worker: it is started, and wakes its source when it
is done.

A poll asks the cheap question first: which commit does the ref point to. Only if that changed is
anything fetched, and only files that were not read before are read. If a webhook or a person
requested the reconcile, a new commit is expected: then a branch is fetched without asking first,
which saves one round trip.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from kro_gitops.control.slots import FairThreads
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.types import ObjectPin, Pin, SourceSpec
from kro_gitops.source.controllers.context import SourceObserver
from kro_gitops.source.controllers.reporter import Reporter, requested
from kro_gitops.source.controllers.secrets import read_receiver, read_secret
from kro_gitops.source.controllers.state import Fetched, SourceState
from kro_gitops.source.files.manifests import fitting
from kro_gitops.source.files.revision import Item, Library, Snapshot
from kro_gitops.source.files.selection import ignore_paths
from kro_gitops.source.git.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.git.errors import too_large
from kro_gitops.source.git.github_app import AppTokens
from kro_gitops.source.git.memory import git_memory
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.revisions import (
    Chosen,
    RemoteRefs,
    choose,
    patterns,
    refs_to_follow,
    wider_patterns,
)
from kro_gitops.source.git.types import Entry, FetchRules, Remote
from kro_gitops.source.git.verify import Signature, parse_keys, verify
from kro_gitops.source.plan.conclude import UnverifiedError
from kro_gitops.source.plan.pins import find_pinned, with_pinned
from kro_gitops.source.webhooks.endpoints import Receiver
from kube_objects.errors import RefusedError
from kube_objects.problems import Finding, Origin, Problem, Severity
from kube_objects.refs import ObjectRef
from kube_objects.times import format_time

log = logging.getLogger(__name__)

_NO_REFS = RemoteRefs()

T = TypeVar("T")


class Fetcher:
    """Fetches revisions of repositories."""

    def __init__(
        self,
        reader: Reader,
        mirrors: Mirrors,
        rules: FetchRules,
        observe_wait: Callable[[float], None] | None = None,
    ) -> None:
        """Take what is called with the seconds that an operation waited for a thread."""
        self._reader = reader
        self._mirrors = mirrors
        self._tokens = AppTokens(rules)
        # As many as fit into the memory of the container.
        self._threads = FairThreads(git_memory().commands, "git", observe_wait)

    async def remote(self, namespace: str, spec: SourceSpec) -> Remote:
        """Return how to reach a source's repository; its Secrets are read each time."""
        credentials = ANONYMOUS
        if spec.secret:
            data = await self.secret(namespace, spec.secret)
            credentials = parse_credentials(data, spec.url, spec.provider)
        proxy = None
        if spec.proxy_secret:
            proxy = parse_proxy(await self.secret(namespace, spec.proxy_secret))
        return Remote(spec.url, credentials, proxy, spec.timeout, spec.filters_blobs, namespace)

    async def secret(self, namespace: str, name: str) -> dict[str, bytes]:
        """Read a Secret of a source's own namespace."""
        return await read_secret(self._reader, namespace, name)

    async def receiver(self, key: ObjectRef, spec: SourceSpec) -> Receiver | None:
        """Return the webhook endpoint of a source; None if it has none."""
        return await read_receiver(self._reader, key, spec)

    async def ask(self, namespace: str, remote: Remote, spec: SourceSpec, pin: str) -> Chosen:
        """Ask the remote which commit the ref points to; nothing is fetched."""
        asked = () if pin else patterns(spec.ref)
        if not asked:
            return choose(_NO_REFS, spec.ref, pin)
        refs = await self._visit(namespace, remote, lambda mirror: mirror.ask(asked))
        try:
            return choose(refs, spec.ref)
        except UserError:
            # Ask for more refs: the error then names similar ones.
            wider = wider_patterns()
            refs = await self._visit(namespace, remote, lambda mirror: mirror.ask(wider))
            return choose(refs, spec.ref)

    async def follow(
        self, namespace: str, remote: Remote, spec: SourceSpec, former: Chosen
    ) -> Chosen | None:
        """Fetch a branch without asking first; None if that is not possible for the ref."""
        refs = refs_to_follow(spec.ref, former)
        if not refs:
            return None
        return await self._visit(namespace, remote, lambda mirror: mirror.follow(former, refs))

    async def fetch(
        self, namespace: str, remote: Remote, chosen: Chosen, spec: SourceSpec
    ) -> tuple[Signature, ...]:
        """Fetch a commit and verify its signature."""
        await self._visit(namespace, remote, lambda mirror: mirror.fetch(chosen))
        rule = spec.verify
        if rule is None:
            return ()
        path = self._mirrors.of(await self._logged_in(namespace, remote)).path
        keys = parse_keys(await self.secret(namespace, rule.secret))
        try:
            return await self._threads.run(
                namespace, lambda: verify(path, chosen, rule.mode, keys, timeout=spec.timeout)
            )
        except UserError as error:
            raise UnverifiedError(error) from error

    async def read(
        self,
        namespace: str,
        remote: Remote,
        chosen: Chosen,
        spec: SourceSpec,
        library: Library,
        signatures: tuple[Signature, ...],
        former: Fetched | None = None,
    ) -> Fetched:
        """Read a commit that was fetched, and pinned objects that were not read in `former`."""
        fetched = await self._visit(
            namespace, remote, lambda mirror: _read(mirror, chosen, spec, library, signatures)
        )
        known = former.pinned if former is not None else {}
        pinned = {pin: known[pin] for pin in spec.pins if pin in known}
        for commit in dict.fromkeys(pin.commit for pin in spec.pins if pin not in known):
            older = await self._older(namespace, remote, commit, spec)
            for pin in spec.pins:
                if pin.commit == commit and pin not in known:
                    pinned[pin] = _pinned_item(older, pin, namespace)
        snapshot = with_pinned(fetched.snapshot, pinned, namespace) if pinned else fetched.snapshot
        return replace(fetched, snapshot=snapshot, pinned=pinned)

    async def _older(
        self, namespace: str, remote: Remote, commit: str, spec: SourceSpec
    ) -> Snapshot:
        """Fetch a commit of pinned objects, verify its signature, and read its manifests."""
        chosen = Chosen("", commit)
        await self.fetch(namespace, remote, chosen, spec)
        read = await self._visit(
            namespace, remote, lambda mirror: _read(mirror, chosen, spec, Library(), ())
        )
        return read.snapshot

    async def was_rewritten(self, namespace: str, remote: Remote, old: str, new: str) -> bool:
        """Return True if a branch was force-pushed to a commit that does not descend from `old`."""
        found = await self._visit(namespace, remote, lambda mirror: mirror.is_ancestor(old, new))
        return found is False

    async def forget(self, keep: Mapping[str, set[str]]) -> None:
        """Delete mirrors that are not in `keep`, which has the namespaces that use the others."""
        await self._threads.run("", lambda: self._mirrors.forget(keep))

    def close(self) -> None:
        """Cancel what is running."""
        self._threads.close()

    async def _logged_in(self, namespace: str, remote: Remote) -> Remote:
        """Exchange the key of a GitHub App for a token, if the remote uses one."""
        app = remote.credentials.app
        if app is None:
            return remote
        login = await self._threads.run(
            namespace, lambda: self._tokens.login(remote.credentials, remote.proxy)
        )
        # The app stays: it identifies the mirror, not the token of this hour.
        return replace(remote, credentials=replace(login, app=app))

    async def _visit(self, namespace: str, remote: Remote, work: Callable[[Mirror], T]) -> T:
        """Call `work` with the mirror of a remote, logged in."""
        mirror = self._mirrors.of(await self._logged_in(namespace, remote))
        try:
            return await self._threads.run(namespace, lambda: work(mirror))
        except KroGitopsError as error:
            if error.code == "git-auth-failed":  # a token may have been revoked
                self._tokens.forget(remote.credentials)
            raise


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll found; `fetched` only if it is new. On an error the rest is what was known."""

    requested: str = ""  # the request to reconcile that this poll answers
    fetched: Fetched | None = None
    webhook_path: str = ""
    mirror: str = ""
    error: KroGitopsError | None = None


@dataclass(frozen=True, slots=True)
class RunningPoll:
    """A poll that is not finished, or whose result was not taken yet."""

    question: tuple[object, ...]
    since: float  # by the clock of the event loop
    due: datetime
    task: "asyncio.Task[Polled]"


def poll_question(state: SourceState, spec: SourceSpec, pin: Pin | None) -> tuple[object, ...]:
    """Return what a poll is for: its answer is of no use for another source, spec or pin."""
    return (state.source["metadata"].get("uid"), state.generation, pin, spec.pins)


class Poller:
    """Polls the remotes of sources, one poll of a source at a time."""

    def __init__(
        self,
        fetcher: Fetcher,
        reporter: Reporter,
        observer: SourceObserver,
        wake: Callable[[ObjectRef], None],
    ) -> None:
        """Take what is called with the key of a source whose poll has finished."""
        self._fetcher = fetcher
        self._reporter = reporter
        self._observer = observer
        self._wake = wake
        self._running: dict[str, RunningPoll] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, state: SourceState, spec: SourceSpec, pin: Pin | None, *, is_expected: bool
    ) -> None:
        """Start a poll, unless one for the same spec and pin is running."""
        question = poll_question(state, spec, pin)
        former = self._running.get(state.name)
        if former is not None and former.question == question:
            return
        self.cancel(state.name)
        task = asyncio.create_task(self._poll(state, spec, pin, is_expected=is_expected))
        task.add_done_callback(lambda done: done.cancelled() or self._wake(state.key))
        now = asyncio.get_running_loop().time()
        self._running[state.name] = RunningPoll(question, now, datetime.now(UTC), task)

    def running(self, name: str) -> RunningPoll | None:
        """Return the poll of a source that is not finished."""
        found = self._running.get(name)
        return found if found is not None and not found.task.done() else None

    def take(self, name: str) -> RunningPoll | None:
        """Return the poll of a source that has finished, once."""
        found = self._running.get(name)
        return self._running.pop(name) if found is not None and found.task.done() else None

    def cancel(self, name: str) -> bool:
        """Forget the poll of a source; return True if one was running."""
        found = self._running.pop(name, None)
        return found is not None and found.task.cancel()

    def close(self) -> None:
        """Cancel what is running."""
        for name in list(self._running):
            self.cancel(name)
        for task in self._tasks:
            task.cancel()

    async def _poll(
        self, state: SourceState, spec: SourceSpec, pin: Pin | None, *, is_expected: bool
    ) -> Polled:
        """Fetch the commit that the ref points to, if it is new; errors are part of the result."""
        began, fetcher, name = time.perf_counter(), self._fetcher, state.name
        namespace = state.key.namespace
        polled = Polled(requested(state.source), None, state.webhook_path, state.mirror)
        try:
            receiver = await fetcher.receiver(state.key, spec)
            path = receiver.path if receiver is not None else ""
            polled = replace(polled, webhook_path=path)
            remote = await fetcher.remote(namespace, spec)
            polled = replace(polled, mirror=remote.identity)
            chosen: Chosen | None = None
            if is_expected and state.fetched and not state.is_fetch_outdated and pin is None:
                with self._observer.step(name, "fetch"):
                    chosen = await fetcher.follow(namespace, remote, spec, state.fetched.chosen)
            if chosen is None:
                with self._observer.step(name, "ask"):
                    chosen = await fetcher.ask(namespace, remote, spec, pin.commit if pin else "")
            is_known = state.fetched is not None and state.fetched.chosen == chosen
            fetched: Fetched | None = None
            if not is_known or state.is_fetch_outdated or state.lacks_pins(spec):
                with self._observer.step(name, "fetch"):
                    signatures = await fetcher.fetch(namespace, remote, chosen, spec)
                with self._observer.step(name, "read"):
                    fetched = await fetcher.read(
                        *(namespace, remote, chosen, spec, state.library, signatures),
                        former=state.fetched,
                    )
        except KroGitopsError as error:
            self._observer.polled(name, time.perf_counter() - began, "failed")
            return replace(polled, error=error)
        outcome = "unchanged" if fetched is None else "changed"
        self._observer.polled(name, time.perf_counter() - began, outcome)
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

    async def _check_history(
        self, state: SourceState, spec: SourceSpec, old: str, new: str
    ) -> None:
        try:
            remote = await self._fetcher.remote(state.key.namespace, spec)
            if await self._fetcher.was_rewritten(state.key.namespace, remote, old, new):
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
    most = mirror.rules.file_bytes
    if sum(max(each.size, 0) for each in ignoring) > most:  # each of them is a set of patterns
        raise RefusedError(
            "git-file-too-large",
            f"the ignore files have more than {most:,} bytes together",
            hint="write the patterns into one file at the top, or into spec.ignore",
        )
    rules = mirror.read({each.id for each in ignoring})
    files = library.chooser.choose(
        listing.entries,
        spec.paths,
        spec.ignore,
        {each.path: rules[each.id] for each in ignoring if each.id in rules},
    )
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
    findings = [
        Finding(
            Problem("refused-path", f"{each.reason}: it is not read", severity=Severity.WARNING),
            Origin(each.shown, 1, 1),
        )
        for each in listing.refused
    ]
    too_long = Problem("file-too-large", f"the file has more than {most:,} bytes", hint="split it")
    findings += files.findings
    findings += [Finding(too_long, Origin(each.path, 1, 1)) for each in large]
    findings += excess
    snapshot = library.snapshot(chosen.commit, readable, contents, findings)
    signed = ", ".join(f"{each.signer} ({each.kind} {each.fingerprint})" for each in signatures)
    at = format_time(datetime.now(UTC))
    return Fetched(chosen, commit, tuple(files.entries), snapshot, signed, at)


def _pinned_item(snapshot: Snapshot, pin: ObjectPin, namespace: str) -> Item:
    found = find_pinned(snapshot, pin, namespace)
    if found is None:
        raise UserError(
            "pinned-object-missing",
            f"{pin.subject} is pinned to {pin.commit[:12]}, which does not have it",
            hint="pin it to a commit that has it, or remove it from spec.pins",
        )
    return found


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
