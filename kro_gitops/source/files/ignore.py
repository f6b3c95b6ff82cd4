"""
Which files a repository's authors left out: `.sourceignore`, `.kroignore` and `spec.ignore`.

They are written like `.gitignore`, so they mean what they mean to git: the last pattern that
matches decides, a file nearer by beats one higher up, and what lies in a folder that is left out
cannot be called back. Patterns are translated by pathspec, whose translation follows git in its
many corners and is kept up to date. Its matching is not used: it looks at a whole path at once,
while git decides folder by folder. And patterns are untrusted input: google-re2 matches all of
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
    """Patterns that are matched all at once."""

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
        """Return whether the last pattern that matches ignores a path; None if none matches."""
        found = self._set.Match(_bytewise(path)) if self.patterns else None
        return self.patterns[max(found)].ignores if found else None


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one file; `skipped` is how much of a path lies above it."""

    files: _Matcher
    folders: _Matcher
    skipped: int


class IgnoreRules:
    """All ignore patterns of a repository; caches the verdicts of folders."""

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
        """Return True if nothing is ignored."""
        return self._own is None and not self._of_folder

    def ignores(self, path: str) -> bool:
        """Return True if a file is ignored, by itself or with a folder it is in."""
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
            known = self._ignores_folder(parent)
            if not known:
                for rules in self._chain(parent):
                    verdict = rules.folders.verdict(folder[rules.skipped :])
                    if verdict is not None:
                        known = verdict
                        break
            self._ignored_folders[folder] = known
        return known

    def _chain(self, folder: str) -> tuple[_Rules, ...]:
        """Return the rules for the entries of a folder, the strongest first."""
        found = self._chains.get(folder)
        if found is None:
            if folder and folder not in self._of_folder:
                found = self._chain(folder.rpartition("/")[0])
            else:
                own = (self._own,) if self._own is not None else ()
                found = (*own, *self._of_files(folder))
                # Rules that all count from the top, as most do, become one: one match, not many.
                if len(found) > 1 and not any(each.skipped for each in found):
                    weakest_first = found[::-1]
                    files = _Matcher(each for one in weakest_first for each in one.files.patterns)
                    folders = _Matcher(
                        each for one in weakest_first for each in one.folders.patterns
                    )
                    found = (_Rules(files, folders, 0),)
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
            problem = Problem(
                "too-many-patterns",
                f"the file has more than {_MOST_PATTERNS} patterns; the rest is not read",
                hint="name folders instead of files",
            )
            origin = Origin(file, written[_MOST_PATTERNS][0], 1)
            self.findings.append(Finding(problem, origin))
        patterns = []
        for number, line in written[:_MOST_PATTERNS]:
            try:
                patterns.append(_translate(line))
            except (GitIgnorePatternError, re2.error):
                problem = Problem(
                    "KG-S04",
                    f"{line[:80]!r} is no pattern: it leaves nothing out",
                    hint="write it as in a .gitignore",
                    severity=Severity.WARNING,
                )
                width = max(1, min(len(line), 80))
                self.findings.append(Finding(problem, Origin(file, number, 1), width=width))
        known = [pattern for pattern in patterns if pattern is not None]
        files = _Matcher(pattern for pattern in known if not pattern.only_folders)
        return _Rules(files, _Matcher(known), skipped)


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
    options = re2.Options()
    options.log_errors = False
    re2.compile(own, options=options)
    return _Pattern(own, only_folders, ignores)


def _bytewise(text: str) -> str:
    """Write each byte as a character, because git's `?` is a byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")
