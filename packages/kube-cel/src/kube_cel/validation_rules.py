"""
Validation rules of a CustomResourceDefinition (`x-kubernetes-validations`).

A rule sees `self`, the value at its position in the schema, and, on updates, `oldSelf`. Programs
are cached per schema part: a thousand instances of one kind compile its rules once. A rule that
reads `oldSelf` is evaluated only if there is an old value, as in the API server.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kube_cel.environment import Environment, Schema
from kube_cel.errors import ExpressionError
from kube_cel.parser import parse
from kube_cel.program import Program, compile_text
from kube_cel.references import find_references
from kube_cel.types import BOOL, STRING
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.schemas import SchemaKey

SELF = "self"
OLD_SELF = "oldSelf"
EXTENSION = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule; `message` is a program when the text is computed."""

    text: str
    program: Program
    message: str | Program
    is_transition: bool


def check_rules(schema: Schema, value: Any, path: Path) -> Iterator[Problem]:
    """Yield a problem for each rule of this schema part that a new value violates."""
    for rule in _rules(SchemaKey(schema)):
        if rule.is_transition:
            continue
        try:
            holds = rule.program.value({SELF: value})
            if holds is True:
                continue
            if isinstance(rule.message, str):
                text = rule.message
            else:
                computed = rule.message.evaluate({SELF: value})
                text = (
                    computed
                    if isinstance(computed, str) and computed.strip()
                    else f"failed rule: {rule.text}"
                )
        except ExpressionError as error:
            text = f"rule {rule.text!r} cannot be evaluated: {error.message}"
        place = format_path(path) or "the object"
        hint = f"the rule is: {rule.text}" if rule.text not in text else ""
        yield Problem("rule-violated", f"{place}: {text}", Spot(path), hint=hint)


def rule_problems(schema: Schema) -> Iterator[tuple[int, ExpressionError | str]]:
    """Yield the errors in the rules of this schema part, with the index of each rule."""
    for index, raw in enumerate(schema.get(EXTENSION) or ()):
        try:
            program = compile_text(raw["rule"], _environment(schema))
        except ExpressionError as error:
            yield index, error
            continue
        if program.type != BOOL:
            yield index, f"a rule must yield a bool, this one yields {program.type}"


@lru_cache(maxsize=4096)
def _rules(key: SchemaKey) -> tuple[Rule, ...]:
    """Compile what compiles; the rest is reported where the schema is written."""
    compiled = (_compile(key.schema, raw) for raw in key.schema.get(EXTENSION) or ())
    return tuple(rule for rule in compiled if rule is not None)


def _compile(schema: Schema, raw: dict[str, Any]) -> Rule | None:
    environment = _environment(schema)
    text = raw.get("rule", "")
    try:
        program = compile_text(text, environment)
        names = find_references(parse(text), environment.variables, environment.functions)
        message: str | Program = raw.get("message") or f"failed rule: {text}"
        if raw.get("messageExpression"):
            computed = compile_text(raw["messageExpression"], environment)
            message = computed if computed.type == STRING else message
    except ExpressionError:
        return None
    return Rule(text, program, message, OLD_SELF in names.identifiers)


def _environment(schema: Schema) -> Environment:
    return Environment.rules().extend(schemas={SELF: schema, OLD_SELF: schema})
