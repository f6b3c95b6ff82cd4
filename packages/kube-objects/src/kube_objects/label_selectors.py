"""
Label selectors: parse, format for a request, match labels.

The semantics are the API server's: an empty selector matches everything; `NotIn` and `DoesNotExist`
also match objects without the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kube_objects.errors import RefusedError


class Operator(StrEnum):
    """The operator of a requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a selector."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the requirement."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return self.key not in labels or labels[self.key] not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case Operator.IN:
                return f"{self.key} in ({','.join(self.values)})"
            case Operator.NOT_IN:
                return f"{self.key} notin ({','.join(self.values)})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector: all requirements must be met."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, raw: object) -> "Selector":
        """
        Parse a LabelSelector object; `None` selects everything.

        Raises `RefusedError` (`invalid-selector`) for a malformed one.
        """
        if raw is None:
            return cls()
        if not isinstance(raw, dict):
            raise _invalid(f"a selector is an object, not {raw!r}")
        pairs = raw.get("matchLabels") or {}
        expressions = raw.get("matchExpressions") or []
        if not isinstance(pairs, dict) or not isinstance(expressions, list):
            raise _invalid("matchLabels is an object and matchExpressions a list")
        equal = [Requirement(k, Operator.IN, (_text(v),)) for k, v in sorted(pairs.items())]
        return cls((*equal, *map(_requirement, expressions)))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet every requirement."""
        return all(each.matches(labels) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _requirement(raw: object) -> Requirement:
    if not isinstance(raw, dict):
        raise _invalid(f"an expression is an object, not {raw!r}")
    key, written, values = raw.get("key"), raw.get("operator"), raw.get("values") or []
    if not isinstance(key, str) or not key or not isinstance(values, list):
        raise _invalid("an expression has a key, an operator and, for In and NotIn, values")
    try:
        operator = Operator(str(written))
    except ValueError:
        raise _invalid(f'"{written}" is not a valid label selector operator') from None
    wants_values = operator in (Operator.IN, Operator.NOT_IN)
    if wants_values != bool(values):
        must = "must" if wants_values else "must not"
        raise _invalid(f"an expression with {operator} {must} have values")
    return Requirement(key, operator, tuple(map(_text, values)))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid(f"the value of a label is a text, not {value!r}")
    return value


def _invalid(text: str) -> RefusedError:
    return RefusedError("invalid-selector", text)
