"""
A compiled expression, ready to be evaluated any number of times.

Programs are immutable and keep no state between evaluations, so threads may share them. An
evaluation returns a value or raises an error of `kube_cel.errors`. Unexpected Python exceptions
become an `EvaluationError`: an expression written by a user must not crash its caller.
"""

from collections.abc import Mapping
from typing import Any

from kube_cel.budget import BUDGET, DEFAULT_BUDGET, REMAINING, Budget, Frame
from kube_cel.checker import check
from kube_cel.compiler.build import Compiler
from kube_cel.compiler.scope import Step
from kube_cel.containers import ABSENT
from kube_cel.environment import Environment
from kube_cel.errors import (
    BuildError,
    ConversionError,
    EvaluationError,
    EvaluationStopped,
)
from kube_cel.json_conversion import to_json
from kube_cel.parser import parse
from kube_cel.syntax_tree import Node
from kube_cel.types import DYN, Type
from kube_objects.go_text import quote

_JSON_SCALARS = frozenset({str, int, float, bool, type(None)})


class Program:
    """
    An expression that can be evaluated.

    `text` is its source, `type` the result type found by the checker (`dyn` if it is only known
    at run time).
    """

    __slots__ = ("_blank", "_step", "_variables", "text", "type")

    def __init__(self, text: str, result: Type, step: Step, compiler: Compiler) -> None:
        self.text = text
        self.type = result
        self._step = step
        self._blank: Frame = [ABSENT] * compiler.scope.size
        self._variables = tuple(
            (name, place.slot) for name, place in compiler.scope.variables.items()
        )

    def value(self, data: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """
        Evaluate to a CEL value, such as a `Duration` or a view of the data.

        `data` holds JSON data by variable name. Reading a variable, key or index that is absent
        raises `MissingData`; exceeding the budget raises `EvaluationStopped`.
        """
        frame = self._blank.copy()
        frame[BUDGET] = budget = budget or DEFAULT_BUDGET
        frame[REMAINING] = budget.iterations
        for name, slot in self._variables:
            frame[slot] = data.get(name, ABSENT)
        try:
            return self._step(frame)
        except EvaluationError:
            raise
        except RecursionError:
            raise EvaluationStopped("nested too deeply") from None
        except Exception as error:
            raise EvaluationError(f"internal error: {type(error).__name__}: {error}") from error
        finally:
            if budget.meter is not None:
                budget.meter(budget.iterations - frame[REMAINING])

    def evaluate(self, data: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """
        Evaluate to JSON data; raises as `value` does.

        Also raises `ConversionError` for a result that JSON cannot represent, such as bytes.
        """
        value = self.value(data, budget)
        if type(value) in _JSON_SCALARS:
            return value
        limits = budget or DEFAULT_BUDGET
        try:
            return to_json(value, max_nodes=limits.elements, max_depth=limits.depth)
        except ConversionError as error:
            raise ConversionError(f"convert {quote(self.text)}: {error.message}") from None


def compile_text(text: str, environment: Environment) -> Program:
    """
    Parse, check and compile an expression; `kube_cel.compile` is this function.

    Raises `ParseError`, `CheckError` (each with every issue found and its offsets in `text`) or
    `BuildError`.
    """
    tree = parse(text)
    check(tree, environment, text)
    return compile_program(tree, environment, text)


def compile_program(tree: Node, env: Environment, text: str) -> Program:
    """
    Compile a tree that `check` has typed in `env`.

    Raises `BuildError` for an expression that can never run, such as a constant regular
    expression that is invalid.
    """
    compiler = Compiler(env)
    try:
        step = compiler.build(tree)
    except RecursionError:
        raise BuildError("max recursion depth exceeded") from None
    return Program(text, tree.type or DYN, step, compiler)
