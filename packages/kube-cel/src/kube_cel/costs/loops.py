"""
Macros expanded to loops, as cel-go expands them: it is the expansion whose cost is estimated.

The nodes created here have types, as if they had been checked.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kube_cel.syntax_tree import Call, Ident, ListLiteral, Literal, Macro, MapLiteral, Node
from kube_cel.types import BOOL, DYN, INT, Type, list_of, optional_of

RESULT = "@result"
_SORTED = "@__sortBy_input__"


@dataclass(slots=True, eq=False)
class Loop(Node):
    """
    A loop over the elements of a value that computes something step by step.

    Without `condition` and `step` it only gives its start a name.
    """

    ranged: Node
    variables: list[str]
    name: str
    first: Node
    condition: Node | None
    step: Node | None
    result: Node


Expansion = Callable[[Macro], Node]

_EXPANSIONS: dict[str, Expansion] = {}


def _expands(*names: str) -> Callable[[Expansion], Expansion]:
    """Register a function as the expansion of the macros with these names."""

    def register(rule: Expansion) -> Expansion:
        _EXPANSIONS.update(dict.fromkeys(names, rule))
        return rule

    return register


def expand(node: Macro) -> Node:
    """Return the expansion of a macro."""
    return _EXPANSIONS[node.name](node)


def _typed(node: Node, found: Type | None) -> Node:
    node.type = found
    return node


def _ident(at: Node, name: str, found: Type | None) -> Node:
    return _typed(Ident(at.offset, at.start, at.end, name), found)


def _literal(at: Node, value: bool | int) -> Node:
    kind, found = ("bool", BOOL) if isinstance(value, bool) else ("int", INT)
    return _typed(Literal(at.offset, at.start, at.end, kind, value), found)


def _call(
    at: Node, function: str, *arguments: Node, found: Type | None, target: Node | None = None
) -> Node:
    return _typed(Call(at.offset, at.start, at.end, target, function, list(arguments)), found)


def _list(at: Node, *elements: Node) -> Node:
    inside = elements[0].type if elements else None
    made = ListLiteral(at.offset, at.start, at.end, list(elements))
    return _typed(made, list_of(inside or DYN))


def _loop(node: Macro, first: Node, condition: Node, step: Node, result: Node) -> Node:
    places = node.offset, node.start, node.end
    made = Loop(*places, node.operand, node.variables, RESULT, first, condition, step, result)
    return _typed(made, node.type)


def _bound(at: Node, name: str, value: Node, result: Node) -> Node:
    made = Loop(at.offset, at.start, at.end, _list(at), [], name, value, None, None, result)
    return _typed(made, result.type)


@_expands("all")
def _all(node: Macro) -> Node:
    so_far = _ident(node, RESULT, BOOL)
    condition = _call(node, "@not_strictly_false", so_far, found=BOOL)
    step = _call(node, "_&&_", so_far, node.bodies[0], found=BOOL)
    return _loop(node, _literal(node, True), condition, step, so_far)


@_expands("exists")
def _exists(node: Macro) -> Node:
    """Expand `exists` into the loop that cel-go estimates: it ends at the first true."""
    so_far = _ident(node, RESULT, BOOL)
    not_yet = _call(node, "!_", so_far, found=BOOL)
    condition = _call(node, "@not_strictly_false", not_yet, found=BOOL)
    step = _call(node, "_||_", so_far, node.bodies[0], found=BOOL)
    return _loop(node, _literal(node, False), condition, step, so_far)


@_expands("exists_one", "existsOne")
def _exists_one(node: Macro) -> Node:
    """Expand `exists_one` into a loop that counts; it never ends early."""
    so_far, one = _ident(node, RESULT, INT), _literal(node, 1)
    counted = _call(node, "_+_", so_far, one, found=INT)
    step = _call(node, "_?_:_", node.bodies[0], counted, so_far, found=INT)
    is_one = _call(node, "_==_", so_far, one, found=BOOL)
    return _loop(node, _literal(node, 0), _literal(node, True), step, is_one)


@_expands("filter")
def _filter(node: Macro) -> Node:
    inside = node.type.parameters[0] if node.type is not None and node.type.parameters else DYN
    kept = _ident(node, node.variables[0], inside)
    return _collected(node, _list(node), "_+_", [_list(node, kept)])


@_expands("map", "transformList")
def _map(node: Macro) -> Node:
    return _collected(node, _list(node), "_+_", [_list(node, node.bodies[-1])])


@_expands("transformMap")
def _transform_map(node: Macro) -> Node:
    key = _ident(node, node.variables[0], DYN)
    return _collected(node, _empty_map(node), "cel.@mapInsert", [key, node.bodies[-1]])


@_expands("transformMapEntry")
def _transform_map_entry(node: Macro) -> Node:
    return _collected(node, _empty_map(node), "cel.@mapInsert", [node.bodies[-1]])


def _empty_map(node: Macro) -> Node:
    return _typed(MapLiteral(node.offset, node.start, node.end, []), node.type)


def _collected(node: Macro, first: Node, function: str, added: list[Node]) -> Node:
    """Expand a macro that collects a list or map; a filter adds only some items."""
    so_far = _ident(node, RESULT, node.type)
    step = _call(node, function, so_far, *added, found=node.type)
    if node.name == "filter" or len(node.bodies) == 2:
        step = _call(node, "_?_:_", node.bodies[0], step, so_far, found=node.type)
    return _loop(node, first, _literal(node, True), step, so_far)


@_expands("optMap", "optFlatMap")
def _opt_map(node: Macro) -> Node:
    wrapped = node.operand.type
    inside = wrapped.parameters[0] if wrapped is not None and wrapped.parameters else DYN
    value = _call(node, "value", target=node.operand, found=inside)
    then = _bound(node, node.variables[0], value, node.bodies[0])
    if node.name == "optMap":
        then = _call(node, "optional.of", then, found=node.type)
    is_there = _call(node, "hasValue", target=node.operand, found=BOOL)
    none = _call(node, "optional.none", found=optional_of(DYN))
    return _call(node, "_?_:_", is_there, then, none, found=node.type)


@_expands("sortBy")
def _sort_by(node: Macro) -> Node:
    """Expand `sortBy` into a map of keys and a sort by them, as cel-go does."""
    given = _ident(node, _SORTED, node.operand.type)
    keys = Macro(node.offset, node.start, node.end, "map", given, node.variables, node.bodies)
    _typed(keys, list_of(node.bodies[0].type or DYN))
    result = _call(node, "@sortByAssociatedKeys", keys, target=given, found=node.type)
    return _bound(node, _SORTED, node.operand, result)


@_expands("cel.bind")
def _bind(node: Macro) -> Node:
    return _bound(node, node.variables[0], node.operand, node.bodies[0])
