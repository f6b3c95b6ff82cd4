"""
The typing rules of macros: what the names they bind are, and what they return.

cel-go expands macros into loops and types those; its messages therefore speak of `_?_:_`
where an author wrote a filter. The texts and places here are the same, without the loops.
"""

from collections.abc import Callable, Mapping

from kube_cel.inference import Inference
from kube_cel.syntax_tree import Macro
from kube_cel.types import BOOL, DYN, ERROR, INT, Type, list_of, map_of, optional_of
from kube_cel.unification import is_dynamic

Scope = dict[str, Type]
Bodies = list[Type]


def bind_variables(inference: Inference, node: Macro, operand: Type) -> Scope:
    """Say what the names a macro binds are."""
    if node.name == "cel.bind":
        return {node.variables[0]: operand}
    if node.name in ("optMap", "optFlatMap"):
        return {node.variables[0]: _value_of_optional(inference, node, operand)}
    return dict(zip(node.variables, _range(inference, node, operand), strict=True))


def _value_of_optional(inference: Inference, node: Macro, operand: Type) -> Type:
    if inference.call(node, "hasValue", (operand,), is_member=True) == ERROR:
        return ERROR  # `value` would only fail for the same reason
    return inference.call(node, "value", (operand,), is_member=True)


def _range(inference: Inference, node: Macro, operand: Type) -> list[Type]:
    """Say what a loop runs over: elements or keys, or with two variables also their places."""
    has_two = len(node.variables) == 2
    ranged = inference.substitution.resolve(operand)
    if ranged.kind == "list":
        return [INT, ranged.parameters[0]] if has_two else [ranged.parameters[0]]
    if ranged.kind == "map":
        return list(ranged.parameters if has_two else ranged.parameters[:1])
    variable = DYN
    if ranged.kind == "var":
        inference.substitution.unify(DYN, ranged)
    elif not is_dynamic(ranged):
        variable = inference.report(
            node if node.name == "sortBy" else node.operand,
            f"expression of type '{inference.show(ranged)}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
            code="not-iterable",
        )
    return [variable, variable] if has_two else [variable]


def result_type(
    inference: Inference, node: Macro, operand: Type, scope: Scope, bodies: Bodies
) -> Type:
    """Say what a macro returns, its operand, variables and bodies being known."""
    if node.name == "sortBy":
        keys = list_of(bodies[0])
        return inference.call(node, "@sortByAssociatedKeys", (operand, keys), is_member=True)
    return _RESULT_TYPES[node.name](inference, node, scope, bodies)


def _quantified(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    inference.require_bool(node.bodies[0], bodies[0])
    return BOOL


def _counted(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    _require_test(inference, node, bodies[0], (INT, INT))
    return BOOL


def _kept(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    result = list_of(scope[node.variables[0]])
    _require_test(inference, node, bodies[0], (result, result))
    return result


def _listed(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    result = list_of(bodies[-1])
    if len(bodies) == 2:
        _require_test(inference, node, bodies[0], (result, result))
    return result


def _mapped(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    result = map_of(scope[node.variables[0]], bodies[-1])
    if len(bodies) == 2:
        _require_test(inference, node, bodies[0], (result, result))
    return result


def _merged(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    empty = map_of(inference.substitution.fresh(), inference.substitution.fresh())
    filled = inference.call(node, "cel.@mapInsert", (empty, bodies[-1]), is_member=False)
    if len(bodies) == 2:
        _require_test(inference, node, bodies[0], (filled, empty))
    return empty if filled == ERROR else filled


def _bound(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    return bodies[0]


def _wrapped(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    return optional_of(bodies[0])


def _flattened(inference: Inference, node: Macro, scope: Scope, bodies: Bodies) -> Type:
    if scope[node.variables[0]] == ERROR:
        return ERROR
    none = optional_of(inference.substitution.fresh())
    return inference.call(node, "_?_:_", (BOOL, bodies[0], none), is_member=False)


def _require_test(
    inference: Inference, node: Macro, test: Type, branches: tuple[Type, Type]
) -> None:
    """Require that the test of a filter is a bool; complain as the expansion would."""
    if test is not BOOL:
        inference.call(node, "_?_:_", (test, *branches), is_member=False)


_RESULT_TYPES: Mapping[str, Callable[[Inference, Macro, Scope, Bodies], Type]] = {
    "all": _quantified,
    "exists": _quantified,
    "exists_one": _counted,
    "existsOne": _counted,
    "filter": _kept,
    "map": _listed,
    "transformList": _listed,
    "transformMap": _mapped,
    "transformMapEntry": _merged,
    "cel.bind": _bound,
    "optMap": _wrapped,
    "optFlatMap": _flattened,
}
