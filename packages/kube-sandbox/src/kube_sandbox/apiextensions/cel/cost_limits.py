"""
What the validation rules of a schema may cost: each of them, and all together.

A rule costs as much as its expression, as often as there can be values to ask it of. A message is
worked out once.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/cel_validation.go
TotalCost.ObserveExpressionCost, extractMaxElements;
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go getExpressionCost,
getCostErrorMessage, multiplyWithOverflowGuard.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kube_objects.schemas import Schema
from kube_sandbox.registry.field_errors import FieldError, forbidden

_MAX_COST = 2**64 - 1
_MAX_RULE_COST = 10_000_000
_MAX_TOTAL_COST = 100_000_000
_REPORT_THRESHOLD = _MAX_TOTAL_COST // 100
_MAX_REPORTED_EXPRESSIONS = 4
_MAX_REPORTED_FACTOR = 100.0  # times the limit; a larger factor is not reported
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


@dataclass(slots=True)
class CostBudget:
    """
    What was spent so far.

    `is_forgiven` if the schema was stored as it is: then only the sum is limited.
    """

    is_forgiven: bool = False
    _total: int = 0
    _dearest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int, name: str) -> Iterator[FieldError]:
        """Add what an expression costs; yield that it is too much."""
        if cost > _MAX_RULE_COST and not self.is_forgiven:
            yield forbidden(path, _exceeded_message(f"estimated {name} cost", cost, _MAX_RULE_COST))
        self._total = min(self._total + cost, _MAX_COST)
        if cost >= _REPORT_THRESHOLD:
            self._dearest.append((cost, path))
            self._dearest.sort(key=lambda each: -each[0])
            del self._dearest[_MAX_REPORTED_EXPRESSIONS:]

    def errors(self, path: str) -> Iterator[FieldError]:
        """Yield that all expressions together cost too much, and which cost most."""
        if self._total <= _MAX_TOTAL_COST:
            return
        message = "estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        for _, where in self._dearest:
            yield forbidden(where, f"contributed to {message}")
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden(path, _exceeded_message(what, self._total, _MAX_TOTAL_COST))


def _exceeded_message(what: str, cost: int, limit: int) -> str:
    factor = float(cost) / float(limit)
    shown = f"{factor:.1f}x"
    if factor > _MAX_REPORTED_FACTOR:
        shown = f"more than {_MAX_REPORTED_FACTOR:.0f}x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"


def repeated(around: int | None, schema: Schema) -> int | None:
    """Return how often there can be a part below a schema; None if nothing bounds it."""
    if around is None:
        return None
    kind = schema.get("type")
    most: int | None = 1
    if kind == "array":
        most = schema.get("maxItems")
    elif kind == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    return None if most is None else min(around * max(most, 0), _MAX_COST)


def multiplied(cost: int, count: int) -> int:
    """Return what an expression costs that is evaluated again and again."""
    return min(cost * count, _MAX_COST)
