"""
Operators: logic that absorbs errors, arithmetic and comparison with fast paths.

`library.operators` implements every operation for any values. Where the checker found both operands
to be of one primitive type, the step here first tries Python's own operator, after checking the
types of the values.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeGuard

from kube_cel.budget import FREE_SIZE, Frame, charge_created, charge_read
from kube_cel.compiler.literals import check_key, constant_of
from kube_cel.compiler.scope import Builder, Step
from kube_cel.containers import ABSENT, LISTS, MAPS
from kube_cel.errors import EvaluationError, merge_errors
from kube_cel.library.operators import (
    BINARY,
    MAX_INT,
    MIN_INT,
    add,
    contained,
    negate,
)
from kube_cel.scalars import OptionalValue
from kube_cel.syntax_tree import Call, ListLiteral, Node
from kube_cel.type_names import no_such_overload

_PYTHON_TYPES: dict[str, type] = {"int": int, "string": str, "bool": bool, "double": float}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_GROWING = frozenset({str, bytes, list})
_DEEP = frozenset({*LISTS, *MAPS, OptionalValue})
"""Values whose comparison may take long."""
_SEARCHED_FREE = 16
"""How long a list may be to be searched without being counted."""
_INT_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "_+_": operator.add,
    "_-_": operator.sub,
    "_*_": operator.mul,
}


def build_logic(builder: Builder, node: Call) -> Step:
    """
    Compile `a && b` or `a || b`.

    An operand that decides makes errors of the others, before or after it, not matter.
    """
    decisive = node.function == "_||_"
    terms = tuple(map(builder.build, _terms(node, node.function)))

    def decide(frame: Frame) -> Any:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                verdict = term(frame)
                if verdict is decisive:
                    return decisive
                if type(verdict) is not bool:
                    raise no_such_overload()
            except EvaluationError as error:
                failure = merge_errors(failure, error)
        return undecided(failure, decisive)

    return decide


def undecided(failure: EvaluationError | None, decisive: bool) -> bool:
    """Return the result of boolean steps of which none was decisive; raise if one failed."""
    if failure is not None:
        raise failure
    return not decisive


def build_conditional(builder: Builder, node: Call) -> Step:
    """Compile `condition ? yes : no`; only one branch is evaluated."""
    condition, yes, no = map(builder.build, node.arguments)

    def choose(frame: Frame) -> Any:
        verdict = condition(frame)
        if verdict is True:
            return yes(frame)
        if verdict is False:
            return no(frame)
        raise no_such_overload()

    return choose


def build_not(builder: Builder, node: Call) -> Step:
    """Compile `!operand`."""
    operand = builder.build(node.arguments[0])

    def invert(frame: Frame) -> bool:
        verdict = operand(frame)
        if type(verdict) is bool:
            return not verdict
        raise no_such_overload()

    return invert


def build_negation(builder: Builder, node: Call) -> Step:
    """Compile `-operand`."""
    operand = builder.build(node.arguments[0])
    return lambda frame: negate(operand(frame))


def build_binary(builder: Builder, node: Call) -> Step:
    """Compile an operator of two operands."""
    name = node.function
    left, right = node.arguments
    kind = _shared_type(left, right)
    if name in _COMPARISONS and kind is not None and (kind is not float or name[1] in "=!"):
        return _compare(builder, node, kind)
    if name in _INT_ARITHMETIC and kind is int:
        return _calculate(builder, node)
    first, second = builder.build(left), builder.build(right)
    apply = BINARY[name]
    if name == "_[_]":
        check_key(right)
    if name == "_==_" or name == "_!=_":

        def compare(frame: Frame) -> bool:
            value, other = first(frame), second(frame)
            if type(value) in _DEEP:
                charge_read(frame, value)
            return bool(apply(value, other))

        return compare
    return lambda frame: apply(first(frame), second(frame))


def build_sum(builder: Builder, node: Call) -> Step:
    """Compile `a + b`; a chain of texts, which is what templates are, at once."""
    kind = _shared_type(*node.arguments)
    if kind is int:
        return _calculate(builder, node)
    terms = _terms(node, "_+_") if kind is str else node.arguments
    steps = tuple(map(builder.build, terms))
    first, second = steps[0], steps[1]

    def add_two(frame: Frame) -> Any:
        result = add(first(frame), second(frame))
        if type(result) in _GROWING and len(result) > FREE_SIZE:
            charge_created(frame, result)
        return result

    def join(frame: Frame) -> Any:
        parts = [step(frame) for step in steps]
        try:
            result: Any = "".join(parts)
        except TypeError:  # not all are strings, although the checker found so
            total = parts[0]
            for part in parts[1:]:
                total = add(total, part)
            result = total
        if type(result) in _GROWING and len(result) > FREE_SIZE:
            charge_created(frame, result)
        return result

    return join if kind is str else add_two


def build_in(builder: Builder, node: Call) -> Step:
    """Compile `element in container`; a list of constant texts becomes a set."""
    element, container = node.arguments
    wanted = builder.build(element)
    if not isinstance(container, ListLiteral) or container.optional:
        texts: frozenset[str] | None = None
    else:
        values = [constant_of(element) for element in container.elements]
        texts = frozenset(values) if all(type(value) is str for value in values) else None
    if texts is not None:

        def is_one_of(frame: Frame) -> bool:
            value = wanted(frame)
            return value in texts if type(value) is str else contained(value, list(texts))

        return is_one_of
    holder = builder.build(container)

    def is_in(frame: Frame) -> bool:
        value, held = wanted(frame), holder(frame)
        if type(held) in LISTS and (len(held) > _SEARCHED_FREE or type(value) in _DEEP):
            charge_read(frame, held)
        return contained(value, held)

    return is_in


def _compare(builder: Builder, node: Call, kind: type) -> Step:
    quickly, slowly = _COMPARISONS[node.function], BINARY[node.function]
    left = builder.build(node.arguments[0])
    constant = constant_of(node.arguments[1])
    if constant is not ABSENT:

        def compare_constant(frame: Frame) -> bool:
            value = left(frame)
            quick = type(value) is kind
            return quickly(value, constant) if quick else slowly(value, constant)

        return compare_constant
    right = builder.build(node.arguments[1])

    def compare(frame: Frame) -> bool:
        value, other = left(frame), right(frame)
        quick = type(value) is kind and type(other) is kind
        return quickly(value, other) if quick else slowly(value, other)

    return compare


def _calculate(builder: Builder, node: Node) -> Step:
    """Compile `+`, `-` and `*` of integers; a chain of them from left to right, in one loop."""
    links: list[Call] = []
    while _is_int_arithmetic(node):
        links.append(node)
        node = node.arguments[0]
    start = builder.build(node)
    chain = tuple(
        (_INT_ARITHMETIC[link.function], BINARY[link.function], operand)
        for link, operand in zip(
            reversed(links),
            map(builder.build, [link.arguments[1] for link in reversed(links)]),
            strict=True,
        )
    )

    def calculate(frame: Frame) -> Any:
        total = start(frame)
        for quickly, slowly, operand in chain:
            other = operand(frame)
            if type(total) is int and type(other) is int:
                result = quickly(total, other)
                if MIN_INT <= result <= MAX_INT:
                    total = result
                    continue
            total = slowly(total, other)  # which knows how to complain
        return total

    return calculate


def _is_int_arithmetic(node: Node) -> TypeGuard[Call]:
    if not isinstance(node, Call) or node.function not in _INT_ARITHMETIC:
        return False
    return _shared_type(*node.arguments) is int


def _terms(node: Node, function: str) -> list[Node]:
    """List the operands of a chain of one operator, however it was nested."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Call) and term.function == function and term.target is None:
            waiting.extend(reversed(term.arguments))
        else:
            found.append(term)
    return found


def _shared_type(left: Node, right: Node) -> type | None:
    """Return the Python type of both operands, if the checker knows them to have one."""
    kind = _type_of(left)
    return kind if kind is not None and kind is _type_of(right) else None


def _type_of(node: Node) -> type | None:
    return _PYTHON_TYPES.get(node.type.kind) if node.type is not None else None
