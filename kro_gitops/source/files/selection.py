"""
Which of a commit's files are read.

YAML and JSON below the source's paths, without what is certainly no manifest (`foreign_files`)
and what the authors left out (`ignore`). Links and submodules are never followed. A finding
reports that, because their author expects their content to be read.

A monorepo has a hundred thousand files, and this runs for each new commit: names are sorted out
by looking at their ends first, and only what looks unusual is given to the slower rules.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TypeVar

from kro_gitops.source.api.url_policy import check_path
from kro_gitops.source.files.foreign_files import FOREIGN_NAMES, SUFFIXES, chart_folders, is_foreign
from kro_gitops.source.files.ignore import NAMES, IgnoreRules
from kro_gitops.source.git.types import SUBMODULE, SYMLINK, Entry
from kube_objects.problems import Finding, Origin, Problem, Severity

T = TypeVar("T")

_SUFFIXES = tuple(SUFFIXES)
_LONGEST_SUFFIX = max(map(len, SUFFIXES))
_NEAR = 3
_MOST_COMPARED = 5_000  # names
# Codes of findings about places whose content is not read, though it may be meant.
NOT_FOLLOWED = frozenset(("KG-S02", "KG-S03"))
_SUBMODULE = Problem(
    "KG-S03",
    "this is a submodule, and submodules are not read",
    hint="make that repository a source of its own",
    severity=Severity.WARNING,
)
_LINK = Problem(
    "KG-S02",
    "this is a symbolic link, and links are not followed",
    hint="name the folder it leads to in 'paths', or put the file itself here",
    severity=Severity.WARNING,
)
# A link called like this leads to a file of that type, not to a folder of manifests.
_OTHER_FILE = re.compile(r"\.[A-Za-z]\w{0,5}$")


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The files to read, in the order of the tree, and findings about the others."""

    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...] = ()


def choose_files(
    entries: Sequence[Entry],
    paths: tuple[str, ...],
    ignore: str,
    ignore_files: Mapping[str, bytes],
) -> ChosenFiles:
    """Choose the files to read; `ignore_files` holds those that `ignore_paths` names."""
    paths = tuple(map(check_path, paths))
    rules = IgnoreRules(ignore, ignore_files)
    inside = _inside(entries, paths)
    files: list[Entry] = []  # whose suffix fits
    others: list[Entry] = []  # links and submodules that may lead to manifests
    for entry in inside:
        path = entry.path
        if _is_file(entry):
            # In capitals, too, which is checked only for the few that do not match at once.
            is_yaml = path.endswith(_SUFFIXES)
            if is_yaml or path[-_LONGEST_SUFFIX:].lower().endswith(_SUFFIXES):
                files.append(entry)
        elif not path.startswith(".") and "/." not in path:
            is_other = entry.mode == SYMLINK and _OTHER_FILE.search(path) is not None
            if not is_other or path.lower().endswith(_SUFFIXES):
                others.append(entry)
    folders = _Folders(
        chart_folders(each.path for each in entries if each.path.endswith("Chart.yaml"))
    )
    files = [entry for entry in files if not folders.is_foreign_file(entry.path)]
    if not rules.is_empty:
        files = [entry for entry in files if not rules.ignores(entry.path)]
        others = [entry for entry in others if not rules.ignores(entry.path)]
    found: list[Finding] = []
    for path in filter(None, paths):
        below = f"{path}/"
        if not any(entry.path.startswith(below) or entry.path == path for entry in inside):
            text = f"the repository has no folder or file '{path}'"
            problem = Problem("path-not-found", text, hint=_hint_for_path(path, entries))
            found.append(Finding(problem, Origin(path, 1, 1)))
    for entry in others:
        problem = _SUBMODULE if entry.mode == SUBMODULE else _LINK
        found.append(Finding(problem, Origin(entry.path, 1, 1)))
    return ChosenFiles(tuple(files), (*found, *rules.findings))


@dataclass(slots=True)
class FileChooser:
    """Chooses commit after commit: where nothing but contents changed, the choice stays."""

    _asked: tuple[object, ...] | None = None
    _entries: Sequence[Entry] = ()
    _chosen: ChosenFiles = ChosenFiles(())

    def choose(
        self,
        entries: Sequence[Entry],
        paths: tuple[str, ...],
        ignore: str,
        ignore_files: Mapping[str, bytes],
    ) -> ChosenFiles:
        """Choose the files to read, as `choose_files` does."""
        asked = (paths, ignore, dict(ignore_files))
        changed = replaced(self._entries, entries) if asked == self._asked else None
        # A choice depends on nothing but names and modes.
        if changed is None or any(
            (old.path, old.mode) != (new.path, new.mode) for old, new in changed
        ):
            self._chosen = choose_files(entries, paths, ignore, ignore_files)
        elif changed:
            by_old = {id(old): new for old, new in changed}
            kept = tuple(by_old.get(id(each), each) for each in self._chosen.entries)
            self._chosen = ChosenFiles(kept, self._chosen.findings)
        self._asked, self._entries = asked, entries
        return self._chosen


def replaced(old: Sequence[T], new: Sequence[T]) -> list[tuple[T, T]] | None:
    """Return what is another object in a list of the same length; `None` if it is longer or not."""
    if len(old) != len(new):
        return None
    return [pair for pair in zip(old, new, strict=True) if pair[0] is not pair[1]]


def ignore_paths(entries: Sequence[Entry], paths: tuple[str, ...]) -> list[Entry]:
    """Return the ignore files to read first: those below the paths, and those above."""
    folders = [PurePosixPath(path) for path in map(check_path, paths)]
    above = {str(each) for folder in folders for each in (folder, *folder.parents)}
    needed = {f"{folder}/{name}".removeprefix("./") for folder in above for name in NAMES}
    named = [entry for entry in entries if entry.path.endswith(NAMES)]
    whole = [entry for entry in named if entry.path.rpartition("/")[2] in NAMES]
    needed |= {entry.path for entry in _inside(whole, tuple(map(check_path, paths)))}
    return [entry for entry in whole if _is_file(entry) and entry.path in needed]


def _inside(entries: Sequence[Entry], paths: tuple[str, ...]) -> Sequence[Entry]:
    """Return the entries in one of the folders, or that are one of the paths."""
    if not paths or "" in paths:
        return entries
    exact = frozenset(paths)
    folders = tuple(f"{path}/" for path in paths)
    return [entry for entry in entries if entry.path.startswith(folders) or entry.path in exact]


def _is_file(entry: Entry) -> bool:
    return entry.mode not in (SYMLINK, SUBMODULE)


class _Folders:
    """Calls `is_foreign` once per folder, and beyond that only for special names."""

    def __init__(self, charts: frozenset[PurePosixPath]) -> None:
        self.charts = charts
        self._is_foreign: dict[str, bool] = {}

    def is_foreign_file(self, path: str) -> bool:
        """Return True if a file is certainly not meant to hold manifests."""
        folder, _, name = path.rpartition("/")
        is_foreign_folder = self._is_foreign.get(folder)
        if is_foreign_folder is None:
            # With a file name that no rule mentions: the answer is about the folder.
            probe = f"{folder}/a.yaml".lstrip("/")
            is_foreign_folder = is_foreign(probe, self._charts_above(folder))
            self._is_foreign[folder] = is_foreign_folder
        if is_foreign_folder:
            return True
        is_usual = name[0] != "." and name not in FOREIGN_NAMES and not name.startswith("values")
        return not is_usual and is_foreign(path, self._charts_above(folder))

    def _charts_above(self, folder: str) -> frozenset[PurePosixPath]:
        path = PurePosixPath(folder)
        return self.charts.intersection((path, *path.parents))


def _hint_for_path(path: str, entries: Iterable[Entry]) -> str:
    """Name what is near: a link on the way, the same name elsewhere, a similar one."""
    known: set[str] = set()
    for entry in entries:
        if not _is_file(entry) and path.startswith(f"{entry.path}/"):
            what = "a submodule" if entry.mode == SUBMODULE else "a symbolic link"
            return f"'{entry.path}' is {what}, which is not followed: name the folder itself"
        known.add(entry.path)
        folder = entry.path.rpartition("/")[0]
        while folder and folder not in known:
            known.add(folder)
            folder = folder.rpartition("/")[0]
    name = path.rpartition("/")[2]
    same = sorted(each for each in known if each.rpartition("/")[2] == name)[:_NEAR]
    if not same:
        # Only what can be near at all: comparing a hundred thousand names takes a minute.
        depth, length = path.count("/"), len(path)
        similar = [
            each for each in known if each.count("/") == depth and abs(len(each) - length) <= 3
        ]
        same = get_close_matches(path, similar[:_MOST_COMPARED], n=_NEAR, cutoff=0.7)
    if same:
        return f"did you mean {', '.join(repr(each) for each in same)}?"
    tops = sorted({each for each in known if "/" not in each and not each.startswith(".")})
    return f"at its top are {', '.join(repr(each) for each in tops[:8])}" if tops else ""
