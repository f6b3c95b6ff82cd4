"""
The text of live objects in git, and the commits of its lines.

The clone of `--repo`, or the one that contains the current folder, is read first; with `--fetch`
also the source's URL, with the credentials of its Secret if the user may read that. What cannot be
read is left out with a note. The author of a commit is also known from the source's history.
"""

import asyncio
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_session import Session
from kro_gitops.errors import KroGitopsError
from kro_gitops.inspect.provenance.git_location import Commit, Page, Place, open_page
from kro_gitops.inspect.views.instances import Written, text_at, written
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import KubeObject, ObjectRef

if TYPE_CHECKING:
    from kro_gitops.cli.why.git_clones import Clone


class Texts:
    """Reads texts and commits; `folder` is a clone, `scratch` a folder for mirrors."""

    def __init__(
        self, session: Session, scratch: Path, folder: Path | None = None, *, fetches: bool = False
    ) -> None:
        self.notes: dict[str, None] = {}
        self._session = session
        self._scratch = scratch
        self._fetches = fetches
        self._local: Clone | None = None
        if folder is not None:
            self._local = _clones().open_clone(folder, scratch / "local")
        self._remotes: dict[str, Clone | None] = {}
        self._sources: dict[str, KubeObject | None] = {}
        self._lock = asyncio.Lock()

    async def open(self, obj: KubeObject) -> Page:
        """Return an object with its text, if that can be read."""
        place = written(obj)
        if place is None or not place.path or not place.revision:
            return Page(obj)
        async with self._lock:  # a clone is read by one task at a time
            clone = await self._clone(place)
            if clone is None:
                return Page(obj)
            text = await asyncio.to_thread(clone.read, place.path, place.revision)
        page = open_page(obj, text)
        if page.document is None:
            self.notes[f"{place.path} at {place.revision[:12]} does not have {page.name}"] = None
        return page

    async def commits(
        self, places: Iterable[Place], *, of_lines: bool = True
    ) -> dict[Place, Commit]:
        """Return the commit that last changed each line, or else each object, as far as known."""
        found: dict[Place, Commit] = {}
        for place in dict.fromkeys(places):
            where, commit = place.written, None
            if where is None or not where.revision:
                continue
            async with self._lock:
                clone = await self._clone(where)
                if clone is not None and place.line is not None and of_lines:
                    line = place.line.number
                    commit = await asyncio.to_thread(clone.blame, where.revision, where.path, line)
                if clone is not None and commit is None:
                    commit = await asyncio.to_thread(clone.commit, where.revision)
            if commit is None:
                source = await self._source(where.source)
                known = known_commit(source, where.revision) if source is not None else None
                commit = known or Commit(where.revision)
            found[place] = commit
        return found

    def close(self) -> None:
        """Stop the git processes."""
        for clone in (self._local, *self._remotes.values()):
            if clone is not None:
                clone.close()

    async def _clone(self, place: Written) -> "Clone | None":
        """Return the first repository that has a commit."""
        if self._local is not None and await asyncio.to_thread(self._local.has, place.revision):
            return self._local
        if not self._fetches:
            if self._local is not None:
                text = f"the local repository has no commit {place.revision[:12]}"
                self.notes[f"{text} of source {place.source}"] = None
            return None
        if place.source not in self._remotes:
            opened: Clone | None = None
            source = await self._source(place.source)
            if source is None:
                self.notes[f"there is no source {place.source} to fetch from"] = None
            else:
                try:
                    remote = await _clones().remote_of(self._session.cluster, source)
                    opened = _clones().open_remote(remote, self._scratch / "remote")
                except KroGitopsError as error:
                    self.notes[f"source {place.source}: {error.message}"] = None
            self._remotes[place.source] = opened
        clone = self._remotes[place.source]
        if clone is not None and await asyncio.to_thread(clone.has, place.revision):
            return clone
        if clone is not None:
            self.notes[f"source {place.source}: {clone.error}"] = None
        return None

    async def _source(self, name: str) -> KubeObject | None:
        """Return a source; `None` with a note if it cannot be read."""
        if name not in self._sources:
            namespace, _, rest = name.rpartition("/")
            ref = ObjectRef(GIT_SOURCE_KIND, namespace, rest)
            try:
                found = await self._session.cluster.find(ref) if namespace and rest else None
            except KroGitopsError as error:
                self.notes[f"source {name}: {error.message}"] = None
                found = None
            self._sources[name] = found
        return self._sources[name]


def _clones() -> ModuleType:
    """Import what needs git and its libraries; without a clone that time is saved."""
    return import_module("kro_gitops.cli.why.git_clones")


def find_clone(start: Path) -> Path | None:
    """Return the repository that contains a folder."""
    here = start.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)


def known_commit(source: KubeObject, revision: str) -> Commit | None:
    """Return a commit that a source applied, from its status."""
    last = mapping(source, "status", "commit")
    if text_at(last, "id") == revision:
        message = text_at(last, "message").split("\n", 1)[0]
        return Commit(revision, text_at(last, "author"), "", text_at(last, "time"), message)
    listed = mapping(source, "status").get("history")
    for entry in listed if isinstance(listed, list) else ():
        if text_at(entry, "revision").rpartition(":")[2] == revision:
            message = text_at(entry, "message").split("\n", 1)[0]
            return Commit(revision, text_at(entry, "author"), "", "", message)
    return None
