"""
The text behind live objects: which repository has it, and which commit a line is from.

A clone that is named, or the one we stand in, is asked first; with `--fetch`, so is the source's
own URL, with the login of its Secret if the user may read that. What cannot be read is left out,
and a note says so. Who wrote a commit is known to the source, too, as long as it is in its history.
"""

import asyncio
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kro_gitops.cli.clones import Clone, open_clone, open_remote
from kro_gitops.cli.cluster_options import Session
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.inspect.provenance.git_location import Commit, Page, Place, open_page
from kro_gitops.inspect.views.instances import Written, text_at, written
from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.source.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.fetch.model import Remote
from kro_gitops.source.spec_checks import Defaults
from kro_gitops.source.spec_reading import read_spec
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import Kind, KubeObject, ObjectRef

_SECRET = Kind("", "v1", "Secret")


class Pages:
    """Finds texts and commits; `folder` is a clone, `scratch` a folder for mirrors."""

    def __init__(
        self, session: Session, scratch: Path, folder: Path | None = None, *, fetches: bool = False
    ) -> None:
        self.notes: dict[str, None] = {}
        self._session = session
        self._scratch = scratch
        self._fetches = fetches
        self._local = open_clone(folder, scratch / "local") if folder is not None else None
        self._remotes: dict[str, Clone | None] = {}
        self._sources: dict[str, KubeObject | None] = {}
        self._lock = asyncio.Lock()

    async def open(self, obj: KubeObject) -> Page:
        """Return an object with its text, if that can be read."""
        place = written(obj)
        if place is None or not place.path or not place.revision:
            return Page(obj)
        async with self._lock:  # a repository answers one question at a time
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
        """Return which commit last changed each line, or else each object, as far as known."""
        found: dict[Place, Commit] = {}
        for place in dict.fromkeys(places):
            commit = await self._commit(place, of_line=of_lines)
            if commit is not None:
                found[place] = commit
        return found

    def close(self) -> None:
        """End the processes that read."""
        for clone in (self._local, *self._remotes.values()):
            if clone is not None:
                clone.close()

    async def _commit(self, place: Place, *, of_line: bool) -> Commit | None:
        where = place.written
        if where is None or not where.revision:
            return None
        async with self._lock:
            clone = await self._clone(where)
            if clone is not None and place.line is not None and of_line:
                line = place.line.number
                found = await asyncio.to_thread(clone.blame, where.revision, where.path, line)
                if found is not None:
                    return found
            if clone is not None:
                found = await asyncio.to_thread(clone.commit, where.revision)
                if found is not None:
                    return found
        source = await self._source(where.source)
        known = known_commit(source, where.revision) if source is not None else None
        return known or Commit(where.revision)

    async def _clone(self, place: Written) -> Clone | None:
        """Return the first repository that has a commit."""
        if self._local is not None and await asyncio.to_thread(self._local.has, place.revision):
            return self._local
        if not self._fetches:
            if self._local is not None:
                text = f"the repository here has no commit {place.revision[:12]}"
                self.notes[f"{text} of source {place.source}"] = None
            return None
        if place.source not in self._remotes:
            self._remotes[place.source] = await self._remote(place.source)
        clone = self._remotes[place.source]
        if clone is not None and await asyncio.to_thread(clone.has, place.revision):
            return clone
        if clone is not None:
            self.notes[f"source {place.source}: {clone.complaint}"] = None
        return None

    async def _remote(self, name: str) -> Clone | None:
        source = await self._source(name)
        if source is None:
            self.notes[f"there is no source {name} to fetch from"] = None
            return None
        try:
            remote = await self._remote_of(source)
        except KroGitopsError as error:
            self.notes[f"source {name}: {error.message}"] = None
            return None
        return open_remote(remote, self._scratch / "remote")

    async def _remote_of(self, source: KubeObject) -> Remote:
        spec, namespace = read_spec(source, Defaults()), ObjectRef.of(source).namespace
        credentials, proxy = ANONYMOUS, None
        if spec.secret:
            data = await self._secret(namespace, spec.secret)
            credentials = parse_credentials(data, spec.url, spec.provider)
        if credentials.app is not None:
            text = "a GitHub App logs in there, which only the controller does"
            raise UserError("app-login", text, hint="give a clone with --repo")
        if spec.proxy_secret:
            proxy = parse_proxy(await self._secret(namespace, spec.proxy_secret))
        return Remote(spec.url, credentials, proxy, spec.timeout, spec.filters_blobs)

    async def _secret(self, namespace: str, name: str) -> Mapping[str, bytes]:
        found = await self._session.cluster.find(ObjectRef(_SECRET, namespace, name))
        if found is None:
            text = f"its secret '{name}' is not there"
            raise UserError("no-such-object", text)
        return {key: _decoded(value) for key, value in mapping(found, "data").items()}

    async def _source(self, name: str) -> KubeObject | None:
        """Return a source; that it cannot be read is no reason to say nothing at all."""
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


def _decoded(value: Any) -> bytes:
    try:
        return b64decode(value, validate=True) if isinstance(value, str) else b""
    except NotBase64:
        return b""


def known_commit(source: KubeObject, revision: str) -> Commit | None:
    """Return what a source remembers of a commit: of the one it applied last, or from before."""
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
