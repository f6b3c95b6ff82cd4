"""
The instance's status: fields projected from the graph, and author-defined conditions.

Steps 13 to 16 of kro's build. The schema of a status field is the type of its expression.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kro_gitops.engine.graph.expressions import INVALID_REGEX, Draft, standalone_drafts
from kro_gitops.engine.graph.nodes import RUNTIME, SCHEMA
from kro_gitops.engine.graph.template_walk import walk_freely
from kro_gitops.engine.graph.typecheck import compile_draft, inspect_restricted
from kube_cel.assignability import schema_of_type
from kube_cel.environment import Environment
from kube_cel.interpolation import go_quote
from kube_cel.issues import ParseError
from kube_cel.parser import parse
from kube_cel.references import (
    ConditionLookup,
    ConditionUse,
    DeclaredCondition,
    LiteralText,
    condition_literals,
)
from kube_cel.types import STRING
from kube_objects.errors import SchemaError
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot

ROOT: Path = ("spec", "schema", "status")
BUILT_IN_CONDITIONS = ("InstanceManaged", "GraphResolved", "ResourcesReady", "Ready")
_STATUSES = ("True", "False", "Unknown")
_STATUS_PREFIX = "failed to build instance status schema: "
_CONDITIONS_PREFIX = "failed to build instance conditions: "


@dataclass(slots=True)
class Projection:
    """What is projected onto the instance, and the schema it has there."""

    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    fields: list[tuple[Path, Draft]] = field(default_factory=list)
    conditions: list[Draft] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def project(status: Mapping[str, Any], ids: tuple[str, ...], types: Environment) -> Projection:
    """Read `schema.status`, infer its schema, and check the conditions."""
    projection = Projection()
    walked = walk_freely({key: value for key, value in status.items() if key != "conditions"})
    for problem in walked.problems:
        prefix = f"{_STATUS_PREFIX}failed to extract CEL expressions from status: "
        projection.problems.append(problem.below(ROOT).within(prefix))
    plain = walked.plain
    listed = " ".join(format_path(path) for path in plain)
    for path in plain:
        text = "status fields without expressions are not supported"
        projection.problems.append(
            Problem(
                "status-without-expression",
                f"{text}: [{format_path(path)}]",
                Spot((*ROOT, *path)),
                f"{_STATUS_PREFIX}{text}: [{listed}]",
                hint="a status field shows a value of the graph: ${resource.status.field}",
            )
        )
    for found in walked.fields:
        draft = Draft(found.template, (*ROOT, *found.path), found.text)
        projection.fields.append((found.path, draft))
        shown, place = go_quote(draft.shown), go_quote(format_path(found.path))
        prefix = f"{_STATUS_PREFIX}status field {place} expression {shown}: "
        problems = inspect_restricted(draft, (*ids, SCHEMA), types, prefix)
        if not problems:
            what = f"status expression {shown} at path {place}: "
            # kro creates the programs in a later pass, with a message of its own.
            compiled = f"failed to compile {what}"
            checked = f"{_STATUS_PREFIX}failed to type-check {what}"
            problems = [
                problem
                if problem.code == INVALID_REGEX
                else replace(problem, message=checked + problem.message.removeprefix(compiled))
                for problem in compile_draft(draft, types, compiled)
            ]
        projection.problems.extend(problems)
    _infer(projection, types)
    if "conditions" in status:
        _read_conditions(status["conditions"], ids, types, projection)
    for path, draft in projection.fields:
        if draft.program is None or (draft.references and draft.references.identifiers):
            continue
        place = format_path(("status", *path))
        text = f"instance status field must refer to a resource or schema: {place}"
        message = f"failed to create instance node: {text}"
        projection.problems.append(Problem("aimless-status", text, draft.spot(), message))
    return projection


def _infer(projection: Projection, types: Environment) -> None:
    for path, draft in projection.fields:
        if draft.program is None:
            continue
        output = draft.type if draft.template.is_standalone else STRING
        try:
            inferred = schema_of_type(output, types)
        except SchemaError as error:
            message = (
                f"{_STATUS_PREFIX}failed to generate status schema from CEL types: {error.message}"
            )
            problem = Problem("cyclic-type", error.message, draft.spot(), message)
            projection.problems.append(problem)
            continue
        # Put the schema of the field at its path.
        here = projection.schema
        for step in path[:-1]:
            if isinstance(step, int):
                here["type"] = "array"
                items: dict[str, Any] = here.setdefault("items", {})
                here = items
            else:
                here.setdefault("type", "object")
                found: dict[str, Any] = here.setdefault("properties", {}).setdefault(step, {})
                here = found
        last = path[-1]
        if isinstance(last, int):
            here["type"] = "array"
            here["items"] = inferred
        else:
            here.setdefault("type", "object")
            here.setdefault("properties", {})[last] = inferred


def _read_conditions(
    raw: Any, ids: tuple[str, ...], types: Environment, projection: Projection
) -> None:
    root = (*ROOT, "conditions")
    prefix = f"{_STATUS_PREFIX}failed to extract conditions block: "
    if not isinstance(raw, list):
        text = f"status.conditions must be a list, got {go_type(raw)}"
        problem = Problem("invalid-conditions", text, Spot(root), prefix + text)
        projection.problems.append(problem)
        return
    texts: list[tuple[Path, str]] = []
    for index, item in enumerate(raw):
        if isinstance(item, str):
            texts.append(((*root, index), item))
            continue
        text = f"status.conditions[{index}] must be a CEL expression string, got {go_type(item)}"
        problem = Problem("invalid-conditions", text, Spot((*root, index)), prefix + text)
        projection.problems.append(problem)
    drafts, problems = standalone_drafts(texts, f"{_CONDITIONS_PREFIX}invalid conditions block: ")
    projection.conditions = drafts
    projection.problems.extend(problems)
    # Check what can be read off the text: declared types, statuses and look-ups.
    readable = []
    for draft in drafts:
        try:
            readable.append((draft, condition_literals(parse(draft.text))))
        except ParseError:  # reported when the entry itself is checked
            continue
    declared: set[str] = set()
    for draft, uses in readable:
        mine = {
            use.type.text: use.type
            for use in uses
            if isinstance(use, DeclaredCondition) and use.type is not None
        }
        for value, found in mine.items():
            if value in declared:
                text = f'condition type "{value}" is declared by more than one conditions entry'
                projection.problems.append(
                    _literal_problem("duplicate-condition", text, draft, found)
                )
        declared |= set(mine)
    for draft, uses in readable:
        for use in uses:
            projection.problems.extend(_use_problems(draft, use, declared))
    for draft in drafts:
        projection.problems.extend(_check_condition(draft, ids, types))


def _use_problems(draft: Draft, use: ConditionUse, declared: set[str]) -> Iterator[Problem]:
    ending = f"in expression {go_quote(draft.text)}"
    if isinstance(use, ConditionLookup):
        read = use.type
        if read and use.object_name == SCHEMA and read.text not in BUILT_IN_CONDITIONS:
            value = read.text
            call = f"runtime.condition(schema, {go_quote(value)})"
            if value in declared:
                fault = f"{call}: custom conditions cannot reference each other"
            else:
                fault = (
                    f"{call}: unknown condition type; only kro's built-in types "
                    f"({', '.join(BUILT_IN_CONDITIONS)}) can be read from schema"
                )
            text = f"{fault} {ending}"
            yield _literal_problem("unknown-condition", text, draft, read)
        return
    if use.status is not None and use.status.text not in _STATUSES:
        text = (
            "runtime.newCondition: status must be one of True, False, Unknown "
            f"(got {go_quote(use.status.text)}) {ending}"
        )
        yield _literal_problem("invalid-condition", text, draft, use.status)
    if use.type is not None and not use.type.text:
        text = f"runtime.newCondition: type must not be empty {ending}"
        yield _literal_problem("invalid-condition", text, draft, use.type)


def _literal_problem(code: str, text: str, draft: Draft, found: LiteralText) -> Problem:
    spot = draft.spot(found.span.start, found.span.end)
    return Problem(code, text, spot, _CONDITIONS_PREFIX + text)


def _check_condition(draft: Draft, ids: tuple[str, ...], types: Environment) -> Iterator[Problem]:
    quoted = f"condition {go_quote(draft.text)}"
    prefix = f"{_CONDITIONS_PREFIX}{quoted}: "
    problems = inspect_restricted(draft, (*ids, SCHEMA, RUNTIME), types, prefix)
    if not problems:
        wrapping = f"{_CONDITIONS_PREFIX}failed to type-check {quoted}: "
        problems = compile_draft(draft, types, wrapping)
    yield from problems
    if problems or draft.program is None:
        return
    result = draft.type.parameters[0] if draft.type.kind == "list" else draft.type
    if result.kind == "dyn" or result.name == "kro.run.Condition":
        return
    text = (
        "condition expressions must return runtime.newCondition(...) or a list of them, "
        f'got "{draft.type}"'
    )
    yield Problem("not-a-condition", text, draft.spot(), prefix + text)


def go_type(value: Any) -> str:
    """Name a JSON value's type as Go does; kro's messages print it so."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"
