"""
An object against its schema: what an API server would say to it, with places and hints.

`validate` looks at an object as the server would after filling in defaults, so a manifest can be
checked as it is written. Every problem is found, not only the first; those of expression rules
only once the object has the right shape, because rules are written for objects that have.

Expressions are evaluated by whoever calls: this package knows no CEL.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from kube_objects.defaulting import apply_defaults
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.schemas import Schema
from kube_objects.structural_schema import (
    field,
    fields,
    find,
    is_embedded,
    items,
    list_map_keys,
    list_type,
    required,
)
from kube_objects.unknown_fields import unknown_fields
from kube_objects.value_checks import (
    Violation,
    did_you_mean,
    find_violations,
    format_value,
    same_key,
    wrong_type,
)

Rules = Callable[[Schema, Any, Path], Iterable[Problem]]

_RULES = "x-kubernetes-validations"
_INTEGER_FORMATS = {"int32": 2**31, "int64": 2**63}
# Problems after which the API server does not even look at rules.
_BLOCKING = frozenset(("missing-field", "wrong-type", "not-in-enum", "wrong-length"))
_MAX_LISTED_FIELDS = 8


@dataclass(frozen=True, slots=True)
class Checks:
    """
    How to check and what to say.

    `rules` evaluates the `x-kubernetes-validations` of a schema for a value at a path, `redact`
    says at which paths values must not be shown. `built_in` is for kinds of the API server
    itself: their schemas' defaults mean nothing, a null is an absent field anywhere, and integers
    must fit their format. `prefix` is where the value stands if it is only a part of an object.
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


def is_secret_data(path: Path) -> bool:
    """Return whether a field of a Secret is not for other people's eyes; a `redact` for Secrets."""
    return path[:1] in (("data",), ("stringData",))


def validate(value: Any, schema: Schema, checks: Checks = ALL_CHECKS) -> list[Problem]:
    """Return everything that is wrong with a value."""
    walk = _Walk(checks)
    filled = value if checks.built_in else apply_defaults(value, schema, whole=checks.whole)
    walk.check(filled, schema, checks.prefix)
    problems = [*walk.problems, *_unknown(value, schema, checks)]
    if checks.rules is not None and not any(each.code in _BLOCKING for each in problems):
        for place in walk.ruled:
            problems.extend(checks.rules(*place))
    return problems


def _unknown(value: Any, schema: Schema, checks: Checks) -> Iterator[Problem]:
    subject = value.get("kind") if checks.whole and isinstance(value, dict) else None
    owner = subject if isinstance(subject, str) else "this object"
    found = unknown_fields(value, schema, whole=checks.whole, built_in=checks.built_in)
    for path in found:
        spot = Spot((*checks.prefix, *path), on_key=True)
        text = f"'{format_path(spot.path)}' is not a field of {owner}"
        yield Problem("unknown-field", text, spot, hint=_field_hint(schema, path))


def _field_hint(schema: Schema, path: Path) -> str:
    parent = find(schema, path[:-1])
    names = list(fields(parent)) if parent is not None else []
    if not names:
        return ""
    near = did_you_mean(str(path[-1]), names)
    if near or len(names) > _MAX_LISTED_FIELDS:
        return near
    return f"the fields here are: {', '.join(names)}"


class _Walk:
    """One pass over a value; collects problems, and the places where rules apply."""

    def __init__(self, checks: Checks) -> None:
        self.problems: list[Problem] = []
        self.ruled: list[tuple[Schema, Any, Path]] = []
        self._checks = checks

    def check(self, value: Any, schema: Schema, path: Path) -> None:
        if value is None and self._checks.built_in:
            return
        hidden = self._hides(path)
        flaw = wrong_type(value, schema, hidden)
        if flaw is not None:
            self._add(flaw, path)
            return
        for each in find_violations(value, schema, hidden):
            self._add(each, path)
        if isinstance(value, dict):
            self._check_object(value, schema, path)
        elif isinstance(value, list):
            self._check_list(value, schema, path)
        elif self._checks.built_in and isinstance(value, int):
            self._check_width(value, schema, path)
        if value is not None:  # the API server looks at a null no further
            self._check_whole(value, schema, path)

    def _check_whole(self, value: Any, schema: Schema, path: Path) -> None:
        for keyword, compose in _COMPOSITIONS.items():
            if keyword in schema:
                compose(self, value, schema, path)
        if _RULES in schema:
            self.ruled.append((schema, value, path))

    def _check_object(self, value: dict[str, Any], schema: Schema, path: Path) -> None:
        is_object = is_embedded(schema) or (self._checks.whole and path == ())
        for key, part in value.items():
            described = field(schema, key)
            if described is None:
                continue
            if key == "metadata" and is_object:
                self._check_metadata(part, described, (*path, key))
            else:
                self.check(part, described, (*path, key))
        for name in required(schema):
            if name not in value or (self._checks.built_in and value[name] is None):
                self._missing(name, schema, path)
        if is_embedded(schema):
            self._check_embedded(value, schema, path)

    def _check_metadata(self, value: Any, schema: Schema, path: Path) -> None:
        """Check what follows the rules of built-in kinds in every object."""
        walk = _Walk(replace(self._checks, built_in=True))
        walk.check(value, schema, path)
        self.problems.extend(walk.problems)

    def _check_embedded(self, value: dict[str, Any], schema: Schema, path: Path) -> None:
        for name in ("apiVersion", "kind"):
            if name not in value:
                if name not in required(schema):
                    self._missing(name, schema, path)
            elif not isinstance(value[name], str) or not value[name]:
                self._add(
                    Violation("wrong-type", "must be a string that is not empty"), (*path, name)
                )

    def _missing(self, name: str, schema: Schema, path: Path) -> None:
        text = f"'{format_path((*path, name))}' is required but missing"
        described = fields(schema).get(name) or {}
        hint = _choice_hint(described.get("enum"))
        self.problems.append(Problem("missing-field", text, Spot(path, on_key=True), hint=hint))

    def _check_list(self, value: list[Any], schema: Schema, path: Path) -> None:
        described = items(schema)
        if described is not None:
            for index, part in enumerate(value):
                self.check(part, described, (*path, index))
        kind = list_type(schema)
        if kind == "map":
            self._check_keys(value, list_map_keys(schema), path)
        elif kind == "set" or schema.get("uniqueItems") is True:
            self._check_repeated(value, value, path)

    def _check_keys(self, value: list[Any], names: tuple[str, ...], path: Path) -> None:
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                self._add(Violation("wrong-type", "must be an object"), (*path, index))
                return
        keys = [{name: item[name] for name in names if name in (item or {})} for item in value]
        self._check_repeated(value, keys, path)

    def _check_repeated(self, value: list[Any], keys: list[Any], path: Path) -> None:
        """Complain about every item whose key stood before."""
        seen: dict[str, int] = {}
        for index, key in enumerate(keys):
            first = seen.setdefault(same_key(key), index)
            if first != index:
                self._repeated(key, first, (*path, index), is_item=keys is value)

    def _repeated(self, key: Any, first: int, path: Path, is_item: bool) -> None:
        earlier = format_path((*path[:-1], first))
        if self._hides(path):
            text = "repeats"
        elif is_item:
            text = f"has the same value {format_value(key)} as"
        else:
            text = f"has the same {_key_text(key)} as"
        self._add(Violation("duplicate-item", f"{text} '{earlier}'"), path)

    def _check_width(self, value: int, schema: Schema, path: Path) -> None:
        bound = _INTEGER_FORMATS.get(schema.get("format", ""))
        if bound is not None and not -bound <= value < bound:
            text = f"is {value}, but must fit {schema['format']}"
            self._add(Violation("out-of-range", text), path)

    def all_of(self, value: Any, schema: Schema, path: Path) -> None:
        for part in schema["allOf"]:
            self.problems.extend(self._alternative(value, part, path))

    def any_of(self, value: Any, schema: Schema, path: Path) -> None:
        parts = schema["anyOf"]
        results = [self._alternative(value, part, path) for part in parts]
        if parts and all(results):
            self._add(_no_alternative(value, parts, results, self._hides(path)), path)

    def one_of(self, value: Any, schema: Schema, path: Path) -> None:
        parts = schema["oneOf"]
        results = [self._alternative(value, part, path) for part in parts]
        if parts and all(results):
            self._add(_no_alternative(value, parts, results, self._hides(path)), path)
            return
        fitting = [part for part, result in zip(parts, results, strict=True) if not result]
        if len(fitting) > 1:
            self._add(_many_alternatives(parts, fitting), path)

    def none_of(self, value: Any, schema: Schema, path: Path) -> None:
        part = schema["not"]
        if not self._alternative(value, part, path):
            names = _required_only([part])
            text = (
                f"must not have {_quoted(names, 'and')}"
                if names
                else "matches a schema that is not allowed"
            )
            self._add(Violation("excluded-form", text), path)

    def _alternative(self, value: Any, schema: Schema, path: Path) -> list[Problem]:
        walk = _Walk(self._checks)
        walk.check(value, schema, path)
        return walk.problems

    def _hides(self, path: Path) -> bool:
        redact = self._checks.redact
        return redact is not None and redact(path)

    def _add(self, flaw: Violation, path: Path) -> None:
        subject = f"'{format_path(path)}'" if path else "the document"
        text = f"{subject} {flaw.text}"
        self.problems.append(Problem(flaw.code, text, Spot(path), hint=flaw.hint))


_COMPOSITIONS: dict[str, Callable[[_Walk, Any, Schema, Path], None]] = {
    "allOf": _Walk.all_of,
    "anyOf": _Walk.any_of,
    "oneOf": _Walk.one_of,
    "not": _Walk.none_of,
}


def _no_alternative(
    value: Any, parts: list[Schema], results: list[list[Problem]], hidden: bool
) -> Violation:
    names = _required_only(parts)
    if names:
        return Violation("no-alternative", f"needs one of {_quoted(names, 'or')}")
    if all(list(part) == ["type"] for part in parts):
        flaw = wrong_type(value, {"type": [part["type"] for part in parts]}, hidden)
        if flaw is not None:
            return flaw
    nearest = min(results, key=len)
    text = f"matches none of its {len(parts)} alternatives"
    return Violation("no-alternative", text, f"the nearest one says: {nearest[0].summary}")


def _many_alternatives(parts: list[Schema], fitting: list[Schema]) -> Violation:
    if _required_only(parts):
        has = _quoted(_required_only(fitting), "and")
        allowed = _quoted(_required_only(parts), "or")
        return Violation("many-alternatives", f"may have only one of {allowed}, but has {has}")
    text = f"matches {len(fitting)} of its {len(parts)} alternatives, but must match exactly one"
    return Violation("many-alternatives", text)


def _required_only(parts: list[Schema]) -> list[str]:
    """Return the names if each part only says that one field is required, else nothing."""
    if not all(list(part) == ["required"] and len(part["required"]) == 1 for part in parts):
        return []
    return [part["required"][0] for part in parts]


def _quoted(names: list[str], word: str) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def _key_text(key: dict[str, Any]) -> str:
    return (
        " and ".join(f"{name} {format_value(part)}" for name, part in key.items()) or "key (none)"
    )


def _choice_hint(choices: Any) -> str:
    if not isinstance(choices, list) or not choices:
        return ""
    return f"one of: {', '.join(str(choice) for choice in choices)}"
