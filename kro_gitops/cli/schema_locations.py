"""
Schemas of kinds that neither Kubernetes nor the files define, from `--schema-location`.

A location is a file or a folder. In it are CRDs, as YAML or as `kubectl get crds -o yaml` prints
them, or JSON schemas by the names that kubeconform and catalogues of CRDs give them. Names are made
of what manifests say, so only plain names lead to a file. Nothing is downloaded.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from kro_gitops.cli.file_reading import files_below, read_file, reason
from kro_gitops.cli.messages import fail
from kro_gitops.engine.crd.plurals import pluralize
from kro_gitops.preview.cluster import ExternalKinds
from kro_gitops.source.files.manifests import read
from kube_objects.crds import is_crd, kinds_of_crd
from kube_objects.errors import SchemaError
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema, LayeredSchemas, Schemas, SchemaSet

_LAYOUT = "{{ .Group }}/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json"
_VARIABLE = re.compile(r"\{\{\s*\.(\w+)\s*\}\}")
_VARIABLES = ("Group", "ResourceKind", "ResourceAPIVersion")
_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9.]*")
_REMOTE = ("http://", "https://")


def schemas_at(locations: Iterable[str], external: Iterable[tuple[str, str]]) -> Schemas:
    """Return the kinds at locations, and those that are listed; exit if one cannot be read."""
    return LayeredSchemas(*map(_location, locations), ExternalKinds(frozenset(external)))


def _location(text: str) -> "_Location":
    if text.startswith(_REMOTE):
        fail(
            f"--schema-location: '{text}' is not read: nothing is downloaded; clone the catalogue, "
            "and name the folder"
        )
    unknown = [each for each in _VARIABLE.findall(text) if each not in _VARIABLES]
    if unknown:
        known = ", ".join(f".{each}" for each in _VARIABLES)
        fail(f"--schema-location: there is no variable .{unknown[0]}: the variables are {known}")
    if not _VARIABLE.search(text) and not Path(text).exists():
        fail(f"--schema-location: '{text}' does not exist")
    return _Location(text)


class _Location:
    """The kinds at one location; files are read when a kind is first looked up."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._is_template = bool(_VARIABLE.search(location))
        self._found: dict[Kind, KindSchema | None] = {}

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return a kind that is described here, or `None`."""
        found = self._crds.schema_of(kind)
        if found is None and kind not in self._found:
            self._found[kind] = self._read_schema(kind)
        return found or self._found.get(kind)

    def kinds(self) -> Iterable[Kind]:
        """Return the kinds of the CRDs here."""
        return self._crds.kinds()

    @cached_property
    def _crds(self) -> SchemaSet:
        return SchemaSet(() if self._is_template else self._read_crds())

    def _read_crds(self) -> Iterator[KindSchema]:
        path = Path(self._location)
        names = files_below(os.path.normpath(path)) if path.is_dir() else [self._location]
        for name in names:
            content = _content(name)
            if b"CustomResourceDefinition" not in content:
                continue
            for manifest in read([(name, content)], chosen=True).manifests:
                if is_crd(manifest.object):
                    try:
                        yield from kinds_of_crd(manifest.object)
                    except SchemaError as error:
                        fail(f"--schema-location: {manifest.origin(error.spot)}: {error.message}")

    def _read_schema(self, kind: Kind) -> KindSchema | None:
        values = {
            "Group": kind.group,
            "ResourceKind": kind.kind.lower(),
            "ResourceAPIVersion": kind.version,
        }
        if not all(map(_NAME.fullmatch, values.values())):
            return None
        template = self._location if self._is_template else f"{self._location}/{_LAYOUT}"
        path = Path(_VARIABLE.sub(lambda match: values[match[1]], template))
        if not path.is_file():
            return None
        try:
            schema = json.loads(_content(str(path)))
        except (ValueError, RecursionError):
            fail(f"--schema-location: {path} is not JSON")
        if not isinstance(schema, dict):
            fail(f"--schema-location: {path} is not a JSON schema")
        names = {"kind": kind.kind, "plural": pluralize(kind.kind.lower())}
        version = {"name": kind.version, "served": True, "schema": {"openAPIV3Schema": schema}}
        # A JSON schema does not say whether its kind is namespaced; most are.
        spec = {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]}
        return next(iter(kinds_of_crd({"spec": spec})))


def _content(name: str) -> bytes:
    try:
        return read_file(name)
    except OSError as error:
        fail(f"--schema-location: {name} {reason(error)}")
