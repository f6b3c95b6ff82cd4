"""
The folder that `--repo` named, remembered beside the store.

Sources may not read this machine's folders, but for the one that its user has named. The next run
goes on from what is in the store, and has no `--repo` to know it by. What is remembered lies where
only the user writes: an object, or a snapshot of somebody else, can name no folder.
"""

import json
from dataclasses import replace
from pathlib import Path

from kro_gitops.app.wiring import repository_url
from kro_gitops.local.private_files import write_private
from kro_gitops.settings.settings import LocalSource, Settings

_NAME = "followed-folder.json"


def with_memory(settings: Settings, folder: Path) -> Settings:
    """Return settings with the folder that an earlier run was given; remember that of this one."""
    file = folder / _NAME
    if not settings.repo:
        return replace(settings, remembered=_read(file))
    url = repository_url(settings.repo)
    if url.startswith("file://"):
        place = f"{settings.repo_namespace}/{settings.repo_name}"
        write_private(file, json.dumps({"source": place, "url": url}).encode())
    else:
        file.unlink(missing_ok=True)
    return settings


def _read(file: Path) -> LocalSource | None:
    try:
        found = json.loads(file.read_bytes())
        return LocalSource(found["source"], found["url"])
    except (OSError, ValueError, TypeError, KeyError):
        return None  # then it has to be named again
