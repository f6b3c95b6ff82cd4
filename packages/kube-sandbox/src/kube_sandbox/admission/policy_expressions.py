"""
The expressions of a ValidatingAdmissionPolicy, compiled once and asked of every write.

They see `object`, `oldObject`, `request`, `params`, `namespaceObject`, and in `variables` what the
policy has worked out before. Loaded with the first policy, since the expression engine takes a
while.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go
validator.Validate; k8s.io/apiserver/pkg/admission/plugin/policy/validating/plugin.go
compilePolicy; k8s.io/apiserver/pkg/admission/plugin/cel/activation.go
evaluationActivation.Evaluate.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kube_cel.environment import Environment
from kube_cel.errors import ExpressionError
from kube_cel.program import Program, compile_text
from kube_cel.types import DYN
from kube_objects.refs import KubeObject

_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
_MAX_MESSAGE_LENGTH = 5 * 1024


@dataclass(frozen=True, slots=True)
class _Expression:
    """One expression, or why it cannot be asked."""

    text: str
    program: Program | None
    problem: str = ""

    def value(self, known: Mapping[str, Any]) -> Any:
        """Return what it comes to; raise `ExpressionError`."""
        if self.program is None:
            raise ExpressionError("policy", f"compilation error: {self.problem}")
        try:
            return self.program.value(known)
        except ExpressionError as error:
            message = f"expression '{self.text}' resulted in error: {error.message}"
            raise ExpressionError("policy", message) from error


class Compiled:
    """A policy's expressions; `fails`: whatever goes wrong with them counts against a write."""

    def __init__(self, spec: KubeObject) -> None:
        self.fails = spec.get("failurePolicy", "Fail") == "Fail"
        self._conditions = [_compiled(each) for each in spec.get("matchConditions") or ()]
        self._variables = [(each["name"], _compiled(each)) for each in spec.get("variables") or ()]
        self._checks = [
            (
                raw,
                _compiled(raw),
                _expression(raw["messageExpression"]) if raw.get("messageExpression") else None,
            )
            for raw in spec.get("validations") or ()
        ]

    def complaints(self, known: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Return what speaks against a write: message and reason."""
        try:
            if not self._is_meant(known):
                return
        except ExpressionError as error:
            yield from self._failed(error)
            return
        found: dict[str, Any] = {}
        for name, expression in self._variables:
            try:
                found[name] = expression.value({**known, "variables": found})
            except ExpressionError:
                continue
        known = {**known, "variables": found}
        for raw, check, message in self._checks:
            try:
                holds = check.value(known) is True
            except ExpressionError as error:
                yield from self._failed(error)
                continue
            if not holds:
                # How a broken rule words its complaint.
                text: Any = ""
                if message is not None:
                    try:
                        text = message.value(known)
                    except ExpressionError:
                        text = ""
                text = text.strip() if isinstance(text, str) else ""
                if "\n" in text or len(text.encode()) > _MAX_MESSAGE_LENGTH:
                    text = ""
                message_text = (
                    text
                    or raw.get("message", "").strip()
                    or f"failed expression: {raw['expression'].strip()}"
                )
                yield message_text, raw.get("reason") or "Invalid"

    def _failed(self, error: ExpressionError) -> Iterator[tuple[str, str]]:
        if self.fails:
            yield error.message, "Invalid"

    def _is_meant(self, known: Mapping[str, Any]) -> bool:
        """Return whether all conditions hold; one that does not counts more than one that fails."""
        failure: ExpressionError | None = None
        for condition in self._conditions:
            try:
                if condition.value({**known, "variables": {}}) is False:
                    return False
            except ExpressionError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return True


def _compiled(raw: KubeObject) -> _Expression:
    return _expression(raw["expression"])


def _expression(text: str) -> _Expression:
    """Compile an expression; one that does not compile fails when it is evaluated."""
    environment = Environment.rules().extend(types=dict.fromkeys(_VARIABLES, DYN))
    try:
        return _Expression(text, compile_text(text, environment))
    except ExpressionError as error:
        return _Expression(text, None, error.message)
