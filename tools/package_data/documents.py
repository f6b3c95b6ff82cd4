"""
Write the documents of a real API server that the sandbox serves as they are.

Starts an API server, reads its discovery, its OpenAPI documents, its version and the objects it
creates for itself, stops it, and writes what `kube_sandbox` reads. A custom kind is created for a
moment, since what the documents of all custom kinds have in common is taken from its. Of schemas
only that is written which the catalogue of built-in kinds leaves out, so `catalog` runs first. The
same server gives the same bytes.

    tools/kube/build.sh etcd kube-apiserver && python -m tools.package_data.documents
"""

import argparse
import hashlib
import json
import lzma
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kube_objects.builtins.catalog import Catalog, catalog
from tools.cluster.control_plane import ControlPlane, control_plane, leave_on_signals
from tools.cluster.parts import ToolError
from tools.cluster.plane import START_LIMIT
from tools.package_data.catalog import group_versions

DATA = Path(__file__).resolve().parents[2] / "packages/kube-sandbox/src/kube_sandbox/documents"

Json = dict[str, Any]
Found = TypeVar("Found")

GROUP = "documents.example.com"
CRDS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CUSTOM = f"apis/{GROUP}/v1"
# Everything that a CustomResourceDefinition can add to the paths of its document.
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"samples.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "samples", "kind": "Sample"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "template": {
                                "type": "object",
                                "x-kubernetes-embedded-resource": True,
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                },
            }
        ],
    },
}

# What an API server makes for itself, in the order in which it can be made.
OWN_OBJECTS = (
    "api/v1/namespaces",
    "apis/apiregistration.k8s.io/v1/apiservices",
    "apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "apis/networking.k8s.io/v1/servicecidrs",
    "apis/rbac.authorization.k8s.io/v1/clusterroles",
    "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "apis/rbac.authorization.k8s.io/v1/roles",
    "apis/rbac.authorization.k8s.io/v1/rolebindings",
    "apis/scheduling.k8s.io/v1/priorityclasses",
    "api/v1/services",
)
# Given by the server that holds them.
OF_THE_MOMENT = ("uid", "resourceVersion", "creationTimestamp")
# Kinds whose status says a while later how they fare.
REPORTING = ("APIService", "FlowSchema", "ServiceCIDR")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    arguments = parser.parse_args()
    leave_on_signals()
    try:
        with control_plane() as server:
            files = read_files(server)
    except ToolError as failure:
        sys.exit(f"documents: {failure}")
    arguments.data.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (arguments.data / name).write_bytes(content)
    size = sum(map(len, files.values())) / 1024
    print(f"{arguments.data}: {len(files)} files, {size:.0f} KiB")


def read_files(server: ControlPlane) -> dict[str, bytes]:
    """Return the files of the folder, by name."""
    paths = group_versions(server)
    documents = dict(read_openapi(server, paths))
    objects = wait_for(lambda: read_objects(server), "its own objects")
    discovery = {
        "version": server.get("version"),
        "groups": {
            group["name"]: [version["version"] for version in group["versions"]]
            for group in server.get("apis")["groups"]
        },
        "resources": {path: list(read_resources(server, path)) for path in paths},
    }
    server.send("POST", CRDS, compact(DEFINITION).encode(), "application/json")
    wait_for(lambda: CUSTOM in server.get("openapi/v3")["paths"], "the custom document")
    documents["custom"] = compact(common_parts(server.get(f"openapi/v3/{CUSTOM}"))).encode()
    index, packed = pack(documents, catalog)
    return {
        "discovery.json": lines(discovery),
        "objects.json": lines({"objects": objects}),
        "openapi.json": lines({"documents": index}),
        "openapi.xz": packed,
    }


def read_resources(server: ControlPlane, path: str) -> Iterator[Json]:
    """Yield the resources and subresources of a group and version."""
    for resource in server.get(path)["resources"]:
        yield {key: value for key, value in resource.items() if value != ""}


def read_openapi(server: ControlPlane, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield path and text of every OpenAPI document; some are published after readiness."""
    wait_for(lambda: set(paths) <= server.get("openapi/v3")["paths"].keys(), "OpenAPI documents")
    for path in sorted(server.get("openapi/v3")["paths"]):
        yield path, server.get_text(f"openapi/v3/{path}").encode()


def read_objects(server: ControlPlane) -> list[Json]:
    """Return the objects that the server made for itself; empty while any is not yet whole."""
    found = [own_object(each) for path in OWN_OBJECTS for each in items(server, path)]
    kinds = {each["kind"] for each in found}
    reports = [each["status"].get("conditions") for each in found if each["kind"] in REPORTING]
    return found if len(kinds) == len(OWN_OBJECTS) and all(reports) else []


def items(server: ControlPlane, path: str) -> Iterator[Json]:
    """Yield the objects at a path, with their kind."""
    answer = server.get(path)
    for each in answer["items"]:
        kind = answer["kind"].removesuffix("List")
        yield {"apiVersion": answer["apiVersion"], "kind": kind, **each}


def own_object(found: Json) -> Json:
    """Blank what is of the moment: whoever makes the object again fills it in where it stands."""
    metadata = found["metadata"]
    metadata |= dict.fromkeys(OF_THE_MOMENT, "")
    for each in metadata["managedFields"]:
        each["time"] = ""
    for each in found.get("status", {}).get("conditions", ()):
        each["lastTransitionTime"] = ""
    if found["kind"] == "Service":
        found["spec"]["ports"][0]["targetPort"] = 0
    return found


def common_parts(document: Json) -> Json:
    """Return what all documents of custom kinds share: parameters by name, and components."""
    parameters: Json = {}
    for path in document["paths"].values():
        shared = path.pop("parameters")
        for action, operation in path.items():
            for each in (*shared, *operation.get("parameters", ())):
                # «fieldManager» is told differently where a patch may be an apply.
                name = f"{action} {each['name']}"
                parameters[name] = each
    schemas = document["components"]["schemas"]
    own = f"{'.'.join(reversed(GROUP.split('.')))}.v1."
    sample = schemas[f"{own}Sample"]
    return {
        "openapi": document["openapi"],
        "info": document["info"],
        "parameters": by_name(parameters),
        "components": {name: each for name, each in schemas.items() if not name.startswith(own)},
        "fields": {name: sample["properties"][name] for name in ("apiVersion", "kind", "metadata")},
        "embedded": sample["properties"]["template"]["properties"],
        "list": schemas[f"{own}SampleList"]["properties"]["metadata"],
    }


def by_name(parameters: Mapping[str, Json]) -> Json:
    """Return parameters by name; one that differs by action also as `action name`."""
    found: Json = {}
    for key, value in parameters.items():
        name = key.partition(" ")[2]
        if found.setdefault(name, value) != value:
            found[key] = value
    return found


def pack(documents: Mapping[str, bytes], catalog: Catalog) -> tuple[Json, bytes]:
    """Return where each document is, with its hash, and all of them packed together."""
    rests: Json = {}
    parts: dict[str, bytes] = {}
    for path, text in documents.items():
        content = json.loads(text)
        holder = content if path == "custom" else content["components"]
        key = "components" if path == "custom" else "schemas"
        if key in holder:
            known = catalog.components(path.partition("/")[2])
            for name, schema in holder[key].items():
                rest = left_out(schema, known.get(name))
                # A schema that is another one here stays where it is.
                holder[key][name] = None if rests.setdefault(name, rest) == rest else schema
        parts[path] = compact(content).encode()
    parts["schemas"] = compact(rests).encode()
    index: Json = {}
    start = 0
    for path, part in parts.items():
        digest = hashlib.sha512(documents.get(path, part)).hexdigest().upper()
        index[path] = {"start": start, "length": len(part), "hash": digest}
        start += len(part)
    # The window must hold all of it: what documents have in common is most of them.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 23}]
    return index, lzma.compress(b"".join(parts.values()), filters=filters)


def left_out(schema: Json, known: Json | None) -> Json:
    """Return the part of a schema that the catalogue does not have."""
    if known is None:
        return schema
    found: Json = {}
    for key, value in schema.items():
        rest: Json
        if key == "properties":
            others = known.get(key, {})
            rests = {name: left_out(part, others.get(name)) for name, part in value.items()}
            rest = {name: part for name, part in rests.items() if part or name not in others}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            rest = left_out(value, known.get(key))
        elif key == "allOf" and value == [{"$ref": known.get("$ref")}]:
            continue  # the catalogue writes it as a plain reference
        else:
            if known.get(key) != value:
                found[key] = value
            continue
        if rest or key not in known:
            found[key] = rest
    return found


def wait_for(read: Callable[[], Found], what: str) -> Found:
    """Return what is read as soon as it is there."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        found = read()
        if found:
            return found
        if time.monotonic() > deadline:
            raise ToolError(f"the API server does not show {what}")
        time.sleep(0.3)


def lines(content: Json) -> bytes:
    """Return JSON with one item of the outermost lists and objects a line, to be compared."""
    parts = []
    for key, value in content.items():
        if isinstance(value, list):
            inner = ",\n".join(compact(each) for each in value)
            parts.append(f"{json.dumps(key)}: [\n{inner}\n]")
        else:
            inner = ",\n".join(f"{json.dumps(k)}: {compact(v)}" for k, v in value.items())
            parts.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


def compact(content: Any) -> str:
    """Return JSON without spaces, in the order it has."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    main()
