"""
A value against a structural schema: which keywords it breaks, where, and no words about it.

This is the one checker of values. `validation` describes its violations to authors of manifests,
with positions and hints; an API server describes them to its clients in the words of its own
library. The two differ in their texts and in how many of several violations they show, so that is
left to them: here every violation is found, in the order in which an API server reports them.

A schema is compiled once into a `SchemaValidator`, each part when a value first has it.

On an update, violations of a part that did not change are forgiven (`old` is given): what was
stored before a rule was tightened can still be written as long as that part is not touched. Parts
are followed by name, items of lists only if the schema says what tells them apart.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/validation/validation.go
ValidateCustomResource, ValidateCustomResourceUpdate; kube-openapi 589584f1c912
pkg/validation/validate/schema.go SchemaValidator.Validate; pkg/validation/validate/schema_props.go
schemaPropsValidator.Validate; pkg/validation/validate/values.go MaxLength, MinLength, Pattern,
MaximumNativeType, MinimumNativeType, MultipleOfNativeType.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kube_objects.formats import is_checked_format, matches_format
from kube_objects.keyword_checks import (
    breaks_maximum,
    breaks_minimum,
    breaks_multiple_of,
    compile_pattern,
    is_choice,
    is_whole,
)
from kube_objects.problems import Path
from kube_objects.ratcheting import ABSENT, counterparts, is_unchanged, old_counterpart
from kube_objects.schemas import Schema
from kube_objects.structural_schema import list_type

# A path while it is walked: what comes before, and the last step. It is written out only if
# something is wrong there.
Trail = tuple["Trail", "str | int"] | None
# Before a key of the outermost object that is none of its properties.
BESIDE_PROPERTIES: Trail = (None, "")

_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
}
_NUMBER_FORMATS: Mapping[type, str] = {int: "int64", float: "float64"}
_WIDTHS = {"int32": 2**31, "int64": 2**63}
# Keywords besides which a value of the right type can break none.
_IGNORED_KEYWORDS = frozenset(
    (
        *("type", "description", "title", "default", "nullable", "example", "externalDocs"),
        *("x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields"),
    )
)
_EXACT: Mapping[str, type] = {"string": str, "boolean": bool}
_LARGEST = 2**63
_NEVER_RATCHETED = frozenset(("apiVersion", "kind"))


@dataclass(frozen=True, slots=True)
class Violation:
    """
    A broken keyword.

    `detail` is the name of the field for `required` and `additionalProperties`, for `type` the
    types that are allowed and the one found, and the `Attempts` for combinations of schemas.
    """

    keyword: str
    trail: Trail
    value: Any
    schema: Schema
    detail: Any = None

    @property
    def path(self) -> Path:
        """Return where the value is."""
        return path_of(self.trail)


@dataclass(frozen=True, slots=True)
class Attempts:
    """The schemas of a combination, and which violations a value has of each."""

    validators: "list[SchemaValidator]"
    violations: list[list[Violation]]

    @property
    def fitting(self) -> list[Schema]:
        """Return the schemas that the value fits."""
        pairs = zip(self.validators, self.violations, strict=True)
        return [validator.schema for validator, found in pairs if not found]


@dataclass(frozen=True, slots=True)
class Marked:
    """A value whose schema says more than keywords can: rules, unique items, a whole object."""

    schema: Schema
    value: Any
    path: Path


class Violations(list[Violation]):
    """Violations, and the marked values that were met on the way."""

    __slots__ = ("marked",)

    def __init__(self) -> None:
        self.marked: list[Marked] = []


def path_of(trail: Trail) -> Path:
    """Return a path with its steps in order."""
    steps: list[str | int] = []
    while trail is not None and trail is not BESIDE_PROPERTIES:
        trail, step = trail
        steps.append(step)
    return tuple(reversed(steps))


class SchemaValidator:
    """
    One part of a schema, compiled.

    `every_format` also checks formats that an API server ignores. `built_in` is for kinds of the
    API server itself: a null is an absent field, and integers must fit their format. `marks`
    collects `Marked` values. `is_object` says that the value is a whole object, so that its
    metadata follows the rules of built-in kinds if values are marked.
    """

    __slots__ = (
        "_alternatives",
        "_built_in",
        "_choices",
        "_fields",
        "_format",
        "_is_marked",
        "_items",
        "_make",
        "_number_checks",
        "_others",
        "_properties",
        "_required",
        "_sizes",
        "_text_checks",
        "_types",
        "exact",
        "schema",
    )

    def __init__(
        self,
        schema: Schema,
        *,
        every_format: bool = False,
        built_in: bool = False,
        marks: bool = False,
        is_object: bool = False,
    ) -> None:
        self.schema = schema
        kind = schema.get("type") or ""
        both = schema.get("x-kubernetes-int-or-string") is True
        self._types = ("integer", "string") if both else (kind,) if kind else ()
        form = schema.get("format") or ""
        known = form if is_checked_format(form) else ""
        # A format that is not checked is as good as none, except in defaults.
        self._format = form if every_format else known
        self._built_in = built_in
        embedded = schema.get("x-kubernetes-embedded-resource") is True
        self._is_marked = marks and (
            embedded
            or "x-kubernetes-validations" in schema
            or schema.get("uniqueItems") is True
            or list_type(schema) != "atomic"
        )
        # A value of exactly this type needs no further look.
        is_plain = schema.keys() <= _IGNORED_KEYWORDS and not self._is_marked
        self.exact = _EXACT.get(kind) if is_plain else None
        self._text_checks = [
            (keyword, make(schema[keyword]))
            for keyword, make in _TEXT_CHECKS.items()
            # A length of nought limits, too; an empty pattern does not.
            if schema.get(keyword) or (keyword == "maxLength" and schema.get(keyword) == 0)
        ]
        if known:
            self._text_checks.append(("format", lambda text: not matches_format(text, known)))
        self._number_checks: list[tuple[str, Callable[[Any], bool]]] = [
            (keyword, partial(check, schema))
            for keyword, check in _NUMBER_CHECKS.items()
            if schema.get(keyword) is not None
        ]
        if built_in and form in _WIDTHS:
            bound = _WIDTHS[form]
            self._number_checks.append(("format", lambda number: not -bound <= number < bound))
        self._choices = schema.get("enum") or ()
        make = partial(SchemaValidator, every_format=every_format, built_in=built_in, marks=marks)
        self._make: Callable[[Schema], SchemaValidator] = make
        self._alternatives = _Alternatives.of(schema, make)
        self._properties: dict[str, Schema] = schema.get("properties") or {}
        # Compiled when a value first has them: the schemas of built-in kinds are large.
        self._fields: dict[str, SchemaValidator | None] = dict.fromkeys(self._properties)
        if marks and (embedded or is_object) and "metadata" in self._fields:
            self._fields["metadata"] = make(self._properties["metadata"], built_in=True)
        items, others = schema.get("items"), schema.get("additionalProperties")
        self._items = make(items) if isinstance(items, dict) else None
        self._others = make(others) if isinstance(others, dict) else others
        self._required = tuple(schema.get("required") or ())
        self._sizes = tuple(
            (bound in ("minItems", "minProperties"), bound, schema[bound])
            for bound in ("minItems", "maxItems", "minProperties", "maxProperties")
            if schema.get(bound) is not None
        )

    def violations(self, value: Any, old: Any = ABSENT) -> Violations:
        """Return the violations in a value; `old` is the stored value, if there is one."""
        found = Violations()
        self.check(value, None, found)
        if found and old is not ABSENT:
            found = Violations()
            self._forgiving(value, None, found, old)
        return found

    def check(self, value: Any, trail: Trail, found: Violations, old: Any = ABSENT) -> None:
        """Add the violations in a value."""
        kind = type(value)
        if value is None and self._built_in:
            return
        if kind is int and not -_LARGEST <= value < _LARGEST and not self._built_in:
            value, kind = float(value), float  # as Go reads it
        self._check_type(value, kind, trail, found)
        if self._alternatives is not None and value is not None:
            self._alternatives.check(value, trail, found, self.schema)
        if kind is str:
            for keyword, is_broken in self._text_checks:
                if is_broken(value):
                    found.append(Violation(keyword, trail, value, self.schema))
        elif kind is int or kind is float:
            for keyword, is_broken in self._number_checks:
                if is_broken(value):
                    found.append(Violation(keyword, trail, value, self.schema))
        elif isinstance(value, list):
            self._check_list(value, trail, found, old)
        if self._choices and not any(is_choice(value, each) for each in self._choices):
            found.append(Violation("enum", trail, value, self.schema))
        if isinstance(value, dict):
            self._check_object(value, trail, found, old)
        if self._is_marked and value is not None:
            found.marked.append(Marked(self.schema, value, path_of(trail)))

    def count(self, value: Any) -> int:
        """Count what fits: of several schemas that fail, that with most of it is reported."""
        found = Violations()
        kind = type(value)
        self._check_type(value, kind, None, found)
        if value is None:
            return int(not found)
        counted = 4  # combinations of schemas twice, the choices, the whole
        if self._types or self._format:
            counted += 1 + int(not found)
        if self._alternatives is not None:
            counted += self._alternatives.count(value)
        if kind is str:
            counted += 2 if self._format else 1
        elif kind is int or kind is float:
            counted += 2
        elif kind is list:
            counted += 2 + (sum(map(self._items.count, value)) if self._items else 0)
        elif kind is dict:
            parts = [(key, self._field(key)) for key in self._fields if key in value]
            if isinstance(self._others, SchemaValidator):
                parts += [(key, self._others) for key in value if key not in self._fields]
            counted += 1 + sum(part.count(value[key]) for key, part in parts)
        return counted

    def _field(self, key: str) -> "SchemaValidator":
        found = self._fields[key]
        if found is None:
            found = self._fields[key] = self._make(self._properties[key])
        return found

    def _forgiving(self, value: Any, trail: Trail, found: Violations, old: Any) -> None:
        if old is ABSENT:
            self.check(value, trail, found)
            return
        here = Violations()
        self.check(value, trail, here, old)
        if here and not is_unchanged(value, old, self.schema):
            found += here

    def _check_type(self, value: Any, kind: type, trail: Trail, found: Violations) -> None:
        types, form = self._types, self._format
        if value is None:
            if types and self.schema.get("nullable") is not True:
                detail = (",".join(types), "null")
                found.append(Violation("type", trail, value, self.schema, detail))
            return
        # Objects of a cache are dicts of a class of their own.
        name = _TYPES.get(kind) or next(
            (name for each, name in _TYPES.items() if isinstance(value, each)), kind.__name__
        )
        if name in types or not (types or form):
            return
        if name == "integer" and "number" in types:
            return
        if name == "number" and "integer" in types and is_whole(value):
            return
        if form and kind is not str and kind is not list:
            detail = (form, _NUMBER_FORMATS.get(kind, ""))
        elif not form or "number" in types or "integer" in types:
            detail = (",".join(types), name)
        else:
            return
        found.append(Violation("type", trail, value, self.schema, detail))

    def _check_list(self, value: list[Any], trail: Trail, found: Violations, old: Any) -> None:
        items = self._items
        if items is not None:
            before = counterparts(value, old, self.schema)
            for index, part in enumerate(value):
                if type(part) is not items.exact:
                    was = ABSENT if before is None else before[index]
                    if was is ABSENT:
                        items.check(part, (trail, index), found)
                    else:
                        items._forgiving(part, (trail, index), found, was)
        if self._sizes:
            self._check_size(value, trail, found, "Items")

    def _check_size(self, value: Any, trail: Trail, found: Violations, noun: str) -> None:
        size = len(value)
        for is_least, keyword, bound in self._sizes:
            if keyword.endswith(noun) and (size < bound if is_least else size > bound):
                found.append(Violation(keyword, trail, value, self.schema))

    def _check_object(
        self, value: dict[str, Any], trail: Trail, found: Violations, old: Any
    ) -> None:
        if self._sizes:
            self._check_size(value, trail, found, "Properties")
        fields, others = self._fields, self._others
        if others is not None:
            for key, part in value.items():
                if key in fields:
                    continue
                if others is False:
                    found.append(Violation("additionalProperties", trail, value, self.schema, key))
                elif isinstance(others, SchemaValidator) and type(part) is not others.exact:
                    above = trail if trail is not None else BESIDE_PROPERTIES
                    others._forgiving(part, (above, key), found, old_counterpart(old, key))
        for key, checker in fields.items():
            part = value.get(key, ABSENT)
            if part is ABSENT:
                continue
            checker = checker or self._field(key)
            if type(part) is checker.exact:
                continue
            if old is ABSENT or (trail is None and key in _NEVER_RATCHETED):
                checker.check(part, (trail, key), found)
            else:
                checker._forgiving(part, (trail, key), found, old_counterpart(old, key))
        for key in self._required:
            if key not in value or (self._built_in and value[key] is None):
                found.append(Violation("required", trail, value, self.schema, key))


class _Alternatives:
    """The schemas a value must fit besides its own: any, one, all, or not."""

    __slots__ = ("_all", "_any", "_not", "_one")

    def __init__(self, schema: Schema, make: Callable[[Schema], SchemaValidator]) -> None:
        self._any = [make(each) for each in schema.get("anyOf") or ()]
        self._one = [make(each) for each in schema.get("oneOf") or ()]
        self._all = [make(each) for each in schema.get("allOf") or ()]
        excluded = schema.get("not")
        self._not = make(excluded) if excluded is not None else None

    @staticmethod
    def of(schema: Schema, make: Callable[[Schema], SchemaValidator]) -> "_Alternatives | None":
        if any(schema.get(key) is not None for key in ("anyOf", "oneOf", "allOf", "not")):
            return _Alternatives(schema, make)
        return None

    def check(self, value: Any, trail: Trail, found: Violations, schema: Schema) -> None:
        combined = (("anyOf", self._any), ("oneOf", self._one), ("allOf", self._all))
        for keyword, validators in combined:
            if not validators:
                continue
            tried = []
            for validator in validators:
                violations = Violations()
                validator.check(value, trail, violations)
                tried.append(violations)
            fitting = sum(not violations for violations in tried)
            is_met = {
                "anyOf": fitting > 0,
                "oneOf": fitting == 1,
                "allOf": fitting == len(tried),
            }[keyword]
            if not is_met:
                attempts = Attempts(validators, [*tried])
                found.append(Violation(keyword, trail, value, schema, attempts))
        if self._not is not None and not self._not.violations(value):
            found.append(Violation("not", trail, value, schema))

    def count(self, value: Any) -> int:
        counted = sum(each.count(value) for each in self._all)
        for alternatives, most in ((self._any, len(self._any)), (self._one, 1)):
            fitting = [each for each in alternatives if not each.violations(value)]
            if fitting and len(fitting) <= most:
                counted += fitting[0].count(value)
            elif alternatives and not fitting:
                counted += max(each.count(value) for each in alternatives)
        return counted


def _pattern_check(pattern: str) -> Callable[[str], bool]:
    compiled = compile_pattern(pattern)
    # A pattern that is not valid matches nothing.
    return (lambda text: not compiled.search(text)) if compiled is not None else (lambda _: True)


_TEXT_CHECKS: Mapping[str, Callable[[Any], Callable[[str], bool]]] = {
    "maxLength": lambda most: lambda text: len(text) > most,
    "minLength": lambda least: lambda text: len(text) < least,
    "pattern": _pattern_check,
}


_NUMBER_CHECKS: Mapping[str, Callable[[Schema, Any], bool]] = {
    "multipleOf": breaks_multiple_of,
    "minimum": breaks_minimum,
    "maximum": breaks_maximum,
}
