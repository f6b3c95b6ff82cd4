"""
The validation rules of a definition's schema, compiled where they are written.

kro leaves them to the API server, which rejects the whole CRD; an author needs the line.
"""

from collections.abc import Iterator
from typing import Any

from kro_gitops.engine.definition import DefinitionSchema
from kube_cel.issues import CheckError, ParseError
from kube_cel.validation_rules import EXTENSION, rule_problems
from kube_objects.paths import find, leaves
from kube_objects.problems import Path, Problem, Spot

_ROOT: Path = ("spec", "schema")


def check_schema_rules(spec_schema: dict[str, Any], schema: DefinitionSchema) -> Iterator[Problem]:
    """Yield a problem for each rule that does not compile, once for each place it is written."""
    reported: set[tuple[Path, int]] = set()
    for path, part in _ruled_parts(spec_schema, ()):
        for index, fault in rule_problems(part):
            rule = part[EXTENSION][index]["rule"]
            place, start = _written_at(schema, path, rule)
            if (place, start) in reported:
                continue
            reported.add((place, start))
            length = len(rule)
            if isinstance(fault, ParseError | CheckError):
                for issue in fault.issues:
                    yield Problem(
                        "invalid-rule",
                        f"validation rule: {issue.message}",
                        Spot(place)
                        if start < 0
                        else Spot(place, start + max(issue.start, 0), start + max(issue.end, 0)),
                        hint=issue.hint,
                    )
            else:
                text = fault if isinstance(fault, str) else fault.message
                spot = Spot(place) if start < 0 else Spot(place, start, start + length)
                yield Problem("invalid-rule", f"validation rule: {text}", spot)


def _ruled_parts(schema: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    if schema.get(EXTENSION):
        yield path, schema
    for name, below in (schema.get("properties") or {}).items():
        yield from _ruled_parts(below, (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _ruled_parts(schema[key], path)


def _written_at(schema: DefinitionSchema, path: Path, rule: str) -> tuple[Path, int]:
    """Find the text a rule stands in: the field's own definition, or that of a custom type."""
    own = find(schema.spec, path)
    if isinstance(own, str) and rule in own:
        return (*_ROOT, "spec", *path), own.index(rule)
    for place, text in leaves(schema.types):
        if isinstance(text, str) and rule in text:
            return (*_ROOT, "types", *place), text.index(rule)
    return (*_ROOT, "spec", *path), -1
