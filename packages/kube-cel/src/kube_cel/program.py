"""
A compiled expression, ready to be evaluated any number of times.

Programs are immutable and keep nothing between evaluations, so threads may share them. An
evaluation either returns or raises one of `failures`: whatever else goes wrong in here becomes
an `EvaluationError`, because no author's expression may bring down who evaluates it.
"""

from collections.abc import Mapping
from typing import Any

from kube_cel.budget import BUDGET, DEFAULT_BUDGET, REMAINING, Budget, Frame
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
from kube_cel.syntax_tree import Node
from kube_cel.types import DYN, Type
from kube_objects.go_text import quote

_JSON_SCALARS = frozenset({str, int, float, bool, type(None)})


class Program:
    """An expression that can be evaluated; `type` is what the checker promised."""

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
        Evaluate to a CEL value.

        `data` holds raw JSON by variable; a variable that is needed but not there raises
        `MissingData`, as do keys and indices that may still come.
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
        """Evaluate to JSON; raise `ConversionError` for a value that JSON cannot hold."""
        value = self.value(data, budget)
        if type(value) in _JSON_SCALARS:
            return value
        limits = budget or DEFAULT_BUDGET
        try:
            return to_json(value, max_nodes=limits.elements, max_depth=limits.depth)
        except ConversionError as error:
            raise ConversionError(f"convert {quote(self.text)}: {error.message}") from None


def compile_program(tree: Node, env: Environment, text: str) -> Program:
    """
    Make a program of a tree that has been checked in `env`.

    Raises `BuildError` where an expression can never run: a constant pattern that is none.
    """
    compiler = Compiler(env)
    try:
        step = compiler.build(tree)
    except RecursionError:
        raise BuildError("max recursion depth exceeded") from None
    return Program(text, tree.type or DYN, step, compiler)
