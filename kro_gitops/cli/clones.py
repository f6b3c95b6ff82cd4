"""
Git repositories that are asked about lines: a clone of the user's, or a source's own URL.

Both are read through a mirror of ours, in a folder that is gone afterwards. So nothing in the
configuration of a clone is run, and no work tree is looked at: what counts is the commit.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kro_gitops.errors import KroGitopsError
from kro_gitops.inspect.provenance.git_location import Commit
from kro_gitops.source.fetch.mirror import Mirror, Mirrors
from kro_gitops.source.fetch.model import Commit as GitCommit
from kro_gitops.source.fetch.model import FetchRules, Remote
from kro_gitops.source.fetch.repository import Damaged
from kro_gitops.source.revision import Chosen

_T = TypeVar("_T")


class Clone:
    """A repository; what it does not have is `None`, and `complaint` says why."""

    def __init__(self, mirror: Mirror) -> None:
        self.complaint = ""
        self._mirror = mirror
        self._ids: dict[str, dict[str, str]] = {}

    def has(self, revision: str) -> bool:
        """Say whether a commit is there, and fetch it."""
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
        """End the processes that read."""
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
            self.complaint = error.message
        except (OSError, Damaged) as error:  # no git here, or a copy that broke while it was read
            self.complaint = str(error) or "it cannot be read"
        return None


def _commit(found: GitCommit) -> Commit:
    return Commit(found.id, found.author, found.author_email, found.authored, found.subject)


def find_clone(start: Path) -> Path | None:
    """Return the repository that a folder is in."""
    here = start.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), None)


def open_clone(folder: Path, scratch: Path) -> Clone:
    """Open a repository on this machine, bare or with a work tree."""
    url = folder.resolve().as_uri()
    rules = FetchRules(local_urls=frozenset((url,)))
    return Clone(Mirrors(scratch, rules).of(Remote(url)))


def open_remote(remote: Remote, scratch: Path) -> Clone:
    """Open a repository by its URL; it may well be one of the user's own network."""
    return Clone(Mirrors(scratch, FetchRules(allow_private_networks=True)).of(remote))
