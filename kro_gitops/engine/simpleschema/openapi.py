"""
SimpleSchema → OpenAPI: the door to this package.

Everything wrong with a schema comes back from one call, in the order people wrote it, the
custom types before the fields. There is a schema only if nothing is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.simpleschema.fields import Builder
from kro_gitops.engine.simpleschema.schema_nodes import Schema, export
from kro_gitops.engine.simpleschema.structural import structural_errors
from kro_gitops.engine.simpleschema.types import ROOT as TYPES
from kro_gitops.engine.simpleschema.types import load_types
from kube_objects.problems import Path, Problem

SPEC = "spec"


@dataclass(frozen=True, slots=True)
class Result:
    """The schema of an instance's `spec`, or why there is none."""

    schema: Schema | None
    problems: tuple[Problem, ...] = ()


def build_schema(spec: Mapping[str, Any], types: Mapping[str, Any]) -> Result:
    """
    Turn fields and custom types into an OpenAPI schema.

    Spots of problems begin with `spec` or `types`.
    """
    custom = load_types(types)
    builder = Builder(find=custom.drafts.get, declared=custom.drafts)
    root = builder.structure(spec, (SPEC,))
    problems = [*custom.problems, *builder.problems, *structural_errors(root)]
    if problems:
        # Sort problems as they stand in the text, and drop repetitions.
        positions = _Positions({TYPES: types, SPEC: spec})
        in_order = tuple(
            sorted(
                dict.fromkeys(problems),
                key=lambda problem: (positions.of(problem.spot.path), problem.spot.start),
            )
        )
        return Result(None, in_order)
    return Result(export(root))


class _Positions:
    """Where paths stand among their siblings, level by level."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._written = written
        self._known: dict[int, dict[str | int, int]] = {}

    def of(self, path: Path) -> tuple[int, ...]:
        found = []
        level: Any = self._written
        for step in path:
            siblings = self._known.get(id(level))
            if siblings is None:
                siblings = {name: index for index, name in enumerate(level)}
                self._known[id(level)] = siblings
            found.append(siblings[step])
            level = level[step]
        return tuple(found)
