"""
Write the catalogue of built-in kinds as a real API server publishes them.

Starts an API server, reads discovery and the OpenAPI v3 documents, stops it, and writes what
`kube_objects.builtins.catalog` reads: an index, one file per group and version, and one
for the components that all of them share. What neither validation nor CEL typing needs, such as
descriptions, is left out. The same server gives the same bytes.

    tools/kube/build.sh etcd kube-apiserver && python -m tools.package_data.catalog
"""

import argparse
import json
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.cluster.control_plane import ControlPlane, control_plane, leave_on_signals
from tools.cluster.parts import ToolError
from tools.cluster.plane import START_LIMIT

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "packages/kube-objects/src/kube_objects/builtins/data"

REF_PREFIX = "#/components/schemas/"
# Components of this package are used by every document; they are kept once.
SHARED_PACKAGE = "io.k8s.apimachinery."
SHARED_FILE = "shared.json.zlib"
# Asked for by name, whether or not a kind reaches them.
SHARED_ROOTS = (
    f"{SHARED_PACKAGE}pkg.apis.meta.v1.LabelSelector",
    f"{SHARED_PACKAGE}pkg.apis.meta.v1.ObjectMeta",
)
DROPPED = {"allOf", "description", "x-kubernetes-group-version-kind"}
# Go's zero values: they stand as "default" of every field that has no other.
ZERO_VALUES: tuple[Any, ...] = ("", 0, False, {}, [])

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """A served kind, as discovery names it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool


@dataclass(frozen=True, slots=True)
class Document:
    """What is served for one group and version."""

    api_version: str
    resources: tuple[Resource, ...]
    components: Json

    def component_of(self, resource: Resource) -> str:
        """Return the name of the component that describes a kind."""
        group, _, version = self.api_version.rpartition("/")
        wanted = {"group": group, "version": version, "kind": resource.kind}
        for name, schema in self.components.items():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()):
                return name
        raise ToolError(f"no component of {self.api_version} describes {resource.kind}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    parser.add_argument("--raw", type=Path, help="also keep the documents as they were served")
    arguments = parser.parse_args()
    leave_on_signals()
    try:
        with control_plane() as server:
            version = server.get("version")["gitVersion"].removeprefix("v")
            documents = list(read_documents(server))
        files = catalogue(version, documents)
    except ToolError as failure:
        sys.exit(f"catalog: {failure}")
    if arguments.raw:
        keep_raw(arguments.raw, documents)
    replace_files(arguments.data, files)
    kinds = sum(len(document.resources) for document in documents)
    size = sum(map(len, files.values())) / 1024
    print(f"{arguments.data}: Kubernetes {version}, {kinds} kinds, {size:.0f} KiB")


def read_documents(server: ControlPlane) -> Iterator[Document]:
    """Read every group and version the server has kinds in."""
    served = {path: tuple(resources(server, path)) for path in group_versions(server)}
    served = {path: found for path, found in served.items() if found}
    published = published_documents(server, served.keys())
    for path, found in served.items():
        components = server.get(published[path])["components"]["schemas"]
        yield Document(found[0].api_version, found, components)


def group_versions(server: ControlPlane) -> list[str]:
    """Return the paths of all groups and versions: `api/v1`, `apis/apps/v1` …."""
    core = [f"api/{version}" for version in server.get("api")["versions"]]
    named = [
        f"apis/{version['groupVersion']}"
        for group in server.get("apis")["groups"]
        for version in group["versions"]
    ]
    return sorted(core + named)


def resources(server: ControlPlane, path: str) -> Iterator[Resource]:
    """Yield the kinds of one group and version; subresources are no kinds of their own."""
    answer = server.get(path)
    for entry in answer["resources"]:
        if "/" not in entry["name"]:
            yield Resource(
                answer["groupVersion"], entry["kind"], entry["name"], entry["namespaced"]
            )


def published_documents(server: ControlPlane, wanted: Iterable[str]) -> dict[str, str]:
    """Return path → URL of the OpenAPI documents; some are published a moment after readiness."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        found = server.get("openapi/v3")["paths"]
        missing = sorted(set(wanted) - found.keys())
        if not missing:
            return {path: found[path]["serverRelativeURL"].lstrip("/") for path in wanted}
        if time.monotonic() > deadline:
            raise ToolError(f"the API server publishes no OpenAPI document for {missing}")
        time.sleep(0.3)


def catalogue(version: str, documents: list[Document]) -> dict[str, bytes]:
    """Return the files of the catalogue, by name."""
    components = {name: compact(schema) for name, schema in merged(documents).items()}
    shared = reachable(components, SHARED_ROOTS)
    groups: Json = {}
    parts: dict[str, set[str]] = {}
    for document in documents:
        kinds = {each.kind: index_entry(document, each) for each in document.resources}
        used = reachable(components, (kind["component"] for kind in kinds.values()))
        own = {name for name in used if not name.startswith(SHARED_PACKAGE)}
        shared |= used - own
        file = f"{document.api_version.replace('/', '.')}.json.zlib"
        groups[document.api_version] = {"file": file, "kinds": kinds}
        parts[file] = own
    parts[SHARED_FILE] = shared
    index = {"version": version, "shared": SHARED_FILE, "groups": groups}
    return {
        "index.json": json.dumps(index, indent=1, sort_keys=True).encode() + b"\n",
        **{file: packed(components, names) for file, names in parts.items()},
    }


def merged(documents: Iterable[Document]) -> Json:
    """Return the components of all documents; a name means the same in each."""
    found: Json = {}
    for document in documents:
        for name, schema in document.components.items():
            if found.setdefault(name, schema) != schema:
                raise ToolError(f"{name} is not the same in {document.api_version} as elsewhere")
    return found


def index_entry(document: Document, resource: Resource) -> Json:
    """Return what the index says about a kind."""
    return {
        "plural": resource.plural,
        "namespaced": resource.namespaced,
        "component": document.component_of(resource),
    }


def compact(schema: Json) -> Json:
    """Drop what nobody reads; write a wrapped reference as a plain one."""
    kept = {key: value for key, value in schema.items() if key not in DROPPED}
    wrapped = schema.get("allOf")
    if wrapped is not None:
        if len(wrapped) != 1 or "$ref" not in wrapped[0]:
            raise ToolError(f"an allOf that does more than wrap a reference: {wrapped}")
        kept["$ref"] = wrapped[0]["$ref"]
    if kept.get("default") in ZERO_VALUES:
        kept.pop("default", None)
    if "properties" in kept:
        kept["properties"] = {name: compact(part) for name, part in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = compact(kept[key])
    return kept


def reachable(components: Mapping[str, Json], roots: Iterable[str]) -> set[str]:
    """Return the names of components that `roots` refer to, near or far, and theirs."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(references(components[name]))
    return found


def references(schema: Json) -> Iterator[str]:
    """Yield the names a schema refers to."""
    if "$ref" in schema:
        yield schema["$ref"].removeprefix(REF_PREFIX)
    for part in schema.get("properties", {}).values():
        yield from references(part)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from references(schema[key])


def packed(components: Mapping[str, Json], names: Iterable[str]) -> bytes:
    """Return some components as they are stored."""
    chosen = {name: components[name] for name in names}
    return zlib.compress(json.dumps(chosen, sort_keys=True, separators=(",", ":")).encode(), 9)


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make `folder` hold these files and no other."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name not in files:
            old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def keep_raw(folder: Path, documents: Iterable[Document]) -> None:
    """Write the documents as they were served, to look something up in."""
    folder.mkdir(parents=True, exist_ok=True)
    for document in documents:
        text = json.dumps(document.components, indent=1, sort_keys=True)
        (folder / f"{document.api_version.replace('/', '.')}.json").write_text(text)


if __name__ == "__main__":
    main()
