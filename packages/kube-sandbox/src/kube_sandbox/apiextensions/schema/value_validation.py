"""
A value against its schema, as the API server checks custom objects.

A schema is compiled once into a `SchemaValidator`. Everything that is wrong is told, not only the
first thing; where one of several schemas must fit and none does, the flaws of the one that came
nearest.

On an update, flaws of a part that did not change are forgiven (`old` is given): what was stored
before a rule was tightened can still be written as long as nobody touches it. Parts are followed by
name, items of lists only if the schema says what tells them apart.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go
ValidateCustomResource, ValidateCustomResourceUpdate; kube-openapi 589584f1c912
pkg/validation/validate/schema.go SchemaValidator.Validate; pkg/validation/validate/schema_props.go
schemaPropsValidator.Validate.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kube_objects.formats import is_checked_format
from kube_objects.keyword_checks import is_choice, is_whole
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.schema.ratcheting import (
    ABSENT,
    counterparts,
    is_unchanged,
    old_counterpart,
)
from kube_sandbox.apiextensions.schema.scalar_validation import (
    number_check,
    text_check,
)
from kube_sandbox.apiextensions.schema.violations import (
    Violation,
    combination_violation,
    count_violation,
    enum_violation,
    forbidden_violation,
    required_violation,
    rule_violation,
    type_violation,
)

_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
}
_NUMBER_FORMATS: Mapping[type, str] = {int: "int64", float: "float64"}
# Keywords besides which a value of the right type can have no flaw.
_IGNORED_KEYWORDS = frozenset(
    (
        *("type", "description", "title", "default", "nullable", "example", "externalDocs"),
        *("x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields"),
    )
)
_EXACT: Mapping[str, type] = {"string": str, "boolean": bool}
_LARGEST = 2**63
_NEVER_RATCHETED = frozenset(("apiVersion", "kind"))


class SchemaValidator:
    """One part of a schema, compiled."""

    __slots__ = (
        "_alternatives",
        "_choices",
        "_fields",
        "_format",
        "_items",
        "_number",
        "_others",
        "_required",
        "_sizes",
        "_text",
        "_types",
        "exact",
        "schema",
    )

    def __init__(self, schema: Schema, *, every_format: bool = False) -> None:
        self.schema = schema
        kind = schema.get("type") or ""
        both = schema.get("x-kubernetes-int-or-string") is True
        self._types = ("integer", "string") if both else (kind,) if kind else ()
        form = schema.get("format") or ""
        known = form if is_checked_format(form) else ""
        # A format that is not checked is as good as none, except in defaults: it is told there.
        self._format = form if every_format else known
        # A value of exactly this type needs no further look.
        self.exact = _EXACT.get(kind) if schema.keys() <= _IGNORED_KEYWORDS else None
        self._text = text_check(schema, known)
        self._number = number_check(schema)
        self._choices = schema.get("enum") or ()
        below = partial(SchemaValidator, every_format=every_format)
        self._alternatives = _Alternatives.of(schema, below)
        self._fields = {
            name: below(part) for name, part in (schema.get("properties") or {}).items()
        }
        items, others = schema.get("items"), schema.get("additionalProperties")
        self._items = below(items) if isinstance(items, dict) else None
        self._others = below(others) if isinstance(others, dict) else others
        self._required = tuple(schema.get("required") or ())
        self._sizes = {
            noun: bounds
            for noun in ("Items", "Properties")
            if (bounds := (schema.get(f"min{noun}"), schema.get(f"max{noun}"))) != (None, None)
        }

    def flaws(self, value: Any, old: Any = ABSENT) -> list[Violation]:
        """Return what is wrong with a value; `old` is what was there before, if anything was."""
        found: list[Violation] = []
        self.check(value, "", found)
        if found and old is not ABSENT:
            found = []
            self._forgiving(value, "", found, old)
        return found

    def check(self, value: Any, path: str, found: list[Violation], old: Any = ABSENT) -> None:
        """Add what is wrong with a value."""
        kind = type(value)
        if kind is int and not -_LARGEST <= value < _LARGEST:
            value, kind = float(value), float  # as Go reads it
        self._check_type(value, kind, path, found)
        if value is not None:
            if self._alternatives is not None:
                self._alternatives.check(value, path, found)
            if kind is str:
                if self._text is not None:
                    self._text(value, path, found)
            elif kind is list:
                self._check_list(value, path, found, old)
            elif (kind is int or kind is float) and self._number is not None:
                self._number(value, path, found)
        if self._choices and not any(is_choice(value, each) for each in self._choices):
            found.append(enum_violation(path, value, self._choices))
        if kind is dict:
            self._check_object(value, path, found, old)

    def count(self, value: Any) -> int:
        """Count what fits: of several schemas that fail, the one with most of it is told."""
        violations: list[Violation] = []
        kind = type(value)
        self._check_type(value, kind, "", violations)
        if value is None:
            return int(not violations)
        counted = 4  # combinations of schemas twice, the choices, the whole
        if self._types or self._format:
            counted += 1 + int(not violations)
        if self._alternatives is not None:
            counted += self._alternatives.count(value)
        if kind is str:
            counted += 2 if self._format else 1
        elif kind is int or kind is float:
            counted += 2
        elif kind is list:
            counted += 2 + (sum(map(self._items.count, value)) if self._items else 0)
        elif kind is dict:
            parts = [(key, part) for key, part in self._fields.items() if key in value]
            if isinstance(self._others, SchemaValidator):
                parts += [(key, self._others) for key in value if key not in self._fields]
            counted += 1 + sum(part.count(value[key]) for key, part in parts)
        return counted

    def _forgiving(self, value: Any, path: str, found: list[Violation], old: Any) -> None:
        if old is ABSENT:
            self.check(value, path, found)
            return
        here: list[Violation] = []
        self.check(value, path, here, old)
        if here and not is_unchanged(value, old, self.schema):
            found += here

    def _check_type(self, value: Any, kind: type, path: str, found: list[Violation]) -> None:
        types, form = self._types, self._format
        if value is None:
            if types and self.schema.get("nullable") is not True:
                found.append(type_violation(path, ",".join(types), "null"))
            return
        name = _TYPES[kind]
        if name in types or not (types or form):
            return
        if name == "integer" and "number" in types:
            return
        if name == "number" and "integer" in types and is_whole(value):
            return
        if form and kind is not str and kind is not list:
            found.append(type_violation(path, form, _NUMBER_FORMATS.get(kind, "")))
        elif not form or "number" in types or "integer" in types:
            found.append(type_violation(path, ",".join(types), name))

    def _check_list(self, value: list[Any], path: str, found: list[Violation], old: Any) -> None:
        if self._items is not None:
            before = counterparts(value, old, self.schema)
            for index, part in enumerate(value):
                if type(part) is not self._items.exact:
                    was = ABSENT if before is None else before[index]
                    self._items._forgiving(part, f"{path}[{index}]", found, was)
        if self._sizes:
            self._check_size(len(value), path, found, "Items")

    def _check_size(self, size: int, path: str, found: list[Violation], noun: str) -> None:
        least, most = self._sizes.get(noun, (None, None))
        if least is not None and size < least:
            found.append(rule_violation(path, size, f"should have at least {least} {noun.lower()}"))
        if most is not None and size > most:
            found.append(count_violation(path, size, most))

    def _check_object(
        self, value: dict[str, Any], path: str, found: list[Violation], old: Any
    ) -> None:
        if self._sizes:
            self._check_size(len(value), path, found, "Properties")
        if self._others is not None:
            others = self._others
            for key, others_part in value.items():
                if key in self._fields:
                    continue
                if others is False:
                    found.append(forbidden_violation(path, key))
                elif isinstance(others, SchemaValidator) and type(others_part) is not others.exact:
                    others._forgiving(
                        others_part, f"{path}.{key}", found, old_counterpart(old, key)
                    )
        for key, checker in self._fields.items():
            part = value.get(key, ABSENT)
            if part is ABSENT or type(part) is checker.exact:
                continue
            where = f"{path}.{key}" if path else key
            if old is ABSENT or (not path and key in _NEVER_RATCHETED):
                checker.check(part, where, found)
            else:
                checker._forgiving(part, where, found, old_counterpart(old, key))
        found += [required_violation(f"{path}.{key}") for key in self._required if key not in value]


class _Alternatives:
    """The schemas a value must fit besides its own: any, one, all, or not."""

    __slots__ = ("_all", "_any", "_not", "_one")

    def __init__(self, schema: Schema, make: Callable[[Schema], SchemaValidator]) -> None:
        self._any = [make(each) for each in schema.get("anyOf") or ()]
        self._one = [make(each) for each in schema.get("oneOf") or ()]
        self._all = [make(each) for each in schema.get("allOf") or ()]
        unwanted = schema.get("not")
        self._not = make(unwanted) if unwanted is not None else None

    @staticmethod
    def of(schema: Schema, make: Callable[[Schema], SchemaValidator]) -> "_Alternatives | None":
        if any(schema.get(key) is not None for key in ("anyOf", "oneOf", "allOf", "not")):
            return _Alternatives(schema, make)
        return None

    def check(self, value: Any, path: str, found: list[Violation]) -> None:
        if self._any:
            tried = _attempt(self._any, value, path)
            if all(tried):
                found.append(combination_violation(path, "validate at least one schema (anyOf)"))
                found += tried[_best_match(self._any, value)]
        if self._one:
            tried = _attempt(self._one, value, path)
            fitting = sum(not violations for violations in tried)
            if fitting != 1:
                message = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
                found.append(
                    combination_violation(
                        path, f"validate one and only one schema (oneOf). {message}"
                    )
                )
                if not fitting:
                    found += tried[_best_match(self._one, value)]
        if self._all:
            tried = _attempt(self._all, value, path)
            found += [violation for violations in tried for violation in violations]
            if any(tried):
                none = ". None validated" if all(tried) else ""
                found.append(combination_violation(path, f"validate all the schemas (allOf){none}"))
        if self._not is not None and not self._not.flaws(value):
            found.append(combination_violation(path, "not validate the schema (not)"))

    def count(self, value: Any) -> int:
        counted = sum(each.count(value) for each in self._all)
        for alternatives, most in ((self._any, len(self._any)), (self._one, 1)):
            fitting = [each for each in alternatives if not each.flaws(value)]
            if fitting and len(fitting) <= most:
                counted += fitting[0].count(value)
            elif alternatives and not fitting:
                counted += max(each.count(value) for each in alternatives)
        return counted


def _attempt(checkers: list[SchemaValidator], value: Any, path: str) -> list[list[Violation]]:
    tried: list[list[Violation]] = [[] for _ in checkers]
    for checker, found in zip(checkers, tried, strict=True):
        checker.check(value, path, found)
    return tried


def _best_match(checkers: list[SchemaValidator], value: Any) -> int:
    """Return which of several schemas came nearest; the first of those that did."""
    counts = [each.count(value) for each in checkers]
    return counts.index(max(counts))
