"""
What is known of an instance and its children without a cluster.

Of an instance: everything its manifest says, and its defaults. What the API server adds to its
metadata, and what deployers write on it, is unknown.

Of a child: what its template says. An object with declared fields may get more of them from the
API server, a webhook or a controller, so an absent field is unknown. A map whose keys the author
chose (`data`, `matchLabels`) is complete, except for labels and annotations, which others write,
too. Reading what is unknown gives a placeholder; nothing is guessed.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from kro_gitops.engine.applyset import Target, target_of
from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Graph, Node
from kro_gitops.engine.graph.read_paths import ReadPaths
from kro_gitops.engine.plan.created import SERVER_METADATA
from kro_gitops.engine.plan.knowledge import NOT_VISIBLE
from kro_gitops.engine.plan.placeholder import OPTIONAL, PartText, Placeholder, Unknown, is_unknown
from kro_gitops.metadata import APPLYSET_PART_OF, ARGOCD_PREFIX, KRO_PREFIX
from kube_cel.environment import Environment
from kube_cel.errors import (
    ConversionError,
    EvaluationError,
    MissingVariable,
    UnknownValue,
)
from kube_cel.interpolation import Text
from kube_cel.program import Program, compile_text
from kube_cel.values import PartialMap, partial
from kube_objects.defaulting import apply_defaults
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.schemas import Schema

UID = Placeholder((f"{SCHEMA}.metadata.uid",), "string")

_UNSEEN: Any = object()
_OWNED = b"all"  # whatever it is, the fields are ours
_SCALARS = frozenset((str, int, float, bool, type(None)))
_SHARED_MAPS = (".metadata.labels", ".metadata.annotations")
# Keys that a deployer or a controller writes on an instance after it has left git.
_STAMPED = (ARGOCD_PREFIX, KRO_PREFIX, "kubectl.kubernetes.io/", "applyset.kubernetes.io/")


def stored_instance(graph: Graph, instance: KubeObject, namespace: str) -> KubeObject:
    """
    Return an instance as the API server would store it: with defaults, and an unknown uid.

    `namespace` is where an instance of a namespaced kind goes that names none.
    """
    stored = apply_defaults(instance, graph.served.schema)
    metadata = {k: v for k, v in stored["metadata"].items() if k not in SERVER_METADATA}
    if not graph.served.namespaced:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = namespace
    metadata["uid"] = UID
    rest = {key: value for key, value in stored.items() if key != "status"}
    return {**rest, "metadata": metadata}


class CompleteObject(CachedObject):
    """An object as a cluster returned it: a field that it does not have is absent, not unknown."""

    __slots__ = ()


def applied_before(obj: KubeObject, apply_set: str) -> CachedObject:
    """Return an object as a pass finds it that an earlier pass of the same instance applied."""
    metadata = obj["metadata"]
    known = metadata.get("labels")
    labels = {**(known if isinstance(known, dict) else {}), APPLYSET_PART_OF: apply_set}
    kind = CompleteObject if isinstance(obj, CompleteObject) else CachedObject
    return kind({**obj, "metadata": {**metadata, "labels": labels}}, _OWNED)


class OfflineKnowledge:
    """
    Knowledge from templates and git only: everything else is unknown.

    `read` has the parts of each node that others read, `ready_when_reads` those that its own
    `readyWhen` reads; the rest is not prepared. `applied` are the apply sets of children of
    instances that were planned before; empty where that is not known. `own` are the children that
    earlier passes of this instance applied (`applied_before`). `is_nested` means that another
    instance creates this one, so that its fields may be placeholders. With `errors_are_unknown`, an
    expression that fails does not change the values of the others. One object serves one pass: it
    keeps which nodes turned out to be unknown.
    """

    finds_all_faults = True

    def __init__(
        self,
        read: ReadPaths,
        ready_when_reads: ReadPaths,
        applied: Mapping[Target, str] | None = None,
        *,
        own: Mapping[Target, KubeObject] | None = None,
        is_nested: bool = False,
        errors_are_unknown: bool = False,
    ) -> None:
        self._read = read
        self._ready_when_reads = ready_when_reads
        self._applied = applied or {}
        self._own = own or {}
        self._is_nested = is_nested
        self._errors_are_unknown = errors_are_unknown
        # Lists of which not even the length is known have no value.
        self._unknown_names: set[str] = set()

    def schema(self, _graph: Graph, instance: KubeObject) -> KubeObject:
        """Return an instance, with the unknown parts of its metadata marked."""
        metadata = instance["metadata"]
        path = f"{SCHEMA}.metadata"
        sections = {
            name: _known_part(metadata.get(name) or {}, f"{path}.{name}", is_stamped)
            for name in ("labels", "annotations")
        }
        # The controller adds its finalizer, so not even the others tell how many there are.
        unseen = {*sections, "finalizers"}
        rest = {k: v for k, v in metadata.items() if k not in unseen and not is_unknown(v)}
        data = partial(rest, path)
        data.update({k: v for k, v in sections.items() if v is not _UNSEEN})
        if not self._is_nested:
            return {**instance, "metadata": data}
        seen: KubeObject = {"metadata": data}
        unknown: set[str] = set()
        for key, value in instance.items():
            if key != "metadata":
                known = _instance_part(value, f"{SCHEMA}.{key}")
                if known is _UNSEEN:
                    unknown.add(key)
                else:
                    seen[key] = known
        return PartialMap(seen, SCHEMA, is_open=unknown.__contains__) if unknown else seen

    def child(self, ref: ObjectRef) -> KubeObject | None:
        """Return the object of that name that was planned before, as far as it is needed."""
        target = target_of(ref)
        if target in self._own:
            return self._own[target]
        apply_set = self._applied.get(target)
        if apply_set is None:
            return None
        labels = {APPLYSET_PART_OF: apply_set} if apply_set else {}
        metadata: KubeObject = {"name": ref.name, "labels": labels}
        if ref.namespace:
            metadata["namespace"] = ref.namespace
        return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": metadata}

    def is_current(self, live: KubeObject, _desired: KubeObject) -> bool:
        """Return whether an earlier pass applied a child: nothing has changed since."""
        return isinstance(live, CachedObject)

    def shared(self, node: Node, observed: Sequence[KubeObject] | None) -> Any:
        """Return what is known of a node; nothing for a node that no expression reads."""
        if observed is None:
            self._unknown_names.add(node.id)
        if not observed and not node.kind.is_list:
            return NOT_VISIBLE
        if observed is None or node.id not in self._read:
            return NOT_VISIBLE
        parts = self._read[node.id]
        if not node.kind.is_list:
            return _visible(node, observed[0], node.id, parts)
        return [
            _visible(node, obj, f"{node.id}[{index}]", parts) for index, obj in enumerate(observed)
        ]

    def observed(self, node: Node, observed: Sequence[KubeObject]) -> list[Any]:
        """Return what is known of the objects of a node."""
        parts = self._ready_when_reads.get(node.id, {})
        return [_visible(node, obj, node.id, parts) for obj in observed]

    def stand_in(
        self,
        node: Node,
        expression: Expression,
        values: Mapping[str, Any],
        error: EvaluationError | ConversionError,
    ) -> Unknown | None:
        """Return a placeholder, if an unknown value is all that the expression lacks."""
        unknown = self._lacks(node, error)
        if unknown is None:
            return None
        if expression.template.is_standalone:
            type_ = str(expression.program.type)
            type_ = OPTIONAL.format(type_) if expression.uses_omit else type_
            return Placeholder(_full(unknown, expression.reads), type_)
        pieces: list[str | Placeholder] = []
        for piece in expression.template.pieces:
            if isinstance(piece, Text):
                pieces.append(piece.text)
                continue
            program = _piece_program(piece.text, expression.environment)
            try:
                pieces.append(str(program.evaluate(values)))
            except (EvaluationError, ConversionError) as failure:
                paths = _full(self._lacks(node, failure) or unknown, expression.reads)
                pieces.append(Placeholder(paths, str(program.type)))
        return PartText(tuple(pieces))

    def _lacks(self, node: Node, error: EvaluationError | ConversionError) -> UnknownValue | None:
        if isinstance(error, UnknownValue):
            return error
        if isinstance(error, MissingVariable):
            if error.name in self._unknown_names:
                return UnknownValue((error.name,))
            if any(dimension.name == error.name for dimension in node.for_each):
                return UnknownValue((f"each {error.name}",))
        return UnknownValue((error.message,)) if self._errors_are_unknown else None


def is_stamped(key: str) -> bool:
    """Return whether a deployer or a controller may write a key on an instance."""
    return key.startswith(_STAMPED)


def _visible(node: Node, obj: KubeObject, path: str, parts: ReadPaths | None) -> Any:
    if isinstance(obj, CompleteObject):
        return dict(obj)
    return child_data(obj, node.served.schema, path, parts)


def child_data(made: Any, schema: Schema, path: str, parts: ReadPaths | None = None) -> Any:
    """
    Return what expressions see of a child, with its unknown parts marked.

    Expressions see neither a placeholder nor a list that contains one: the other elements of the
    list would look like all of them. With `parts`, only those paths will be read.
    """
    if is_unknown(made):
        return _UNSEEN
    if isinstance(made, list):
        below = schema.get("items") or {}
        seen = [child_data(item, below, f"{path}[{i}]") for i, item in enumerate(made)]
        return _UNSEEN if any(item is _UNSEEN for item in seen) else seen
    if isinstance(made, dict):
        return _map_data(made, schema, path, parts)
    return made


def _map_data(
    made: dict[str, Any], schema: Schema, path: str, parts: ReadPaths | None
) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    below = values if isinstance(values, dict) else {}
    seen: dict[str, Any] = {}
    unseen: set[str] = set()
    for key in made if parts is None else filter(made.__contains__, parts):
        data = made[key]
        if type(data) not in _SCALARS:  # which need neither a look nor a path
            rest = parts[key] if parts is not None else None
            data = child_data(data, properties.get(key) or below, _below(path, key), rest)
        if data is _UNSEEN:
            unseen.add(key)
        else:
            seen[key] = data
    is_map = isinstance(values, dict) and not properties
    if not is_map or path.endswith(_SHARED_MAPS):
        return PartialMap(seen, path)
    if unseen:
        return PartialMap(seen, path, is_open=unseen.__contains__)
    return seen


def _instance_part(value: Any, path: str) -> Any:
    """Return a part of an instance; only what is a placeholder is unknown, the rest is complete."""
    if is_unknown(value):
        return _UNSEEN
    if isinstance(value, list):
        seen = [_instance_part(item, f"{path}[{i}]") for i, item in enumerate(value)]
        return _UNSEEN if any(item is _UNSEEN for item in seen) else seen
    if not isinstance(value, dict):
        return value
    known = {key: _instance_part(part, _below(path, key)) for key, part in value.items()}
    unseen = {key for key, part in known.items() if part is _UNSEEN}
    if not unseen:
        return known
    seen_parts = {key: part for key, part in known.items() if key not in unseen}
    return PartialMap(seen_parts, path, is_open=unseen.__contains__)


def _known_part(section: Any, path: str, is_open: Any) -> Any:
    """Return labels or annotations of an instance; keys that others write may be there, too."""
    if is_unknown(section):
        return _UNSEEN
    unseen = {key for key, value in section.items() if is_unknown(value)}
    if not unseen:
        return partial(section, path, is_open=is_open)
    seen = {key: value for key, value in section.items() if key not in unseen}
    return partial(seen, path, is_open=lambda key: key in unseen or is_open(key))


def _below(path: str, key: str) -> str:
    return f'{path}["{key}"]' if key == "" or "." in key else f"{path}.{key}"


@lru_cache(maxsize=4096)
def _piece_program(text: str, environment: Environment) -> Program:
    """Compile a piece of a template; the pieces of one come up again with every instance."""
    return compile_text(text, environment)


def _full(error: UnknownValue, reads: tuple[str, ...]) -> tuple[str, ...]:
    """
    Name what an expression waits for as its author wrote it.

    Evaluation stops at the first part that is not known (`deployment.status`); people look for
    the whole path (`deployment.status.readyReplicas`).
    """
    found: list[str] = []
    for path in error.paths:
        longer = [
            read for read in reads if read == path or read.startswith((f"{path}.", f"{path}["))
        ]
        found += longer or [path]
    return tuple(dict.fromkeys(found))
