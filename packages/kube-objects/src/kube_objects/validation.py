"""
An object against its schema: what an API server would say to it, with places and hints.

`validate` looks at an object as the server would after pruning and filling in defaults, so a
manifest can be checked as it is written. Every problem is found, not only the first; those of
expression rules only once the object has the right shape, because rules are written for objects
that have.

What is wrong is found by `schema_validator`, as in an API server. Only the words are others here,
and a value of the wrong type is reported once, without the other keywords that it breaks as well.

Expressions are evaluated by the caller: this package knows no CEL.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kube_objects.defaulting import ObjectWalk, copy_json, reader_of
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.schema_validator import (
    Attempts,
    Marked,
    SchemaValidator,
    Violation,
    path_of,
)
from kube_objects.schemas import Schema
from kube_objects.structural_schema import (
    fields,
    find,
    is_embedded,
    list_map_keys,
    list_type,
    required,
)
from kube_objects.value_checks import (
    Description,
    describe,
    did_you_mean,
    format_value,
    quoted,
    required_only,
    same_key,
    wrong_type,
)

Rules = Callable[[Schema, Any, Path], Iterable[Problem]]

_RULES = "x-kubernetes-validations"
# Problems after which the API server does not even look at rules.
_BLOCKING = frozenset(("missing-field", "wrong-type", "not-in-enum", "wrong-length"))
_MAX_LISTED_FIELDS = 8
_MAX_VALIDATORS = 256


@dataclass(frozen=True, slots=True)
class Checks:
    """
    How to check and what to say.

    `rules` evaluates the `x-kubernetes-validations` of a schema for a value at a path, `redact`
    returns whether the value at a path must not be shown. `built_in` is for kinds of the API
    server itself: their schemas' defaults mean nothing, a null is an absent field anywhere, and
    integers must fit their format. `prefix` is where the value is if it is a part of an object.
    """

    rules: Rules | None = None
    redact: Callable[[Path], bool] | None = None
    built_in: bool = False
    prefix: Path = ()

    @property
    def whole(self) -> bool:
        """Return whether the value is a whole object."""
        return not self.prefix


ALL_CHECKS = Checks()

# By the identity of the schema, which the validator holds. Schemas are shared and never changed.
_validators: dict[tuple[int, bool, bool], SchemaValidator] = {}


def validate(value: Any, schema: Schema, checks: Checks = ALL_CHECKS) -> list[Problem]:
    """Return everything that is wrong with a value."""
    whole, built_in = checks.whole, checks.built_in
    validator = _validator_of(schema, is_object=whole, built_in=built_in)
    changes = not built_in
    walk = ObjectWalk(prunes=changes, drops_nulls=changes, defaults=changes)
    checked = copy_json(value) if changes else value
    walk.through(checked, reader_of(schema, is_object=whole, built_in=built_in))
    report = _Report(checks, schema, value)
    found = validator.violations(checked)
    report.add(found)
    for each in found.marked:
        report.add_marked(each)
    for path in map(path_of, walk.unknown):
        report.add_unknown(path)
    problems = report.problems
    if checks.rules is not None and not any(each.code in _BLOCKING for each in problems):
        for each in found.marked:
            if _RULES in each.schema:
                problems.extend(checks.rules(each.schema, each.value, (*checks.prefix, *each.path)))
    return problems


def _validator_of(schema: Schema, *, is_object: bool, built_in: bool) -> SchemaValidator:
    key = (id(schema), is_object, built_in)
    found = _validators.get(key)
    if found is None:
        if len(_validators) >= _MAX_VALIDATORS:
            _validators.clear()
        found = SchemaValidator(schema, built_in=built_in, marks=True, is_object=is_object)
        _validators[key] = found
    return found


class _Report:
    """The problems of one value, in words."""

    def __init__(self, checks: Checks, schema: Schema, value: Any) -> None:
        self.problems: list[Problem] = []
        self._checks = checks
        self._schema = schema
        self._value = value

    def add(self, violations: Iterable[Violation]) -> None:
        """Add violations; below a value of the wrong type there is nothing to say."""
        wrong: list[Path] = []
        for each in violations:
            path = (*self._checks.prefix, *each.path)
            if any(path[: len(above)] == above for above in wrong):
                continue
            match each.keyword:
                case "required":
                    self._add_missing(each.detail, each.schema, path)
                case "additionalProperties":
                    self.add_unknown((*each.path, each.detail))
                case "allOf":
                    for part in each.detail.violations:
                        self.add(part)
                case "anyOf" | "oneOf":
                    self._add(self._alternatives(each, path), path)
                case keyword:
                    if keyword == "type":
                        wrong.append(path)
                    self._add(describe(each, self._hides(path)), path)

    def add_marked(self, marked: Marked) -> None:
        """Add the problems of items that must be unique, and of an object inside the value."""
        value, schema, path = marked.value, marked.schema, (*self._checks.prefix, *marked.path)
        if isinstance(value, list):
            kind = list_type(schema)
            if kind == "map":
                self._check_keys(value, list_map_keys(schema), path)
            elif kind == "set" or schema.get("uniqueItems") is True:
                self._check_repeated(value, value, path)
        elif isinstance(value, dict) and is_embedded(schema):
            for name in ("apiVersion", "kind"):
                if name not in value:
                    if name not in required(schema):
                        self._add_missing(name, schema, path)
                elif not isinstance(value[name], str) or not value[name]:
                    text = "must be a string that is not empty"
                    self._add(Description("wrong-type", text), (*path, name))

    def add_unknown(self, path: Path) -> None:
        """Add that there is no such field."""
        whole = self._value if self._checks.whole and isinstance(self._value, dict) else {}
        kind = whole.get("kind")
        owner = kind if isinstance(kind, str) else "this object"
        spot = Spot((*self._checks.prefix, *path), on_key=True)
        text = f"'{format_path(spot.path)}' is not a field of {owner}"
        parent = find(self._schema, path[:-1])
        names = list(fields(parent)) if parent is not None else []
        hint = did_you_mean(str(path[-1]), names) if names else ""
        if not hint and 0 < len(names) <= _MAX_LISTED_FIELDS:
            hint = f"the fields here are: {', '.join(names)}"
        self.problems.append(Problem("unknown-field", text, spot, hint=hint))

    def _add_missing(self, name: str, schema: Schema, path: Path) -> None:
        text = f"'{format_path((*path, name))}' is required but missing"
        choices = (fields(schema).get(name) or {}).get("enum")
        hint = ""
        if isinstance(choices, list) and choices:
            hint = f"one of: {', '.join(map(str, choices))}"
        self.problems.append(Problem("missing-field", text, Spot(path, on_key=True), hint=hint))

    def _check_keys(self, value: list[Any], names: tuple[str, ...], path: Path) -> None:
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                self._add(Description("wrong-type", "must be an object"), (*path, index))
                return
        keys = [{name: item[name] for name in names if name in (item or {})} for item in value]
        self._check_repeated(value, keys, path)

    def _check_repeated(self, value: list[Any], keys: list[Any], path: Path) -> None:
        """Add every item whose key stood before."""
        seen: dict[str, int] = {}
        for index, key in enumerate(keys):
            first = seen.setdefault(same_key(key), index)
            if first == index:
                continue
            if self._hides((*path, index)):
                text = "repeats"
            elif keys is value:
                text = f"has the same value {format_value(key)} as"
            else:
                parts = [f"{name} {format_value(part)}" for name, part in key.items()]
                text = f"has the same {' and '.join(parts) or 'key (none)'} as"
            earlier = format_path((*path, first))
            self._add(Description("duplicate-item", f"{text} '{earlier}'"), (*path, index))

    def _alternatives(self, violation: Violation, path: Path) -> Description:
        """Describe a value that fits none, or too many, of several schemas."""
        attempts: Attempts = violation.detail
        parts, fitting = [each.schema for each in attempts.validators], attempts.fitting
        names = required_only(parts)
        if fitting:
            if names:
                has, allowed = quoted(required_only(fitting), "and"), quoted(names, "or")
                text = f"may have only one of {allowed}, but has {has}"
            else:
                count = f"{len(fitting)} of its {len(parts)} alternatives"
                text = f"matches {count}, but must match exactly one"
            return Description("many-alternatives", text)
        if names:
            return Description("no-alternative", f"needs one of {quoted(names, 'or')}")
        if all(list(part) == ["type"] for part in parts):
            types = {"type": [part["type"] for part in parts]}
            found = wrong_type(violation.value, types, self._hides(path))
            if found is not None:
                return found
        nearest = _Report(self._checks, self._schema, self._value)
        nearest.add(sorted(attempts.violations, key=len)[0])
        text = f"matches none of its {len(parts)} alternatives"
        hint = f"the nearest one says: {nearest.problems[0].summary}"
        return Description("no-alternative", text, hint)

    def _hides(self, path: Path) -> bool:
        redact = self._checks.redact
        return redact is not None and redact(path)

    def _add(self, found: Description, path: Path) -> None:
        subject = f"'{format_path(path)}'" if path else "the document"
        text = f"{subject} {found.text}"
        self.problems.append(Problem(found.code, text, Spot(path), hint=found.hint))
