"""
The validation rules of a custom kind, asked of an object.

A rule that does not use the old value only warns for a part that did not change (ratcheting).

What rules may do is bounded: each evaluation by the expression engine, all of one object together
here, with a real server's numbers. It counts units of cost, of which a step here is at least one
but for comparisons of long lists. If a limit is exceeded, the error has the API server's text, and
no further rule is evaluated.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go
validator, Validator.Validate, Validator.validateExpressions.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from kube_cel.budget import Budget
from kube_cel.errors import EvaluationStopped, ExpressionError
from kube_cel.scalars import NONE, OptionalValue
from kube_objects.ratcheting import (
    ABSENT,
    counterparts,
    is_unchanged,
    old_counterpart,
)
from kube_objects.schemas import Schema
from kube_objects.structural_schema import field as field_of
from kube_objects.structural_schema import items
from kube_sandbox.apiextensions.cel.compilation import Rule
from kube_sandbox.apiextensions.cel.rule_tree import RuleTree, Verdict
from kube_sandbox.apiextensions.schema.embedded_resources import child
from kube_sandbox.apiextensions.schema.violations import NOWHERE, format_number
from kube_sandbox.registry.field_errors import (
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
)

_MAX_COST = 10_000_000
_BASE_RULE_COST = 2  # besides its loops
_MAX_MESSAGE_LENGTH = 5 * 1024
_STOPPED = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_STOPPED_ONE = (
    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run "
    "due to call cost exceeds limit for rule"
)


@dataclass(frozen=True, slots=True)
class _Correlation:
    """A part and what it corresponds to."""

    new: Any
    old: Any
    schema: Schema

    def is_same(self) -> bool:
        return is_unchanged(self.new, self.old, self.schema)

    def below(self, key: str) -> "_Correlation | None":
        new, old, schema = (
            old_counterpart(self.new, key),
            old_counterpart(self.old, key),
            field_of(self.schema, key),
        )
        if new is ABSENT or old is ABSENT or schema is None:
            return None
        return _Correlation(new, old, schema)


@dataclass(frozen=True, slots=True)
class _NestedCorrelation:
    """What a part corresponds to, and the nearest part around it that corresponds to something."""

    here: _Correlation | None = None
    around: _Correlation | None = None

    def is_same(self) -> bool:
        tie = self.here or self.around
        return tie is not None and tie.is_same()

    def key(self, key: str) -> "_NestedCorrelation":
        """Go to a property; type meta of the root has no counterpart in the old object."""
        if self.here is None:
            return self
        if self.around is None and key in ("apiVersion", "kind"):
            return _NestedCorrelation()
        return _NestedCorrelation(self.here.below(key), self.here)

    def index(self, new: Any, old: Any) -> "_NestedCorrelation":
        """Go to an item; only items of a list map are correlated with the old list."""
        if self.here is None:
            return self
        item = items(self.here.schema)
        tied = None if old is ABSENT or item is None else _Correlation(new, old, item)
        return _NestedCorrelation(tied, self.here)


class _OutOfBudget(Exception):  # noqa: N818 - the end of all asking
    """Rules took too much."""


def evaluate_rules(
    tree: RuleTree, value: Any, old: Any = ABSENT, *, path: str = "", forgiving: bool = False
) -> Verdict:
    """Ask all rules; `forgiving` if the value is an update of the old one."""
    asking = _RuleEvaluation()
    ties = (
        _NestedCorrelation(_Correlation(value, old, tree.schema))
        if forgiving
        else _NestedCorrelation()
    )
    with suppress(_OutOfBudget):  # the error that says so is among the others
        asking.ask(tree, value, old, path, ties)
    return asking.verdict


class _RuleEvaluation:
    __slots__ = ("_budget", "_steps", "verdict")

    def __init__(self) -> None:
        self.verdict = Verdict()
        self._steps = 0
        self._budget = Budget(meter=self._count)

    def _count(self, steps: int) -> None:
        self._steps += steps + _BASE_RULE_COST

    def ask(
        self, tree: RuleTree, value: Any, old: Any, path: str, ties: _NestedCorrelation
    ) -> None:
        """Ask the rules of a part, then those of the parts below."""
        if value is None:
            return
        if tree.rules:
            has_old = old is not ABSENT and old is not None
            known: dict[str, Any] = {"self": value}
            if has_old and any(rule.uses_old for rule in tree.rules):
                known["oldSelf"] = old
            for rule in tree.rules:
                if rule.problem:
                    message = f"rule compile error: {rule.problem}"
                    self.verdict.errors.append(invalid(path or NOWHERE, tree.kind, message))
                if rule.program is None or (rule.uses_old and not has_old and not rule.is_optional):
                    continue
                if not self._holds(rule, tree, known, path):
                    self._tell(rule, tree, known, path, ties)
        if isinstance(value, list):
            if tree.items is None:
                return
            before = counterparts(value, old, tree.schema)
            for index, part in enumerate(value):
                was = ABSENT if before is None else before[index]
                self.ask(tree.items, part, was, f"{path}[{index}]", ties.index(part, was))
        elif isinstance(value, dict):
            parts = [(key, below, child(path, key)) for key, below in tree.fields.items()]
            if tree.others is not None:
                parts = [(key, tree.others, f"{path}[{key}]") for key in value] + parts
            for key, below, where in parts:
                if key in value:
                    self.ask(below, value[key], old_counterpart(old, key), where, ties.key(key))

    def _holds(self, rule: Rule, tree: RuleTree, known: dict[str, Any], path: str) -> bool:
        if rule.program is None:
            return True
        if self._steps > _MAX_COST:
            self._stop(tree, path, _STOPPED)
        try:
            return rule.program.value(_rule_variables(rule, tree, known), self._budget) is True
        except EvaluationStopped:
            self._stop(tree, path, f"{_STOPPED_ONE}: {rule.named}")
        except ExpressionError as error:
            message = f"{error.message} evaluating rule: {rule.named}"
            if error.message.startswith("no such overload"):
                message = (
                    f"'{error.message}': call arguments did not match a supported operator, "
                    f"function or macro signature for rule: {rule.named}"
                )
            self.verdict.errors.append(invalid(path or NOWHERE, tree.kind, message))
            return True

    def _stop(self, tree: RuleTree, path: str, message: str) -> NoReturn:
        self.verdict.errors.append(invalid(path or NOWHERE, tree.kind, message))
        raise _OutOfBudget from None

    def _tell(
        self,
        rule: Rule,
        tree: RuleTree,
        known: dict[str, Any],
        path: str,
        ties: _NestedCorrelation,
    ) -> None:
        where = child(path, rule.field_path) if rule.field_path else path or NOWHERE
        if rule.message_program is None:
            message = ""
        else:
            try:
                text = rule.message_program.value(_rule_variables(rule, tree, known), self._budget)
            except ExpressionError:
                message = ""
            else:
                message_told = text.strip() if isinstance(text, str) else ""
                message = (
                    ""
                    if len(message_told.encode()) > _MAX_MESSAGE_LENGTH or "\n" in message_told
                    else message_told
                )
        detail = message or rule.complaint
        reason = rule.reason
        value = known["self"]
        is_shown = tree.kind not in ("object", "array")
        match reason:
            case "FieldValueForbidden":
                error: FieldError = forbidden(where, detail)
            case "FieldValueRequired":
                error = required(where, detail)
            case "FieldValueDuplicate":
                error = (
                    duplicate(where, value) if is_shown else FieldError(ErrorType.DUPLICATE, where)
                )
            case _:
                if is_shown:
                    error = invalid(where, format_number(value), detail)
                else:
                    error = FieldError(ErrorType.INVALID, where, detail=detail)
        if not rule.uses_old and ties.is_same():
            self.verdict.warnings.append(str(error))
        else:
            self.verdict.errors.append(error)


def _rule_variables(rule: Rule, tree: RuleTree, known: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a rule; with `optionalOldSelf`, the old value may be missing."""
    if not rule.is_optional:
        return known
    # What is inside an optional is not converted any more.
    old = OptionalValue(tree.view.value(known["oldSelf"])) if "oldSelf" in known else NONE
    return {**known, "oldSelf": old}
