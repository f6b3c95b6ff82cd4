"""
A definition and the schemas of its kinds become a graph, or the list of all that is wrong.

The steps and their order are kro's, so the first problem listed is the one kro would report.
Unlike kro the build goes on after a fault: what a broken part would have declared counts as
dyn from there on, so each mistake is reported once, where it was made.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kro_gitops.engine.crd.build import CrdInputs, build_crd
from kro_gitops.engine.definition import Definition, parse
from kro_gitops.engine.graph.dependencies import Dependencies, find_dependencies
from kro_gitops.engine.graph.naming import check_names, is_kind_name
from kro_gitops.engine.graph.nodes import (
    Dimension,
    Field,
    Graph,
    Node,
    Places,
    StatusField,
)
from kro_gitops.engine.graph.projection import Projection, project
from kro_gitops.engine.graph.read_paths import parts_judged, read_paths_of
from kro_gitops.engine.graph.rulecheck import check_schema_rules
from kro_gitops.engine.graph.templates import NodeDraft, read_templates
from kro_gitops.engine.graph.typecheck import Types, check_node, environment_for
from kro_gitops.engine.options import DEFAULTS, Options
from kro_gitops.engine.simpleschema.openapi import build_schema
from kro_gitops.errors import DefinitionError
from kube_cel.environment import Environment
from kube_objects.builtins.catalog import catalog
from kube_objects.crds import kinds_of_crd
from kube_objects.problems import Path, Problem, Spot
from kube_objects.refs import KubeObject, is_dns_label
from kube_objects.schemas import KindSchema, Schemas

_SPEC_ROOT = ("spec", "schema")


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


def try_build(obj: KubeObject, schemas: Schemas, options: Options = DEFAULTS) -> Built:
    """Compile as far as possible; the result says how far that was."""
    parsed = parse(obj)
    definition = parsed.definition
    problems = [*parsed.problems, *check_names(definition, options.max_dimensions)]
    spec_schema, schema_problems = _spec_schema(definition)
    problems += schema_problems
    nodes, found = read_templates(definition, schemas)
    problems += found
    instance_schema = None
    if spec_schema is not None:
        instance_schema = instance_schema_for(spec_schema, definition)
    environment = environment_for(nodes, instance_schema)
    wiring = find_dependencies(nodes, environment, omit_allowed=options.omit)
    problems += wiring.problems
    types = Types(environment, definition.schema.is_namespaced)
    for node in nodes:
        problems += check_node(node, types)
    ids = tuple(node.id for node in nodes)
    projection = project(definition.schema.status, ids, environment)
    problems += projection.problems
    crd = _crd(definition, spec_schema, projection)
    # Find a kind whose plural, made as kro makes it, no API server would take.
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
    draft = _Draft(definition, nodes, wiring, projection, environment)
    return Built(_finish(draft, crd, instance_schema), (), crd)


def _spec_schema(definition: Definition) -> tuple[dict[str, Any] | None, list[Problem]]:
    result = build_schema(definition.schema.spec, definition.schema.types)
    prefix = (
        f'failed to build resourcegraphdefinition "{definition.name}": '
        "failed to build OpenAPI schema for instance: "
    )
    problems = [
        # What only the API server refuses has no words of kro's.
        problem if problem.message == problem.summary else problem.within(prefix)
        for problem in (each.below(_SPEC_ROOT) for each in result.problems)
    ]
    if result.schema is None:
        return None, problems
    problems += check_schema_rules(result.schema, definition.schema)
    return result.schema, problems


def instance_schema_for(spec_schema: dict[str, Any], definition: Definition) -> dict[str, Any]:
    """Return what expressions see as `schema`: no status, and full metadata."""
    metadata = catalog.object_meta()
    if not definition.schema.is_namespaced:
        properties = {k: v for k, v in metadata["properties"].items() if k != "namespace"}
        metadata = {**metadata, "properties": properties}
    return {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": metadata,
            "spec": spec_schema,
        },
    }


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


@dataclass(frozen=True, slots=True)
class _Draft:
    """Everything a finished graph is made from."""

    definition: Definition
    nodes: list[NodeDraft]
    wiring: Dependencies
    projection: Projection
    environment: Environment


def _finish(draft: _Draft, crd: KubeObject, instance_schema: dict[str, Any]) -> Graph:
    projection = draft.projection
    nodes = {node.id: _finish_node(node, draft.wiring) for node in draft.nodes}
    return Graph(
        definition=draft.definition,
        nodes=nodes,
        order=draft.wiring.order,
        waves=draft.wiring.waves,
        crd=crd,
        served=served_kind(crd),
        instance_schema=instance_schema,
        environment=draft.environment,
        status=tuple(StatusField(path, item.finish()) for path, item in projection.fields),
        conditions=tuple(item.finish() for item in projection.conditions),
        read=read_paths_of(chain.from_iterable(draft.wiring.dependencies.values())),
        judged=parts_judged(nodes.values()),
    )


def served_kind(crd: KubeObject) -> KindSchema:
    """Return the one kind a generated CRD serves."""
    return next(iter(kinds_of_crd(crd)))


def _finish_node(node: NodeDraft, wiring: Dependencies) -> Node:
    assert node.served is not None
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
        places=_places(item.path for item in node.fields),
    )


def _places(paths: Iterable[Path]) -> Places:
    """Gather the paths of a body that are filled in; a namespace is put in later, too."""
    root: dict[str | int, Any] = {}
    for path in (("metadata", "namespace"), *paths):
        below = root
        for step in path:
            below = below.setdefault(step, {})
    return root
