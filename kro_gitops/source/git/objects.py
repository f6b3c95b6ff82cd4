"""
Reads commits, listings and files of a repository. Nothing here connects.

An object that is missing although one of our refs keeps it means damage; any other missing object
was merely not fetched.
"""

import contextlib
from collections.abc import Collection, Iterator

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.git import commands, output
from kro_gitops.source.git.cat_file import read_objects, read_sizes
from kro_gitops.source.git.commands import Command
from kro_gitops.source.git.errors import too_large
from kro_gitops.source.git.listing import Listed, UnusualError, blobs, differences
from kro_gitops.source.git.process import Limits, Outcome
from kro_gitops.source.git.repository import Damaged, Repository
from kro_gitops.source.git.types import Commit, FetchRules, Listing
from kube_objects.errors import RefusedError

LOCAL_SECONDS = 60.0
_OBJECT_BYTES = 1 << 20  # of a commit or tag
_TREE_BYTES = 16 << 20  # of a folder, without what is in folders in it
_LISTED_BYTES = 32 << 20  # far from where git is stopped


class Contents:
    """Reads a repository."""

    def __init__(self, repository: Repository, rules: FetchRules, *, has_gaps: bool) -> None:
        self.repository = repository
        self.rules = rules
        self.has_gaps = has_gaps  # files that a filter left out, whose sizes are unknown
        self._listed: Listed | None = None  # the last

    def object(self, id: str) -> tuple[str, str, bytes]:
        """Return id, type and content of a commit or tag."""
        for found in self._objects([id], _OBJECT_BYTES):
            return found
        if self.repository.keeps(id):
            raise Damaged
        raise _not_fetched(f"the object {id[:12]} was not fetched")

    def commit(self, id: str) -> Commit:
        """Read a commit."""
        _, kind, content = self.object(id)
        if kind != "commit":
            raise UserError("not-a-commit", f"{id[:12]} is no commit but a {kind}")
        return output.parse_commit(id, content)

    def commits(self, ids: Collection[str]) -> dict[str, Commit]:
        """Read those of the commits that were fetched."""
        found = self._objects(ids, _OBJECT_BYTES)
        return {id: output.parse_commit(id, content) for id, _, content in found}

    def listing(self, commit: str) -> Listing:
        """List the files of a commit; only what differs from the last listing is read."""
        tree = self.commit(commit).tree
        known = self._listed
        if known is not None and known.tree == tree:
            return known.listing
        found: Listed | None = None
        if known is not None and known.weight <= _LISTED_BYTES:
            with contextlib.suppress(UnusualError):
                changes = differences(known.tree, tree, self._trees)
                sizes: dict[str, int] = {}
                fresh = blobs(changes)
                if fresh and not self.has_gaps:
                    sizes = read_sizes(self.repository, fresh, LOCAL_SECONDS)
                    if len(sizes) < len(fresh):
                        raise UnusualError
                found = known.at(tree, changes, sizes)
        if found is None or len(found.found) > self.rules.tree_entries:
            found = self._list_all(tree)
        self._listed = found
        return found.listing

    def _list_all(self, tree: str) -> Listed:
        done = self._run(commands.ls_tree(tree, sizes=not self.has_gaps))
        if done.stopped:
            raise output.tree_too_large(self.rules.tree_entries)
        if done.code != 0:
            raise Damaged
        try:
            found = output.parse_listing(done.output, self.rules.tree_entries)
        except ValueError as error:
            raise Damaged from error
        return Listed(tree, found, len(done.output))

    def _trees(self, ids: Collection[str]) -> dict[str, bytes]:
        """Read trees by id; one beyond the limit makes the caller list all files instead."""
        try:
            found = self._objects(ids, _TREE_BYTES)
        except RefusedError:
            raise UnusualError from None
        return {id: content for id, kind, content in found if kind == "tree"}

    def files(self, ids: Collection[str]) -> dict[str, bytes]:
        """Read files."""
        found: dict[str, bytes] = {}
        total = 0
        for id, _, content in self._each(ids, self.rules.file_bytes):
            total += len(content)
            if total > self.rules.read_bytes:
                raise too_large(self.rules.read_bytes)
            found[id] = content
        missing = [id for id in ids if id not in found]
        if missing:
            for kept in self.repository.kept()[:1]:  # raises if the repository is damaged
                self._list_all(self.commit(kept).tree)
            raise _not_fetched(f"{len(missing)} files were not fetched, {missing[0][:12]} is one")
        return found

    def missing(self, ids: Collection[str]) -> list[str]:
        """Return those of the objects that were not fetched."""
        answer = self.repository.ask(commands.check_objects(ids)).decode("ascii", "replace")
        rows = (line.split() for line in answer.splitlines())
        return [row[0] for row in rows if row[-1] == "missing"]

    def missing_of_path(self, commit: str, path: str) -> list[str]:
        """Return the objects that a path had in all its history and that were not fetched."""
        listed = self.repository.ask(commands.missing_of_path(commit, path)).decode("ascii")
        return [row[1:] for row in listed.split() if row.startswith("?")]

    def changed_paths(self, old: str, new: str) -> frozenset[str] | None:
        """Return the paths in which two commits differ; None unless both were fetched."""
        both = self.commits({old, new})
        if old not in both or new not in both:
            return None
        done = self._run(commands.diff_tree(both[old].tree, both[new].tree))
        return output.parse_paths(done.output) if done.code == 0 else None

    def is_in(self, old: str, new: str) -> bool:
        """Return True if a commit is in the fetched part of another's history."""
        return self._run(commands.is_ancestor(old, new)).code == 0

    def blame(self, commit: str, path: str, line: int) -> Commit:
        """Return the commit that last changed a line, as far as history was fetched."""
        done = self._run(commands.blame(commit, path, line))
        if done.code != 0:
            raise UserError(
                "no-such-line",
                f"there is no line {line} of '{path}' at {commit[:12]}",
                hint="lines count from 1",
            )
        return self.commit(done.output.split(maxsplit=1)[0].decode("ascii"))

    def cut_off(self) -> frozenset[str]:
        """Return the commits whose parents were not fetched."""
        try:
            return frozenset((self.repository.folder / "shallow").read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()

    def _objects(self, ids: Collection[str], most: int) -> list[tuple[str, str, bytes]]:
        return list(self._each(ids, most))

    def _each(self, ids: Collection[str], most: int) -> Iterator[tuple[str, str, bytes]]:
        if self.repository.packs.is_dir():
            yield from read_objects(self.repository, ids, most, LOCAL_SECONDS)

    def _run(self, command: Command) -> Outcome:
        return self.repository.run(command, Limits(LOCAL_SECONDS))


def _not_fetched(message: str) -> Unavailable:
    return Unavailable("git-not-fetched", message, hint="it comes with the next reconcile")
