"""
Definitions become drafts.

One builder reads the fields of `spec`, or of one custom type, and gathers every problem it
meets on the way instead of stopping at the first. What cannot be read becomes a draft of
unknown type, so that one mistake is reported once and not again by whatever depends on it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kro_gitops.engine.simpleschema import marker_effects, schema_nodes
from kro_gitops.engine.simpleschema.go_literals import type_name
from kro_gitops.engine.simpleschema.grammar import (
    Atomic,
    ListType,
    MapType,
    Named,
    TypeExpression,
    hint_for_unknown,
    parse_type,
)
from kro_gitops.engine.simpleschema.markers import read_markers
from kro_gitops.engine.simpleschema.schema_nodes import Draft
from kube_objects.errors import SchemaError
from kube_objects.problems import Path, Problem, Spot

MAX_DEPTH = 64  # levels of structures; our own limit, so that no input exhausts the stack


@dataclass(slots=True)
class Builder:
    """
    Makes drafts and keeps the problems.

    `find` knows the custom types. kro reads the types of all definitions before it builds
    any, and says so in front of its messages: hence two prefixes.
    """

    find: Callable[[str], Draft | None]
    declared: Collection[str] = ()
    parse_prefix: str = ""
    build_prefix: str = ""
    problems: list[Problem] = field(default_factory=list)

    def structure(self, fields: Mapping[str, Any], path: Path, trail: str = "") -> Draft:
        """Make the draft of a map of fields."""
        if len(path) > MAX_DEPTH:
            summary = f"structures are nested deeper than {MAX_DEPTH} levels"
            self.problems.append(Problem("schema-too-deep", summary, Spot(path, on_key=True)))
            return Draft(path)
        properties = {
            name: self.definition(value, (*path, name), f"{trail}field {name}: ")
            for name, value in fields.items()
        }
        return schema_nodes.structure(path, properties)

    def definition(self, value: Any, path: Path, trail: str = "") -> Draft:
        """Make the draft of one definition; `trail` is kro's way to say where it stands."""
        if isinstance(value, str):
            try:
                expression = parse_type(value)
            except SchemaError as error:
                self._keep(error, error.message, path, self.parse_prefix + trail)
                draft: Draft = Draft(path)
            else:
                draft = self._typed(expression, path, trail)
            prefix = self.build_prefix + trail
            markers = read_markers(value)
            for problem in markers.problems:
                self.problems.append(replace(problem, message=prefix + problem.message).below(path))
            for marker in markers.found:
                try:
                    marker_effects.apply(marker, draft)
                except marker_effects.MarkerError as error:
                    self._keep(error, error.summary, path, prefix)
            try:
                marker_effects.check_together(markers.found, draft)
            except marker_effects.MarkerError as error:
                self._keep(error, error.summary, path, prefix)
            return draft
        if isinstance(value, Mapping):
            return self.structure(value, path, trail)
        message = f"unexpected type: {type_name(value)}"
        match value:
            case None:
                given = "null"
            case bool():
                given = str(value).lower()
            case list() | tuple():
                given = "a list"
            case _:
                given = repr(value)
        self.problems.append(
            Problem(
                "unexpected-type",
                f"a definition is text or a map of fields, not {given}",
                Spot(path),
                self.parse_prefix + trail + message,
                hint="write a type, such as 'string' or 'integer | default=7'",
            )
        )
        return Draft(path)

    def _typed(self, expression: TypeExpression, path: Path, trail: str) -> Draft:
        match expression:
            case Atomic():
                return schema_nodes.scalar(path, expression.openapi)
            case ListType(items):
                return schema_nodes.list_of(path, self._typed(items, path, trail))
            case MapType(values):
                return schema_nodes.map_of(path, self._typed(values, path, trail))
            case Named():
                found = self.find(expression.name)
                if found is not None:
                    return schema_nodes.instantiate(found, path)
                self.problems.append(
                    Problem(
                        "unknown-type",
                        f"unknown type '{expression.name}'",
                        Spot(path, expression.start, expression.end),
                        f"{self.build_prefix}{trail}unknown type: {expression.name}",
                        hint_for_unknown(expression.name, self.declared),
                    )
                )
                return Draft(path)

    def _keep(self, error: SchemaError, summary: str, path: Path, prefix: str) -> None:
        spot = error.spot.below(path)
        self.problems.append(Problem(error.code, summary, spot, prefix + error.message, error.hint))
