"""
The expressions of validation rules, compiled: what a rule asks, and how it words its complaint.

A rule sees `self`, the value at its place, and `oldSelf`, what was there before; both are of one
type. With `optionalOldSelf` the old value is an optional, and the rule is asked of new values, too.

The cost of an expression is estimated only if the caller passes the sizes of values: the author of
a rule gets an estimate, the author of an object does not.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go
Compile, compileRule, sizeEstimator.EstimateSize.
"""

from dataclasses import dataclass
from typing import Any

from kube_cel.checker import check
from kube_cel.costs.estimate import estimate_cost
from kube_cel.costs.sizes import SizeAt
from kube_cel.environment import Environment
from kube_cel.errors import BuildError, ExpressionError
from kube_cel.issues import CheckError, ParseError
from kube_cel.parser import parse
from kube_cel.program import Program, compile_program
from kube_cel.references import find_references
from kube_cel.schema_views import Shape, shape_of
from kube_cel.types import BOOL, STRING, Type, optional_of
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.schema.field_paths import BadPath, follow

RULES = "x-kubernetes-validations"
SELF, OLD_SELF = "self", "oldSelf"
_TYPE_PREFIX, _TYPE_SHOWN = "__type_self", "selfType"


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One rule.

    `problem` says why it cannot be asked, `message_problem` why its message cannot be worked out.
    `cost` and `message_cost` are what they may cost at worst, if that was estimated.
    """

    text: str
    message: str
    reason: str
    field_path: str
    is_optional: bool
    program: Program | None = None
    message_program: Program | None = None
    uses_old: bool = False
    problem: str = ""
    message_problem: str = ""
    cost: int = 0
    message_cost: int = 0

    @property
    def named(self) -> str:
        """Return what the rule is called in messages."""
        return self.message.strip() or self.text.strip()

    @property
    def complaint(self) -> str:
        """Return what is said when it is broken, if its message is not worked out."""
        return self.message.strip() or f"failed rule: {self.text.strip()}"


def rule_schema(schema: Schema, *, is_root: bool) -> Schema:
    """Return a schema as rules see it: whole objects have names, and nothing else of metadata."""
    return {**schema, "x-kubernetes-embedded-resource": True} if is_root else schema


def view_of(schema: Schema) -> Shape:
    """Return how values of a schema are seen by expressions."""
    return shape_of(schema)


def compile_rules(schema: Schema, *, is_root: bool, size_at: SizeAt | None = None) -> list[Rule]:
    """Compile the rules of a part of a schema, as far as that is possible."""
    rules: list[dict[str, Any]] = schema.get(RULES) or []
    if not rules:
        return []
    seen = rule_schema(schema, is_root=is_root)
    # The old value has its schema, for it is read by it, but the type of the new one.
    environment = Environment.rules().extend(schemas={SELF: seen, OLD_SELF: seen})
    own = environment.variables.get(SELF)
    if own is None:
        return [_rule(raw, schema) for raw in rules]
    compileds: list[Rule] = []
    for raw in rules:
        text = raw.get("rule", "")
        if not text.strip():
            compiled: Rule = _rule(raw, schema)
        else:
            old = optional_of(own) if raw.get("optionalOldSelf") is True else own
            scope = environment.extend(types={OLD_SELF: old})
            asked = _expression(text, scope, _QUESTION, size_at)
            if asked.program is None:
                compiled = _rule(raw, schema, problem=asked.problem)
            else:
                names = find_references(parse(text), scope.variables, scope.functions)
                message = _Expression()
                if raw.get("messageExpression"):
                    message = _expression(raw["messageExpression"], scope, _MESSAGE, size_at)
                compiled = _rule(
                    raw,
                    schema,
                    program=asked.program,
                    cost=asked.cost,
                    uses_old=OLD_SELF in names.identifiers,
                    message_program=message.program,
                    message_problem=message.problem,
                    message_cost=message.cost,
                )
        compileds.append(compiled)
    return compileds


def _rule(raw: dict[str, Any], schema: Schema, **found: Any) -> Rule:
    path = raw.get("fieldPath", "")
    try:
        field_path = follow(path, schema).path if path else ""
    except BadPath:
        field_path = ""
    return Rule(
        text=raw.get("rule", ""),
        message=raw.get("message", ""),
        reason=raw.get("reason", ""),
        field_path=field_path,
        is_optional=raw.get("optionalOldSelf") is True,
        **found,
    )


@dataclass(frozen=True, slots=True)
class _ExpressionUse:
    """The use of an expression: the type it must yield, and the texts of its errors."""

    wanted: Type
    complaint: str
    name: str = ""


_QUESTION = _ExpressionUse(BOOL, "cel expression must evaluate to a bool")
_MESSAGE = _ExpressionUse(
    STRING, "messageExpression must evaluate to a string", "messageExpression "
)


@dataclass(frozen=True, slots=True)
class _Expression:
    program: Program | None = None
    problem: str = ""
    cost: int = 0


def _expression(
    text: str, scope: Environment, purpose: _ExpressionUse, size_at: SizeAt | None
) -> _Expression:
    name = purpose.name
    try:
        tree = parse(text)
        if check(tree, scope, text) != purpose.wanted:
            return _Expression(problem=purpose.complaint)
        cost = estimate_cost(tree, scope.profile.library, size_at) if size_at is not None else 0
        return _Expression(compile_program(tree, scope, text), cost=cost)
    except (ParseError, CheckError) as error:
        message = error.message.replace(_TYPE_PREFIX, _TYPE_SHOWN)
        return _Expression(problem=f"{name}compilation failed: {message}")
    except BuildError as error:
        return _Expression(problem=f"{name or 'program '}instantiation failed: {error.message}")
    except ExpressionError as error:
        return _Expression(problem=f"{name}compilation failed: {error.message}")
