"""
What an engine makes of an expression, and which disagreements are understood.

Understood disagreements stand in differences.toml: whose opinion differs, why, examples that
still must differ, and, where generated expressions meet the same thing again, a pattern of
the expression together with what each side then says.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cel_testing.normal import Normal, normal_form, normal_optional

from kube_cel.environment import Environment
from kube_cel.errors import ExpressionError
from kube_cel.issues import ParseError
from kube_cel.program import compile_text

TABLE = Path(__file__).parents[1] / "differential" / "differences.toml"
EXPRESSIONS = Path(__file__).parents[1] / "differential" / "expressions.txt"


@dataclass(frozen=True, slots=True)
class Opinion:
    """
    A value of a type, or an error: `stage` is parse, check, eval or ok.

    Engines that do not check have only eval and ok.
    """

    stage: str
    type: str = ""
    value: Normal | None = None
    error: str = ""

    def __str__(self) -> str:
        return f"{self.stage}: {self.type} {self.value if self.stage == 'ok' else self.error}"


def our_opinion(expression: str) -> Opinion:
    """Run an expression through our engine."""
    try:
        program = compile_text(expression, Environment.kro())
    except ParseError as error:
        return Opinion("parse", error=str(error))
    except ExpressionError as error:
        return Opinion("check", error=str(error))
    try:
        value = program.value({})
    except ExpressionError as error:
        return Opinion("eval", str(program.type), error=str(error))
    is_optional = program.type.kind == "optional_type"
    return Opinion(
        "ok", str(program.type), normal_optional(value) if is_optional else normal_form(value)
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    Why an engine's opinion may differ from ours.

    It applies to its examples, and to expressions in which `pattern` is found while `ours` and
    `theirs` are found in the printed opinions. With `same_value`, only the types may differ.
    """

    reason: str
    examples: tuple[str, ...]
    pattern: str = ""
    ours: str = ""
    theirs: str = ""
    same_value: bool = False

    def applies(self, expression: str, ours: Opinion, theirs: Opinion) -> bool:
        """Say whether it explains this disagreement."""
        if not self.pattern:
            return expression in self.examples
        if self.same_value and ours.value != theirs.value:
            return False
        searched = ((self.pattern, expression), (self.ours, str(ours)), (self.theirs, str(theirs)))
        return all(re.search(pattern, text, re.DOTALL) for pattern, text in searched)


def read_explanations(engine: str) -> list[Explanation]:
    """Read what is understood about one engine."""
    table: dict[str, list[dict[str, Any]]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [
        Explanation(**{**entry, "examples": tuple(entry["examples"])}) for entry in table[engine]
    ]


def read_expressions() -> list[str]:
    """Read the table of expressions: one a line, comments left out."""
    lines = EXPRESSIONS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An expression on which two engines differ."""

    expression: str
    ours: Opinion
    theirs: Opinion

    def __str__(self) -> str:
        return f"{self.expression}\n    ours   {self.ours}\n    theirs {self.theirs}"

    def reason(self, explanations: Sequence[Explanation]) -> str | None:
        """Find the reason, if it is understood."""
        found = (
            one for one in explanations if one.applies(self.expression, self.ours, self.theirs)
        )
        return next((one.reason for one in found), None)
