"""
Files and folders named on the command line, read with care.

The contents may come from anybody: links that lead out of a folder are not followed, devices
and pipes are not opened, and a file larger than the limit is reported instead of read. In a
folder, files that are not meant for a cluster are passed over silently; what somebody named is
read whatever it is called, because «0 errors» must mean that the file was looked at.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kro_gitops.source.foreign_files import chart_folders, is_foreign
from kube_objects.problems import Finding, Origin, Problem
from kube_objects.yaml_values import DEFAULT_LIMITS

STDIN = "-"
STDIN_NAME = "<stdin>"


@dataclass(slots=True)
class FileSet:
    """What was read, by the name to show, and what could not be."""

    contents: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)

    def name_of(self, path: str) -> str:
        """Return the name under which a file was read, however its path is spelt."""
        return STDIN_NAME if path == STDIN else self._names.get(os.path.realpath(path), path)

    def read(self, name: str) -> None:
        """Read one file, unless it was read before under this or another name."""
        real = os.path.realpath(name)
        if real in self._names:
            return
        self._names[real] = name
        try:
            self.contents[name] = read_file(name)
        except OSError as error:
            self.complain(name, "unreadable-file", f"'{name}' {reason(error)}")

    def pass_over(self, name: str) -> None:
        """Do as if a file had been read already."""
        self._names[os.path.realpath(name)] = name

    def complain(self, name: str, code: str, summary: str, hint: str = "") -> None:
        """Note what is wrong with a file as a whole."""
        self.findings.append(Finding(Problem(code, summary, hint=hint), Origin(name, 1, 1)))


def read_paths(paths: Iterable[str], besides: Iterable[str] = ()) -> FileSet:
    """
    Read every manifest file below the paths; `-` is standard input.

    Files that serve another purpose, and may stand in the same folders, are named `besides`.
    """
    found = FileSet()
    for name in besides:
        found.pass_over(name)
    for path in paths:
        if path == STDIN:
            found.contents[STDIN_NAME] = sys.stdin.buffer.read(DEFAULT_LIMITS.file_bytes + 1)
        elif not os.path.lexists(path):
            found.complain(path, "no-such-file", f"'{path}' does not exist")
        elif Path(path).is_dir():
            for name in _files_below(os.path.normpath(path)):
                found.read(name)
        else:
            found.read(os.path.normpath(path))
    return found


def read_file(name: str) -> bytes:
    """Read a file, and no more of it than what shows that it is too large."""
    if not stat.S_ISREG(Path(name).stat().st_mode):
        raise OSError("is not a regular file")
    with Path(name).open("rb") as stream:
        return stream.read(DEFAULT_LIMITS.file_bytes + 1)


def reason(error: OSError) -> str:
    """Say why a file cannot be read, as the second half of a sentence."""
    return f"cannot be read: {error.strerror}" if error.strerror else str(error)


def _files_below(folder: str) -> Iterator[str]:
    """List the manifest files of a folder, judged by their path below it."""
    root = os.path.realpath(folder)
    names = [name for name in _names_below(folder) if not _leads_out(Path(folder, name), root)]
    charts = chart_folders(names)
    for name in names:
        full = Path(folder, name)
        # A pipe or a socket in a repository is nobody's manifest; a broken link may be meant.
        if not is_foreign(name, charts) and (full.is_file() or full.is_symlink()):
            yield os.path.normpath(full)


def _names_below(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            yield Path(here, name).relative_to(folder).as_posix()


def _leads_out(path: Path, root: str) -> bool:
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)
