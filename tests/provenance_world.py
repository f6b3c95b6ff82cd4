"""
Files, and the cluster they would become: what `why` is asked about, without a cluster.

Children are made by a real pass over the graph, and who set which field is noted as an API server
does it: items of lists by their keys, where the schema of the kind has some.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.inspect.provenance.answer import Provenance
from kro_gitops.inspect.provenance.context import Case, Own, parent_of
from kro_gitops.inspect.provenance.field_names import parse_field
from kro_gitops.inspect.provenance.git_location import Page, open_page
from kro_gitops.inspect.provenance.object_report import trace_field
from kro_gitops.metadata import (
    CHILD_MANAGER,
    NODE_ID,
    REVISION,
    SOURCE,
    SOURCE_MANAGER,
    SOURCE_PATH,
)
from kro_gitops.preview.repository import Repository, compile_repository
from kro_gitops.source.files.manifests import Manifest, read
from kube_objects.builtins.catalog import catalog
from kube_objects.defaulting import apply_defaults
from kube_objects.problems import Path as FieldPath
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.schemas import Schema
from kube_objects.structural_schema import field as field_schema
from kube_objects.structural_schema import items as item_schema
from kube_objects.structural_schema import list_map_keys, list_type
from tests.small_cluster import SmallCluster

SALT = b"of this world"

COMMIT = "1234567890abcdef1234567890abcdef12345678"
APPLIED_AT = "2026-03-01T10:00:00Z"
EDITED_AT = "2026-03-02T12:30:00Z"
_UNRECORDED = ("apiVersion", "kind", "status")


@dataclass
class World:
    """A repository, and a cluster to which it was applied."""

    files: Mapping[str, bytes]
    others: tuple[KubeObject, ...] = ()
    has_texts: bool = True  # whether the files can be read now
    cases: dict[str, Case] = field(default_factory=dict)

    def __post_init__(self) -> None:
        manifests = read(self.files.items(), chosen=True)
        self.repository: Repository = compile_repository(manifests, catalog)
        assert not self.repository.findings, [each.problem for each in self.repository.findings]
        self._definitions = {
            ObjectRef.of(each.manifest.object).name: self._page(each.manifest)
            for each in self.repository.definitions
        }
        for name, page in self._definitions.items():
            self.cases[f"ResourceGraphDefinition/{name}"] = Case(page, salt=SALT)
        for manifest, graph in self.repository.instances:
            self._make(manifest, graph)

    def _page(self, manifest: Manifest) -> Page:
        made = copy.deepcopy(manifest.object)
        marks = {SOURCE: "flux/platform", SOURCE_PATH: manifest.document.file, REVISION: COMMIT}
        written = noted(made, None)
        annotations = made["metadata"].setdefault("annotations", {})
        annotations.update(marks)
        made["metadata"]["managedFields"] = [_entry(SOURCE_MANAGER, written)]
        return self._open(made)

    def _open(self, obj: KubeObject) -> Page:
        path = obj["metadata"].get("annotations", {}).get(SOURCE_PATH, "")
        return open_page(obj, self.files.get(path) if self.has_texts else None)

    def _make(self, manifest: Manifest, graph: Graph) -> None:
        page = self._page(manifest)
        live = apply_defaults(page.object, graph.served.schema)
        live["metadata"] |= {"uid": f"uid-{live['metadata']['name']}", "generation": 1}
        self._bring_up(Case(self._open(live), salt=SALT), graph)

    def _bring_up(self, instance: Case, graph: Graph) -> None:
        cluster = SmallCluster(*self.others)
        run = cluster.run(graph, instance.object)
        for _ in graph.order:  # as often as one child may wait for another
            for kept in list(cluster.children.values()):
                cluster.put({**kept, **_reports(kept)}, kept.owned)
            run = cluster.run(graph, instance.object)
        children: dict[str, list[KubeObject]] = {}
        for step in run.targets():
            stored = _stored(cluster.children[step.ref], graph.nodes[step.node].served.schema)
            children.setdefault(step.node, []).append(stored)
        for name, node in graph.nodes.items():
            if node.kind.is_external:
                children[name] = [
                    each
                    for each in self.others
                    if ObjectRef.of(each).kind == node.resource
                    and ObjectRef.of(each).namespace in (instance.ref.namespace, "platform")
                ]
        own = Own(self._definitions[graph.definition.name], graph, children)
        parent = Case(instance.page, instance.parent, own, salt=SALT)
        self.cases[_name(parent.object)] = parent
        for objects in children.values():
            for obj in objects:
                if NODE_ID in obj["metadata"].get("labels", {}):
                    self._add_child(obj, parent)

    def _add_child(self, obj: KubeObject, parent: Case) -> None:
        case = Case(Page(obj), parent_of(obj, parent), salt=SALT)
        self.cases[_name(obj)] = case
        ref = ObjectRef.of(obj)
        nested = next((g for g in self._graphs() if g.served.kind == ref.kind), None)
        if nested is not None:
            stored = apply_defaults(obj, nested.served.schema)
            self._bring_up(Case(Page(stored), case.parent, salt=SALT), nested)

    def _graphs(self) -> list[Graph]:
        return list(self.repository.graphs.values())

    def ask(self, name: str, words: str) -> Provenance:
        """Ask about a field, as on the command line."""
        case = self.cases[name]
        return trace_field(case, parse_field(words))

    def place(self, name: str, words: str) -> str:
        """Return file and line of the first place of an answer."""
        return self.ask(name, words).places[0].file

    def take(self, name: str, path: FieldPath, value: Any, manager: str = "kubectl-edit") -> None:
        """Let somebody change a field of a child, as the server would note it."""
        obj = self.cases[name].object
        holder: Any = obj
        for step in path[:-1]:
            holder = holder[step]
        if value is None:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
        ours = obj["metadata"]["managedFields"][0]["fieldsV1"]
        taken = _taken(ours, path, obj)
        if value is not None:
            obj["metadata"]["managedFields"].append(_entry(manager, taken, "Update", EDITED_AT))


def _name(obj: KubeObject) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def _entry(
    manager: str, fields: dict[str, Any], operation: str = "Apply", time: str = APPLIED_AT
) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields}


def _stored(applied: KubeObject, schema: Schema) -> KubeObject:
    """Return an applied object as a server stores it, with its notes."""
    stored: KubeObject = _without_nulls(json.loads(json.dumps(applied)))
    stored["metadata"]["managedFields"] = [_entry(CHILD_MANAGER, noted(stored, schema))]
    return stored


def _reports(child: KubeObject) -> dict[str, Any]:
    """Return what others report about a child that is well."""
    replicas = child.get("spec", {}).get("replicas", 1)
    return {
        "Deployment": {"status": {"availableReplicas": replicas, "readyReplicas": replicas}},
        "StatefulSet": {"status": {"readyReplicas": 1}},
        "Database": {"status": {"host": "outlet-db.shop.svc", "secretName": "outlet-db"}},
    }.get(child["kind"], {})


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


def noted(obj: KubeObject, schema: Schema | None) -> dict[str, Any]:
    """Return what an API server notes of an object that is applied."""
    kept = {key: value for key, value in obj.items() if key not in _UNRECORDED}
    found = _fields(kept, schema)
    for name in ("f:name", "f:namespace", "f:uid", "f:resourceVersion", "f:generation"):
        found["f:metadata"].pop(name, None)
    return found


def _fields(value: Any, schema: Schema | None) -> dict[str, Any]:
    if isinstance(value, dict):
        return {
            f"f:{key}": _fields(child, field_schema(schema, key) if schema else None)
            for key, child in value.items()
        }
    if not isinstance(value, list) or schema is None:
        return {}
    keys, below = list_map_keys(schema), item_schema(schema)
    if list_type(schema) == "set":
        return {f"v:{json.dumps(item)}": {} for item in value}
    if not keys:
        return {}
    return {f"k:{_key(item, keys)}": {".": {}, **_fields(item, below)} for item in value}


def _key(item: dict[str, Any], keys: tuple[str, ...]) -> str:
    defaults = {"protocol": "TCP"}
    return json.dumps({key: item.get(key, defaults.get(key)) for key in keys})


def _taken(fields: dict[str, Any], path: FieldPath, obj: Any) -> dict[str, Any]:
    """Remove a path from an entry, and return it as an entry of its own."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        name = next(
            each
            for each in fields
            if each.startswith("k:")
            and all(obj[step].get(k, v) == v for k, v in json.loads(each[2:]).items())
        )
    else:
        name = f"f:{step}"
    if not rest:
        return {name: fields.pop(name, {})}
    return {name: _taken(fields[name], rest, obj[step] if _has(obj, step) else {})}


def _has(obj: Any, step: str | int) -> bool:
    return (isinstance(obj, dict) and step in obj) or (
        isinstance(obj, list) and isinstance(step, int) and step < len(obj)
    )


def examples(*, has_texts: bool = True) -> World:
    """Return the repository that comes with the program, applied."""
    root = Path(__file__).parents[1] / "examples" / "repo"
    files = {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in sorted(root.rglob("*.yaml"))
    }
    password = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "warehouse-password", "namespace": "data", "uid": "uid-secret"},
        "data": {"password": "aHVudGVyMg=="},
    }
    outlet = copy.deepcopy(password)
    outlet["metadata"] = {"name": "outlet-password", "namespace": "shop", "uid": "uid-outlet"}
    organisation = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "organisation", "namespace": "platform", "uid": "uid-organisation"},
        "data": {"domain": "example.com"},
    }
    return World(files, (password, outlet, organisation), has_texts)
