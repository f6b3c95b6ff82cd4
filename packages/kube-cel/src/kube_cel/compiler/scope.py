"""
The slots of variables in a frame, and the schemas of their data.

Variables of the data and of macros all have a slot. A slot holds raw JSON if its schema is known: a
field can then be read without a view of the object around it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from kube_cel.budget import FIRST_SLOT, Frame
from kube_cel.environment import TYPE_NAME_PREFIX, Environment
from kube_cel.schema_views import Schema
from kube_cel.syntax_tree import Ident, Node
from kube_cel.types import BYTES, DOUBLE, DURATION, TIMESTAMP, Type

Step = Callable[[Frame], Any]


@dataclass(frozen=True, slots=True)
class Place:
    """
    A variable's slot.

    With a `schema` the slot holds raw data of it, without one a value. With
    `nullable` null is a value, otherwise an error.
    """

    slot: int
    name: str
    schema: Schema | None = None
    nullable: bool = False


_CONVERTED: dict[Type, Schema] = {
    BYTES: {"type": "string", "format": "byte"},
    DOUBLE: {"type": "number"},
    DURATION: {"type": "string", "format": "duration"},
    TIMESTAMP: {"type": "string", "format": "date-time"},
}


class Scope:
    """The variables that are visible while a tree is compiled."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.size = FIRST_SLOT
        self.variables: dict[str, Place] = {}  # of the data, as they are met
        self._locals: dict[str, Place] = {}

    def find(self, node: Ident) -> Place | None:
        """Return the slot of a variable, or None if the name is that of a type."""
        if not node.absolute and node.name in self._locals:
            return self._locals[node.name]
        if node.name not in self.env.variables:
            return None
        place = self.variables.get(node.name)
        if place is None:
            place = Place(self._next(), node.name, self._schema_of(node.name))
            self.variables[node.name] = place
        return place

    def reserve(self, name: str, schema: Schema | None = None) -> Place:
        """Reserve the slot of a macro's variable; `binding` makes it visible."""
        nullable = schema is not None and bool(schema.get("nullable"))
        return Place(self._next(), name, schema, nullable)

    @contextmanager
    def binding(self, *places: Place) -> Iterator[None]:
        """Make variables visible, shadowing others of the same name, within the context."""
        outside = self._locals
        self._locals = {**outside, **{place.name: place for place in places}}
        try:
            yield
        finally:
            self._locals = outside

    def _next(self) -> int:
        slot = self.size
        self.size += 1
        return slot

    def _schema_of(self, variable: str) -> Schema | None:
        """Return the schema of a variable's data, if its type was made from one."""
        declared = self.env.variables[variable]
        made = self.env.find_type(f"{TYPE_NAME_PREFIX}{variable}")
        if made is not None and made == declared:
            return self.env.schema_of(variable)
        return self._schema_of_type(declared)

    def _schema_of_type(self, declared: Type) -> Schema | None:
        """Describe data of a type whose values differ from their JSON; None for others."""
        fields = self.env.fields(declared)
        if fields is not None:
            return fields.schema
        if declared.kind == "list":
            items = self._schema_of_type(declared.parameters[0])
            return None if items is None else {"type": "array", "items": items}
        if declared.kind == "map":
            values = self._schema_of_type(declared.parameters[1])
            return None if values is None else {"type": "object", "additionalProperties": values}
        return _CONVERTED.get(declared)


class Builder(Protocol):
    """What the parts of the compiler need from the whole."""

    scope: Scope

    def build(self, node: Node) -> Step:
        """Compile a node."""

    def build_optional(self, node: Node) -> Step:
        """Compile a node that is an optional: a step that returns its value, or `ABSENT`."""
