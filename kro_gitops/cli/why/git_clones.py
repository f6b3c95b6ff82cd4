"""
Git repositories that lines are read from: a clone of the user, or the URL of a source.

Git runs in a repository of its own in a temporary folder, so nothing in the configuration of a
clone is executed and its work tree is ignored: only the commit counts.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.inspect.provenance.git_location import Commit
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.parse import read_spec
from kro_gitops.source.api.url_policy import check_commit, check_path
from kro_gitops.source.api.validate import Defaults
from kro_gitops.source.git.credentials import ANONYMOUS, parse_credentials, parse_proxy
from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.objects import LOCAL_SECONDS, Contents
from kro_gitops.source.git.repository import Damaged, prepare_root
from kro_gitops.source.git.repository import Repository as GitRepository
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import Commit as GitCommit
from kro_gitops.source.git.types import Entry, FetchRules, Remote
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import Kind, KubeObject, ObjectRef

_T = TypeVar("_T")
_SECRET = Kind("", "v1", "Secret")


class Repository(Protocol):
    """The objects of one repository: a mirror, or a clone on this machine."""

    def fetch(self, chosen: Chosen) -> None:
        """Fetch a commit; raise if the repository does not have it."""

    def tree(self, commit: str) -> tuple[Entry, ...]:
        """List all files of a commit."""

    def read(self, ids: Collection[str]) -> dict[str, bytes]:
        """Read files by their ids."""

    def blame(self, commit: str, path: str, line: int) -> GitCommit:
        """Return the commit that last changed a line."""

    def commit(self, id: str) -> GitCommit:
        """Read a commit."""

    def close(self) -> None:
        """Stop the git processes."""


class LocalObjects:
    """
    The objects of a clone on this machine, read in place.

    Git runs in an empty repository whose `alternates` name the objects of the clone. So nothing is
    copied, however long the history is, and no configuration, hook or replacement of the clone has
    an effect. A shallow clone ends where it ends for its user.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._repository = GitRepository(prepare_root(scratch) / "clone", LOCAL_SECONDS)
        self._contents = Contents(self._repository, FetchRules(), has_gaps=False)
        self._clone = git_directory(folder)
        self._is_open = False

    def fetch(self, chosen: Chosen) -> None:
        """Raise if the clone does not have the commit."""
        commit = check_commit(chosen.commit)
        if not self._is_open:
            self._repository.open(len(commit))
            information = self._repository.folder / "objects" / "info"
            information.mkdir(exist_ok=True)
            (information / "alternates").write_text(f"{self._clone / 'objects'}\n", "utf-8")
            with suppress(FileNotFoundError):
                shallow = (self._clone / "shallow").read_bytes()
                (self._repository.folder / "shallow").write_bytes(shallow)
            self._is_open = True
        self._contents.commit(commit)

    def tree(self, commit: str) -> tuple[Entry, ...]:
        """List all files of a commit."""
        return self._contents.listing(commit).entries

    def read(self, ids: Collection[str]) -> dict[str, bytes]:
        """Read files by their ids."""
        return self._contents.files(ids)

    def blame(self, commit: str, path: str, line: int) -> GitCommit:
        """Return the commit that last changed a line."""
        return self._contents.blame(commit, check_path(path), line)

    def commit(self, id: str) -> GitCommit:
        """Read a commit."""
        return self._contents.commit(id)

    def close(self) -> None:
        """Stop the process that reads objects."""
        self._repository.close()


def git_directory(folder: Path) -> Path:
    """Return the directory with the objects of a clone, a worktree or a bare repository."""
    found = folder.resolve() / ".git"
    if found.is_file():  # of a worktree or a submodule
        found = found.parent / found.read_text("utf-8").removeprefix("gitdir:").strip()
    elif not found.is_dir():
        found = found.parent
    with suppress(FileNotFoundError):
        found /= (found / "commondir").read_text("utf-8").strip()
    return found.resolve()


class Clone:
    """A repository; what it does not have is `None`, and `error` says why."""

    def __init__(self, repository: Repository) -> None:
        self.error = ""
        self._repository = repository
        self._ids: dict[str, dict[str, str]] = {}

    def has(self, revision: str) -> bool:
        """Fetch a commit; return whether the repository has it."""
        return self._asked(lambda: self._files(revision)) is not None

    def read(self, path: str, revision: str) -> bytes | None:
        """Return a file at a commit."""

        def content() -> bytes | None:
            found = self._files(revision).get(path)
            return self._repository.read([found])[found] if found else None

        return self._asked(content)

    def blame(self, revision: str, path: str, line: int) -> Commit | None:
        """Return the commit that last changed a line."""
        return self._asked(lambda: _commit(self._repository.blame(revision, path, line)))

    def commit(self, id: str) -> Commit | None:
        """Return a commit."""
        if not self.has(id):
            return None
        return self._asked(lambda: _commit(self._repository.commit(id)))

    def close(self) -> None:
        """Stop the git processes."""
        self._repository.close()

    def _files(self, revision: str) -> dict[str, str]:
        """Return the ids of all files of a commit, by their path."""
        if revision not in self._ids:
            self._repository.fetch(Chosen("", revision))
            entries = self._repository.tree(revision)
            self._ids[revision] = {entry.path: entry.id for entry in entries}
        return self._ids[revision]

    def _asked(self, question: Callable[[], _T]) -> _T | None:
        try:
            return question()
        except KroGitopsError as error:
            self.error = error.message
        except (OSError, ValueError, Damaged) as error:  # git is missing, or a file is corrupt
            self.error = str(error) or "it cannot be read"
        return None


def _commit(found: GitCommit) -> Commit:
    return Commit(found.id, found.author, found.author_email, found.authored, found.subject)


def open_clone(folder: Path, scratch: Path) -> Clone:
    """Open a repository on this machine, bare or with a work tree."""
    return Clone(LocalObjects(folder, scratch))


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
    data: dict[str, bytes] = {}
    for key, value in mapping(found, "data").items():
        try:
            data[key] = b64decode(value, validate=True) if isinstance(value, str) else b""
        except NotBase64:
            data[key] = b""
    return data
