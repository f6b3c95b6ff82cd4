"""
The compiler: selects the function that compiles a node.

A level of nesting costs two Python frames here and one when the program runs; chains of selections
and of `&&`, `||` and string `+` cost none.
"""

from collections.abc import Callable
from typing import Any

from kube_cel.compiler.access import (
    box,
    build_chained_select,
    build_has,
    build_ident,
    build_optional_index,
    build_optional_select,
    build_select,
    is_optional,
    unbox,
)
from kube_cel.compiler.calls import build_call, build_or, build_or_value
from kube_cel.compiler.field_paths import find_path, step_of
from kube_cel.compiler.literals import build_list, build_literal, build_map
from kube_cel.compiler.macros import build_bind, build_loop, build_optional_map
from kube_cel.compiler.operators import (
    build_binary,
    build_conditional,
    build_in,
    build_logic,
    build_negation,
    build_not,
    build_sum,
)
from kube_cel.compiler.scope import Builder, Scope, Step
from kube_cel.environment import Environment
from kube_cel.syntax_tree import (
    Call,
    Has,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Node,
    Select,
)

_Part = Callable[[Builder, Any], Step]


class Compiler:
    """One compilation: the scope, and the way from a node to its step."""

    def __init__(self, env: Environment) -> None:
        self.scope = Scope(env)

    def build(self, node: Node) -> Step:
        """Compile a node."""
        optional = _optional_part(node)
        if optional is not None:
            return box(optional(self, node))
        if isinstance(node, Call):
            part: _Part = _OPERATORS.get(node.function) or (
                build_or_value if node.function == "orValue" and node.target else build_call
            )
        elif isinstance(node, Macro):
            part = build_bind if node.name == "cel.bind" else build_loop
        else:
            part = _NODES[type(node)]
        return part(self, node)

    def build_optional(self, node: Node) -> Step:
        """Compile a node that is an optional: a step that returns its value, or `ABSENT`."""
        optional = _optional_part(node)
        return unbox(self.build(node)) if optional is None else optional(self, node)


def _optional_part(node: Node) -> _Part | None:
    """Return the part that compiles an optional without a box, if there is one."""
    if isinstance(node, Select):
        return build_chained_select if is_optional(node.operand) else None
    if isinstance(node, Macro):
        return build_optional_map if node.name in ("optMap", "optFlatMap") else None
    if not isinstance(node, Call):
        return None
    match node.function:
        case "_?._":
            return build_optional_select
        case "_[?_]":
            return build_optional_index
        case "_[_]" if is_optional(node.arguments[0]):
            return build_optional_index
        case "or" if node.target is not None:
            return build_or
        case _:
            return None


def _build_index(builder: Builder, node: Call) -> Step:
    walk = find_path(node, builder.scope)
    return build_binary(builder, node) if walk is None else step_of(walk)


_NODES: dict[type[Node], _Part] = {
    Literal: build_literal,
    Ident: build_ident,
    Select: build_select,
    Has: build_has,
    ListLiteral: build_list,
    MapLiteral: build_map,
}

_OPERATORS: dict[str, _Part] = {
    "_&&_": build_logic,
    "_||_": build_logic,
    "_?_:_": build_conditional,
    "!_": build_not,
    "-_": build_negation,
    "_[_]": _build_index,
    "_+_": build_sum,
    "@in": build_in,
    **dict.fromkeys(("_-_", "_*_", "_/_", "_%_"), build_binary),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), build_binary),
}
