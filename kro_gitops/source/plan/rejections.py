"""
What an API server said of an object → problems with places, codes and hints.

The one translation of such errors: sources use it for answers of a cluster, `validate` for those of
a dry run in this process. So both name the same place, and describe it in the same words.

What is wrong by the schema of the kind is described from the schema, because an API server knows no
hints. The rest are the causes of the Status, in the server's words. What it says about a Secret is
left out, because it may quote it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.responses import ApiError, Cause
from kro_gitops.source.plan.schema_errors import violations
from kube_cel.validation_rules import check_rules
from kube_objects.go_text import quote
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.quantity import parse_quantity
from kube_objects.refs import KubeObject
from kube_objects.schemas import KindSchema, Schema
from kube_objects.structural_schema import fields, items, other_fields
from kube_objects.validation import Checks, validate
from kube_objects.value_checks import did_you_mean

_CODES = {
    "FieldValueRequired": "missing-field",
    "FieldValueNotSupported": "not-in-enum",
    "FieldValueDuplicate": "duplicate-item",
    "FieldValueTypeInvalid": "wrong-type",
    "FieldValueTooLong": "wrong-length",
    "FieldValueTooMany": "wrong-length",
}
_NAMES: tuple[Path, ...] = (("metadata", "name"), ("metadata", "namespace"))
_NAME_HINT = "use lower-case letters, digits and '-', a letter or digit at both ends"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")
_QUOTED = re.compile(r'[A-Za-z ]+ value: ("(?:[^"\\]|\\.)*")')
_STRUCTURE = re.compile(r"([A-Z][a-z]+ value: )(?=[\[{])")
_QUANTITY = [{"type": "string"}, {"type": "number"}]
_SUPPORTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A CRD with one schema is validated in an older form of the kind, whose paths the errors have.
_OLD_CRD_SCHEMA = ("spec", "validation")
_CRD_SCHEMA: Path = ("spec", "versions", 0, "schema")


def problems_of(
    error: KroGitopsError, obj: KubeObject, served: KindSchema | None, *, is_builtin: bool
) -> list[Problem]:
    """Return what is wrong with an object that was rejected; `served` is its kind, if known."""
    is_hidden = is_secret(obj)
    found: list[Problem] = []
    if served is not None:
        checks = Checks(
            rules=None if is_builtin else check_rules,
            redact=(lambda path: True) if is_hidden else None,
            built_in=is_builtin,
        )
        # What built-in kinds require is decided by their own rules, not by the schema.
        found = [
            each
            for each in validate(obj, served.schema, checks)
            if not is_builtin or each.code != "missing-field"
        ]
    if not found:
        found = [
            Problem(each.code, each.text, each.spot) for each in violations(error.message, obj)
        ]
    paths = [each.spot.path for each in found]
    causes = error.causes if isinstance(error, ApiError) else ()
    for problem in _of_causes(causes, obj, is_hidden=is_hidden):
        path = problem.spot.path
        if not any(path[: len(each)] == each or each[: len(path)] == path for each in paths):
            found.append(problem)
    if not found and served is not None:
        found = list(_bad_quantities(obj, served.schema, ()))
    if found:
        # A value of the wrong type may be reported by its type and as an item of its list.
        places = {(each.code, each.spot): each for each in found if each.code == "wrong-type"}
        return [
            each
            for each in dict.fromkeys(found)
            if each.code != "wrong-type" or places[each.code, each.spot] is each
        ]
    text = error.message
    if is_hidden and isinstance(error, ApiError):
        text = f"the API server rejects it: {error.status.reason or error.status.http_code}"
    return [Problem(error.code, text, hint=error.hint)]


def is_secret(obj: KubeObject) -> bool:
    """Return True for a Secret."""
    return (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Secret")


def problem_of_cause(cause: Cause, obj: KubeObject, *, is_hidden: bool = False) -> Problem:
    """Return a cause as a problem; the value is not quoted if it `is_hidden`."""
    path = field_path(cause.field, obj)
    value, key = find(obj, path), False
    quoted = _QUOTED.match(cause.message)
    text = _unquoted(quoted[1]) if quoted is not None else None
    if isinstance(value, dict) and text is not None:
        # The key or the value of a map that is wrong is in the message only.
        for name, held in value.items():
            if text in (name, held):
                path, key = (*path, name), text == name
                break
    elif path and path[-1] == text and isinstance(find(obj, path[:-1]), dict):
        key = True
    elif isinstance(value, list) and text in value:
        path = (*path, value.index(text))
    code, hint = "invalid", ""
    code = _CODES.get(cause.reason, code)
    named = path
    if code == "missing-field":
        # The place of a field that is not written is the key of its parent.
        path, key = (path[:-1], True) if find(obj, path) is MISSING else (path, False)
    elif path in _NAMES:
        code, hint = "invalid-name", _NAME_HINT
    elif code == "not-in-enum" and text is not None:
        choices = _SUPPORTED.findall(cause.message.partition("supported values: ")[2])
        hint = did_you_mean(text, choices)
    said = cause.reason.removeprefix("FieldValue") if is_hidden else _shortened(cause.message)
    subject = cause.field or format_path(named) or "the object"
    return Problem(code, f"'{subject}': {said}", Spot(path, on_key=key), hint=hint)


def field_path(field: str, obj: KubeObject) -> Path:
    """Return the path of a field that an API server names, as far as it can be read."""
    steps: list[str | int] = []
    here: Any = obj
    position = 0
    while match := _STEP.match(field, position):
        name, item = match.groups()
        position = match.end()
        step: str | int = name if name is not None else item.strip('"')
        if name is None and item.isdecimal() and not isinstance(here, dict):
            step = int(item)
        elif name is None and isinstance(here, list):
            break  # a key that only the server understands
        steps.append(step)
        if tuple(steps) == _OLD_CRD_SCHEMA and obj.get("kind") == "CustomResourceDefinition":
            steps = [*_CRD_SCHEMA]
        here = find(obj, tuple(steps))
    return tuple(steps)


def _unquoted(text: str) -> str | None:
    """Read a text that Go has quoted; None if it has escapes that JSON has not."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def _shortened(message: str) -> str:
    """Return a message without a value that is an object: it shows fields that nobody wrote."""
    found = _STRUCTURE.match(message)
    if found is None:
        return message
    try:
        _, end = json.JSONDecoder().raw_decode(message, found.end(1))
    except ValueError:
        return message
    return f"{found[1].removesuffix(': ')}{message[end:]}"


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _bad_quantities(value: Any, schema: Schema, path: Path) -> Iterator[Problem]:
    """Yield the quantities that cannot be parsed: the API server does not say where they are."""
    if isinstance(value, dict):
        for key, part in value.items():
            below = fields(schema).get(key) or other_fields(schema)
            if below is not None:
                yield from _bad_quantities(part, below, (*path, key))
    elif isinstance(value, list):
        below = items(schema)
        for index, part in enumerate(value if below is not None else ()):
            yield from _bad_quantities(part, below or {}, (*path, index))
    elif isinstance(value, str) and schema.get("oneOf") == _QUANTITY and not _is_quantity(value):
        text = f"'{format_path(path)}' is {quote(value)}, which is no quantity"
        yield Problem("invalid", text, Spot(path), hint="such as 100m, 0.5, 2, 64Mi or 1G")


def _of_causes(causes: Iterable[Cause], obj: KubeObject, *, is_hidden: bool) -> Iterator[Problem]:
    found = [(problem_of_cause(each, obj, is_hidden=is_hidden), each) for each in causes]
    # A value that is not written was filled in from another, which has a cause of its own.
    written = [each for each, cause in found if _is_written(cause, obj)]
    yield from written or [each for each, _ in found]


def _is_written(cause: Cause, obj: KubeObject) -> bool:
    return (
        _CODES.get(cause.reason) == "missing-field"
        or find(obj, field_path(cause.field, obj)) is not MISSING
    )
