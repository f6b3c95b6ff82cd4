"""
What the author of a pod should know of its volumes: which are gone, which files hide others.

Follows kubernetes 1.35 pkg/api/pod/warnings.go warningsForPodSpecAndMeta,
warningsForOverlappingVirtualPaths, checkForOverlap.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.field_errors import quoted

_DEPRECATED = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
# How some of them are spelled in warnings, and nowhere else.
_DISPLAY_NAMES = {"storageos": "storageOS"}

File = tuple[str, str]  # its path, and whose it is


def volume_warnings(volumes: Iterable[KubeObject], at: str) -> list[str]:
    """Return warnings about volumes."""
    given = list(volumes)
    found = [
        f"{at}.volumes[{index}].{_DISPLAY_NAMES.get(name, name)}: {told}"
        for index, volume in enumerate(given)
        for name, told in _DEPRECATED.items()
        if name in volume
    ]
    for volume in given:
        found += _overlaps(volume)
    return found


def _overlaps(volume: KubeObject) -> Iterator[str]:
    name = quoted(volume.get("name", ""))
    sources = (
        ("configMap", f"ConfigMap {quoted((volume.get('configMap') or {}).get('name', ''))}"),
        ("secret", f"Secret {quoted((volume.get('secret') or {}).get('secretName', ''))}"),
        ("downwardAPI", "DownwardAPI"),
    )
    for key, described in sources:
        for told in _collisions(_items(volume.get(key) or {}, "")):
            yield f"volume {name} ({described}): overlapping paths: {told}"
    if "projected" not in volume:
        return
    files = []
    for source in volume["projected"].get("sources") or ():
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
        for key, word in (("configMap", "ConfigMap"), ("secret", "Secret")):
            if (part := source.get(key)) is not None and "items" in part:
                files += _items(part, f"{word} {quoted(part.get('name', ''))}")
                break
        else:
            if (part := source.get("downwardAPI")) is not None and "items" in part:
                files += _items(part, "DownwardAPI")
            elif (part := source.get("serviceAccountToken")) is not None:
                files.append((part.get("path", ""), "ServiceAccountToken"))
    for told in _collisions(files):
        yield f"volume {name} (Projected): overlapping paths: {told}"


def _items(source: Mapping[str, Any], owner: str) -> list[File]:
    return [(each.get("path", ""), owner) for each in source.get("items", ())]


def _collisions(files: Iterable[File]) -> Iterator[str]:
    seen: list[File] = []
    for path, owner in files:
        file = path.rstrip("/"), owner
        for other in seen:
            one, two = f"{file[0]}/", f"{other[0]}/"
            if "/" not in (one, two) and (one.startswith(two) or two.startswith(one)):
                yield f"{_format_path(file)} with {_format_path(other)}"
        seen.append(file)


def _format_path(file: File) -> str:
    path, owner = file
    return f"{quoted(path)} ({owner})" if owner else quoted(path)
