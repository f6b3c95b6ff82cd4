"""
A node and known values become desired objects.

How an expression is evaluated is a parameter (`Evaluate`): live, a missing value stops the node;
offline, it becomes a placeholder.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kro_gitops.engine.graph.nodes import Expression, FieldKind, Graph, Node, NodeKind
from kro_gitops.engine.plan.evaluation import Evaluator, Fatal
from kro_gitops.engine.plan.foreach import expand
from kro_gitops.engine.plan.placeholder import Unknown, has_unknown_identity, is_unknown
from kro_gitops.engine.plan.slices import Slices
from kube_cel.values import OMIT
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef

Values = Mapping[str, Any]
Evaluate = Callable[[Expression, Values], Any]


def desired_bodies(
    node: Node, graph: Graph, values: Values, evaluator: Evaluator, namespace: str
) -> Slices[tuple[list[KubeObject], Unknown | None]]:
    """
    Return the objects of a node that we apply, before they are stamped.

    If the length of a collection is unknown, one object stands for all of them; the placeholder of
    the list is returned with it. `namespace` is that of the instance. Raises `Fatal` or `Pending`.
    """
    unknown: Unknown | None = None
    evaluate = evaluator.in_template(node, iterating=False)
    if node.kind is NodeKind.COLLECTION:
        bodies, unknown = yield from _collection(node, values, evaluator, evaluate)
    else:
        bodies = [(yield from fill(node, values, evaluate, evaluator.is_slice_over))]
    for body in bodies:
        complete(body, node, graph, namespace)
    seen: set[ObjectRef] = set()
    for body in bodies if node.kind is NodeKind.COLLECTION else ():
        if has_unknown_identity(body):
            continue
        ref = ObjectRef.of(body)
        if ref in seen:
            kind = ref.kind
            text = "/".join((kind.group, kind.version, kind.kind, ref.namespace, ref.name))
            raise Fatal(
                f"node {quote(node.id)} identity collision: duplicate identity: {text}",
                code="identity-collision",
                place=place_of(node, ("metadata", "name")),
            )
        seen.add(ref)
    return bodies, unknown


def _collection(
    node: Node, values: Values, evaluator: Evaluator, shared: Evaluate
) -> Slices[tuple[list[KubeObject], Unknown | None]]:
    """Fill the template for each combination of elements; shared expressions are evaluated once."""
    iterating = evaluator.in_template(node, iterating=True)
    ours = {id(each.expression) for each in node.fields if each.kind is FieldKind.ITERATION}
    known: dict[int, Any] = {}

    def evaluate(expression: Expression, values: Values) -> Any:
        """Evaluate once what does not depend on the iterator of the collection."""
        if id(expression) in ours:
            return iterating(expression, values)
        if id(expression) not in known:
            known[id(expression)] = shared(expression, values)
        return known[id(expression)]

    pause = evaluator.is_slice_over
    dimensions = yield from evaluator.dimensions(node, values)
    if not isinstance(dimensions, list):
        # One object stands for an unknown number of them: its iterators have no values.
        return [(yield from fill(node, values, evaluate, pause))], dimensions
    bodies: list[KubeObject] = []
    try:
        for binding in expand(dimensions, evaluator.bounds.collection_size):
            body = yield from fill(node, {**values, **binding}, evaluate, pause)
            bodies.append(body)
        return bodies, None
    except RefusedError as error:
        place = node.for_each[0].expression.place
        raise Fatal(error.message, code=error.code, place=place, hint=error.hint) from None


def place_of(node: Node, path: Path) -> Path:
    """Return the path in the definition of the expression that fills a field of the template."""
    found = next((each.expression.place for each in node.fields if each.path == path), ())
    return found or ("spec", "resources", node.index)


def fill(
    node: Node,
    values: Values,
    evaluate: Evaluate,
    is_slice_over: Callable[[], bool] = lambda: False,
) -> Slices[KubeObject]:
    """
    Put every expression's value in its place, in a copy of the node's body.

    Only what leads to a value is copied. The rest is shared with the template, so a desired object
    must not be changed below its metadata.
    """
    body: KubeObject = node.body.copy()
    holders: list[Any] = [body]
    for number, step in node.copies:
        holder = holders[number]
        copy = holder[step] = holder[step].copy()
        holders.append(copy)
    has_omitted = False
    for item, number in zip(node.fields, node.holders, strict=True):
        expression = item.expression
        holders[number][item.path[-1]] = evaluate(expression, values)
        has_omitted = has_omitted or expression.uses_omit
        if is_slice_over():
            yield
    return without_omitted(body) if has_omitted else body


def complete(body: KubeObject, node: Node, graph: Graph, namespace: str) -> None:
    """
    Give a namespaced object of a namespaced instance the instance's namespace.

    Raises `Fatal` for an object that has no name then, or no namespace.
    """
    metadata = body["metadata"]
    if node.served.namespaced and not _is_name(metadata.get("namespace")):
        if not graph.definition.schema.is_namespaced or not namespace:
            raise Fatal(
                f"node {quote(node.id)} is namespaced and must resolve metadata.namespace "
                "when the instance is cluster-scoped",
                code="namespace-missing",
                place=place_of(node, ("metadata", "namespace")),
            )
        metadata["namespace"] = namespace
    if not _is_name(metadata.get("name")):
        raise Fatal(
            f"node {quote(node.id)}: name is required",
            code="name-missing",
            place=place_of(node, ("metadata", "name")),
            hint="metadata.name must resolve to a text that is not empty",
        )


def _is_name(value: object) -> bool:
    return is_unknown(value) or (isinstance(value, str) and value != "")


def without_omitted(value: Any) -> Any:
    """Remove every key and element that `omit()` was written to."""
    if type(value) is dict:
        return {k: without_omitted(child) for k, child in value.items() if child is not OMIT}
    if type(value) is list:
        return [without_omitted(child) for child in value if child is not OMIT]
    return value
