"""
Custom types: `types` of a definition, each ready to be used by name.

Types may refer to each other in any order but not in a circle. A type with mistakes still
gets a draft, as good as it can be: its uses are not to blame.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.simpleschema.fields import MAX_DEPTH, Builder
from kro_gitops.engine.simpleschema.grammar import (
    Named,
    hint_for_unknown,
    named_types,
    parse_type,
)
from kro_gitops.engine.simpleschema.schema_nodes import Draft
from kube_objects.errors import SchemaError
from kube_objects.problems import Path, Problem, Spot

ROOT = "types"


@dataclass(frozen=True, slots=True)
class CustomTypes:
    """The types by name, and their problems."""

    drafts: Mapping[str, Draft]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Reference:
    """A custom type's name where it stands."""

    path: Path
    named: Named

    @property
    def name(self) -> str:
        return self.named.name

    @property
    def spot(self) -> Spot:
        return Spot(self.path, self.named.start, self.named.end)


_References = Mapping[str, tuple[_Reference, ...]]


def load_types(types: Mapping[str, Any]) -> CustomTypes:
    """Read all custom types."""
    references = {name: tuple(_references(types[name], (ROOT, name))) for name in types}
    problems: list[Problem] = []
    for name, found in references.items():
        for one in found:
            if one.name not in references:
                problems.append(
                    Problem(
                        "undeclared-type",
                        f"unknown type '{one.name}'",
                        one.spot,
                        f"node {one.name} does not exist",
                        hint_for_unknown(one.name, references),
                    )
                )
            elif one.name == name:
                problems.append(
                    Problem(
                        "self-reference",
                        f"type '{name}' refers to itself",
                        one.spot,
                        "self references are not allowed",
                        "types are expanded, so none can contain itself: use 'object'",
                    )
                )
    ordering = _Ordering(references)
    ordering.run()
    for circle in ordering.circles:
        first, second = circle[0], circle[1]
        closed = [*circle, first]
        spot = next(one.spot for one in references[first] if one.name == second)
        problem = Problem(
            "type-cycle",
            f"types contain each other: {' → '.join(closed)}",
            spot,
            f"cyclic dependency in type {first}: graph contains a cycle: {' -> '.join(closed)}",
            "types are expanded, so none can contain itself: use 'object' in one place",
        )
        problems.append(problem)
    drafts: dict[str, Draft] = {}
    for name in ordering.order:
        # What is not there by now is undeclared or part of a circle, and reported as such.
        builder = Builder(
            find=lambda other: drafts.get(other, Draft()),
            parse_prefix=f"parsing type {name}: ",
            build_prefix=f"building schema for {name}: ",
        )
        drafts[name] = builder.definition(types[name], (ROOT, name))
        problems += builder.problems
    return CustomTypes(drafts, tuple(problems))


def _references(definition: Any, path: Path) -> Iterator[_Reference]:
    if isinstance(definition, str):
        try:
            expression = parse_type(definition)
        except SchemaError:
            return  # reported when the type is built
        for named in named_types(expression):
            yield _Reference(path, named)
    elif isinstance(definition, Mapping) and len(path) <= MAX_DEPTH:
        for name, value in definition.items():
            yield from _references(value, (*path, name))


class _Ordering:
    """
    Puts types behind those they need, and finds the circles that prevent it.

    Depth first in the order of declaration, on a stack of its own: chains of types may be
    longer than Python's. Of a knot of circles one is reported; the rest goes with it.
    """

    def __init__(self, references: _References) -> None:
        self.order: list[str] = []
        self.circles: list[tuple[str, ...]] = []
        self._references = references
        self._reached: set[str] = set()
        self._trail: dict[str, Iterator[_Reference]] = {}  # from a root to where we are
        self._knotted: set[str] = set()

    def run(self) -> None:
        for name in self._references:
            self._enter(name)
            while self._trail:
                here, pending = next(reversed(self._trail.items()))
                needed = next(pending, None)
                if needed is None:
                    del self._trail[here]
                    self.order.append(here)
                elif needed.name not in self._trail or needed.name == here:
                    self._enter(needed.name)
                elif needed.name not in self._knotted:
                    trail = tuple(self._trail)
                    circle = trail[trail.index(needed.name) :]
                    if self._knotted.isdisjoint(circle):
                        self.circles.append(circle)
                    self._knotted.update(circle)

    def _enter(self, name: str) -> None:
        if name in self._references and name not in self._reached:
            self._reached.add(name)
            self._trail[name] = iter(self._references[name])
