"""
Files and folders of the user's machine: read with care, because their contents are not trusted.

Links that lead out of a folder are not followed, devices and pipes are not opened, and a file
larger than the limit is read in part, so that the caller reports it.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from kro_gitops.source.files.foreign_files import chart_folders, is_foreign
from kube_objects.yaml_values import DEFAULT_LIMITS


def read_file(name: str) -> bytes:
    """Read a file, at most one byte more than the limit."""
    path = Path(name)
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise OSError("is not a regular file")
    limit = DEFAULT_LIMITS.file_bytes + 1
    with path.open("rb") as stream:
        content = stream.read(min(about.st_size + 1, limit))
        if len(content) > about.st_size:  # it grows, or its size is not known
            content += stream.read(limit - len(content))
        return content


def reason(error: OSError) -> str:
    """Return why a file cannot be read, as the second half of a sentence."""
    return f"cannot be read: {error.strerror}" if error.strerror else str(error)


def files_below(folder: str) -> Iterator[str]:
    """Yield the manifest files of a folder, chosen by their path below it."""
    root = Path(os.path.realpath(folder))
    found: dict[str, bool] = {}  # by path below the folder: whether it may be a manifest
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        folders: list[str] = []
        try:
            with os.scandir(f"{folder}/{prefix}") as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            is_link = entry.is_symlink()
            if not is_link and entry.is_dir():
                if not entry.name.startswith("."):
                    folders.append(f"{prefix}{entry.name}/")
            elif is_link and Path(entry.path).is_dir():
                continue  # also one below the folder: it is read under its own name
            elif not is_link or Path(os.path.realpath(entry.path)).is_relative_to(root):
                # A pipe or a socket is never a manifest; a broken link may have been meant as one.
                found[f"{prefix}{entry.name}"] = is_link or entry.is_file()
        waiting += reversed(folders)
    charts = chart_folders(found)
    for name, is_candidate in found.items():
        if is_candidate and not is_foreign(name, charts):
            yield os.path.normpath(f"{folder}/{name}")
