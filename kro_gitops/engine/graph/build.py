"""
Compiles a definition, with the schemas of its kinds, into a graph or a list of all problems.

The steps and their order are kro's, so the first problem listed is the one kro would report.
Unlike kro the build continues after a fault: what a broken part would have declared has the type
dyn from there on, so each mistake is reported once, at its own place.
"""

import json
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kro_gitops.engine.crd.build import CrdInputs, build_crd
from kro_gitops.engine.definition import Definition, Parsed, parse
from kro_gitops.engine.graph.confidential import (
    SECRET_DATA,
    instance_fields,
    instance_paths,
    is_confidential,
    is_secret,
)
from kro_gitops.engine.graph.dependencies import Dependencies, find_dependencies
from kro_gitops.engine.graph.naming import check_names, is_kind_name
from kro_gitops.engine.graph.nodes import (
    EACH,
    Dimension,
    Field,
    Graph,
    Node,
    NodeKind,
    StatusField,
)
from kro_gitops.engine.graph.projection import Projection, project
from kro_gitops.engine.graph.read_paths import parts_of_ready_when, read_paths_of
from kro_gitops.engine.graph.rulecheck import check_schema_rules
from kro_gitops.engine.graph.templates import NodeDraft, read_templates
from kro_gitops.engine.graph.typecheck import Types, check_node, environment_for
from kro_gitops.engine.options import DEFAULTS, Options
from kro_gitops.engine.simpleschema.openapi import build_schema
from kro_gitops.errors import DefinitionError
from kube_objects.builtins.catalog import catalog
from kube_objects.crds import kinds_of_crd
from kube_objects.problems import Path, Problem, Spot
from kube_objects.refs import KubeObject, is_dns_label
from kube_objects.schemas import KindSchema, Schemas

_SPEC_ROOT = ("spec", "schema")
_MAX_INSTANCE_SCHEMAS = 256
_INSTANCE_SCHEMAS: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Built:
    """The graph, if there is one, and every problem found on the way."""

    graph: Graph | None
    problems: tuple[Problem, ...]
    crd: KubeObject | None = None


def build(obj: KubeObject, schemas: Schemas, options: Options = DEFAULTS) -> Graph:
    """Compile a ResourceGraphDefinition object, or raise with everything that is wrong."""
    built = try_build(obj, schemas, options)
    if built.graph is None:
        raise DefinitionError(built.problems)
    return built.graph


def try_build(
    obj: KubeObject, schemas: Schemas, options: Options = DEFAULTS, parsed: Parsed | None = None
) -> Built:
    """
    Compile as far as possible; the result says how far that was.

    `parsed` is the definition in `obj`, if the caller has parsed it already.
    """
    parsed = parsed or parse(obj)
    definition = parsed.definition
    problems = [*parsed.problems, *check_names(definition, options.max_dimensions)]
    spec = build_schema(definition.schema.spec, definition.schema.types)
    prefix = (
        f'failed to build resourcegraphdefinition "{definition.name}": '
        "failed to build OpenAPI schema for instance: "
    )
    problems += [
        # kro has no message for what only the API server rejects.
        problem if problem.message == problem.summary else problem.within(prefix)
        for problem in (each.below(_SPEC_ROOT) for each in spec.problems)
    ]
    if spec.schema is not None:
        problems += check_schema_rules(spec.schema, definition.schema)
    nodes, found = read_templates(definition, schemas)
    problems += found
    instance_schema = None
    if spec.schema is not None:
        instance_schema = instance_schema_for(spec.schema, definition)
    environment = environment_for(nodes, instance_schema)
    wiring = find_dependencies(nodes, environment, omit_allowed=options.omit)
    problems += wiring.problems
    types = Types(environment, definition.schema.is_namespaced)
    for node in nodes:
        problems += check_node(node, types)
    ids = tuple(node.id for node in nodes)
    projection = project(definition.schema.status, ids, environment)
    problems += projection.problems
    crd = _crd(definition, spec.schema, projection)
    # kro's plural of a kind may be a name that no API server accepts.
    if crd is not None and is_kind_name(definition.schema.kind):
        plural = crd["spec"]["names"]["plural"]
        if not is_dns_label(plural):
            problems.append(
                Problem(
                    "unusable-plural",
                    f"the plural of '{definition.schema.kind}' would be '{plural}', "
                    "which the API server rejects",
                    Spot(("spec", "schema", "kind")),
                    hint="choose another kind; a prefix is enough",
                )
            )
    if problems or instance_schema is None or crd is None:
        return Built(None, tuple(dict.fromkeys(problems)), crd)
    secret_fields = _mark_confidential(nodes, projection)
    finished = {node.id: _finish(node, wiring) for node in nodes}
    graph = Graph(
        definition=definition,
        nodes=finished,
        order=wiring.order,
        waves=wiring.waves,
        crd=crd,
        served=served_kind(crd),
        instance_schema=instance_schema,
        environment=environment,
        status=tuple(StatusField(path, item.finish()) for path, item in projection.fields),
        conditions=tuple(item.finish() for item in projection.conditions),
        read=read_paths_of(chain.from_iterable(wiring.dependencies.values())),
        ready_when_reads=parts_of_ready_when(finished.values()),
        secret_fields=secret_fields,
    )
    return Built(graph, (), crd)


def instance_schema_for(spec_schema: dict[str, Any], definition: Definition) -> dict[str, Any]:
    """Return what expressions see as `schema`: no status, and full metadata."""
    # Equal schemas become one object, so that definitions share the types derived from it.
    text = json.dumps([spec_schema, definition.schema.is_namespaced])
    found = _INSTANCE_SCHEMAS.get(text)
    if found is None:
        metadata = catalog.object_meta()
        if not definition.schema.is_namespaced:
            properties = {k: v for k, v in metadata["properties"].items() if k != "namespace"}
            metadata = {**metadata, "properties": properties}
        found = {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": metadata,
                "spec": spec_schema,
            },
        }
        if len(_INSTANCE_SCHEMAS) >= _MAX_INSTANCE_SCHEMAS:
            _INSTANCE_SCHEMAS.clear()
        _INSTANCE_SCHEMAS[text] = found
    return found


def _crd(
    definition: Definition, spec_schema: dict[str, Any] | None, projection: Projection
) -> KubeObject | None:
    if spec_schema is None or not definition.schema.kind or not definition.schema.api_version:
        return None
    schema = definition.schema
    inputs = CrdInputs(
        kind=schema.kind,
        api_version=schema.api_version,
        group=schema.group,
        scope=schema.scope,
        printer_columns=schema.printer_columns,
        short_names=schema.short_names,
        categories=schema.categories,
        labels=schema.labels,
        annotations=schema.annotations,
    )
    return build_crd(inputs, spec_schema, projection.schema)


def served_kind(crd: KubeObject) -> KindSchema:
    """Return the one kind a generated CRD serves."""
    return next(iter(kinds_of_crd(crd)))


def _mark_confidential(nodes: list[NodeDraft], projection: Projection) -> frozenset[Path]:
    """Mark the expressions that may handle values of Secrets; return the fields of instances."""
    sources: set[str] = set()
    for node in nodes:
        if not is_secret(node.spec.body):
            continue
        # In `readyWhen` an item of a collection goes by another name, and only in its own node.
        for name in (node.id, EACH) if node.kind is NodeKind.COLLECTION else (node.id,):
            sources.update(f"{name}.{part}" for part in SECRET_DATA)
        for item in node.fields:
            references = item.draft.references
            if item.draft.is_confidential and references is not None:
                sources.update(instance_fields(references.paths))
                lists = (draft for name, draft in node.for_each if name in references.identifiers)
                for draft in lists:
                    if draft.references is not None:
                        sources.update(instance_fields(draft.references.paths))
    drafts = [draft for _, draft in projection.fields] + projection.conditions
    for node in nodes:
        drafts += [item.draft for item in node.fields] + node.include_when + node.ready_when
        drafts += [draft for _, draft in node.for_each]
    for draft in drafts:
        if draft.references is not None and is_confidential(draft.references.paths, sources):
            draft.is_confidential = True
    return instance_paths(sources)


def _finish(node: NodeDraft, wiring: Dependencies) -> Node:
    assert node.served is not None
    numbers: dict[Path, int] = {(): 0}
    copies: list[tuple[int, str | int]] = []
    # The namespace of a child is filled in later.
    for path in (("metadata", "namespace"), *(item.path for item in node.fields)):
        for end in range(1, len(path)):
            if path[:end] not in numbers:
                copies.append((numbers[path[: end - 1]], path[end - 1]))
                numbers[path[:end]] = len(copies)
    return Node(
        id=node.id,
        index=node.spec.index,
        kind=node.kind,
        served=node.served,
        body=node.spec.body,
        fields=tuple(
            Field(item.path, wiring.field_kinds[node.id, index], item.draft.finish())
            for index, item in enumerate(node.fields)
        ),
        include_when=tuple(draft.finish() for draft in node.include_when),
        ready_when=tuple(draft.finish() for draft in node.ready_when),
        for_each=tuple(Dimension(name, draft.finish()) for name, draft in node.for_each),
        dependencies=wiring.dependencies[node.id],
        copies=tuple(copies),
        holders=tuple(numbers[item.path[:-1]] for item in node.fields),
    )
