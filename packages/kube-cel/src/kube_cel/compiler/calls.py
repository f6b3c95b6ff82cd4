"""
Calls of functions and methods.

A method is selected by the kind of its receiver at run time; the selection is cached for each
Python type. Long arguments and results are charged to the budget here, so that no function needs to
know it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kube_cel.budget import FREE_SIZE, Frame, charge_created, charge_read
from kube_cel.compiler.literals import constant_of
from kube_cel.compiler.scope import Builder, Step
from kube_cel.containers import ABSENT, LISTS, MAPS, MixedMap
from kube_cel.errors import BuildError, EvaluationError
from kube_cel.library.function_table import FUNCTIONS, METHODS
from kube_cel.library.regex import compile_pattern
from kube_cel.library.standard import ANY
from kube_cel.scalars import Duration, OptionalValue, UInt
from kube_cel.syntax_tree import Call
from kube_cel.type_names import kind_of, no_such_overload
from kube_cel.types import DOUBLE, DURATION, UINT

Function = Callable[..., Any]

_IMMEDIATE = frozenset(
    {"dyn", "first", "hasValue", "last", "optional.none", "optional.of", "size", "type", "value"}
)
"""Functions that take no longer for a long argument."""
_DEEP = frozenset(
    {
        *("deepMerge", "distinct", "flatten", "indexOf", "lastIndexOf"),
        *("sets.contains", "sets.equivalent", "sets.intersects"),
    }
)
"""Functions that look at the elements of elements."""
_PRECOMPILED = frozenset({"find", "findAll"})
"""Functions whose constant pattern must be a good one for the program to be made at all."""
_ZEROS = {
    DOUBLE.kind: 0.0,
    UINT.kind: UInt(0),
    DURATION.kind: Duration(0),
}
"""The sum of an empty list, where it is not 0."""
_LONG = frozenset({str, bytes, dict, MixedMap, *LISTS})
_DEEP_TYPES = frozenset({*LISTS, *MAPS, OptionalValue})
_GROWN = frozenset({str, bytes, list, dict, MixedMap})


def build_call(builder: Builder, node: Call) -> Step:
    """Compile a call."""
    arguments = node.arguments if node.target is None else [node.target, *node.arguments]
    if node.function in _PRECOMPILED:
        pattern = constant_of(arguments[1]) if len(arguments) > 1 else ABSENT
        if type(pattern) is str:
            try:
                compile_pattern(pattern)
            except EvaluationError as error:
                raise BuildError(error.message) from None
    steps = tuple(map(builder.build, arguments))
    if node.target is None:
        function = FUNCTIONS.get(node.function) or _missing(node.function)
    else:
        function = _method(node.function)
    zero = _ZEROS.get(node.type.kind) if node.type is not None else None
    if node.function == "sum" and zero is not None:
        # An empty list has no element that tells of which type its sum is.
        add_up = function
        function = lambda elements: add_up(elements) if len(elements) else zero  # noqa: E731
    if node.function in _IMMEDIATE:
        if len(steps) == 1:
            (only,) = steps
            return lambda frame: function(only(frame))
        return lambda frame: function(*[step(frame) for step in steps])
    if len(steps) == 1 and node.function not in _DEEP:
        return _count_one(function, steps[0])
    return _count_all(function, steps, deep=node.function in _DEEP)


def build_or_value(builder: Builder, node: Call) -> Step:
    """Compile `optional.orValue(other)`: the other is evaluated only if needed."""
    optional = builder.build_optional(node.target or node.arguments[0])
    other = builder.build(node.arguments[-1])

    def choose(frame: Frame) -> Any:
        value = optional(frame)
        return other(frame) if value is ABSENT else value

    return choose


def build_or(builder: Builder, node: Call) -> Step:
    """Compile `optional.or(other)` to a step that returns the value or `ABSENT`."""
    optional = builder.build_optional(node.target or node.arguments[0])
    other = builder.build_optional(node.arguments[-1])

    def choose(frame: Frame) -> Any:
        value = optional(frame)
        return other(frame) if value is ABSENT else value

    return choose


def _count_one(function: Function, step: Step) -> Step:
    def call(frame: Frame) -> Any:
        argument = step(frame)
        if type(argument) in _LONG and len(argument) > FREE_SIZE:
            charge_read(frame, argument)
        result = function(argument)
        if type(result) in _GROWN and len(result) > FREE_SIZE:
            charge_created(frame, result)
        return result

    return call


def _count_all(function: Function, steps: tuple[Step, ...], *, deep: bool) -> Step:
    def call(frame: Frame) -> Any:
        arguments = [step(frame) for step in steps]
        for argument in arguments:
            if (deep and type(argument) in _DEEP_TYPES) or (
                type(argument) in _LONG and len(argument) > FREE_SIZE
            ):
                charge_read(frame, argument)
        result = function(*arguments)
        if type(result) in _GROWN and len(result) > FREE_SIZE:
            charge_created(frame, result)
        return result

    return call


def _method(name: str) -> Function:
    by_kind: Mapping[str, Function] = METHODS.get(name, {})
    by_type: dict[type, Function] = {}

    def dispatch(*arguments: Any) -> Any:
        receiver = arguments[0]
        function = by_type.get(type(receiver))
        if function is None:
            found = by_kind.get(kind_of(receiver)) or by_kind.get(ANY)
            if found is None:
                raise no_such_overload(name, *arguments)
            function = by_type[type(receiver)] = found
        return function(*arguments)

    return dispatch


def _missing(name: str) -> Function:
    """Return a function that fails, for one that is declared but not implemented."""

    def fail(*arguments: Any) -> Any:
        raise no_such_overload(name, *arguments)

    return fail
