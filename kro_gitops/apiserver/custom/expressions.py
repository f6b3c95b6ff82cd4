"""
The expressions of validation rules, compiled: what a rule asks, and how it words its complaint.

A rule sees `self`, the value at its place, and `oldSelf`, what was there before; both are of one
type. With `optionalOldSelf` the old value is an optional, and the rule is asked of new values, too.
"""

from dataclasses import dataclass
from typing import Any

from kro_gitops.apiserver.custom.field_paths import BadPath, follow
from kro_gitops.cel.declarations import Environment
from kro_gitops.cel.engine import compile_text
from kro_gitops.cel.failures import BuildProblem
from kro_gitops.cel.issues import CheckProblem, SyntaxProblem
from kro_gitops.cel.program import Program
from kro_gitops.cel.references import find_references
from kro_gitops.cel.syntax import parse
from kro_gitops.cel.types import BOOL, STRING, Type, optional_of
from kro_gitops.cel.views import Shape, shape_of
from kro_gitops.errors import ExpressionError
from kro_gitops.objects.kinds import Schema

RULES = "x-kubernetes-validations"
SELF, OLD_SELF = "self", "oldSelf"
_TYPE_PREFIX, _TYPE_SHOWN = "__type_self", "selfType"


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One rule.

    `problem` says why it cannot be asked, `message_problem` why its message cannot be worked out.
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


def compile_rules(schema: Schema, *, is_root: bool) -> list[Rule]:
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
    return [_compiled(raw, schema, environment, own) for raw in rules]


def _rule(raw: dict[str, Any], schema: Schema, **found: Any) -> Rule:
    return Rule(
        text=raw.get("rule", ""),
        message=raw.get("message", ""),
        reason=raw.get("reason", ""),
        field_path=_blamed(raw.get("fieldPath", ""), schema),
        is_optional=raw.get("optionalOldSelf") is True,
        **found,
    )


def _blamed(path: str, schema: Schema) -> str:
    try:
        return follow(path, schema).path if path else ""
    except BadPath:
        return ""


def _compiled(raw: dict[str, Any], schema: Schema, environment: Environment, own: Type) -> Rule:
    text = raw.get("rule", "")
    if not text.strip():
        return _rule(raw, schema)
    old = optional_of(own) if raw.get("optionalOldSelf") is True else own
    scope = environment.extend(types={OLD_SELF: old})
    program, problem = _program(text, scope, BOOL, "cel expression must evaluate to a bool", "")
    if program is None:
        return _rule(raw, schema, problem=problem)
    names = find_references(parse(text), scope.variables, scope.functions)
    message, message_problem = None, ""
    if raw.get("messageExpression"):
        message, message_problem = _program(
            raw["messageExpression"],
            scope,
            STRING,
            "messageExpression must evaluate to a string",
            "messageExpression ",
        )
    return _rule(
        raw,
        schema,
        program=program,
        uses_old=OLD_SELF in names.identifiers,
        message_program=message,
        message_problem=message_problem,
    )


def _program(
    text: str, scope: Environment, wanted: Type, complaint: str, what: str
) -> tuple[Program | None, str]:
    try:
        program = compile_text(text, scope)
    except (SyntaxProblem, CheckProblem) as error:
        told = error.message.replace(_TYPE_PREFIX, _TYPE_SHOWN)
        return None, f"{what}compilation failed: {told}"
    except BuildProblem as error:
        return None, f"{what or 'program '}instantiation failed: {error.message}"
    except ExpressionError as error:
        return None, f"{what}compilation failed: {error.message}"
    return (program, "") if program.type == wanted else (None, complaint)
