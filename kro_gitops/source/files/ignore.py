"""
Which files a repository's authors left out: `.sourceignore`, `.kroignore` and `spec.ignore`.

They are written like `.gitignore`, so they mean what they mean to git: the last pattern that
matches decides, a file nearer by beats one higher up, and what lies in a folder that is left out
cannot be called back. Patterns are translated by pathspec, whose translation follows git in its
many corners and is kept up to date. Its matching is not used: it looks at a whole path at once,
while git decides folder by folder. And patterns come from strangers: google-re2 matches all of
a file's at once, in linear time, where Python's own engine can be kept busy for hours.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import re2
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from kube_objects.problems import Finding, Origin, Problem, Severity

NAMES = (".sourceignore", ".kroignore")  # the later wins over the earlier in its folder
SPEC = "spec.ignore"

_MOST_PATTERNS = 2_000
_LONGEST_PATTERN = 1_024
_MEMORY = 64 << 20

# How pathspec ends an expression: what lies below a folder shall match, too.
_FOLDER_OR_END = "(?:(?P<ps_d>/)|$)"


@dataclass(frozen=True, slots=True)
class _Pattern:
    expression: str  # matches what the pattern itself names, not what lies below
    only_folders: bool
    ignores: bool


class _Matcher:
    """Some patterns, asked all at once."""

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        self.patterns = tuple(patterns)
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _MEMORY
        self._set = re2.Set.SearchSet(options)
        for pattern in self.patterns:
            self._set.Add(pattern.expression)
        if self.patterns:
            self._set.Compile()

    def verdict(self, path: str) -> bool | None:
        """Say whether the last pattern that matches leaves a path out; None if none matches."""
        found = self._set.Match(_bytewise(path)) if self.patterns else None
        return self.patterns[max(found)].ignores if found else None


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file; `skipped` is how much of a path lies above it."""

    files: _Matcher
    folders: _Matcher
    skipped: int


class IgnoreRules:
    """All patterns of a repository, and what they say; remembers what it said of folders."""

    def __init__(self, ignore: str, files: Mapping[str, bytes]) -> None:
        self.findings: list[Finding] = []
        self._own = self._read(SPEC, ignore, 0) if ignore.strip() else None
        self._of_folder: dict[str, tuple[_Rules, ...]] = {}
        by_folder: dict[str, list[str]] = {}
        for path in files:
            by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        for folder, paths in by_folder.items():
            ordered = sorted(paths, key=lambda path: NAMES.index(path.rpartition("/")[2]))
            skipped = len(folder) + 1 if folder else 0
            texts = ((path, files[path].decode("utf-8-sig", "surrogateescape")) for path in ordered)
            read = [self._read(path, text, skipped) for path, text in texts]
            self._of_folder[folder] = tuple(reversed(read))
        self._chains: dict[str, tuple[_Rules, ...]] = {}
        self._ignored_folders: dict[str, bool] = {"": False}

    @property
    def is_empty(self) -> bool:
        """Say whether nothing is left out."""
        return self._own is None and not self._of_folder

    def ignores(self, path: str) -> bool:
        """Say whether a file is left out, by itself or with a folder it lies in."""
        folder = path.rpartition("/")[0]
        if self._ignores_folder(folder):
            return True
        for rules in self._chain(folder):
            verdict = rules.files.verdict(path[rules.skipped :])
            if verdict is not None:
                return verdict
        return False

    def _ignores_folder(self, folder: str) -> bool:
        known = self._ignored_folders.get(folder)
        if known is None:
            parent = folder.rpartition("/")[0]
            known = self._ignores_folder(parent) or self._ignores_this_folder(folder, parent)
            self._ignored_folders[folder] = known
        return known

    def _ignores_this_folder(self, folder: str, parent: str) -> bool:
        for rules in self._chain(parent):
            verdict = rules.folders.verdict(folder[rules.skipped :])
            if verdict is not None:
                return verdict
        return False

    def _chain(self, folder: str) -> tuple[_Rules, ...]:
        """Return the rules for what lies in a folder, the strongest first."""
        found = self._chains.get(folder)
        if found is None:
            if folder and folder not in self._of_folder:
                found = self._chain(folder.rpartition("/")[0])
            else:
                own = (self._own,) if self._own is not None else ()
                found = _merged((*own, *self._of_files(folder)))
            self._chains[folder] = found
        return found

    def _of_files(self, folder: str) -> tuple[_Rules, ...]:
        above = self._of_files(folder.rpartition("/")[0]) if folder else ()
        return (*self._of_folder.get(folder, ()), *above)

    def _read(self, file: str, text: str, skipped: int) -> _Rules:
        lines = [
            (number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1)
        ]
        written = [(number, line) for number, line in lines if line and not line.startswith("#")]
        if len(written) > _MOST_PATTERNS:
            self.findings.append(_too_many(file, written[_MOST_PATTERNS][0]))
        patterns = []
        for number, line in written[:_MOST_PATTERNS]:
            try:
                patterns.append(_translate(line))
            except (GitIgnorePatternError, re2.error):
                self.findings.append(_bad_pattern(file, number, line))
        known = [pattern for pattern in patterns if pattern is not None]
        files = _Matcher(pattern for pattern in known if not pattern.only_folders)
        return _Rules(files, _Matcher(known), skipped)


def _merged(rules: tuple[_Rules, ...]) -> tuple[_Rules, ...]:
    """Make one of rules that all count from the top, as most do: one question instead of many."""
    if len(rules) < 2 or any(each.skipped for each in rules):
        return rules
    weakest_first = rules[::-1]
    files = _Matcher(each for one in weakest_first for each in one.files.patterns)
    folders = _Matcher(each for one in weakest_first for each in one.folders.patterns)
    return (_Rules(files, folders, 0),)


def _translate(line: str) -> _Pattern | None:
    if len(line) > _LONGEST_PATTERN:
        raise GitIgnorePatternError(line)
    # As git does it: the slash is a mark, and no part of the pattern.
    only_folders = line.rstrip(" ").endswith("/")
    text = line.rstrip(" ").removesuffix("/") if only_folders else line
    expression, ignores = GitIgnoreSpecPattern.pattern_to_regex(_bytewise(text))
    if expression is None or ignores is None:
        return None
    own = expression.replace(_FOLDER_OR_END, "$")
    re2.compile(own, options=_quiet())
    return _Pattern(own, only_folders, ignores)


def _bytewise(text: str) -> str:
    """Write each byte as a character, because git's `?` is a byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _quiet() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    return options


def _bad_pattern(file: str, line: int, text: str) -> Finding:
    problem = Problem(
        "KG-S04",
        f"{text[:80]!r} is no pattern: it leaves nothing out",
        hint="write it as in a .gitignore",
        severity=Severity.WARNING,
    )
    return Finding(problem, Origin(file, line, 1), width=max(1, min(len(text), 80)))


def _too_many(file: str, line: int) -> Finding:
    problem = Problem(
        "too-many-patterns",
        f"the file has more than {_MOST_PATTERNS} patterns; the rest is not read",
        hint="name folders instead of files",
    )
    return Finding(problem, Origin(file, line, 1))
