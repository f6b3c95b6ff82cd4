"""
Macros as the loops they stand for, since those are what is counted.

The nodes made here have types, as if they had been checked.
"""

from collections.abc import Callable, Mapping
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


def expand(node: Macro) -> Node:
    """Return what a macro stands for."""
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


def _all(node: Macro) -> Node:
    so_far = _ident(node, RESULT, BOOL)
    condition = _call(node, "@not_strictly_false", so_far, found=BOOL)
    step = _call(node, "_&&_", so_far, node.bodies[0], found=BOOL)
    return _loop(node, _literal(node, True), condition, step, so_far)


def _exists(node: Macro) -> Node:
    so_far = _ident(node, RESULT, BOOL)
    not_yet = _call(node, "!_", so_far, found=BOOL)
    condition = _call(node, "@not_strictly_false", not_yet, found=BOOL)
    step = _call(node, "_||_", so_far, node.bodies[0], found=BOOL)
    return _loop(node, _literal(node, False), condition, step, so_far)


def _exists_one(node: Macro) -> Node:
    so_far, one = _ident(node, RESULT, INT), _literal(node, 1)
    counted = _call(node, "_+_", so_far, one, found=INT)
    step = _call(node, "_?_:_", node.bodies[0], counted, so_far, found=INT)
    is_one = _call(node, "_==_", so_far, one, found=BOOL)
    return _loop(node, _literal(node, 0), _literal(node, True), step, is_one)


def _filter(node: Macro) -> Node:
    inside = node.type.parameters[0] if node.type is not None and node.type.parameters else DYN
    kept = _ident(node, node.variables[0], inside)
    return _collected(node, _list(node), "_+_", [_list(node, kept)])


def _map(node: Macro) -> Node:
    return _collected(node, _list(node), "_+_", [_list(node, node.bodies[-1])])


def _transform_map(node: Macro) -> Node:
    key = _ident(node, node.variables[0], DYN)
    return _collected(node, _empty_map(node), "cel.@mapInsert", [key, node.bodies[-1]])


def _transform_map_entry(node: Macro) -> Node:
    return _collected(node, _empty_map(node), "cel.@mapInsert", [node.bodies[-1]])


def _empty_map(node: Macro) -> Node:
    return _typed(MapLiteral(node.offset, node.start, node.end, []), node.type)


def _collected(node: Macro, first: Node, function: str, added: list[Node]) -> Node:
    so_far = _ident(node, RESULT, node.type)
    step = _call(node, function, so_far, *added, found=node.type)
    if node.name == "filter" or len(node.bodies) == 2:
        step = _call(node, "_?_:_", node.bodies[0], step, so_far, found=node.type)
    return _loop(node, first, _literal(node, True), step, so_far)


def _opt_map(node: Macro) -> Node:
    bound = _opened(node)
    return _if_there(node, _call(node, "optional.of", bound, found=node.type))


def _opt_flat_map(node: Macro) -> Node:
    return _if_there(node, _opened(node))


def _opened(node: Macro) -> Node:
    wrapped = node.operand.type
    inside = wrapped.parameters[0] if wrapped is not None and wrapped.parameters else DYN
    value = _call(node, "value", target=node.operand, found=inside)
    return _bound(node, node.variables[0], value, node.bodies[0])


def _if_there(node: Macro, then: Node) -> Node:
    is_there = _call(node, "hasValue", target=node.operand, found=BOOL)
    none = _call(node, "optional.none", found=optional_of(DYN))
    return _call(node, "_?_:_", is_there, then, none, found=node.type)


def _sort_by(node: Macro) -> Node:
    given = _ident(node, _SORTED, node.operand.type)
    keys = Macro(node.offset, node.start, node.end, "map", given, node.variables, node.bodies)
    _typed(keys, list_of(node.bodies[0].type or DYN))
    result = _call(node, "@sortByAssociatedKeys", keys, target=given, found=node.type)
    return _bound(node, _SORTED, node.operand, result)


_EXPANSIONS: Mapping[str, Callable[[Macro], Node]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_map_entry,
    "optMap": _opt_map,
    "optFlatMap": _opt_flat_map,
    "sortBy": _sort_by,
    "cel.bind": lambda node: _bound(node, node.variables[0], node.operand, node.bodies[0]),
}
