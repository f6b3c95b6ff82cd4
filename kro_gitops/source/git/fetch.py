"""
Fetches revisions into a repository, and removes what is no longer needed.

The short way is one fetch of one ref without history. The longer ways are for commits that are not
the tip of a ref: by their id, if the server allows that; in a branch, deeper step by step; at last
in all branches.
"""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.api.url_policy import check_commit
from kro_gitops.source.git import commands, output
from kro_gitops.source.git.objects import Contents
from kro_gitops.source.git.process import folder_size
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.session import RemoteSession

DEPTHS = (50, 500, commands.EVERYTHING)
_KEPT = 16  # revisions, after tidying
_KEPT_MOST = 32
_PACKS_MOST = 24


class Fetcher:
    """Fetches revisions from a remote into a repository."""

    def __init__(self, session: RemoteSession, contents: Contents) -> None:
        self.session = session
        self.contents = contents
        self.repository = contents.repository

    def fetch(self, chosen: Chosen) -> None:
        """Fetch a revision; a commit with a branch must be in it."""
        self.repository.open(len(chosen.commit))
        if not chosen.ref:
            self._fetch_id(chosen.commit)
            return
        target = chosen.tag_object or chosen.commit
        self.session.fetch(self.repository, [commands.ref_to(chosen.ref, target)])
        if not self.repository.keeps(target):
            self.repository.drop(target)  # named after what it does not hold
            self._search_branch(chosen)
        elif chosen.tag_object:
            # Keep the commit of an annotated tag beside the tag itself.
            found, kind, content = self.contents.object(chosen.tag_object)
            while kind == "tag":
                found, kind, content = self.contents.object(output.parse_tag(content))
            if found != chosen.commit:
                raise _moved(chosen)
            self.repository.keep(chosen.commit)

    def follow(self, refs: Sequence[str], digits: int) -> str:
        """
        Fetch the tips of refs, and keep their commit; empty if they do not all name the same.

        One request instead of two, for callers that expect a new commit.
        """
        self.repository.open(digits)
        names = {commands.TIP + str(number): ref for number, ref in enumerate(refs)}
        with self._heads() as heads:
            refspecs = [commands.tip_of(ref, name) for name, ref in names.items()]
            try:
                self.session.fetch(self.repository, refspecs)
            except Unavailable as error:
                if error.code != "git-ref-gone":
                    raise
                return ""
            found = {(heads / name).read_text("ascii").strip() for name in names}
            commit = check_commit(found.pop())
            if found:
                return ""
            # It is complete: git exits with 0 only then.
            self.repository.keep(commit)
            return commit

    def deepen(self, commit: str, ref: str, depth: int) -> None:
        """Fetch more of a commit's history; by its id, or else by the ref it came from."""
        try:
            self.session.fetch(self.repository, [commands.only_id(commit)], depth)
        except Unavailable as error:
            if error.code not in ("git-id-refused", "git-ref-gone") or not ref:
                raise
            self.session.fetch(self.repository, [commands.only_ref(ref)], depth)

    def tidy(self, chosen: Chosen) -> None:
        """Bound the size of the repository; the given revision stays."""
        kept = self.repository.kept()
        if len(kept) <= _KEPT_MOST and not self._is_large():
            return
        for each in kept[_KEPT:]:
            self.repository.drop(each)
        # A repository with a filter's gaps cannot be repacked without asking for what is missing.
        if not self.session.remote.filters_blobs:
            self.repository.close()
            size = folder_size(self.repository.packs)  # the old packs stay until the end
            with self.session.storage.growing(self.repository.folder.name, size) as allowance:
                if allowance.size >= size:
                    self.repository.ask(commands.repack())
                    self.repository.ask(commands.prune())
        if self._is_large():
            self.repository.discard()
            self.fetch(chosen)

    def _is_large(self) -> bool:
        packs = self.repository.packs
        count = sum(1 for _ in packs.glob("*.pack"))
        return count > _PACKS_MOST or folder_size(packs) > 2 * self.session.rules.pack_bytes

    def _search_branch(self, chosen: Chosen) -> None:
        """Look for a commit in a branch whose tip is another one, deeper each time."""
        if not chosen.ref.startswith("refs/heads/"):
            raise _moved(chosen)
        with self._heads() as heads:
            for depth in DEPTHS:
                self.session.fetch(self.repository, [commands.tip_of(chosen.ref)], depth)
                tip = (heads / commands.TIP).read_text("ascii").strip()
                if self.contents.is_in(chosen.commit, tip):
                    self.repository.keep(chosen.commit)
                    return
        raise UserError(
            "commit-not-in-branch",
            f"the commit {chosen.commit[:12]} is not in {chosen.name or chosen.ref}",
            hint="name a commit of that branch, or leave the branch out",
        )

    def _fetch_id(self, commit: str) -> None:
        try:
            self.session.fetch(self.repository, [commands.id_to(commit)])
        except Unavailable as error:
            if error.code == "git-ref-gone":
                raise _no_such_commit(commit) from error
            if error.code != "git-id-refused":
                raise
            # The server does not serve commits by id: look for it in all branches.
            with self._heads():
                self.session.fetch(self.repository, [commands.ALL_HEADS], commands.EVERYTHING)
                if commit not in self.contents.commits([commit]):
                    raise _no_such_commit(commit) from error
                self.repository.keep(commit)
        if self.contents.object(commit)[1] != "commit":
            self.repository.drop(commit)
            raise UserError("not-a-commit", f"{commit[:12]} is no commit but another object")

    @contextlib.contextmanager
    def _heads(self) -> Iterator[Path]:
        """Yield the folder of refs that are needed for a moment, and remove it afterwards."""
        folder = self.repository.folder / commands.HEADS
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _moved(chosen: Chosen) -> Unavailable:
    """Return the error of a ref that was pushed to between listing and fetching."""
    return Unavailable(
        "git-ref-moved",
        f"{chosen.name or chosen.ref} has moved from {chosen.commit[:12]} since it was asked",
        hint="it is asked again",
    )


def _no_such_commit(commit: str) -> UserError:
    """Return the error of a pinned commit that no ref of the remote contains."""
    return UserError(
        "commit-not-found",
        f"the repository has no commit {commit[:12]} that a branch or tag leads to",
        hint="check 'ref.commit'; a force push may have removed it",
    )
