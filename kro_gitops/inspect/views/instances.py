"""
Rows and trees for pages and tables: definitions, instances and revisions, and the tree of an
instance with its children.

Pure functions from objects to data; fetching and formatting are done by the callers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from kro_gitops.engine.applyset import GroupKind, has_inventory
from kro_gitops.engine.labels import apply_order
from kro_gitops.metadata import (
    COLLECTION_INDEX,
    KRO_GROUP,
    NODE_ID,
    REVISION,
    REVISION_HASH,
    SOURCE,
    SOURCE_PATH,
)
from kro_gitops.tracking.health import Health, HealthStatus, health
from kro_gitops.tracking.workload_health import (
    condition_text,
    find_condition,
    mapping,
    workload_health,
)
from kube_objects.conditions import READY, TRUE
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.times import format_span, format_time, parse_time

DEEPEST = 8  # levels of instances within instances that are shown
NONE = "-"


@dataclass(frozen=True, slots=True)
class Summary:
    """The columns that all rows have."""

    ref: ObjectRef
    state: str
    ready: str  # True, False, Unknown, or a dash
    reason: str  # why it is not ready
    message: str  # the same at length, one line
    verdict: HealthStatus
    created: datetime | None


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A definition: its kind and its health."""

    summary: Summary
    makes: Kind
    revision: int | None


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """A graph revision: its definition, its number, and whether it compiles."""

    summary: Summary
    definition: str
    number: int | None
    hash: str


def definition_row(definition: KubeObject) -> DefinitionRow:
    """Summarize a definition."""
    issued = mapping(definition, "status").get("lastIssuedRevision")
    kind = kind_made_by(definition)
    return DefinitionRow(summary(definition), kind, issued if type(issued) is int else None)


def revision_row(revision: KubeObject) -> RevisionRow:
    """Summarize a graph revision."""
    number = mapping(revision, "spec").get("revision")
    return RevisionRow(
        summary(revision),
        definition=text_at(revision, "spec", "snapshot", "name"),
        number=number if type(number) is int else None,
        hash=text_at(revision, "metadata", "labels", REVISION_HASH),
    )


def summary(obj: KubeObject) -> Summary:
    """Summarize a definition, an instance or a revision."""
    ready, verdict = find_condition(obj, READY), health(obj)
    is_ready = ready is not None and ready.status == TRUE
    is_healthy = verdict.health is Health.HEALTHY
    if is_ready and is_healthy:
        reason = ""
    elif is_deleting(obj):
        reason = "Deleting"
    elif ready is not None and not is_ready and ready.reason:
        reason = ready.reason
    else:
        reason = "" if is_healthy else str(verdict.health)
    return Summary(
        ref=ObjectRef.of(obj),
        state=text_at(obj, "status", "state") or NONE,
        ready=(ready.status if ready else "") or NONE,
        reason=reason,
        message="" if is_healthy else first_line(verdict.message or condition_text(ready)),
        verdict=verdict,
        created=created(obj),
    )


def kind_made_by(definition: KubeObject) -> Kind:
    """Return the kind that a definition defines."""
    schema = mapping(definition, "spec", "schema")
    group = text_at(schema, "group") or KRO_GROUP
    return Kind(group, text_at(schema, "apiVersion"), text_at(schema, "kind"))


def is_deleting(obj: KubeObject) -> bool:
    """Return True if the object has a deletionTimestamp."""
    return mapping(obj, "metadata").get("deletionTimestamp") is not None


def in_order(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Sort by kind, namespace and name."""
    by_ref = [(ObjectRef.of(obj), obj) for obj in objects]
    by_ref.sort(
        key=lambda pair: (pair[0].kind.kind, pair[0].kind.group, pair[0].namespace, pair[0].name)
    )
    return [obj for _, obj in by_ref]


@dataclass(frozen=True, slots=True)
class Absent:
    """A node of a definition without an object, and the likely reason."""

    node: str
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Branch:
    """An object in the tree of an instance, with its children."""

    object: KubeObject = field(repr=False)
    node: str  # which node of its definition it is; empty for the root
    verdict: HealthStatus
    branches: tuple["Branch", ...] = ()
    absent: tuple[Absent, ...] = ()
    note: str = ""

    @property
    def ref(self) -> ObjectRef:
        """Name the object."""
        return ObjectRef.of(self.object)

    @property
    def is_healthy(self) -> bool:
        """Return True if the object is healthy."""
        return self.verdict.health is Health.HEALTHY

    def walk(self) -> Iterator["Branch"]:
        """Yield this branch and all below it, top to bottom."""
        yield self
        for branch in self.branches:
            yield from branch.walk()

    def to_json(self) -> dict[str, Any]:
        """Return the tree as data."""
        ref, when = self.ref, created(self.object)
        found: dict[str, Any] = {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "node": self.node,
            "health": str(self.verdict.health),
            "message": self.verdict.message,
            "created": format_time(when) if when else None,
            "children": [branch.to_json() for branch in self.branches],
        }
        if self.absent:
            found["absent"] = [
                {"node": each.node, "what": each.what, "why": each.why} for each in self.absent
            ]
        return {**found, "note": self.note} if self.note else found


Family = Mapping[str, Sequence[KubeObject]]  # children by the uid of their instance
Definitions = Mapping[GroupKind, KubeObject]  # by the kind they define


def by_kind_made(definitions: Iterable[KubeObject]) -> dict[GroupKind, KubeObject]:
    """Index definitions by the kind they define."""
    return {GroupKind.of(kind_made_by(each)): each for each in definitions}


def is_instance(obj: KubeObject, definitions: Definitions) -> bool:
    """Return True if an object is an instance of a definition, also of a deleted one."""
    return GroupKind.of(ObjectRef.of(obj).kind) in definitions or has_inventory(obj)


def grow(
    obj: KubeObject, family: Family, definitions: Definitions, above: tuple[str, ...] = ()
) -> Branch:
    """Return the tree of an object; an object that is its own ancestor is not expanded again."""
    node = ""
    if above:
        labels = mapping(obj, "metadata", "labels")
        node, index = text_at(labels, NODE_ID), text_at(labels, COLLECTION_INDEX)
        node = f"{node}[{index}]" if index else node
    if not is_instance(obj, definitions):
        return Branch(obj, node, workload_health(obj))
    uid = text_at(obj, "metadata", "uid")
    if uid in above:
        return Branch(obj, node, health(obj), note="shown above")
    if len(above) >= DEEPEST:
        return Branch(obj, node, health(obj), note="what it made is not shown: too deep")
    children = sorted(family.get(uid, ()), key=_order_of_child)
    branches = tuple(grow(each, family, definitions, (*above, uid)) for each in children)
    definition = definitions.get(GroupKind.of(ObjectRef.of(obj).kind))
    present = {text_at(each, "metadata", "labels", NODE_ID) for each in children}
    # Children of an instance that is being deleted are not missing.
    absent = () if definition is None or is_deleting(obj) else _absent(definition, present)
    return Branch(obj, node, health(obj), branches, tuple(absent))


def outermost(roots: Iterable[KubeObject], family: Family) -> list[KubeObject]:
    """Return the roots without instances that are children of another one."""
    listed = list(roots)
    shown = {text_at(each, "metadata", "uid") for each in listed}
    parents = {text_at(child, "metadata", "uid"): uid for uid in family for child in family[uid]}

    def is_within(uid: str) -> bool:
        climbed = {uid}
        while (uid := parents.get(uid, "")) and uid not in climbed:
            if uid in shown:
                return True
            climbed.add(uid)
        return False

    return [each for each in listed if not is_within(text_at(each, "metadata", "uid"))] or listed


def _order_of_child(obj: KubeObject) -> tuple[int, str, int, ObjectRef]:
    """Sort children as they were applied, and items of a collection by their number."""
    labels = mapping(obj, "metadata", "labels")
    index = text_at(labels, COLLECTION_INDEX)
    wave = apply_order(mapping(obj, "metadata", "annotations"))
    number = int(index) if index.isascii() and index.isdigit() else 0
    return wave, text_at(labels, NODE_ID), number, ObjectRef.of(obj)


def _absent(definition: KubeObject, present: set[str]) -> Iterator[Absent]:
    listed = mapping(definition, "spec").get("resources")
    for resource in listed if isinstance(listed, list) else ():
        node = text_at(resource, "id")
        if node in present or not node:
            continue
        external = mapping(resource, "externalRef")
        if external:
            yield Absent(node, _what(external), "external reference")
        elif resource.get("forEach"):
            yield Absent(node, _what(mapping(resource, "template")), "no items")
        elif resource.get("includeWhen"):
            yield Absent(node, _what(mapping(resource, "template")), "not included, or not yet")
        else:
            yield Absent(node, _what(mapping(resource, "template")), "not created yet")


def _what(template: KubeObject) -> str:
    """Name the object of a template; a name that is an expression is left out."""
    ref = ObjectRef.of(template)
    is_known = ref.name and "${" not in ref.name
    return f"{ref.kind.kind}/{ref.name}" if is_known else ref.kind.kind


@dataclass(frozen=True, slots=True)
class Written:
    """Where an object is written: the source, the file, the revision."""

    source: str
    path: str
    revision: str

    def __str__(self) -> str:
        at = f" at {self.revision[:12]}" if self.revision else ""
        of = f" of {self.source}" if self.source else ""
        return f"{self.path or 'a file'}{of}{at}"

    @property
    def short(self) -> str:
        """Format it for a cell of a table: `gitops/shop apps/front.yaml@1a2b3c4`."""
        at = f"@{self.revision[:7]}" if self.revision else ""
        return f"{self.source} {self.path}{at}".strip()


def written(obj: KubeObject) -> Written | None:
    """Return where an object is written, if its annotations name the place."""
    annotations = mapping(obj, "metadata", "annotations")
    source, path = text_at(annotations, SOURCE), text_at(annotations, SOURCE_PATH)
    return Written(source, path, text_at(annotations, REVISION)) if source or path else None


def created(obj: KubeObject) -> datetime | None:
    """Return when an object was created."""
    return parse_time(mapping(obj, "metadata").get("creationTimestamp"))


def age(since: datetime | None, now: datetime) -> str:
    """Format the time since a moment as `kubectl get` does: two units at most."""
    if since is None:
        return "<unknown>"
    return format_span(max(now - since, timedelta()))


def first_line(text: str) -> str:
    """Return the first line of a text, marked if there are more."""
    head, _, rest = text.strip().partition("\n")
    return f"{head.rstrip()} …" if rest.strip() else head


def text_at(value: Any, *path: str) -> str:
    """Return the text at a path, empty if there is none."""
    *parents, last = path
    found = mapping(value, *parents).get(last)
    return found if isinstance(found, str) else ""
