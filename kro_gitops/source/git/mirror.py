"""
Mirrors: what was fetched of each remote, and questions about it.

A mirror is a bare repository that is never checked out. It keeps single revisions, cut off from
their history (`refs/kg/<id>`, one for each object that somebody wanted, complete as soon as the
ref is there), and deepens only where a question needs history. It is a cache: when it is damaged
or grows too large it is thrown away and made again.

It stays bounded: of the kept revisions the last used survive; when many packs have come together
they become one with only what these need; and if that is still too much, it starts anew with the
revision asked for.
"""

import contextlib
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.source.api.url_policy import check_commit, check_path
from kro_gitops.source.git import commands, errors
from kro_gitops.source.git.fetch import DEPTHS, Arrivals
from kro_gitops.source.git.locks import locked
from kro_gitops.source.git.objects import LOCAL_SECONDS, Contents
from kro_gitops.source.git.repository import Damaged, Repository, prepare_root
from kro_gitops.source.git.revisions import Chosen, RemoteRefs
from kro_gitops.source.git.session import Wire
from kro_gitops.source.git.types import Commit, Entry, FetchRules, Listing, Remote

_T = TypeVar("_T")
_REMEMBERED = 32
_READERS = 16  # processes that stay; a mirror that was not asked for lately ends its own


class Mirrors:
    """All mirrors below a folder that is ours alone."""

    def __init__(self, root: Path, rules: FetchRules) -> None:
        self.root = prepare_root(root)
        self.rules = rules
        self._mirrors: dict[str, Mirror] = {}
        self._recent: dict[str, Mirror] = {}  # the last asked for, in that order
        self._lock = threading.Lock()

    def of(self, remote: Remote) -> "Mirror":
        """Give the mirror of a remote; the same one for the same URL and login."""
        identity = remote.identity
        with self._lock:
            found = self._mirrors.get(identity)
            if found is None:
                found = Mirror(self.root / identity, remote, self.rules)
                self._mirrors[identity] = found
            found.remote = remote  # a new token of the same app, another timeout
            self._recent.pop(identity, None)
            self._recent[identity] = found
            if len(self._recent) > _READERS:
                self._recent.pop(next(iter(self._recent))).rest()
            return found

    def forget(self, keep: Collection[str]) -> None:
        """
        Delete the mirrors whose identity is not among these, also those of earlier runs.

        One that is in use stays until the next time: whoever waited for a slow server here would
        keep everybody waiting who only wants to know where a mirror is.
        """
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

    def close(self) -> None:
        """End all processes; the mirrors start them again when asked."""
        with self._lock:
            for mirror in self._mirrors.values():
                mirror.close()


class Mirror:
    """What was fetched of one remote; every method blocks, and only one runs at a time."""

    def __init__(self, path: Path, remote: Remote, rules: FetchRules) -> None:
        self.path = path
        self.remote = remote
        self.rules = rules
        self._repository = Repository(path, LOCAL_SECONDS)
        self._contents = Contents(self._repository, rules, has_gaps=remote.filters_blobs)
        self._chosen: dict[str, Chosen] = {}  # how what we keep was asked for
        self._lock = threading.Lock()

    def ask(self, patterns: Sequence[str]) -> RemoteRefs:
        """Ask the remote for refs; needs no mirror, and waits for nobody."""
        wire = self._wire()
        return wire.ask(patterns) if patterns else RemoteRefs()

    def has(self, commit: str) -> bool:
        """Say whether a commit is here with all its files (a filter's missing ones aside)."""
        return self._repository.keeps(check_commit(commit))

    def fetch(self, chosen: Chosen) -> None:
        """Fetch a revision unless it is here."""
        arrivals = self._arrivals()  # a URL that is refused now is refused for what is here, too
        wanted = [check_commit(each) for each in (chosen.commit, chosen.tag_object) if each]
        with self._alone():
            self._remember(chosen)
            if all(map(self._repository.keeps, wanted)):
                return
            try:
                arrivals.fetch(chosen)
                arrivals.tidy(chosen)
            except Damaged:
                self._repository.discard()
                self._fetch_anew(arrivals, chosen)

    def follow(self, former: Chosen, refs: Sequence[str]) -> Chosen | None:
        """
        Fetch a revision from where its refs stand now; `None`: the remote must be asked.

        Nothing is fetched anew here: what was fetched before must be there.
        """
        arrivals = self._arrivals()
        with self._alone():
            if not self._repository.keeps(check_commit(former.commit)):
                return None
            try:
                commit = arrivals.follow(refs, len(former.commit))
                chosen = replace(former, commit=commit)
                if commit:
                    self._remember(chosen)
                    arrivals.tidy(chosen)
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
        """List all files of a commit, and those whose names are refused."""
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
        """Give the paths in which two commits differ; None: one of them is not here."""
        both = check_commit(old), check_commit(new)
        with self._alone():
            return self._contents.changed_paths(*both)

    def is_ancestor(self, old: str, new: str) -> bool | None:
        """Say whether a commit is in another's history; None: the remote does not tell."""
        if check_commit(old) == check_commit(new):
            return True
        with self._alone():
            try:
                if old in self._sound(lambda: self._contents.commit(new)).parents:
                    return True  # the common case, and it costs no visit
                return self._search_history(old, new)
            except (KroGitopsError, Damaged):
                return None

    def blame(self, commit: str, path: str, line: int) -> Commit:
        """Give the commit that last changed a line; fetches the history."""
        check_commit(commit)
        path = check_path(path)
        with self._alone():
            return self._sound(lambda: self._blame(commit, path, line))

    def close(self) -> None:
        """End the process that reads objects; it is started again when asked."""
        with self._lock:
            self._repository.close()

    def rest(self) -> bool:
        """Do so, unless somebody is reading; say whether nobody is."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._repository.close()
        finally:
            self._lock.release()
        return True

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads out, and other processes."""
        with self._lock, locked(self.path.with_suffix(".lock")):
            yield

    def _wire(self) -> Wire:
        return Wire(self.remote, self.rules, self.path.parent)

    def _arrivals(self) -> Arrivals:
        return Arrivals(self._wire(), self._contents)

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
            self._wire().fetch_blobs(self._repository, missing)

    def _search_history(self, old: str, new: str) -> bool | None:
        """Look for a commit in another's history, deeper each time."""
        for depth in (0, *DEPTHS):
            if depth:
                self._deepen(new, depth)
            if self._contents.is_in(old, new):
                return True
            if not self._contents.cut_off():
                return False
        return None if new in self._contents.cut_off() else False

    def _deepen(self, commit: str, depth: int) -> None:
        chosen = self._chosen.get(commit)
        self._arrivals().deepen(commit, chosen.ref if chosen else "", depth)

    def _blame(self, commit: str, path: str, line: int) -> Commit:
        if self._contents.cut_off():
            self._deepen(commit, commands.EVERYTHING)
        if self.remote.filters_blobs:
            self._complete(self._contents.missing_of_path(commit, path))
        return self._contents.blame(commit, path, line)

    def _sound(self, read: Callable[[], _T]) -> _T:
        """Read; if the mirror turns out to be damaged, make it anew and read again."""
        try:
            return read()
        except Damaged:
            self._mend()
        try:
            return read()
        except Damaged as error:
            raise _damaged() from error

    def _mend(self) -> None:
        kept = self._repository.kept()
        self._repository.discard()
        known = [self._chosen[each] for each in kept if each in self._chosen]
        if not known:
            raise _damaged()
        arrivals = self._arrivals()
        for chosen in known:
            self._fetch_anew(arrivals, chosen)

    def _fetch_anew(self, arrivals: Arrivals, chosen: Chosen) -> None:
        try:
            arrivals.fetch(chosen)
        except Damaged as error:
            self._repository.discard()
            # An empty repository that stumbles does so over what came.
            raise errors.error_for(str(error)) if error.args else _damaged() from error


def _damaged() -> Unavailable:
    return Unavailable(
        "git-mirror-damaged",
        "the local copy of the repository was damaged and has been thrown away",
        hint="it is fetched again; if this comes back, check the disk",
    )
