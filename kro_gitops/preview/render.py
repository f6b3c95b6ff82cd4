"""
An instance and its graph become the children a cluster would be asked for.

Offline, a node's object is what its template asks for; what the API server, a controller or a
webhook adds is not known, and reading it gives a placeholder. Nothing is guessed: an absent
field of a child is unknown, not absent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Graph, Node, NodeKind
from kro_gitops.engine.graph.read_paths import Parts
from kro_gitops.engine.plan.foreach import elements, expand
from kro_gitops.engine.plan.placeholder import PartText, Placeholder, Unknown
from kro_gitops.engine.plan.resolve import Evaluate, complete, fill, is_included
from kro_gitops.preview.offline_values import child_data, instance_data, merged, with_defaults
from kro_gitops.preview.sample_data import LiveData
from kube_cel.budget import DEFAULT_BUDGET, Budget
from kube_cel.environment import Environment
from kube_cel.errors import (
    ConversionError,
    EvaluationError,
    MissingVariable,
    UnknownValue,
)
from kube_cel.interpolation import Text
from kube_cel.program import Program, compile_text
from kube_cel.values import is_list
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Child:
    """
    One object of a rendering; `object` may hold placeholders.

    `maybe` is set when a condition decides that only the cluster can, `each` when the length
    of a collection is not known and this is its pattern.
    """

    node: str
    object: KubeObject
    maybe: Unknown | None = None
    each: Unknown | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An expression that cannot be evaluated for this instance."""

    node: str
    expression: Expression | None
    error: EvaluationError | ConversionError | RefusedError

    @property
    def is_pending(self) -> bool:
        """Say whether kro would wait here rather than report an error."""
        return isinstance(self.error, EvaluationError) and self.error.pending


@dataclass(slots=True)
class Rendering:
    """The children of one instance, in the order they would be applied."""

    instance: ObjectRef
    children: list[Child] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stopped(Exception):  # noqa: N818 - it stops a node, it is nobody's error
    """Carries a failure out of the evaluation of one node."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a collection may be, and what the evaluations of one instance may cost."""

    collection_size: int = 1000
    budget: Budget = DEFAULT_BUDGET


DEFAULT_BOUNDS = Bounds()


def render(
    graph: Graph,
    instance: KubeObject,
    live: LiveData | None = None,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Rendering:
    """Work out every child of an instance."""
    run = _Run(graph, instance, live or LiveData(), bounds, graph.read)
    for name in graph.order:
        run.node(graph.nodes[name])
    return run.rendering


def node_values(graph: Graph, instance: KubeObject, live: LiveData | None = None) -> dict[str, Any]:
    """Return what expressions of this graph would see for an instance, name by name."""
    run = _Run(graph, instance, live or LiveData(), DEFAULT_BOUNDS, dict.fromkeys(graph.nodes))
    for name in graph.order:
        run.node(graph.nodes[name])
    return run.values


class _Run:
    """
    One instance on its way through its graph; `values` grows node by node.

    Only what is in `read` is remembered as a value: nobody asks for the rest.
    """

    def __init__(
        self,
        graph: Graph,
        instance: KubeObject,
        live: LiveData,
        bounds: Bounds,
        read: Parts,
    ) -> None:
        self.rendering = Rendering(ObjectRef.of(instance))
        self.values: dict[str, Any] = {SCHEMA: instance_data(with_defaults(graph, instance))}
        self._graph = graph
        self._live = live
        self._bounds = bounds
        self._read = read
        self._uncertain: dict[str, Unknown] = {}
        # Lists of which not even the length is known are absent from the values.
        self._unknown_names: set[str] = set()

    def node(self, node: Node) -> None:
        """Render one node, or note why there is nothing to render."""
        if self._is_held_back(node):
            return
        evaluate = self._evaluator(node)
        try:
            included = is_included(node, self.values, evaluate)
            if included is False:
                self.rendering.excluded.append(node.id)
                return
            if included is not True:
                self._uncertain.setdefault(node.id, included)
            if node.kind.is_external:
                self._refer(node, evaluate)
            else:
                self._make(node, evaluate)
        except _Stopped as stopped:
            self.rendering.failures.append(stopped.failure)
            self.rendering.waiting[node.id] = node.id

    def _is_held_back(self, node: Node) -> bool:
        for dependency in node.dependencies:
            if dependency.id in self.rendering.excluded:
                # An excluded node takes along all that need it.
                self.rendering.excluded.append(node.id)
                return True
            if dependency.id in self.rendering.waiting:
                self.rendering.waiting[node.id] = dependency.id
                return True
            if dependency.id in self._uncertain:
                self._uncertain.setdefault(node.id, self._uncertain[dependency.id])
        return False

    def _make(self, node: Node, evaluate: Evaluate) -> None:
        made = [
            self._child(
                node, {**self.values, **binding} if binding else self.values, evaluate, each
            )
            for binding, each in self._bindings(node)
        ]
        self.rendering.children.extend(made)
        if node.id not in self._read:
            return
        if node.kind is not NodeKind.COLLECTION:
            self.values[node.id] = self._data(node, made[0].object, node.id, 0)
        elif any(child.each is not None for child in made):
            self._unknown_names.add(node.id)
        else:
            self.values[node.id] = [
                self._data(node, child.object, f"{node.id}[{index}]", index)
                for index, child in enumerate(made)
            ]

    def _refer(self, node: Node, evaluate: Evaluate) -> None:
        body = fill(node, self.values, evaluate)
        if node.kind is NodeKind.EXTERNAL:
            complete(body, node, self._graph, self.rendering.instance.namespace)
            self.values[node.id] = self._data(node, body, node.id, 0)
            return
        found = self._live.collection(node.id)
        if found is None:
            self._unknown_names.add(node.id)
        else:
            self.values[node.id] = found

    def _child(
        self, node: Node, values: Mapping[str, Any], evaluate: Evaluate, each: Unknown | None
    ) -> Child:
        body = fill(node, values, evaluate)
        complete(body, node, self._graph, self.rendering.instance.namespace)
        return Child(node.id, body, self._uncertain.get(node.id), each)

    def _bindings(self, node: Node) -> Iterator[tuple[Mapping[str, Any], Unknown | None]]:
        if node.kind is not NodeKind.COLLECTION:
            yield {}, None
            return
        lists = []
        for dimension in node.for_each:
            found = self._list(node, dimension.expression)
            if isinstance(found, Placeholder):
                # The pattern of an unknown number of objects: no iterator has a value.
                yield {}, found
                return
            lists.append((dimension.name, found))
        try:
            yield from ((binding, None) for binding in expand(lists, self._bounds.collection_size))
        except RefusedError as error:
            raise _Stopped(Failure(node.id, None, error)) from None

    def _list(self, node: Node, expression: Expression) -> list[Any] | Placeholder:
        try:
            found = expression.program.value(self.values, self._bounds.budget)
        except EvaluationError as error:
            unknown = self._unknown(node, error)
            if unknown is None:
                raise _Stopped(Failure(node.id, expression, error)) from None
            return Placeholder(_full(unknown, expression.reads), str(expression.program.type))
        if not is_list(found):
            null = EvaluationError("returned null, expected list")
            raise _Stopped(Failure(node.id, expression, null))
        return elements(found)

    def _evaluator(self, node: Node) -> Evaluate:
        def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:
            try:
                return checked(expression.program.evaluate(values, self._bounds.budget))
            except (EvaluationError, ConversionError) as error:
                unknown = self._unknown(node, error)
                if unknown is None:
                    raise _Stopped(Failure(node.id, expression, error)) from None
                return self._placeholder(node, expression, values, unknown)

        return evaluate

    def _unknown(self, node: Node, error: EvaluationError | ConversionError) -> UnknownValue | None:
        """Return what an evaluation waits for, if that is all that is wrong with it."""
        if isinstance(error, UnknownValue):
            return error
        if not isinstance(error, MissingVariable):
            return None
        if error.name in self._unknown_names:
            return UnknownValue((error.name,))
        is_iterator = any(dimension.name == error.name for dimension in node.for_each)
        return UnknownValue((f"each {error.name}",)) if is_iterator else None

    def _placeholder(
        self, node: Node, expression: Expression, values: Mapping[str, Any], error: UnknownValue
    ) -> Unknown:
        if expression.template.is_standalone:
            return Placeholder(_full(error, expression.reads), str(expression.program.type))
        pieces: list[str | Placeholder] = []
        for piece in expression.template.pieces:
            if isinstance(piece, Text):
                pieces.append(piece.text)
                continue
            program = _piece_program(piece.text, expression.environment)
            try:
                pieces.append(str(program.evaluate(values, self._bounds.budget)))
            except (EvaluationError, ConversionError) as failure:
                unknown = self._unknown(node, failure) or error
                paths = _full(unknown, expression.reads)
                pieces.append(Placeholder(paths, str(program.type)))
        return PartText(tuple(pieces))

    def _data(self, node: Node, made: KubeObject, path: str, index: int) -> Any:
        live = self._live.of(node.id, made, index)
        if live is not None and live.is_whole:
            return live.object
        if live is not None:
            made = merged(made, live.object)
        return child_data(made, node.served.schema, path, self._read.get(node.id))


_FINITE = frozenset((str, int, bool, type(None)))


def checked(value: Any) -> Any:
    """Refuse what no API server would get to see: JSON has no word for it."""
    if type(value) in _FINITE or _is_finite(value):
        return value
    raise ConversionError("the result is no number that JSON can hold")


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, dict) or all(map(_is_finite, value.values()))


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
