"""
Lists the files of a commit from those of another: only folders that differ are read.

Listing a repository costs time by its size, and most commits change a line. So the last listing is
kept, and the trees of both commits are walked side by side, from the top, into what differs.
Anything unusual (many folders, a malformed tree, very long names) is left to git, which lists
everything, so that limits are checked in one place.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from kro_gitops.source.git.output import bytes_of, listing_of, name_of, read_found
from kro_gitops.source.git.types import SUBMODULE, Found, Listing

_MOST_FOLDERS = 200  # beyond these git is asked for all
_MOST_FILES = 2000
_RECORD = 64  # bytes that git prints of a file beside its name and id, at most
_FOLDER = "40000"
_NOTHING = ("", "")
_TYPE, _REGULAR = 0o170000, 0o100000  # bits of a mode

Place = tuple[str, str]  # mode and id
Differences = dict[bytes, Place | None]
Trees = Callable[[Collection[str]], Mapping[str, bytes]]
_Pair = tuple[bytes, str, str]  # a folder's name, and its trees on both sides


class UnusualError(Exception):
    """A tree whose files git must list."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A tree, and what was found in it, by name and in git's order."""

    tree: str
    found: Mapping[str, Found]
    weight: int  # bytes that git prints of it, at most
    listing: Listing = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "listing", listing_of(self.found.values()))

    def at(self, tree: str, changes: Differences, sizes: Mapping[str, int]) -> "Listed":
        """Return what is found in another tree; what did not change stays the same object."""
        found = dict(self.found)
        fresh: dict[str, Found] = {}
        for name, place in changes.items():
            if place is None:
                found.pop(name_of(name), None)
                continue
            mode, id = place
            # A hostile tree may give a submodule the id of a file.
            size = -1 if mode == SUBMODULE else sizes.get(id, -1)
            fresh[name_of(name)] = read_found(name, mode, id, size)
        is_longer = not fresh.keys() <= found.keys()
        found.update(fresh)
        if is_longer:
            found = {name: found[name] for name in sorted(found, key=bytes_of)}
        more = sum(len(name) + len(tree) + _RECORD for name in changes)
        return Listed(tree, found, self.weight + more)


def differences(old: str, new: str, trees: Trees) -> Differences:
    """Return the files in which two trees differ, as the new one has them; `None`: gone."""
    found: Differences = {}
    pending: list[_Pair] = [(b"", old, new)]
    folders = 0
    while pending:
        folders += len(pending)
        if folders > _MOST_FOLDERS or len(found) > _MOST_FILES:
            raise UnusualError
        contents = trees({id for _, *both in pending for id in both if id})
        below: list[_Pair] = []
        for prefix, tree, other in pending:
            before, after = _parsed(tree, contents), _parsed(other, contents)
            for name in before.keys() | after.keys():
                was, now = before.get(name, _NOTHING), after.get(name, _NOTHING)
                if was == now:
                    continue
                path = prefix + name
                subtrees = [id if mode == _FOLDER else "" for mode, id in (was, now)]
                if any(subtrees):
                    below.append((path + b"/", subtrees[0], subtrees[1]))
                if now[0] not in (_FOLDER, ""):
                    found[path] = now
                elif was[0] not in (_FOLDER, ""):
                    found[path] = None
        pending = below
    return found


def blobs(changes: Differences) -> set[str]:
    """Return the ids of the files and links that are new."""
    places = (place for place in changes.values() if place is not None)
    return {id for mode, id in places if mode != SUBMODULE}


def parse_tree(content: bytes, digits: int) -> dict[bytes, Place]:
    """Read a raw tree: mode and id of each name in a folder, other folders among them."""
    found: dict[bytes, Place] = {}
    at = 0
    while at < len(content):
        space = content.find(b" ", at)
        end = content.find(b"\0", space)
        written, name = content[at:space], content[space + 1 : end]
        at, id = end + 1 + digits // 2, content[end + 1 : end + 1 + digits // 2]
        if space < 0 or end < 0 or at > len(content) or not name or name in found:
            raise UnusualError
        try:
            mode = int(written, 8)
        except ValueError:
            raise UnusualError from None
        if mode & _TYPE == _REGULAR:  # old trees have more modes than git prints
            mode = 0o100755 if mode & 0o100 else 0o100644
        elif mode not in (0o040000, 0o120000, 0o160000):
            raise UnusualError
        found[name] = (f"{mode:o}", id.hex())
    return found


def _parsed(id: str, contents: Mapping[str, bytes]) -> dict[bytes, Place]:
    """Return the entries of a tree; without an id there is none, an unread one is unusual."""
    if not id:
        return {}
    if id not in contents:
        raise UnusualError
    return parse_tree(contents[id], len(id))
