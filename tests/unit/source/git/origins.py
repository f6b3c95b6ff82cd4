"""Repositories to fetch from, made with git in a test's own folder."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kro_gitops.source.git.mirror import Mirrors
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import FetchRules

_PEOPLE = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2024-05-01T10:00:00+02:00",
    "GIT_COMMITTER_NAME": "Carl",
    "GIT_COMMITTER_EMAIL": "carl@example.org",
    "GIT_COMMITTER_DATE": "2024-05-02T10:00:00Z",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Origin:
    """A repository with a work tree; `url` is how mirrors name it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        self.git("init", "-q", "-b", "main", *options)
        self.git("config", "uploadpack.allowFilter", "true")

    def git(self, *arguments: str, text: bytes = b"") -> str:
        """Run git in the work tree."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], **_PEOPLE},
            input=text,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, str | bytes], message: str = "change") -> str:
        """Write files, commit them, and return the commit's id."""
        for name, content in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def plant(self, tree: bytes) -> str:
        """Commit a raw tree (of `ls-tree -z` lines) that no work tree could hold."""
        top = self.git("mktree", "-z", text=tree)
        commit = self.git("commit-tree", "-m", "planted", top)
        self.git("update-ref", "refs/heads/planted", commit)
        return commit

    def rules(self, **changes: object) -> FetchRules:
        """Give rules under which this repository may be fetched."""
        return FetchRules(local_urls=frozenset({self.url}), **changes)  # type: ignore[arg-type]  # any of its fields

    def mirrors(self, root: Path, **changes: object) -> Mirrors:
        """Give mirrors that may fetch this repository."""
        return Mirrors(root, self.rules(**changes))


def branch(commit: str, name: str = "main") -> Chosen:
    """Give a branch that stands at a commit."""
    return Chosen(f"refs/heads/{name}", commit, name=name)
