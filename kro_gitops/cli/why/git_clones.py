"""
Git repositories that lines are read from: a clone of the user, or the URL of a source.

Both are read through a mirror in a temporary folder, so nothing in the configuration of a clone is
executed and its work tree is ignored: only the commit counts.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.inspect.provenance.git_location import Commit
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.parse import read_spec
from kro_gitops.source.api.validate import Defaults
from kro_gitops.source.git.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.repository import Damaged
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import Commit as GitCommit
from kro_gitops.source.git.types import FetchRules, Remote
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import Kind, KubeObject, ObjectRef

_T = TypeVar("_T")
_SECRET = Kind("", "v1", "Secret")


class Clone:
    """A repository; what it does not have is `None`, and `error` says why."""

    def __init__(self, mirror: Mirror) -> None:
        self.error = ""
        self._mirror = mirror
        self._ids: dict[str, dict[str, str]] = {}

    def has(self, revision: str) -> bool:
        """Fetch a commit; return whether the repository has it."""
        return self._asked(lambda: self._files(revision)) is not None

    def read(self, path: str, revision: str) -> bytes | None:
        """Return a file at a commit."""

        def content() -> bytes | None:
            found = self._files(revision).get(path)
            return self._mirror.read([found])[found] if found else None

        return self._asked(content)

    def blame(self, revision: str, path: str, line: int) -> Commit | None:
        """Return the commit that last changed a line."""
        return self._asked(lambda: _commit(self._mirror.blame(revision, path, line)))

    def commit(self, id: str) -> Commit | None:
        """Return a commit."""
        if not self.has(id):
            return None
        return self._asked(lambda: _commit(self._mirror.commit(id)))

    def close(self) -> None:
        """Stop the git processes."""
        self._mirror.close()

    def _files(self, revision: str) -> dict[str, str]:
        """Return the ids of all files of a commit, by their path."""
        if revision not in self._ids:
            self._mirror.fetch(Chosen("", revision))
            entries = self._mirror.tree(revision)
            self._ids[revision] = {each.path: each.id for each in entries}
        return self._ids[revision]

    def _asked(self, question: Callable[[], _T]) -> _T | None:
        try:
            return question()
        except KroGitopsError as error:
            self.error = error.message
        except (OSError, Damaged) as error:  # git is missing, or the mirror is corrupt
            self.error = str(error) or "it cannot be read"
        return None


def _commit(found: GitCommit) -> Commit:
    return Commit(found.id, found.author, found.author_email, found.authored, found.subject)


def open_clone(folder: Path, scratch: Path) -> Clone:
    """Open a repository on this machine, bare or with a work tree."""
    url = folder.resolve().as_uri()
    rules = FetchRules(local_urls=frozenset((url,)))
    return Clone(Mirrors(scratch, rules).of(Remote(url)))


def open_remote(remote: Remote, scratch: Path) -> Clone:
    """Open a repository by its URL; it may be in the user's own network."""
    return Clone(Mirrors(scratch, FetchRules(allow_private_networks=True)).of(remote))


async def remote_of(cluster: Reader, source: KubeObject) -> Remote:
    """Return the repository of a source with its credentials; raise if they cannot be read."""
    spec, namespace = read_spec(source, Defaults()), ObjectRef.of(source).namespace
    credentials, proxy = ANONYMOUS, None
    if spec.secret:
        data = await _secret(cluster, namespace, spec.secret)
        credentials = parse_credentials(data, spec.url, spec.provider)
    if credentials.app is not None:
        text = "its credentials are those of a GitHub App, which only the controller can use"
        raise UserError("app-login", text, hint="give a clone with --repo")
    if spec.proxy_secret:
        proxy = parse_proxy(await _secret(cluster, namespace, spec.proxy_secret))
    return Remote(spec.url, credentials, proxy, spec.timeout, spec.filters_blobs)


async def _secret(cluster: Reader, namespace: str, name: str) -> Mapping[str, bytes]:
    found = await cluster.find(ObjectRef(_SECRET, namespace, name))
    if found is None:
        raise UserError("no-such-object", f"its secret '{name}' does not exist")
    return {key: _decoded(value) for key, value in mapping(found, "data").items()}


def _decoded(value: Any) -> bytes:
    try:
        return b64decode(value, validate=True) if isinstance(value, str) else b""
    except NotBase64:
        return b""
