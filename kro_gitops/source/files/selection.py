"""
Which of a commit's files are read.

YAML and JSON below the source's paths, without what is certainly no manifest (`foreign_files`)
and what the authors left out (`ignore_rules`). Links and submodules are never followed, which
is said, because whoever put them there expects to see their content.

A monorepo has a hundred thousand files, and this runs for each new commit: names are sorted out
by looking at their ends first, and only what looks unusual is given to the slower rules.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# What is said of places whose content is not read, though it may be meant.
NOT_FOLLOWED = frozenset(("KG-S02", "KG-S03"))
# A link called like this leads to a file of that type, not to a folder of manifests.
_OTHER_FILE = re.compile(r"\.[A-Za-z]\w{0,5}$")


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The files to read, in the tree's order, and what is to be said about the others."""

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
    files, others = _by_mode(inside)
    files = _without_foreign(files, entries)
    if not rules.is_empty:
        files = [entry for entry in files if not rules.ignores(entry.path)]
        others = [entry for entry in others if not rules.ignores(entry.path)]
    found = (
        *_missing(entries, inside, paths),
        *(_not_followed(entry) for entry in others),
        *rules.findings,
    )
    return ChosenFiles(tuple(files), found)


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
        if changed is None or not all(map(_is_in_place, changed)):
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


def _is_in_place(pair: tuple[Entry, Entry]) -> bool:
    """Say whether all that a choice looks at is the same."""
    old, new = pair
    return old.path == new.path and old.mode == new.mode


def ignore_paths(entries: Sequence[Entry], paths: tuple[str, ...]) -> list[Entry]:
    """Tell which ignore files must be read first: those below the paths, and those above."""
    folders = [PurePosixPath(path) for path in map(check_path, paths)]
    above = {str(each) for folder in folders for each in (folder, *folder.parents)}
    wanted = {f"{folder}/{name}".removeprefix("./") for folder in above for name in NAMES}
    named = [entry for entry in entries if entry.path.endswith(NAMES)]
    whole = [entry for entry in named if entry.path.rpartition("/")[2] in NAMES]
    wanted |= {entry.path for entry in _inside(whole, tuple(map(check_path, paths)))}
    return [entry for entry in whole if _is_file(entry) and entry.path in wanted]


def _inside(entries: Sequence[Entry], paths: tuple[str, ...]) -> Sequence[Entry]:
    if not paths or "" in paths:
        return entries
    exact = frozenset(paths)
    folders = tuple(f"{path}/" for path in paths)
    return [entry for entry in entries if entry.path.startswith(folders) or entry.path in exact]


def _is_file(entry: Entry) -> bool:
    return entry.mode not in (SYMLINK, SUBMODULE)


def _by_mode(entries: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Split into files whose suffix fits, and links and submodules."""
    files, others = [], []
    for entry in entries:
        if entry.mode in (SYMLINK, SUBMODULE):
            if not _is_hidden(entry.path) and _may_hold_manifests(entry):
                others.append(entry)
        elif entry.path.endswith(_SUFFIXES) or _is_suffix_in_capitals(entry.path):
            files.append(entry)
    return files, others


def _is_suffix_in_capitals(path: str) -> bool:
    return path[-_LONGEST_SUFFIX:].lower().endswith(_SUFFIXES)


def _is_hidden(path: str) -> bool:
    return path.startswith(".") or "/." in path


def _may_hold_manifests(entry: Entry) -> bool:
    is_other = entry.mode == SYMLINK and _OTHER_FILE.search(entry.path) is not None
    return not is_other or entry.path.lower().endswith(_SUFFIXES)


def _without_foreign(files: Iterable[Entry], entries: Iterable[Entry]) -> list[Entry]:
    charts = chart_folders(each.path for each in entries if each.path.endswith("Chart.yaml"))
    folders = _Folders(charts)
    return [entry for entry in files if not folders.is_foreign_file(entry.path)]


class _Folders:
    """Asks `is_foreign` once a folder, and beyond that only for names it knows."""

    def __init__(self, charts: frozenset[PurePosixPath]) -> None:
        self.charts = charts
        self._is_foreign: dict[str, bool] = {}

    def is_foreign_file(self, path: str) -> bool:
        """Say whether a file is certainly not meant to hold manifests."""
        folder, _, name = path.rpartition("/")
        if self._is_foreign_folder(folder):
            return True
        is_usual = name[0] != "." and name not in FOREIGN_NAMES and not name.startswith("values")
        return not is_usual and is_foreign(path, self._charts_above(folder))

    def _is_foreign_folder(self, folder: str) -> bool:
        known = self._is_foreign.get(folder)
        if known is None:
            # A name about which no rule says anything: what is said is about the folder.
            known = is_foreign(f"{folder}/a.yaml".lstrip("/"), self._charts_above(folder))
            self._is_foreign[folder] = known
        return known

    def _charts_above(self, folder: str) -> frozenset[PurePosixPath]:
        path = PurePosixPath(folder)
        return self.charts.intersection((path, *path.parents))


def _missing(
    entries: Sequence[Entry], inside: Sequence[Entry], paths: tuple[str, ...]
) -> Iterator[Finding]:
    for path in paths:
        if path and not _exists(path, inside):
            yield _path_not_found(path, entries)


def _exists(path: str, inside: Iterable[Entry]) -> bool:
    below = f"{path}/"
    return any(entry.path.startswith(below) or entry.path == path for entry in inside)


def _path_not_found(path: str, entries: Iterable[Entry]) -> Finding:
    problem = Problem(
        "path-not-found",
        f"the repository has no folder or file '{path}'",
        hint=_hint_for_path(path, entries),
    )
    return Finding(problem, Origin(path, 1, 1))


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
    near = same or get_close_matches(path, _of_similar_length(known, path), n=_NEAR, cutoff=0.7)
    return f"did you mean {', '.join(repr(each) for each in near)}?" if near else _tops(known)


def _of_similar_length(names: Iterable[str], name: str) -> list[str]:
    """Keep what can be near at all; comparing hundred thousand names takes a minute."""
    depth = name.count("/")
    return [each for each in names if each.count("/") == depth and abs(len(each) - len(name)) <= 3][
        :5_000
    ]


def _tops(known: Iterable[str]) -> str:
    tops = sorted({each for each in known if "/" not in each and not each.startswith(".")})
    return f"at its top are {', '.join(repr(each) for each in tops[:8])}" if tops else ""


def _not_followed(entry: Entry) -> Finding:
    if entry.mode == SUBMODULE:
        code, what = "KG-S03", "a submodule, and submodules are not read"
        hint = "make that repository a source of its own"
    else:
        code, what = "KG-S02", "a symbolic link, and links are not followed"
        hint = "name the folder it leads to in 'paths', or put the file itself here"
    problem = Problem(code, f"this is {what}", hint=hint, severity=Severity.WARNING)
    return Finding(problem, Origin(entry.path, 1, 1))
