"""
Files and folders named on the command line, read with care.

The contents may come from anybody: links that lead out of a folder are not followed, devices
and pipes are not opened, and a file larger than the limit is reported instead of read.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kro_gitops.errors import Finding, Origin, Problem
from kro_gitops.objects.yaml_limits import DEFAULT_LIMITS

_ENDINGS = (".yaml", ".yml", ".json")
STDIN = "-"


@dataclass(slots=True)
class FileSet:
    """What was read, by the name to show, and what could not be."""

    contents: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def read_paths(paths: Iterable[str]) -> FileSet:
    """Read every manifest file below the paths; `-` is standard input."""
    found = FileSet()
    for path in paths:
        if path == STDIN:
            found.contents["<stdin>"] = sys.stdin.buffer.read(DEFAULT_LIMITS.file_bytes + 1)
        elif not Path(path).exists():
            problem = Problem("no-such-file", f"'{path}' does not exist")
            found.findings.append(Finding(problem, Origin(path, 1, 1)))
        else:
            for name in _files_below(path):
                _read(name, found)
    return found


def _files_below(path: str) -> Iterator[str]:
    if not Path(path).is_dir():
        yield path
        return
    root = Path(path).resolve()
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            full = Path(folder, name)
            if name.endswith(_ENDINGS) and not _leads_out(full, root):
                yield os.path.normpath(full)


def _leads_out(path: Path, root: Path) -> bool:
    return path.is_symlink() and not path.resolve().is_relative_to(root)


def _read(name: str, found: FileSet) -> None:
    if name in found.contents:
        return
    try:
        if not stat.S_ISREG(Path(name).stat().st_mode):
            return
        with Path(name).open("rb") as stream:
            found.contents[name] = stream.read(DEFAULT_LIMITS.file_bytes + 1)
    except OSError as error:
        problem = Problem("unreadable-file", f"'{name}' cannot be read: {error.strerror}")
        found.findings.append(Finding(problem, Origin(name, 1, 1)))
