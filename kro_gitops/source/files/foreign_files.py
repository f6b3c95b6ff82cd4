"""
Files beside manifests that are no mistake.

Repositories hold YAML and JSON for many tools. What is certainly not meant for a cluster is
skipped silently; everything else that is no manifest is reported, because a manifest with
a typo in `kind` must not vanish silently.

Skipped are: files that are neither YAML nor JSON, everything in folders or files whose name
begins with a dot (`.github/`, `.gitlab-ci.yml`), the files named in `FOREIGN_NAMES`, and of a
Helm chart (a folder with a `Chart.yaml`) its templates, subcharts and values.
"""

from collections.abc import Iterable
from pathlib import PurePosixPath
from posixpath import splitext

SUFFIXES = frozenset((".yaml", ".yml", ".json"))

FOREIGN_NAMES = frozenset(
    (
        *("kustomization.yaml", "kustomization.yml"),
        *("Chart.yaml", "values.yaml", "values.schema.json"),
        *("skaffold.yaml", "helmfile.yaml", "devspace.yaml"),
        *("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"),
        *("package.json", "package-lock.json", "tsconfig.json", "renovate.json"),
        *("mkdocs.yml", "Taskfile.yml", "Taskfile.yaml", "pnpm-lock.yaml", "pubspec.yaml"),
    )
)

_CHART_FOLDERS = ("templates", "charts")


def chart_folders(names: Iterable[str]) -> frozenset[PurePosixPath]:
    """Return the folders that are Helm charts."""
    paths = (PurePosixPath(name) for name in names if name.endswith("Chart.yaml"))
    return frozenset(path.parent for path in paths if path.name == "Chart.yaml")


def is_foreign(name: str, charts: frozenset[PurePosixPath]) -> bool:
    """Return True if a file is certainly not meant to hold manifests."""
    *folders, last = name.split("/")
    if splitext(last)[1].lower() not in SUFFIXES or last in FOREIGN_NAMES:
        return True
    if any(part.startswith(".") and part not in (".", "..") for part in (*folders, last)):
        return True
    for chart in charts:
        path = PurePosixPath(name)
        if path.is_relative_to(chart):
            below = path.relative_to(chart)
            is_values = len(below.parts) == 1 and below.name.startswith("values")
            if is_values or below.parts[0] in _CHART_FOLDERS:
                return True
    return False
