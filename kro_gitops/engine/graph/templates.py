"""
Reads the body of each resource against the schema of its kind.

The result is a `NodeDraft`: the kind is known, the expressions are found, nothing is compiled yet.
These are steps 6 and 7 of kro's build, with kro's messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from kro_gitops.engine.definition import Definition, ResourceSpec
from kro_gitops.engine.deletion_policy import POLICY_KEYS, parse_policy
from kro_gitops.engine.graph.confidential import SECRET_DATA, is_secret, literals_of
from kro_gitops.engine.graph.expressions import Draft, standalone_drafts
from kro_gitops.engine.graph.nodes import NodeKind
from kro_gitops.engine.graph.selectors import check_selector
from kro_gitops.engine.graph.template_walk import walk_by_schema, walk_freely
from kro_gitops.engine.kinds import CRD_KIND
from kro_gitops.metadata import GITOPS_PREFIX, RESERVED_BY_KRO
from kube_objects.errors import RefusedError
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.refs import Kind, is_dns_label
from kube_objects.schemas import KindSchema, Schemas

_DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


# Fields that every object has, their type here and its name in Go.
_REQUIRED_FIELDS: tuple[tuple[str, type, str], ...] = (
    ("apiVersion", str, "string"),
    ("kind", str, "string"),
    ("metadata", dict, "map"),
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
    is_object = True
    for name, type_, go_type in _REQUIRED_FIELDS:
        value = spec.body.get(name)
        if isinstance(value, type_):
            continue
        is_object = False
        if name in spec.body:
            text, spot = f"{name} field is not a {go_type}", Spot((*spec.body_path, name))
        else:
            text, spot = f"{name} field not found", Spot(spec.body_path, on_key=True)
        yield Problem(
            "invalid-object",
            f"resource {spec.id}: {text}",
            spot,
            f"{prefix}resource {spec.id} is not a valid Kubernetes object: {text}",
        )
    if is_object:
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


def _read_kind(
    draft: NodeDraft, definition: Definition, schemas: Schemas, *, has_bad_selector: bool
) -> Iterator[Problem]:
    spec = draft.spec
    prefix = f'failed to build resource "{spec.id}": '
    kind = Kind.of(spec.body["apiVersion"], spec.body["kind"])
    yield from _resolve_kind(draft, kind, schemas, prefix)
    yield from _metadata_problems(draft, definition, prefix)
    if spec.template is None:
        walked, wrapping = walk_freely(spec.body), "failed to parse external ref resource"
    elif kind == CRD_KIND:
        walked, wrapping = walk_freely(spec.body), "failed to parse schemaless resource"
    else:
        wrapping = "failed to extract CEL expressions from schema for resource"
        if draft.served is None:
            walked = walk_freely(spec.body)
        else:
            walked = walk_by_schema(spec.body, draft.served.schema)
    if kind == CRD_KIND and spec.template is not None:
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
        if is_secret(spec.body) and found.path[0] in SECRET_DATA:
            fresh.is_confidential = True
            fresh.literals = literals_of(found.template)
        fresh.is_faulty = has_bad_selector and found.path[:2] == ("metadata", "selector")
        draft.fields.append(FieldDraft(found.path, fresh))
    for problem in walked.problems:
        yield problem.below(spec.body_path).within(f"{prefix}{wrapping} {spec.id}: ")


def _resolve_kind(draft: NodeDraft, kind: Kind, schemas: Schemas, prefix: str) -> Iterator[Problem]:
    """Look up the schema of a kind; yield a problem if its name is invalid or unknown."""
    spec = draft.spec
    wrapping = f"{prefix}failed to extract GVK from resource {spec.id}: "
    version, name = spec.body["apiVersion"], spec.body["kind"]
    is_version, is_name = version.count("/") <= 1, is_dns_label(name.lower())
    if not is_version:
        text = f'invalid apiVersion format "{version}"'
        whole = f"{wrapping}{text}: unexpected GroupVersion string: {version}"
        spot = Spot((*spec.body_path, "apiVersion"))
        yield Problem("invalid-api-version", text, spot, whole, "write 'v1' or 'group/version'")
    if not is_name:
        text = f'invalid kind "{name}"'
        why = _DNS_1035 if len(name) <= 63 else "must be no more than 63 characters"
        whole = f"{wrapping}{text}: {why} (must be a valid DNS-1035 label when lowercased)"
        spot = Spot((*spec.body_path, "kind"))
        hint = "expressions are not allowed in 'kind'" if "${" in name else ""
        yield Problem("invalid-kind", text, spot, whole, hint)
    if is_version and is_name:
        draft.served = schemas.schema_of(kind)
    if draft.served is not None or not (is_version and is_name):
        return
    known = list(schemas.kinds())
    same_version = [other.kind for other in known if other.api_version == kind.api_version]
    if same_version:
        what = f'group version kind "{kind.group}/{kind.version}, Kind={kind.kind}"'
    else:
        what = f'group version "{kind.api_version}"'
    same_name = [other for other in known if other.kind == kind.kind]
    near = get_close_matches(kind.kind, same_version, n=1, cutoff=0.75)
    if "${" in kind.api_version:
        hint = "expressions are not allowed in 'apiVersion'"
    elif same_name:
        hint = f"did you mean apiVersion '{same_name[0].api_version}'?"
    elif near:
        hint = f"did you mean '{near[0]}'?"
    else:
        hint = "add its CustomResourceDefinition to the files that are validated"
    yield Problem(
        "unknown-kind",
        f"schema not found for {kind}",
        Spot((*spec.body_path, "kind")),
        f"{prefix}failed to get schema for resource {spec.id}: "
        f"cannot resolve {what}: schema not found",
        hint=hint,
    )


def _metadata_problems(draft: NodeDraft, definition: Definition, prefix: str) -> Iterator[Problem]:
    """Yield a namespace that does not fit the scope of the kind, and reserved metadata."""
    spec, served = draft.spec, draft.served
    metadata = spec.body["metadata"]
    namespace = metadata.get("namespace")
    is_set = isinstance(namespace, str) and bool(namespace.strip())
    may_inherit = definition.schema.is_namespaced or draft.kind is NodeKind.EXTERNAL_COLLECTION
    if served is not None and not served.namespaced and "namespace" in metadata:
        text = f'resource "{spec.id}" is cluster-scoped and must not set metadata.namespace'
        spot = Spot((*spec.body_path, "metadata", "namespace"), on_key=True)
        yield Problem("namespace-on-cluster-scoped", text, spot, prefix + text)
    elif served is not None and served.namespaced and not may_inherit and not is_set:
        text = (
            f'resource "{spec.id}" is namespaced and must set metadata.namespace '
            "when the instance CRD is cluster-scoped"
        )
        spot = Spot((*spec.body_path, "metadata"), on_key=True)
        hint = "set it from a field, for example namespace: ${schema.spec.namespace}"
        yield Problem("missing-namespace", text, spot, prefix + text, hint)
    for section, word in (("labels", "label"), ("annotations", "annotation")):
        keys = spec.body["metadata"].get(section)
        if not isinstance(keys, dict):
            continue
        for key in keys:
            if section == "annotations" and key in POLICY_KEYS:
                yield from _policy_problems(draft, key, keys[key], prefix)
                continue
            reserved = next(
                (p for p in (*RESERVED_BY_KRO, GITOPS_PREFIX) if key.startswith(p)), None
            )
            if reserved is not None:
                text = (
                    f'invalid {word} for resource "{spec.id}". '
                    f'{section} with prefix "{reserved}" are reserved for internal use'
                )
                spot = Spot((*spec.body_path, "metadata", section, key), on_key=True)
                # kro does not reserve our own prefix, so it has no message for it.
                message = "" if reserved == GITOPS_PREFIX else prefix + text
                yield Problem("reserved-metadata", text, spot, message)


def _policy_problems(draft: NodeDraft, key: str, value: object, prefix: str) -> Iterator[Problem]:
    """Yield an error for a deletion policy that is none; an expression is known only later."""
    if isinstance(value, str) and "${" in value:
        return
    try:
        parse_policy(value)
    except RefusedError as error:
        spec = draft.spec
        spot = Spot((*spec.body_path, "metadata", "annotations", key))
        text = f'resource "{spec.id}": {error.message}'
        yield Problem(error.code, text, spot, prefix + text, error.hint)
