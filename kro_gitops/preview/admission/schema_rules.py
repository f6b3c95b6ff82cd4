"""
An object of a custom kind against the schema of its CRD, in the words of the API server.

In contrast to `kubectl create`, server-side apply keeps a null: where null is no value, and there
is no default, it is an error. Messages are those of kube-openapi, pkg/validation/errors.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kro_gitops.engine.plan.placeholder import is_unknown, unknowns
from kube_cel.validation_rules import EXTENSION, check_rules
from kube_objects import structural_schema as schemas
from kube_objects.defaulting import ObjectWalk, Unknown, copy_json, reader_of
from kube_objects.go_format import format_value, json_text
from kube_objects.go_text import quote
from kube_objects.paths import find, format_path
from kube_objects.refs import KubeObject
from kube_objects.schema_validator import SchemaValidator, Violation
from kube_objects.schemas import Schema
from kube_objects.validation import Checks, validate

_RULES_SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
# After these, rules are not evaluated.
_BLOCKING = frozenset(
    ("type", "format", "enum", "required", "maxLength", "maxItems", "maxProperties")
)
_TEXT_RULES = frozenset(("maxLength", "minLength", "pattern"))
_UNSEEN: Any = object()


def schema_errors(obj: KubeObject, schema: Schema) -> list[str]:
    """Return the errors of an object; its metadata is validated elsewhere."""
    content = {key: value for key, value in obj.items() if key not in schemas.OBJECT_FIELDS}
    stored = copy_json(_known_parts(content))
    walk = ObjectWalk(prunes=False, drops_nulls=False, defaults=True)
    walk.through(stored, reader_of(schema, is_object=True), Unknown.FREE)
    violations = [
        each
        for each in SchemaValidator(schema).violations(stored)
        if each.keyword != "required" or not is_unknown(find(content, (*each.path, each.detail)))
    ]
    found = list(_described(violations))
    if any(each.keyword in _BLOCKING for each in violations):
        return [*found, _RULES_SKIPPED] if _has_rules(schema) else found
    if any(unknowns(content)):
        return found
    named = {**obj, "metadata": {"name": obj["metadata"]["name"]}}
    for problem in validate(named, schema, Checks(rules=check_rules)):
        path = problem.spot.path
        if problem.code == "rule-violated":
            value = find(stored, path)
            text = problem.summary.partition(": ")[2]
            shown = "" if isinstance(value, (dict, list)) else f"{_shown(value)}: "
            found.append(f"{format_path(path) or '<nil>'}: Invalid value: {shown}{text}")
        elif not found:
            found.append(problem.summary)  # a combination of schemas, for instance
    return found


def _known_parts(value: Any) -> Any:
    """Return a value without what is unknown; a list with an unknown item is unknown."""
    if is_unknown(value):
        return _UNSEEN
    if isinstance(value, dict):
        parts = {key: _known_parts(part) for key, part in value.items()}
        return {key: part for key, part in parts.items() if part is not _UNSEEN}
    if isinstance(value, list):
        items = [_known_parts(item) for item in value]
        return _UNSEEN if any(item is _UNSEEN for item in items) else items
    return value


def _described(violations: Iterable[Violation]) -> Iterator[str]:
    before: Violation | None = None
    for each in violations:
        if each.keyword in _TEXT_RULES:  # of which the server reports the first
            if before is not None and before.trail is each.trail:
                continue
            before = each
        describe = _DESCRIPTIONS.get(each.keyword)
        if describe is not None:
            yield describe(each, format_path(each.path))


def _type(path: str, wanted: str, found: str) -> str:
    shown = quote(found)
    return f"{path}: Invalid value: {shown}: {path} in body must be of type {wanted}: {shown}"


def _rule(path: str, value: Any, rule: str) -> str:
    return f"{path}: Invalid value: {_shown(value)}: {path} in body {rule}"


def _choices(violation: Violation, path: str) -> str:
    choices = violation.schema["enum"]
    texts = (each if isinstance(each, str) else json_text(each) for each in choices)
    listed = ", ".join(map(quote, texts))
    return f"{path}: Unsupported value: {_shown(violation.value)}: supported values: {listed}"


def _too_long(violation: Violation, path: str) -> str:
    most = violation.schema["maxLength"]
    return f"{path}: Too long: may not be more than {most} {'byte' if most == 1 else 'bytes'}"


def _limit(violation: Violation, path: str) -> str:
    keyword, schema = violation.keyword, violation.schema
    if keyword == "multipleOf":
        words = "a multiple of"
    else:
        words = "greater than" if keyword == "minimum" else "less than"
        words += "" if schema.get(f"exclusive{keyword.capitalize()}") else " or equal to"
    # Go prints a bound in the type of the value.
    bound = schema[keyword]
    bound = int(bound) if isinstance(violation.value, int) else float(bound)
    return _rule(path, violation.value, f"should be {words} {format_value(bound)}")


def _size(violation: Violation, path: str) -> str:
    bound, size = violation.schema[violation.keyword], len(violation.value)
    if violation.keyword.startswith("min"):
        noun = violation.keyword.removeprefix("min").lower()
        return _rule(path, size, f"should have at least {bound} {noun}")
    unit = "item" if bound == 1 else "items"
    return f"{path}: Too many: {size}: must have at most {bound} {unit}"


_DESCRIPTIONS: Mapping[str, Callable[[Violation, str], str]] = {
    "type": lambda each, path: _type(path, *each.detail),
    "format": lambda each, path: _type(path, each.schema["format"], each.value),
    "enum": _choices,
    "required": lambda each, path: f"{path}.{each.detail}: Required value".removeprefix("."),
    "maxLength": _too_long,
    "minLength": lambda each, path: _rule(
        path, each.value, f"should be at least {each.schema['minLength']} chars long"
    ),
    "pattern": lambda each, path: _rule(
        path, each.value, f"should match '{each.schema['pattern']}'"
    ),
    **dict.fromkeys(("multipleOf", "minimum", "maximum"), _limit),
    **dict.fromkeys(("minItems", "maxItems", "minProperties", "maxProperties"), _size),
}


def _shown(value: Any) -> str:
    return quote(value) if isinstance(value, str) else json_text(value)


def _has_rules(schema: Schema) -> bool:
    parts = [*schemas.fields(schema).values(), schemas.items(schema), schemas.other_fields(schema)]
    return EXTENSION in schema or any(_has_rules(part) for part in parts if part is not None)
