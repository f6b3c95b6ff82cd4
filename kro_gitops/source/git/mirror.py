"""
Mirrors: what was fetched of each remote.

A mirror is a bare repository that is never checked out. It keeps single revisions without their
history (`refs/kg/<id>`, one for each requested object, complete as soon as the ref exists), and
fetches history only where a caller needs it. It is a cache: when it is damaged or grows too large,
it is deleted and fetched again.

Its size is bounded: of the kept revisions the last used survive; many packs are repacked into one
with only what these need; and if that is still too much, it starts again with the requested
revision. `storage` bounds the size of all mirrors together.
"""

import contextlib
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.source.api.url_policy import check_commit, check_path
from kro_gitops.source.git import commands, errors
from kro_gitops.source.git.fetch import DEPTHS, Fetcher
from kro_gitops.source.git.locks import locked
from kro_gitops.source.git.objects import LOCAL_SECONDS, Contents
from kro_gitops.source.git.repository import Damaged, Repository
from kro_gitops.source.git.revisions import Chosen, RemoteRefs
from kro_gitops.source.git.session import RemoteSession
from kro_gitops.source.git.storage import Full, Storage
from kro_gitops.source.git.types import Commit, Entry, FetchRules, Listing, Remote

_T = TypeVar("_T")
_REMEMBERED = 32
_READERS = 16  # processes that stay; a mirror that was not used lately ends its own


class Mirrors:
    """All mirrors below a folder that only we can read."""

    def __init__(
        self, root: Path, rules: FetchRules, observe: Callable[[int, int], None] | None = None
    ) -> None:
        """Take the folder; `observe` gets the bytes of all mirrors, and how many were evicted."""
        self._storage = Storage(root, rules, self._rest, observe)
        self.root = self._storage.root
        self.rules = rules
        self._mirrors: dict[str, Mirror] = {}
        self._recent: dict[str, Mirror] = {}  # the last used, in that order
        self._lock = threading.Lock()

    def of(self, remote: Remote) -> "Mirror":
        """Return the mirror of a remote; the same one for the same URL and login."""
        identity = remote.identity
        with self._lock:
            found = self._mirrors.get(identity)
            if found is None:
                found = Mirror(self._storage, remote, self.rules)
                self._mirrors[identity] = found
            found.remote = remote  # a new token of the same app, another timeout
            self._storage.assign(identity, remote.namespace)
            self._recent.pop(identity, None)
            self._recent[identity] = found
            if len(self._recent) > _READERS:
                self._recent.pop(next(iter(self._recent))).rest()
            return found

    def forget(self, keep: Mapping[str, Collection[str]]) -> None:
        """
        Delete the mirrors whose identity is not among these, also those of earlier runs.

        `keep` also has the namespaces that use each of them. One that is in use stays until the
        next call: waiting for a slow server here would block every caller of `of`.
        """
        self._storage.set_namespaces(keep)
        with self._lock:
            unused = self._mirrors.keys() - set(keep)
            idle = [identity for identity in unused if self._mirrors[identity].rest()]
            for identity in idle:
                self._recent.pop(identity, None)
                del self._mirrors[identity]
            used = {*keep, *self._mirrors}
        for lock in self.root.glob("*.lock"):
            if lock.stem not in used:
                with suppress(BlockingIOError), locked(lock, waits=False):
                    shutil.rmtree(self.root / lock.stem, ignore_errors=True)
                    lock.unlink(missing_ok=True)
        self._storage.report()

    def close(self) -> None:
        """End all processes; the mirrors start them again when needed."""
        with self._lock:
            for mirror in self._mirrors.values():
                mirror.close()

    def _rest(self, identity: str) -> bool:
        # Without the lock: it is called while a mirror is fetched, and `of` must not wait for that.
        mirror = self._mirrors.get(identity)
        return mirror is None or mirror.rest()


class Mirror:
    """What was fetched of one remote; every method blocks, and only one runs at a time."""

    def __init__(self, storage: Storage, remote: Remote, rules: FetchRules) -> None:
        self.path = storage.root / remote.identity
        self.remote = remote
        self.rules = rules
        self._storage = storage
        self._repository = Repository(self.path, LOCAL_SECONDS)
        self._contents = Contents(self._repository, rules, has_gaps=remote.filters_blobs)
        self._chosen: dict[str, Chosen] = {}  # how what we keep was asked for
        self._lock = threading.Lock()

    def ask(self, patterns: Sequence[str]) -> RemoteRefs:
        """Ask the remote for refs; needs no mirror, and takes no lock."""
        session = self._session()
        with self._storage.use():
            return session.ask(patterns) if patterns else RemoteRefs()

    def has(self, commit: str) -> bool:
        """Return True if a commit was fetched with all its files, except those a filter omits."""
        return self._repository.keeps(check_commit(commit))

    def fetch(self, chosen: Chosen) -> None:
        """Fetch a revision unless the mirror has it."""
        fetcher = self._fetcher()  # a URL that is rejected now is rejected for what we have, too
        wanted = [check_commit(each) for each in (chosen.commit, chosen.tag_object) if each]
        with self._alone():
            self._remember(chosen)
            if all(map(self._repository.keeps, wanted)):
                return
            try:
                fetcher.fetch(chosen)
                fetcher.tidy(chosen)
            except Damaged:
                self._repository.discard()
                self._fetch_again(fetcher, chosen)

    def follow(self, former: Chosen, refs: Sequence[str]) -> Chosen | None:
        """
        Fetch a revision from the tips of its refs; `None`: the remote must be asked.

        An empty mirror is not filled here: the former revision must be in it.
        """
        fetcher = self._fetcher()
        with self._alone():
            if not self._repository.keeps(check_commit(former.commit)):
                return None
            try:
                commit = fetcher.follow(refs, len(former.commit))
                chosen = replace(former, commit=commit)
                if commit:
                    self._remember(chosen)
                    fetcher.tidy(chosen)
            except Damaged:
                self._repository.discard()
                return None
            return chosen if commit else None

    def commit(self, id: str) -> Commit:
        """Read a commit."""
        check_commit(id)
        with self._alone():
            return self._sound(lambda: self._contents.commit(id))

    def listing(self, commit: str) -> Listing:
        """List all files of a commit, and those whose names are rejected."""
        check_commit(commit)
        with self._alone():
            return self._sound(lambda: self._contents.listing(commit))

    def tree(self, commit: str) -> tuple[Entry, ...]:
        """List all files of a commit whose names can be paths."""
        return self.listing(commit).entries

    def read(self, ids: Collection[str]) -> dict[str, bytes]:
        """Read files by their ids; those a filter left out are fetched first, all together."""
        wanted = dict.fromkeys(map(check_commit, ids))
        with self._alone():
            return self._sound(lambda: self._read(wanted))

    def changed_paths(self, old: str, new: str) -> frozenset[str] | None:
        """Return the paths in which two commits differ; None: one of them was not fetched."""
        both = check_commit(old), check_commit(new)
        with self._alone():
            return self._contents.changed_paths(*both)

    def is_ancestor(self, old: str, new: str) -> bool | None:
        """Return whether a commit is in another's history; None: the remote does not tell."""
        if check_commit(old) == check_commit(new):
            return True
        with self._alone():
            try:
                if old in self._sound(lambda: self._contents.commit(new)).parents:
                    return True  # the common case, without a request
                for depth in (0, *DEPTHS):  # look deeper each time
                    if depth:
                        self._deepen(new, depth)
                    if self._contents.is_in(old, new):
                        return True
                    if not self._contents.cut_off():
                        return False
                return None if new in self._contents.cut_off() else False
            except (KroGitopsError, Damaged):
                return None

    def blame(self, commit: str, path: str, line: int) -> Commit:
        """Return the commit that last changed a line; fetches the history."""
        check_commit(commit)
        path = check_path(path)
        with self._alone():
            return self._sound(lambda: self._blame(commit, path, line))

    def close(self) -> None:
        """End the process that reads objects; it is started again when needed."""
        with self._lock:
            self._repository.close()

    def rest(self) -> bool:
        """Close unless the mirror is in use; return whether it is idle."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._repository.close()
        finally:
            self._lock.release()
        return True

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude other threads, and other processes."""
        used = self._storage.use(self.path.name)
        with used, self._lock, locked(self.path.with_suffix(".lock")):
            yield

    def _session(self) -> RemoteSession:
        return RemoteSession(self.remote, self.rules, self._storage)

    def _fetcher(self) -> Fetcher:
        return Fetcher(self._session(), self._contents)

    def _remember(self, chosen: Chosen) -> None:
        self._chosen.pop(chosen.commit, None)
        self._chosen[chosen.commit] = chosen
        while len(self._chosen) > _REMEMBERED:
            self._chosen.pop(next(iter(self._chosen)))

    def _read(self, ids: Collection[str]) -> dict[str, bytes]:
        if self.remote.filters_blobs:
            self._complete(self._contents.missing(ids))
        return self._contents.files(ids)

    def _complete(self, missing: Sequence[str]) -> None:
        """Fetch files that a filter left out."""
        if missing:
            self._session().fetch_blobs(self._repository, missing)

    def _deepen(self, commit: str, depth: int) -> None:
        chosen = self._chosen.get(commit)
        self._fetcher().deepen(commit, chosen.ref if chosen else "", depth)

    def _blame(self, commit: str, path: str, line: int) -> Commit:
        """Return the commit of a line; history and blobs that the mirror lacks are fetched."""
        if self._contents.cut_off():
            self._deepen(commit, commands.EVERYTHING)
        if self.remote.filters_blobs:
            self._complete(self._contents.missing_of_path(commit, path))
        return self._contents.blame(commit, path, line)

    def _sound(self, read: Callable[[], _T]) -> _T:
        """Read; if the mirror turns out to be damaged, fetch it again and retry."""
        is_gone = bool(self._chosen) and not self.path.exists()
        if not is_gone:
            with suppress(Damaged):
                return read()
        kept = [*self._chosen][-1:] if is_gone else self._repository.kept()
        self._repository.discard()
        known = [self._chosen[each] for each in kept if each in self._chosen]
        if not known:
            raise _damaged()
        fetcher = self._fetcher()
        for chosen in known:
            self._fetch_again(fetcher, chosen)
        try:
            return read()
        except Full as full:
            raise full.error from full
        except Damaged as error:
            raise _damaged() from error

    def _fetch_again(self, fetcher: Fetcher, chosen: Chosen) -> None:
        try:
            fetcher.fetch(chosen)
        except Damaged as error:
            self._repository.discard()
            # In an empty repository, only what was received can be damaged.
            raise errors.error_for(str(error)) if error.args else _damaged() from error


def _damaged() -> Unavailable:
    """Return the error of a mirror that was deleted because git could not read it."""
    return Unavailable(
        "git-mirror-damaged",
        "the local copy of the repository was damaged and has been thrown away",
        hint="it is fetched again; if this comes back, check the disk",
    )
