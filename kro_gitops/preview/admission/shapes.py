"""
Children that differ in nothing that an API server looks at.

The instances of a definition have children that differ in names and free texts. Whether an API
server accepts an object depends on its names only by their length and their kinds of characters,
and on which of them are equal. So one of many such children is sent, and the rest have its outcome.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from kro_gitops.engine.plan.placeholder import is_unknown
from kro_gitops.preview.admission.object_metadata import is_label_value
from kube_objects.problems import Path
from kube_objects.refs import KubeObject

# A string that is no key and begins with a small letter, which no enum of Kubernetes does. Field
# paths, resources and reserved names mean something by their letters.
_NAME = re.compile(
    r'"(?!metadata\.|spec\.|status\.|limits\.|requests\.|system-|kube-)([a-z][-a-z0-9.]*)"(?!:)'
)
_DIGITS = str.maketrans("123456789", "000000000")
_LETTERS = str.maketrans("bcdefghijklmnopqrstuvwxyz", "a" * 25)
_UNKNOWN = "\0"
# Values of these are free texts; only how long they are together matters.
_FREE = {"ConfigMap": ("data",), "Secret": ("stringData",)}
_MAX_SHARED = 100_000  # characters: larger objects may be too large, and are always sent
# The API server reads values of annotations of these domains, and of those without a domain.
_KUBERNETES = re.compile(r"(|(.*\.)?(k8s|kubernetes)\.io)")


def shape_of(child: KubeObject) -> tuple[str, bool]:
    """Return a text that is equal for equal shapes, and whether a part of the child is unknown."""
    sections = _FREE.get(child["kind"], ())
    if sections:
        child = {**child, **{each: _keys(child[each]) for each in sections if each in child}}
    child = {**child, "metadata": _metadata(child["metadata"])}
    unknown: list[Any] = []

    def placeholder(value: Any) -> str:
        unknown.append(value)
        return _UNKNOWN

    try:
        text = orjson.dumps(child, placeholder, orjson.OPT_PASSTHROUGH_DATACLASS).decode()
    except TypeError:  # an integer of more than 64 bits
        text = json.dumps(child, default=placeholder)
    if len(text) > _MAX_SHARED:
        return text, bool(unknown)
    numbers: dict[str, str] = {}

    def token(match: re.Match[str]) -> str:
        name = match[1]
        found = numbers.get(name)
        if found is None:
            shape = name.translate(_DIGITS).translate(_LETTERS)
            found = numbers[name] = f'"{len(numbers)}{shape}"'
        return found

    return _NAME.sub(token, text), bool(unknown)


def without_unknown(child: KubeObject) -> tuple[KubeObject, list[Path]]:
    """Return a child without its unknown parts, and where they were; its name is replaced."""
    paths: list[Path] = []
    known = _pruned(child, (), paths)
    if ("metadata", "name") in paths:
        known["metadata"]["name"] = "unknown"
    return known, paths


def _metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata without the texts of which only the form matters."""
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    owners = metadata.get("ownerReferences")
    found = dict(metadata)
    if isinstance(owners, list):
        found["ownerReferences"] = [
            {**each, "kind": ""} if _is_instance_reference(each) else each for each in owners
        ]
    if isinstance(labels, dict):
        found["labels"] = {
            key: "" if isinstance(value, str) and is_label_value(value) else value
            for key, value in labels.items()
        }
    if isinstance(annotations, dict):
        free = {
            key: value
            for key, value in annotations.items()
            if isinstance(value, str) and not _KUBERNETES.fullmatch(key.rpartition("/")[0])
        }
        size = sum(map(len, free.values())) // _MAX_SHARED
        found["annotations"] = {**annotations, **dict.fromkeys(free, ""), "": size}
    return found


def _is_instance_reference(owner: Any) -> bool:
    """Return whether an owner may be an instance: of any kind, and without a uid so far."""
    kind = owner.get("kind") if isinstance(owner, dict) else None
    is_named = isinstance(kind, str) and kind not in ("", "Event")  # no Event may own anything
    return is_named and is_unknown(owner.get("uid"))


def _keys(section: Any) -> Any:
    if not isinstance(section, dict) or not all(isinstance(e, str) for e in section.values()):
        return section
    size = sum(map(len, section.values()))
    return {**dict.fromkeys(section, ""), "": size // _MAX_SHARED}


def _pruned(value: Any, path: Path, paths: list[Path]) -> Any:
    if isinstance(value, dict):
        found = {}
        for key, part in value.items():
            if is_unknown(part):
                paths.append((*path, key))
            else:
                found[key] = _pruned(part, (*path, key), paths)
        return found
    if isinstance(value, list):
        if any(map(is_unknown, value)):
            paths.append(path)
        return [
            _pruned(part, (*path, index), paths)
            for index, part in enumerate(value)
            if not is_unknown(part)
        ]
    return value
