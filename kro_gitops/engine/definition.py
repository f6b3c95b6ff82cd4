"""
A ResourceGraphDefinition object as frozen dataclasses.

`parse` never raises: what it cannot read is left out and listed among the problems. It accepts what
later checks explain better. The shape of the object (types, required and unknown fields) is
checked against the served schema in `engine.api`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kro_gitops.engine.api import DEFINITION_KIND, DEFINITION_SCHEMA
from kro_gitops.metadata import DELETION_POLICY
from kube_objects.problems import Path, Problem, Spot
from kube_objects.refs import Kind, KubeObject, as_mapping, as_text
from kube_objects.validation import validate

NAMESPACED = "Namespaced"
CLUSTER = "Cluster"
DEFAULT_GROUP = "kro.run"


@dataclass(frozen=True, slots=True)
class DefinitionSchema:
    """`spec.schema`: the kind to serve, its fields and its status."""

    kind: str
    api_version: str
    group: str = DEFAULT_GROUP
    scope: str = NAMESPACED
    spec: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)
    printer_columns: tuple[Mapping[str, Any], ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def served(self) -> Kind:
        """Return the kind that instances of this definition have."""
        return Kind(self.group, self.api_version, self.kind)

    @property
    def is_namespaced(self) -> bool:
        """Return whether instances live in namespaces."""
        return self.scope != CLUSTER


@dataclass(frozen=True, slots=True)
class Dimension:
    """One `forEach` dimension: iterator name, the text of its list expression, its place."""

    name: str
    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """One entry of `spec.resources`, as written."""

    index: int
    id: str
    template: KubeObject | None = None
    external: KubeObject | None = None
    ready_when: tuple[str, ...] = ()
    include_when: tuple[str, ...] = ()
    for_each: tuple[Dimension, ...] = ()

    @property
    def path(self) -> Path:
        """Return where in the definition this resource stands."""
        return ("spec", "resources", self.index)

    @property
    def body(self) -> KubeObject:
        """Return the template or the external reference, whichever is given."""
        return self.template if self.template is not None else self.external or {}

    @property
    def body_path(self) -> Path:
        """Return where the body stands."""
        return (*self.path, "template" if self.template is not None else "externalRef")

    @property
    def has_selector(self) -> bool:
        """Return whether this refers to many objects by labels."""
        metadata = (self.external or {}).get("metadata")
        return isinstance(metadata, dict) and metadata.get("selector") is not None


@dataclass(frozen=True, slots=True)
class Definition:
    """A ResourceGraphDefinition."""

    name: str
    schema: DefinitionSchema
    resources: tuple[ResourceSpec, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The parts that `parse` could read, and the problems of the others."""

    definition: Definition
    problems: tuple[Problem, ...] = ()


def is_definition(obj: KubeObject) -> bool:
    """Return whether an object is a ResourceGraphDefinition of the version we speak."""
    return (
        obj.get("apiVersion") == DEFINITION_KIND.api_version
        and obj.get("kind") == DEFINITION_KIND.kind
    )


def parse(obj: KubeObject) -> Parsed:
    """Read a ResourceGraphDefinition object."""
    spec = as_mapping(obj.get("spec"))
    resources: list[ResourceSpec] = []
    for index, item in enumerate(_items(spec.get("resources"))):
        if not isinstance(item, dict):
            continue
        template, external = item.get("template"), item.get("externalRef")
        dimensions = [
            Dimension(name, text, ("spec", "resources", index, "forEach", position, name))
            for position, iterators in enumerate(_items(item.get("forEach")))
            for name, text in as_mapping(iterators).items()
            if isinstance(text, str)
        ]
        resources.append(
            ResourceSpec(
                index=index,
                id=as_text(item.get("id")),
                template=template if isinstance(template, dict) else None,
                external=external if isinstance(external, dict) else None,
                ready_when=_texts(item.get("readyWhen")),
                include_when=_texts(item.get("includeWhen")),
                for_each=tuple(dimensions),
            )
        )
    definition = Definition(
        name=as_text(as_mapping(obj.get("metadata")).get("name")),
        schema=_schema(as_mapping(spec.get("schema"))),
        resources=tuple(resources),
        annotations=as_mapping(as_mapping(obj.get("metadata")).get("annotations")),
    )
    return Parsed(definition, tuple(_shape_problems(obj, definition)))


def _shape_problems(obj: KubeObject, definition: Definition) -> Iterator[Problem]:
    if not isinstance(obj.get("spec"), dict):
        yield Problem(
            "missing-field",
            "'spec' is missing: a ResourceGraphDefinition needs spec.schema and spec.resources",
            Spot(("spec",) if "spec" in obj else ()),
        )
        return
    payloads: list[Problem] = []
    schema = as_mapping(as_mapping(obj.get("spec")).get("schema"))
    for name, prefix in _PAYLOADS.items():
        value = schema.get(name)
        if value is not None and not isinstance(value, dict):
            text = (
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
                f"{_json_type(value)} into Go value of type map[string]interface {{}}"
            )
            payloads.append(
                Problem(
                    "wrong-type",
                    f"spec.schema.{name} must be an object, not a {_json_type(value)}",
                    Spot(("spec", "schema", name)),
                    prefix.format(name=definition.name) + text,
                )
            )
    yield from payloads
    explained = {problem.spot.path for problem in payloads}
    if len(definition.schema.kind) <= 63:
        explained.add(("spec", "schema", "kind"))
    for problem in validate(obj, DEFINITION_SCHEMA):
        # kro's builder has messages of its own for these places.
        if problem.spot.path not in explained or problem.code not in _EXPLAINED_CODES:
            is_policy = problem.spot.path[-1:] == ("deletionPolicy",)
            yield replace(problem, hint=_POLICY_HINT) if is_policy else problem
    for resource in definition.resources:
        metadata = (resource.external or {}).get("metadata")
        if isinstance(metadata, dict) and (metadata.get("name") is None) == (
            metadata.get("selector") is None
        ):
            text = "exactly one of name or selector must be provided"
            yield Problem(
                "invalid-external-ref",
                f'resource "{resource.id}": {text}',
                Spot((*resource.path, "externalRef", "metadata"), on_key=True),
                f'failed to build resource "{resource.id}": '
                f"invalid external ref metadata for resource {resource.id}: {text}",
                hint="name one object with 'name', or many with 'selector'",
            )


_POLICY_HINT = (
    f"write the annotation {DELETION_POLICY}: Orphan, in the template's metadata for one resource, "
    "or in the definition's for all"
)
_EXPLAINED_CODES = ("wrong-type", "pattern-mismatch")
_PAYLOADS = {
    "spec": 'failed to build resourcegraphdefinition "{name}": failed to unmarshal spec schema: ',
    "types": 'failed to build resourcegraphdefinition "{name}": '
    "failed to unmarshal predefined types: ",
    "status": "failed to unmarshal status schema: ",
}


def _json_type(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")


def _schema(raw: Mapping[str, Any]) -> DefinitionSchema:
    metadata = as_mapping(raw.get("metadata"))
    return DefinitionSchema(
        kind=as_text(raw.get("kind")),
        api_version=as_text(raw.get("apiVersion")),
        group=as_text(raw.get("group")) or DEFAULT_GROUP,
        scope=as_text(raw.get("scope")) or NAMESPACED,
        spec=as_mapping(raw.get("spec")),
        types=as_mapping(raw.get("types")),
        status=as_mapping(raw.get("status")),
        printer_columns=tuple(
            column
            for column in _items(raw.get("additionalPrinterColumns"))
            if isinstance(column, dict)
        ),
        short_names=_texts(raw.get("shortNames")),
        categories=_texts(raw.get("categories")),
        labels=as_mapping(metadata.get("labels")),
        annotations=as_mapping(metadata.get("annotations")),
    )


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in _items(value) if isinstance(item, str))
