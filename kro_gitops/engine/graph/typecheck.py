"""
Type-checks every expression (steps 10 to 12 of kro's build).

An expression must check in its environment, and its type must fit its place: the field that it
fills, a list for `forEach`, a bool for conditions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.graph.dependencies import unknown_name_problems
from kro_gitops.engine.graph.expressions import Draft
from kro_gitops.engine.graph.nodes import EACH, SCHEMA, NodeKind
from kro_gitops.engine.graph.templates import FieldDraft, NodeDraft
from kube_cel.assignability import expected_type, explain_mismatch
from kube_cel.environment import Environment
from kube_cel.errors import BuildError
from kube_cel.interpolation import go_quote
from kube_cel.issues import CheckError, ParseError
from kube_cel.types import BOOL, DYN, STRING, Type, list_of, map_of, optional_of
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem

OMIT_ONLY_IN_TEMPLATES = "omit() can only be used in resource template expressions"

_CONDITION_TYPES = (BOOL, optional_of(BOOL))
_SELECTOR = ("metadata", "selector")
_SELECTOR_TYPES: dict[Path, Type] = {
    (): map_of(STRING, DYN),
    ("matchLabels",): map_of(STRING, STRING),
    ("matchExpressions",): list_of(DYN),
}


_LIST_HINTS = {
    "map": "iterate over its keys: m.map(key, key)",
    "optional_type": "give it a default: ….orValue([])",
}


@dataclass(frozen=True, slots=True)
class Types:
    """The environment of a definition, and whether its instances live in namespaces."""

    environment: Environment
    is_namespaced: bool


def environment_for(nodes: list[NodeDraft], instance_schema: dict[str, Any] | None) -> Environment:
    """
    Declare `schema` and every node by its schema.

    What could not be worked out (an unknown kind, a broken spec) is dyn, so that one mistake does
    not make every expression that reads it look wrong.
    """
    schemas: dict[str, dict[str, Any]] = {}
    types: dict[str, Type] = {}
    if instance_schema is not None:
        schemas[SCHEMA] = instance_schema
    else:
        types[SCHEMA] = DYN
    for node in nodes:
        if node.served is None:
            types[node.id] = list_of(DYN) if node.kind.is_list else DYN
        elif node.kind.is_list:
            schemas[node.id] = {"type": "array", "items": node.served.schema}
        else:
            schemas[node.id] = node.served.schema
    return Environment.kro().extend(schemas=schemas, types=types)


def check_node(node: NodeDraft, types: Types) -> Iterator[Problem]:
    """Compile every expression of a node; yield what does not check or does not fit."""
    prefix = f'failed to validate resource "{node.id}": '
    required = [("metadata", "name")]
    if node.served is not None and node.served.namespaced and not types.is_namespaced:
        required.append(("metadata", "namespace"))
    for item in node.fields:
        references = item.draft.references
        if item.path in required and references is not None and references.uses_omit:
            text = (
                f'resource "{node.id}": omit() cannot be used at path "{format_path(item.path)}" '
                "— the field is required and must resolve to a concrete value"
            )
            yield Problem("omit-on-identity", text, item.draft.spot())
    iterators: dict[str, Type] = dict.fromkeys(node.iterators, DYN)
    for name, draft in node.for_each:
        yield from _check_dimension(node, name, draft, types.environment, prefix)
        if draft.program is None or draft.type.kind != "list":
            iterators[name] = DYN
        else:
            iterators[name] = draft.type.parameters[0]
    environment = types.environment.extend(types=iterators) if iterators else types.environment
    for item in node.fields:
        yield from _check_field(node, item, environment, prefix)
    for draft in node.include_when:
        yield from _check_condition(node, draft, "includeWhen", types.environment)
    ready_environment: Environment = types.environment
    allowed = EACH if node.kind is NodeKind.COLLECTION else node.id
    wrapping = f'{prefix}resource "{node.id}" readyWhen: '
    if node.kind is NodeKind.COLLECTION:
        if node.served is None:
            ready_environment = ready_environment.extend(types={EACH: DYN})
        else:
            ready_environment = ready_environment.extend(schemas={EACH: node.served.schema})
    for draft in node.ready_when:
        problems = [
            replace(problem, hint=problem.hint or f"readyWhen may read only '{allowed}'")
            for problem in inspect_restricted(draft, (allowed,), ready_environment, wrapping)
        ]
        yield from problems
        if not problems:
            yield from _check_condition(node, draft, "readyWhen", ready_environment)


def _check_dimension(
    node: NodeDraft, name: str, draft: Draft, environment: Environment, prefix: str
) -> Iterator[Problem]:
    wrapping = f'{prefix}node "{node.id}": forEach iterator "{name}"'
    if not draft.is_faulty and draft.references is not None and draft.references.uses_omit:
        summary = f'forEach iterator "{name}": {OMIT_ONLY_IN_TEMPLATES}'
        message = f"{wrapping}: {OMIT_ONLY_IN_TEMPLATES}"
        yield Problem("omit-outside-template", summary, draft.spot(), message)
        return
    problems = compile_draft(draft, environment, f"{wrapping}: ")
    yield from problems
    if problems or draft.program is None or draft.type.kind == "list":
        return
    text = f'must return a list, got "{draft.type}": type "{draft.type}" is not a list type'
    hint = _LIST_HINTS.get(draft.type.kind, "")
    summary = f'forEach iterator "{name}" {text}'
    yield Problem("not-a-list", summary, draft.spot(), f"{wrapping} {text}", hint)


def _check_field(
    node: NodeDraft, item: FieldDraft, environment: Environment, prefix: str
) -> Iterator[Problem]:
    draft, path = item.draft, item.path
    if draft.is_faulty:
        return
    try:
        draft.compile(environment)
    except (ParseError, CheckError, BuildError) as error:
        shown, place = go_quote(draft.shown), go_quote(format_path(path))
        wrapping = f"{prefix}failed to compile template expression {shown} at path {place}: "
        yield from draft.issue_problems(error, wrapping)
        return
    if node.kind is NodeKind.EXTERNAL_COLLECTION and path[:2] == _SELECTOR:
        below = path[2:]
        if len(below) == 2 and below[0] == "matchLabels":
            expected: Type = STRING
        else:
            expected = _SELECTOR_TYPES.get(below, DYN)
    elif node.served is None:
        expected = DYN
    else:
        expected = expected_type(node.served.schema, path, node.id, environment)
    mismatch = explain_mismatch(draft.type, expected, environment)
    if mismatch is None:
        return
    shown, place = go_quote(draft.shown), go_quote(format_path(path))
    text = (
        f'type mismatch in resource "{node.id}" at path {place}: expression {shown} '
        f'returns type "{draft.type}" but expected "{expected}": {mismatch}'
    )
    summary = f"{format_path(item.path)} takes {expected}, but the expression yields {draft.type}"
    if not mismatch.startswith("type kind mismatch"):
        summary = f"{summary}: {mismatch}"
    form = _CONVERSIONS.get((draft.type.kind, expected.kind))
    if form is None or not draft.template.is_standalone or len(draft.text) > 60:
        hint = ""
    else:
        hint = f"convert it: ${{{form.format(draft.shown)}}}"
    yield Problem("type-mismatch", summary, draft.spot(), prefix + text, hint)


_CONVERSIONS = {
    ("int", "string"): "string({0})",
    ("double", "string"): "string({0})",
    ("bool", "string"): "string({0})",
    ("int", "double"): "double({0})",
    ("string", "int"): "int({0})",
    ("string", "bytes"): "bytes({0})",
    ("string", "google.protobuf.Timestamp"): "timestamp({0})",
    ("bytes", "string"): "string({0})",
}


def _check_condition(
    node: NodeDraft, draft: Draft, name: str, environment: Environment
) -> Iterator[Problem]:
    prefix = f'failed to validate resource "{node.id}": '
    quoted = f'{name} expression {go_quote(draft.shown)} in resource "{node.id}"'
    problems = compile_draft(draft, environment, f"{prefix}failed to type-check {quoted}: ")
    yield from problems
    if problems or draft.program is None or draft.type in _CONDITION_TYPES:
        return
    text = f'{quoted} must return bool or optional_type(bool), but returns "{draft.type}"'
    is_plain = draft.type.kind == "dyn" and not (draft.references and draft.references.uses_omit)
    hint = f"compare it: ${{{draft.text} == true}}" if is_plain else ""
    yield Problem("not-a-bool", text, draft.spot(), prefix + text, hint)


def inspect_restricted(
    draft: Draft, allowed: tuple[str, ...], environment: Environment, prefix: str
) -> list[Problem]:
    """Inspect an expression that may read only `allowed` names, and never `omit()`."""
    try:
        draft.inspect(allowed, environment)
    except ParseError as error:
        draft.is_faulty = True
        return draft.issue_problems(error, f"{prefix}parse error: ")
    problems = list(
        unknown_name_problems(draft, prefix, allowed, environment.functions, all_at_once=True)
    )
    assert draft.references is not None
    if not problems and draft.references.uses_omit:
        message = f"{prefix}{OMIT_ONLY_IN_TEMPLATES}"
        problem = Problem("omit-outside-template", OMIT_ONLY_IN_TEMPLATES, draft.spot(), message)
        return [problem]
    return problems


def compile_draft(draft: Draft, environment: Environment, prefix: str) -> list[Problem]:
    """Compile a draft; a draft already reported as unreadable stays silent."""
    if draft.is_faulty:
        return []
    try:
        draft.compile(environment)
    except (ParseError, CheckError, BuildError) as error:
        return draft.issue_problems(error, prefix)
    return []
