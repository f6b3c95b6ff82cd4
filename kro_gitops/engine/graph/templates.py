"""
One resource at a time: its body read against the schema of its kind.

What comes out is a `NodeDraft`: the kind is known, the expressions are found, nothing is
compiled yet. These are steps 6 and 7 of kro's build, with kro's words.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from kro_gitops.engine.definition import Definition, ResourceSpec
from kro_gitops.engine.graph.expressions import Draft, standalone_drafts
from kro_gitops.engine.graph.nodes import NodeKind
from kro_gitops.engine.graph.selectors import check_selector
from kro_gitops.engine.graph.template_walk import walk_by_schema, walk_freely
from kro_gitops.metadata import GITOPS_PREFIX, RESERVED_BY_KRO
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.refs import Kind, is_dns_label
from kube_objects.schemas import KindSchema, Schemas

_CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@dataclass(slots=True)
class FieldDraft:
    """An expression and the path in the body that it fills."""

    path: Path
    draft: Draft


@dataclass(slots=True)
class NodeDraft:
    """A resource whose expressions are found; `served` is None if its kind is not known."""

    spec: ResourceSpec
    kind: NodeKind
    served: KindSchema | None = None
    fields: list[FieldDraft] = field(default_factory=list)
    include_when: list[Draft] = field(default_factory=list)
    ready_when: list[Draft] = field(default_factory=list)
    for_each: list[tuple[str, Draft]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Return the node's id."""
        return self.spec.id

    @property
    def iterators(self) -> tuple[str, ...]:
        """Return the names `forEach` binds."""
        return tuple(dimension.name for dimension in self.spec.for_each)


def read_templates(
    definition: Definition, schemas: Schemas
) -> tuple[list[NodeDraft], list[Problem]]:
    """Draft every resource, in the order they are written."""
    drafts: list[NodeDraft] = []
    problems: list[Problem] = []
    for spec in definition.resources:
        if spec.external is not None and spec.template is None:
            kind = NodeKind.EXTERNAL_COLLECTION if spec.has_selector else NodeKind.EXTERNAL
        else:
            kind = NodeKind.COLLECTION if spec.for_each else NodeKind.RESOURCE
        draft = NodeDraft(spec, kind)
        problems.extend(_read(draft, definition, schemas))
        drafts.append(draft)
    return drafts, problems


def _read(draft: NodeDraft, definition: Definition, schemas: Schemas) -> Iterator[Problem]:
    spec = draft.spec
    prefix = f'failed to build resource "{spec.id}": '
    where, text = spec.path, ""
    if spec.template is None and spec.external is None:
        text = "exactly one of template or externalRef must be provided"
    elif spec.template is not None and spec.external is not None:
        text, where = "cannot use externalRef with template", (*spec.path, "externalRef")
    elif spec.external is not None and spec.for_each:
        text, where = "cannot use externalRef with forEach", (*spec.path, "forEach")
    if text:
        summary = f'resource "{spec.id}": {text}'
        yield Problem(
            "invalid-resource",
            summary,
            Spot(where, on_key=where != spec.path),
            f"{prefix}invalid combination of resource fields: {summary}",
        )
    if spec.template is None and spec.external is None:
        return
    selector = list(check_selector(spec))
    yield from selector
    structure = list(_structure_problems(spec, prefix))
    yield from structure
    if not structure:
        yield from _read_kind(draft, definition, schemas, has_bad_selector=bool(selector))
    for name, texts, target in (
        ("readyWhen", spec.ready_when, draft.ready_when),
        ("includeWhen", spec.include_when, draft.include_when),
    ):
        places = [((*spec.path, name, index), text) for index, text in enumerate(texts)]
        found, problems = standalone_drafts(places, f"{prefix}failed to parse {name} expressions: ")
        target.extend(found)
        yield from problems
    for dimension in spec.for_each:
        wrapping = (
            f"{prefix}failed to parse forEach dimensions: "
            f'invalid forEach expression for dimension "{dimension.name}": '
        )
        found, problems = standalone_drafts([(dimension.path, dimension.text)], wrapping)
        draft.for_each.extend((dimension.name, each) for each in found)
        yield from problems


def _structure_problems(spec: ResourceSpec, prefix: str) -> Iterator[Problem]:
    body = spec.body
    for name, right, wanted in (
        ("apiVersion", str, "string"),
        ("kind", str, "string"),
        ("metadata", dict, "map"),
    ):
        if name in body and isinstance(body[name], right):
            continue
        if name in body:
            text, spot = f"{name} field is not a {wanted}", Spot((*spec.body_path, name))
        else:
            text, spot = f"{name} field not found", Spot(spec.body_path, on_key=True)
        yield Problem(
            "invalid-object",
            f"resource {spec.id}: {text}",
            spot,
            f"{prefix}resource {spec.id} is not a valid Kubernetes object: {text}",
        )


def _read_kind(
    draft: NodeDraft, definition: Definition, schemas: Schemas, *, has_bad_selector: bool
) -> Iterator[Problem]:
    spec = draft.spec
    prefix = f'failed to build resource "{spec.id}": '
    named = list(_kind_problems(spec, prefix))
    yield from named
    kind = Kind.of(spec.body["apiVersion"], spec.body["kind"])
    if not named:
        draft.served = schemas.schema_of(kind)
        if draft.served is None:
            yield _unknown_kind(spec, kind, schemas, prefix)
        else:
            yield from _scope_problems(draft, definition, prefix)
    yield from _metadata_problems(spec, prefix)
    if spec.template is None:
        walked, wrapping = walk_freely(spec.body), "failed to parse external ref resource"
    elif kind == _CRD:
        walked, wrapping = walk_freely(spec.body), "failed to parse schemaless resource"
    else:
        wrapping = "failed to extract CEL expressions from schema for resource"
        if draft.served is None:
            walked = walk_freely(spec.body)
        else:
            walked = walk_by_schema(spec.body, draft.served.schema)
    if kind == _CRD and spec.template is not None:
        for found in walked.fields:
            if found.path[0] != "metadata":
                text = (
                    "CEL expressions in CRDs are only supported for metadata fields, "
                    f'found in path "{format_path(found.path)}", resource {spec.id}'
                )
                spot = Spot((*spec.body_path, *found.path))
                yield Problem("expression-in-crd", text, spot, prefix + text)
        walked.fields = [found for found in walked.fields if found.path[0] == "metadata"]
    for found in walked.fields:
        place = (*spec.body_path, *found.path)
        fresh = Draft(found.template, place, found.text)
        fresh.is_faulty = has_bad_selector and found.path[:2] == ("metadata", "selector")
        draft.fields.append(FieldDraft(found.path, fresh))
    for problem in walked.problems:
        yield problem.below(spec.body_path).within(f"{prefix}{wrapping} {spec.id}: ")


def _kind_problems(spec: ResourceSpec, prefix: str) -> Iterator[Problem]:
    wrapping = f"{prefix}failed to extract GVK from resource {spec.id}: "
    version, kind = spec.body["apiVersion"], spec.body["kind"]
    if version.count("/") > 1:
        text = f'invalid apiVersion format "{version}"'
        whole = f"{wrapping}{text}: unexpected GroupVersion string: {version}"
        spot = Spot((*spec.body_path, "apiVersion"))
        hint = "write 'v1' or 'group/version'"
        yield Problem("invalid-api-version", text, spot, whole, hint)
    if not is_dns_label(kind.lower()):
        text = f'invalid kind "{kind}"'
        why = _DNS_1035 if len(kind) <= 63 else "must be no more than 63 characters"
        whole = f"{wrapping}{text}: {why} (must be a valid DNS-1035 label when lowercased)"
        spot = Spot((*spec.body_path, "kind"))
        hint = "expressions are not allowed in 'kind'" if "${" in kind else ""
        yield Problem("invalid-kind", text, spot, whole, hint)


def _unknown_kind(spec: ResourceSpec, kind: Kind, schemas: Schemas, prefix: str) -> Problem:
    known = list(schemas.kinds())
    if any(other.api_version == kind.api_version for other in known):
        what = f'group version kind "{kind.group}/{kind.version}, Kind={kind.kind}"'
    else:
        what = f'group version "{kind.api_version}"'
    return Problem(
        "unknown-kind",
        f"schema not found for {kind}",
        Spot((*spec.body_path, "kind")),
        f"{prefix}failed to get schema for resource {spec.id}: "
        f"cannot resolve {what}: schema not found",
        hint=_kind_hint(kind, known),
    )


def _kind_hint(kind: Kind, known: list[Kind]) -> str:
    if "${" in kind.api_version:
        return "expressions are not allowed in 'apiVersion'"
    same_name = [other for other in known if other.kind == kind.kind]
    if same_name:
        return f"did you mean apiVersion '{same_name[0].api_version}'?"
    same_version = [k.kind for k in known if k.api_version == kind.api_version]
    near = get_close_matches(kind.kind, same_version, n=1, cutoff=0.75)
    if near:
        return f"did you mean '{near[0]}'?"
    return "add its CustomResourceDefinition to the files that are validated"


def _scope_problems(draft: NodeDraft, definition: Definition, prefix: str) -> Iterator[Problem]:
    spec, served = draft.spec, draft.served
    assert served is not None
    metadata = spec.body["metadata"]
    quoted = f'resource "{spec.id}"'
    if not served.namespaced:
        if "namespace" in metadata:
            text = f"{quoted} is cluster-scoped and must not set metadata.namespace"
            spot = Spot((*spec.body_path, "metadata", "namespace"), on_key=True)
            yield Problem("namespace-on-cluster-scoped", text, spot, prefix + text)
        return
    if definition.schema.is_namespaced or draft.kind is NodeKind.EXTERNAL_COLLECTION:
        return
    namespace = metadata.get("namespace")
    if not isinstance(namespace, str) or not namespace.strip():
        text = (
            f"{quoted} is namespaced and must set metadata.namespace "
            "when the instance CRD is cluster-scoped"
        )
        spot = Spot((*spec.body_path, "metadata"), on_key=True)
        hint = "set it from a field, for example namespace: ${schema.spec.namespace}"
        yield Problem("missing-namespace", text, spot, prefix + text, hint)


def _metadata_problems(spec: ResourceSpec, prefix: str) -> Iterator[Problem]:
    for section, word in (("labels", "label"), ("annotations", "annotation")):
        keys = spec.body["metadata"].get(section)
        if not isinstance(keys, dict):
            continue
        for key in keys:
            reserved = next(
                (p for p in (*RESERVED_BY_KRO, GITOPS_PREFIX) if key.startswith(p)), None
            )
            if reserved is not None:
                text = (
                    f'invalid {word} for resource "{spec.id}". '
                    f'{section} with prefix "{reserved}" are reserved for internal use'
                )
                spot = Spot((*spec.body_path, "metadata", section, key), on_key=True)
                # Our own prefix is no business of kro's, so there are no words of kro's for it.
                message = "" if reserved == GITOPS_PREFIX else prefix + text
                yield Problem("reserved-metadata", text, spot, message)
