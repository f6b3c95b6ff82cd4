"""
A repository's manifests, compiled: definitions in the order they need each other, instances by
their graph, and everything that is wrong, by file and line.

A definition may use kinds that other definitions of the same repository generate; kinds of
CustomResourceDefinitions in the repository count as known, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from kro_gitops.engine.api import own_kinds
from kro_gitops.engine.definition import Parsed, is_definition, parse
from kro_gitops.engine.graph import dag
from kro_gitops.engine.graph.build import served_kind, try_build
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.options import DEFAULTS, Options
from kro_gitops.preview.crds import check_crd, named_kinds
from kro_gitops.preview.instances import check_custom_resource, check_instance
from kro_gitops.preview.lints import lint_graph
from kro_gitops.source.files.manifests import Manifest, Manifests
from kube_objects.crds import is_crd, kinds_of_crd
from kube_objects.errors import SchemaError
from kube_objects.problems import Finding, Problem, Spot
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema, LayeredSchemas, Schemas, SchemaSet

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True)
class CompiledDefinition:
    """A definition of the repository; `graph` is None if it does not compile."""

    manifest: Manifest
    graph: Graph | None


@dataclass(slots=True)
class Repository:
    """A set of manifests, compiled and checked."""

    manifests: tuple[Manifest, ...] = ()
    definitions: list[CompiledDefinition] = field(default_factory=list)
    instances: list[tuple[Manifest, Graph]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    schemas: Schemas = field(default_factory=SchemaSet)

    @property
    def graphs(self) -> Mapping[str, Graph]:
        """Return the graphs that compiled, by the name of their definition."""
        return {
            each.graph.definition.name: each.graph
            for each in self.definitions
            if each.graph is not None
        }


def compile_repository(
    manifests: Manifests, known: Schemas, options: Options = DEFAULTS
) -> Repository:
    """Compile every definition and check every instance."""
    own = SchemaSet()
    repository = Repository(
        manifests=manifests.manifests,
        findings=list(manifests.findings),
        schemas=LayeredSchemas(own, known, own_kinds()),
    )
    for manifest in manifests.manifests:
        if is_crd(manifest.object):
            repository.findings.extend(_learn_crd(manifest, own))
    by_kind: dict[Kind, Graph | None] = {}
    for manifest, parsed in _in_order(manifests, repository, own):
        graph = _compile(manifest, parsed, repository, own, options)
        by_kind[parsed.definition.schema.served] = graph
    for manifest in manifests.manifests:
        if not is_definition(manifest.object):
            repository.findings.extend(_check_other(manifest, by_kind, own, repository))
    repository.findings.sort(key=lambda finding: finding.order)
    return repository


def _learn_crd(manifest: Manifest, own: SchemaSet) -> Iterator[Finding]:
    problems = list(check_crd(manifest.object))
    try:
        kinds = kinds_of_crd(manifest.object) if not problems else []
    except SchemaError as error:
        problems = [Problem(error.code, error.message, error.spot, hint=error.hint)]
        kinds = []
    yield from (manifest.finding(problem) for problem in problems)
    for served in kinds:
        own.add(served)
    if problems:
        # Others may use its kinds: that is one mistake, not two.
        for kind in named_kinds(manifest.object):
            own.add(KindSchema(kind, "", True, _ANYTHING))


def _in_order(
    manifests: Manifests, repository: Repository, own: SchemaSet
) -> Iterator[tuple[Manifest, Parsed]]:
    """Put definitions after those whose kinds they use; report kinds claimed twice, and rings."""
    makers: dict[Kind, int] = {}
    found = [(m, parse(m.object)) for m in manifests.manifests if is_definition(m.object)]
    for index, (manifest, parsed) in enumerate(found):
        served = parsed.definition.schema.served
        if served in makers:
            first = found[makers[served]][0]
            repository.findings.append(manifest.finding(_claimed_twice(served, first)))
        else:
            makers[served] = index
    needs = {
        str(index): [
            str(makers[kind])
            for kind in _used_kinds(parsed)
            if kind in makers and makers[kind] != index
        ]
        for index, (_, parsed) in enumerate(found)
    }
    if cycle := dag.find_cycle(needs):
        manifest = found[int(cycle[0])][0]
        names = [found[int(index)][1].definition.name for index in cycle]
        repository.findings.append(manifest.finding(_ring(names)))
        # Whoever is first in the ring uses a kind that is not there yet: that is said already.
        for _, parsed in found:
            own.add(_unseen(parsed))
        order: tuple[str, ...] = tuple(needs)
    else:
        order = dag.order(needs)
    for position in order:
        yield found[int(position)]


def _used_kinds(parsed: Parsed) -> Iterator[Kind]:
    for resource in parsed.definition.resources:
        version, kind = resource.body.get("apiVersion"), resource.body.get("kind")
        if isinstance(version, str) and isinstance(kind, str):
            yield Kind.of(version, kind)


def _claimed_twice(served: Kind, first: Manifest) -> Problem:
    return Problem(
        "duplicate-kind",
        f"the kind {served} is already defined by {first.ref.name}",
        Spot(("spec", "schema", "kind")),
        f"CRD is owned by another ResourceGraphDefinition {first.ref.name}",
        hint=f"see {first.origin(Spot(('spec', 'schema', 'kind')))}; give this one another kind",
    )


def _ring(names: list[str]) -> Problem:
    return Problem(
        "definition-cycle",
        f"definitions need each other: {' -> '.join(names)}",
        Spot(("spec", "resources"), on_key=True),
        hint="neither can be served before the other; break the ring",
    )


def _compile(
    manifest: Manifest, parsed: Parsed, repository: Repository, own: SchemaSet, options: Options
) -> Graph | None:
    built = try_build(manifest.object, repository.schemas, options)
    repository.findings.extend(manifest.finding(problem) for problem in built.problems)
    repository.definitions.append(CompiledDefinition(manifest, built.graph))
    if built.graph is not None:
        lints = lint_graph(built.graph)
        repository.findings.extend(manifest.finding(problem) for problem in lints)
    # Others may use the kind of a broken definition: that is one mistake, not two.
    if built.crd is not None:
        own.add(served_kind(built.crd))
    else:
        own.add(_unseen(parsed))
    return built.graph


def _unseen(parsed: Parsed) -> KindSchema:
    """Return a kind of which nothing is known, so anything is right."""
    schema = parsed.definition.schema
    return KindSchema(schema.served, "", schema.is_namespaced, _ANYTHING)


def _check_other(
    manifest: Manifest, by_kind: Mapping[Kind, Graph | None], own: SchemaSet, repository: Repository
) -> Iterator[Finding]:
    kind = manifest.ref.kind
    graph, served = by_kind.get(kind), own.schema_of(kind)
    if graph is not None:
        repository.instances.append((manifest, graph))
        problems = list(check_instance(manifest.object, graph))
    elif served is not None:
        # Also an instance of a definition that does not compile, if its schema is known.
        problems = list(check_custom_resource(manifest.object, served))
    else:
        problems = list(_unknown_instance(kind, by_kind))
    for problem in problems:
        yield manifest.finding(problem)


def _unknown_instance(kind: Kind, by_kind: Mapping[Kind, Graph | None]) -> Iterator[Problem]:
    """Complain about a kind only if its group is one that definitions here generate."""
    if kind.group not in {served.group for served in by_kind}:
        return
    near = get_close_matches(
        f"{kind.api_version} {kind.kind}", [str(served) for served in by_kind], n=1, cutoff=0.6
    )
    yield Problem(
        "unknown-kind",
        f"no ResourceGraphDefinition in these files serves {kind}",
        Spot(("kind",)),
        hint=f"did you mean {near[0]}?" if near else "",
    )
