"""
The built-in kinds: name, scope, schema, as the API server of one Kubernetes version publishes
them with nothing extra switched on.

The data is a folder: `index.json` lists the kinds with the file and the component that describe
each; a `*.json.zlib` file holds the components of one group and version; `shared.json.zlib` those
that all of them use. A file is read when the first kind in it is looked up: most callers need two
or three of the twenty-odd.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from kube_objects.openapi import Components
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema, Schema

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the index."""

    plural: str
    namespaced: bool
    file: str
    component: str


class Catalog:
    """The kinds described in a folder."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        self._documents: dict[str, Components] = {}
        self._found: dict[Kind, KindSchema] = {}

    @property
    def version(self) -> str:
        """Return the Kubernetes version described: `1.35.4`."""
        version: str = self._index["version"]
        return version

    def kinds(self) -> Iterable[Kind]:
        """List every kind, in order."""
        return tuple(self._entries)

    def places(self) -> Iterable[tuple[Kind, str, bool]]:
        """List every kind with its plural, and whether it is namespaced; reads no schema."""
        return [(kind, each.plural, each.namespaced) for kind, each in self._entries.items()]

    def find(self, kind: Kind) -> KindSchema | None:
        """Return what the catalogue has on `kind`, or `None`; the same answer every time."""
        found = self._found.get(kind)
        if found is not None:
            return found
        entry = self._entries.get(kind)
        if entry is None:
            return None
        file = entry.file
        if file not in self._documents:
            self._documents[file] = Components(self._read(file), self._shared)
        schema = self._documents[file].get(entry.component)
        found = KindSchema(kind, entry.plural, entry.namespaced, schema)
        self._found[kind] = found
        return found

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return what `find` returns; part of the protocol `Schemas`."""
        return self.find(kind)

    def object_meta(self) -> Schema:
        """Return the schema of every object's `metadata`."""
        return self._shared.get(f"{_META}.ObjectMeta")

    def label_selector(self) -> Schema:
        """Return the schema of a label selector."""
        return self._shared.get(f"{_META}.LabelSelector")

    def components(self, api_version: str) -> Mapping[str, Schema]:
        """Return the schemas that describe a group and version, with references, by name."""
        group = self._index["groups"].get(api_version)
        own = self._read(group["file"]) if group is not None else {}
        return {**self._read(self._index["shared"]), **own}

    @cached_property
    def _index(self) -> dict[str, Any]:
        index: dict[str, Any] = json.loads((self._folder / "index.json").read_bytes())
        return index

    @cached_property
    def _entries(self) -> dict[Kind, _Entry]:
        """Map each built-in kind to its file and entry; built once, on first use."""
        return {
            Kind.of(api_version, kind): _Entry(file=group["file"], **entry)
            for api_version, group in self._index["groups"].items()
            for kind, entry in group["kinds"].items()
        }

    @cached_property
    def _shared(self) -> Components:
        return Components(self._read(self._index["shared"]))

    def _read(self, file: str) -> dict[str, Schema]:
        components: dict[str, Schema] = json.loads(
            zlib.decompress((self._folder / file).read_bytes())
        )
        return components


catalog = Catalog(files("kube_objects.builtins") / "data")
