"""
A repository's manifests, compiled: definitions in the order they need each other, instances by
their graph, and everything that is wrong, by file and line.

A definition may use kinds that other definitions of the same repository generate; kinds of
CustomResourceDefinitions in the repository count as known, too.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from kro_gitops.engine.api import DEFINITION_KIND, own_kinds
from kro_gitops.engine.crd.build import CrdInputs
from kro_gitops.engine.definition import Parsed, is_definition, parse
from kro_gitops.engine.definition_annotations import check_annotations
from kro_gitops.engine.graph import dag
from kro_gitops.engine.graph.build import served_kind, try_build
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.labels import is_kro_owned, label_value
from kro_gitops.engine.options import DEFAULTS, Options
from kro_gitops.metadata import DEFINITION_NAME, DEPENDS_ON, WAVE
from kro_gitops.preview.cluster import ANYTHING, NO_CLUSTER, AssumedCluster
from kro_gitops.preview.crds import check_crd, named_kinds
from kro_gitops.preview.lints import lint_graph
from kro_gitops.preview.objects import (
    check_builtin,
    check_custom_resource,
    check_instance,
    check_name,
    check_source,
    reserved_keys,
    unknown_kind,
)
from kro_gitops.source.api.crd import source_crds
from kro_gitops.source.files.manifests import Manifest, Manifests
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kro_gitops.source.plan.stages import Stage, object_order, stage_of
from kube_objects.builtins.catalog import catalog
from kube_objects.crds import is_crd, kinds_of_crd
from kube_objects.errors import SchemaError
from kube_objects.problems import Finding, Problem, Severity, Spot
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.schemas import KindSchema, LayeredSchemas, Schemas, SchemaSet

# Codes of problems that objects of all kinds have.
_NOT_OF_CRDS = frozenset(("invalid-name", "namespace-on-cluster-scoped"))


@dataclass(frozen=True, slots=True)
class CompiledDefinition:
    """
    A definition of the repository; `graph` is None if it does not compile.

    One that compiles is not served if its kind belongs to another, or if it uses a kind that is
    not served.
    """

    manifest: Manifest
    graph: Graph | None
    is_served: bool = False


@dataclass(slots=True)
class Repository:
    """A set of manifests, compiled and checked."""

    manifests: tuple[Manifest, ...] = ()
    definitions: list[CompiledDefinition] = field(default_factory=list)
    instances: list[tuple[Manifest, Graph]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    schemas: Schemas = field(default_factory=SchemaSet)
    cluster: AssumedCluster = NO_CLUSTER

    @property
    def served(self) -> Mapping[Kind, Graph]:
        """Return the graphs that are served, by their kind."""
        return {
            each.graph.served.kind: each.graph
            for each in self.definitions
            if each.graph is not None and each.is_served
        }

    def sound_instances(self) -> Iterator[tuple[Manifest, Graph]]:
        """Yield the instances that the API server would accept."""
        broken = {
            (finding.origin.file, finding.subject)
            for finding in self.findings
            if finding.problem.severity is Severity.ERROR
        }
        for manifest, graph in self.instances:
            if (manifest.document.file, str(manifest.ref)) not in broken:
                yield manifest, graph

    @property
    def graphs(self) -> Mapping[str, Graph]:
        """Return the graphs that compiled, by the name of their definition."""
        return {
            each.graph.definition.name: each.graph
            for each in self.definitions
            if each.graph is not None
        }


def compile_repository(
    manifests: Manifests,
    known: Schemas,
    options: Options = DEFAULTS,
    cluster: AssumedCluster = NO_CLUSTER,
    only: Collection[ObjectRef] | None = None,
) -> Repository:
    """
    Compile every definition and check every object.

    With `only`, objects other than those are not checked; definitions are compiled anyway.
    """
    own = SchemaSet()
    repository = Repository(
        manifests=manifests.manifests,
        findings=list(manifests.findings),
        schemas=LayeredSchemas(own, known, own_kinds(), _source_kinds(), cluster.schemas),
        cluster=cluster,
    )
    unserved: set[Kind] = set()
    for manifest in manifests.manifests:
        if is_crd(manifest.object):
            repository.findings.extend(_learn_crd(manifest, own, unserved, cluster))
    definitions = _parsed_definitions(manifests, repository)
    by_kind: dict[Kind, Graph | None] = {
        each.kind: None for each in definitions if not each.is_rejected
    }
    ordered = _in_order(definitions, repository, own)
    graphs = {each.number: _compile(each, repository, own, options) for each in ordered}
    served = _served(definitions, graphs, unserved)
    for number, graph in graphs.items():
        definition = definitions[number]
        is_served = number in served
        repository.definitions.append(CompiledDefinition(definition.manifest, graph, is_served))
        if is_served:
            by_kind[definition.kind] = graph
    for manifest in manifests.manifests:
        if only is not None and manifest.ref not in only:
            continue
        if not is_definition(manifest.object):
            repository.findings.extend(_check_other(manifest, by_kind, own, repository))
    repository.findings.extend(_order_findings(repository))
    repository.findings.sort(key=lambda finding: finding.order)
    return repository


@cache
def _source_kinds() -> SchemaSet:
    return SchemaSet([kind for crd in source_crds() for kind in kinds_of_crd(crd)])


def _learn_crd(
    manifest: Manifest, own: SchemaSet, unserved: set[Kind], cluster: AssumedCluster
) -> Iterator[Finding]:
    problems = list(check_crd(manifest.object))
    served = catalog.find(manifest.ref.kind)
    if not problems and served is not None:
        found = check_builtin(manifest.object, served, cluster)
        problems = [
            each if each.code in _NOT_OF_CRDS else replace(each, code="invalid-crd")
            for each in found
        ]
    problems += reserved_keys(manifest.object)
    try:
        kinds = kinds_of_crd(manifest.object) if not problems else []
    except SchemaError as error:
        problems = [Problem(error.code, error.message, error.spot, hint=error.hint)]
        kinds = []
    yield from (manifest.finding(problem) for problem in problems)
    for each in kinds:
        own.add(each)
    if problems:
        # Others may use its kinds: that is one mistake, not two.
        for kind in named_kinds(manifest.object):
            own.add(KindSchema(kind, "", True, ANYTHING))
            unserved.add(kind)


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition by its number; `needs` are those whose kinds it uses."""

    number: int
    manifest: Manifest
    parsed: Parsed
    is_rejected: bool  # its kind belongs to another
    needs: tuple[int, ...]

    @property
    def kind(self) -> Kind:
        return self.parsed.definition.schema.served


def _parsed_definitions(manifests: Manifests, repository: Repository) -> list[_Definition]:
    """Parse definitions; report kinds that are taken, by a CRD or by another definition."""
    taken: dict[str, Manifest] = {}  # by the name of a CRD, and by its kind in any version
    for manifest in manifests.manifests:
        if is_crd(manifest.object):
            names = [f"{kind.group}/{kind.kind}" for kind in named_kinds(manifest.object)]
            taken |= dict.fromkeys((manifest.ref.name, *names), manifest)
    found = [(m, parse(m.object)) for m in manifests.manifests if is_definition(m.object)]
    makers: dict[Kind, int] = {}
    rejected: set[int] = set()
    for number, (manifest, parsed) in enumerate(found):
        schema = parsed.definition.schema
        crd = CrdInputs(schema.kind, schema.api_version, schema.group).name
        claims = (crd, f"{schema.group}/{schema.kind}")
        first = next((taken[each] for each in claims if each in taken), None)
        if first is None or _is_crd_of(first.object, parsed.definition.name):
            taken |= dict.fromkeys(claims, manifest)
            makers[schema.served] = number
        else:
            rejected.add(number)
            repository.findings.append(manifest.finding(_taken(schema.served, crd, first)))
    return [
        _Definition(
            number,
            manifest,
            parsed,
            number in rejected,
            tuple(
                makers[kind]
                for kind in _used_kinds(parsed)
                if kind in makers and makers[kind] != number
            ),
        )
        for number, (manifest, parsed) in enumerate(found)
    ]


def _in_order(
    definitions: list[_Definition], repository: Repository, own: SchemaSet
) -> Iterator[_Definition]:
    """Put definitions after those whose kinds they use; report a ring."""
    needs = {str(each.number): list(map(str, each.needs)) for each in definitions}
    if cycle := dag.find_cycle(needs):
        ring = [definitions[int(number)] for number in cycle]
        names = [each.parsed.definition.name for each in ring]
        problem = Problem(
            "definition-cycle",
            f"definitions need each other: {' -> '.join(names)}",
            Spot(("spec", "resources"), on_key=True),
            hint="neither can be served before the other; break the ring",
        )
        repository.findings.append(ring[0].manifest.finding(problem))
        # The unknown kind of the first definition of the ring is not reported again.
        for each in definitions:
            own.add(_unseen(each.parsed))
    for number in tuple(needs) if cycle else dag.order(needs):
        yield definitions[int(number)]


def _served(
    definitions: list[_Definition], graphs: Mapping[int, Graph | None], unserved: set[Kind]
) -> set[int]:
    """Return the definitions that the controller serves: all that they need is served, too."""
    waiting = [
        each
        for each in definitions
        if not each.is_rejected
        and graphs[each.number] is not None
        and unserved.isdisjoint(_used_kinds(each.parsed))
    ]
    served: set[int] = set()
    while ready := [each.number for each in waiting if served.issuperset(each.needs)]:
        served.update(ready)
        waiting = [each for each in waiting if each.number not in served]
    return served


def _used_kinds(parsed: Parsed) -> Iterator[Kind]:
    for resource in parsed.definition.resources:
        version, kind = resource.body.get("apiVersion"), resource.body.get("kind")
        if isinstance(version, str) and isinstance(kind, str):
            yield Kind.of(version, kind)


def _is_crd_of(obj: KubeObject, definition: str) -> bool:
    """Return whether an object is a CRD that the controller made for a definition."""
    labels = obj["metadata"].get("labels") or {}
    if not is_crd(obj) or not is_kro_owned(labels):
        return False
    return labels.get(DEFINITION_NAME) == label_value(definition)


def _taken(served: Kind, crd: str, first: Manifest) -> Problem:
    if is_crd(first.object):
        summary = f"the kind {served} is already defined by the CRD {first.ref.name}"
        why = "CRD already exists and is not owned by KRO"
        place = Spot(("spec", "names", "kind"))
    else:
        summary = f"the kind {served} is already defined by {first.ref.name}"
        why = f"CRD is owned by another ResourceGraphDefinition {first.ref.name}"
        place = Spot(("spec", "schema", "kind"))
    return Problem(
        "foreign-crd",
        summary,
        Spot(("spec", "schema", "kind")),
        f"failed to update CRD {crd}: {why}",
        hint=f"see {first.origin(place)}; give this one another kind",
    )


def _compile(
    definition: _Definition, repository: Repository, own: SchemaSet, options: Options
) -> Graph | None:
    manifest, parsed = definition.manifest, definition.parsed
    built = try_build(manifest.object, repository.schemas, options, parsed)
    problems = [
        *built.problems,
        *check_name(manifest.object, DEFINITION_KIND),
        *check_annotations(manifest.object),
    ]
    known = repository.schemas.schema_of(DEFINITION_KIND)
    if not problems and known is not None:
        problems += check_custom_resource(manifest.object, known)
    problems += reserved_keys(manifest.object)
    repository.findings.extend(manifest.finding(problem) for problem in dict.fromkeys(problems))
    if built.graph is not None:
        lints = lint_graph(built.graph)
        repository.findings.extend(manifest.finding(problem) for problem in lints)
    # Others may use the kind of a broken definition: that is one mistake, not two.
    if definition.is_rejected:
        pass  # the kind is that of another
    elif built.crd is not None:
        own.add(served_kind(built.crd))
    else:
        own.add(_unseen(parsed))
    return built.graph


def _unseen(parsed: Parsed) -> KindSchema:
    """Return a kind of which nothing is known, so anything is right."""
    schema = parsed.definition.schema
    return KindSchema(schema.served, "", schema.is_namespaced, ANYTHING)


def _check_other(
    manifest: Manifest, by_kind: Mapping[Kind, Graph | None], own: SchemaSet, repository: Repository
) -> Iterator[Finding]:
    """Check an object that is no definition."""
    kind, obj, cluster = manifest.ref.kind, manifest.object, repository.cluster
    graph = by_kind.get(kind)
    if graph is not None:
        repository.instances.append((manifest, graph))
    if is_crd(obj):
        return  # it was checked when its kinds were learned
    problems = list(reserved_keys(obj))
    served = own.schema_of(kind) or repository.schemas.schema_of(kind)
    if graph is not None:
        problems += check_instance(obj, graph)
    elif kind == GIT_SOURCE_KIND and served is not None:
        problems += check_source(obj, served)
    elif served is None:
        problems.append(unknown_kind(kind, repository.schemas.kinds()))
    elif catalog.find(kind) is served:
        problems += check_builtin(obj, served, cluster)
    else:
        # Also an instance of a definition that does not compile, if its schema is known.
        problems += check_custom_resource(obj, served)
    for problem in problems:
        yield manifest.finding(problem)


def _order_findings(repository: Repository) -> Iterator[Finding]:
    """Report annotations that order objects, and objects that are the same by their namespace."""
    placed: dict[ObjectRef, Manifest] = {}
    objects: list[KubeObject] = []
    for manifest in repository.manifests:
        served = repository.schemas.schema_of(manifest.ref.kind)
        namespaced = served.namespaced if served is not None else bool(manifest.ref.namespace)
        default = repository.cluster.namespace
        namespace = (manifest.ref.namespace or default) if namespaced else ""
        ref = replace(manifest.ref, namespace=namespace)
        if ref in placed:
            text = (
                f"{ref} is defined twice: once with its namespace written out, once without; "
                f"see {placed[ref].origin()}"
            )
            problem = Problem("duplicate-object", text, hint="remove one of the two")
            yield manifest.finding(problem)
            continue
        placed[ref] = manifest
        if stage_of(ref.kind) is Stage.OBJECTS:
            metadata = {**manifest.object["metadata"], "namespace": namespace}
            objects.append({**manifest.object, "metadata": metadata})
    annotated = [each for each in objects if "annotations" in each["metadata"]]
    if not any(
        set(each["metadata"]["annotations"] or ()) & {WAVE, DEPENDS_ON} for each in annotated
    ):
        return
    earlier = [ref for ref in placed if stage_of(ref.kind) is not Stage.OBJECTS]
    for ref, problem in object_order(objects, earlier=earlier).problems:
        yield placed[ref].finding(problem)
