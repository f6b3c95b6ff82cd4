"""
The validation rules of a part of a schema: whether they are complete, compile, and end soon.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
ValidateCustomResourceDefinitionOpenAPISchema, hasNewlines, pathValid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.cel.cost_limits import CostBudget, multiplied
from kube_sandbox.apiextensions.customresourcedefinition.internal_form import (
    format_internal,
    internal_rule,
)
from kube_sandbox.apiextensions.schema.field_paths import BadPath, follow
from kube_sandbox.apiextensions.schema.structural import unsupported
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry.field_errors import (
    FieldError,
    internal,
    invalid,
    not_supported,
    required,
)

if TYPE_CHECKING:
    from kube_sandbox.apiextensions.cel import compilation, size_estimates
else:
    compilation = lazy_module("kube_sandbox.apiextensions.cel.compilation")
    size_estimates = lazy_module("kube_sandbox.apiextensions.cel.size_estimates")

RULES = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NOT_EMPTY, _ONE_LINE = "must be non-empty if specified", "must not contain line breaks"


def check_rule_texts(schema: Schema, path: str) -> Iterator[FieldError]:
    """Yield the validation errors of rules, except those of their expressions."""
    for index, rule in enumerate(schema[RULES]):
        where = f"{path}.{RULES}[{index}]"
        text, message = rule.get("rule", "").strip(), rule.get("message", "")
        computed = rule.get("messageExpression", "")
        if not text:
            yield required(f"{where}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid(f"{where}.message", message, _NOT_EMPTY)
        elif _has_lines(message.strip()):
            yield invalid(f"{where}.message", message, _ONE_LINE)
        elif _has_lines(text) and not message.strip():
            detail = "message must be specified if rule contains line breaks"
            yield required(f"{where}.message", detail)
        if computed and not computed.strip():
            detail = "messageExpression must be non-empty if specified"
            yield required(f"{where}.messageExpression", detail)
        reason, blamed = rule.get("reason"), rule.get("fieldPath", "")
        if reason is not None and reason not in _REASONS:
            yield not_supported(f"{where}.reason", reason, _REASONS)
        if not blamed:
            continue
        if not blamed.strip():
            yield invalid(f"{where}.fieldPath", blamed, _NOT_EMPTY)
        if _has_lines(blamed):
            yield invalid(f"{where}.fieldPath", blamed, _ONE_LINE)
        if unsupported(schema):
            continue
        try:
            follow(blamed, schema)
        except BadPath:
            yield invalid(f"{where}.fieldPath", blamed, "must be a valid path")


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text


def has_type(schema: Schema) -> bool:
    """Return whether expressions can see values of a schema at all."""
    if schema.get("x-kubernetes-int-or-string"):
        return True
    kind = schema.get("type")
    below = schema.get("items" if kind == "array" else "additionalProperties")
    if kind == "array":
        return isinstance(below, dict) and has_type(below)
    if kind == "object" and isinstance(below, dict):
        return has_type(below)
    return kind in ("object", "string", "boolean", "integer", "number")


@dataclass(frozen=True, slots=True)
class RuleLocation:
    """
    Where rules stand.

    `untied` names a part of which there are no old values; it is None if nothing can be seen.
    `repeats` is how often there can be such a part, or None if nothing bounds it.
    """

    path: str
    untied: str | None
    repeats: int | None
    is_root: bool


def check_rules(schema: Schema, place: RuleLocation, bill: CostBudget) -> Iterator[FieldError]:
    """Yield the errors of the expressions of rules, and add their estimated cost."""
    extent = size_estimates.estimate_size(schema, is_root=place.is_root)
    if place.untied is None or extent is None:
        message = (
            "internal error: failed to construct type information for x-kubernetes-validations "
            "rules: unable to convert structural schema to CEL declarations"
        )
        yield internal(f"{place.path}.{RULES}", message)
        return
    compiled = compilation.compile_rules(schema, is_root=place.is_root, size_at=extent.at)
    repeats = extent.repetitions if place.repeats is None else place.repeats
    for index, (rule, raw) in enumerate(zip(compiled, schema[RULES], strict=True)):
        where = f"{place.path}.{RULES}[{index}]"
        yield from bill.add(f"{where}.rule", multiplied(rule.cost, repeats), "rule")
        shown = format_internal(internal_rule(raw))
        if rule.problem:
            yield invalid(f"{where}.rule", shown, rule.problem)
        if rule.message_problem:
            yield invalid(f"{where}.messageExpression", shown, rule.message_problem)
        elif rule.message_program is not None:
            path = f"{where}.messageExpression"
            yield from bill.add(path, rule.message_cost, "messageExpression")
        if rule.uses_old and place.untied:
            message = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
            yield invalid(f"{where}.rule", rule.text, f"{message} {place.untied}")
        elif not rule.uses_old and raw.get("optionalOldSelf") is not None:
            message = "may not be set if oldSelf is not used in rule"
            yield invalid(f"{where}.optionalOldSelf", raw["optionalOldSelf"], message)
