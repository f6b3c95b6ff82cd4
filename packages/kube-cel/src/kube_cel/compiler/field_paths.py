"""
Reading a field whose whole path is known from the schema.

`schema.spec.ports[0].name` is a chain of keys into raw JSON as long as the schema describes every
step. The fast path tries the keys and checks the type of the value at the end. Only if that fails
does `FieldPath.raw` read it again, step by step, to raise the right error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kube_cel.budget import Frame
from kube_cel.compiler.scope import Place, Scope, Step
from kube_cel.containers import ABSENT, PartialMap
from kube_cel.errors import (
    DeferredError,
    EvaluationError,
    MissingData,
    MissingVariable,
    raise_if_deferred,
)
from kube_cel.escaping import unescape
from kube_cel.schema_views import NULL, PLAIN, Schema, Shape, properties_of, shape_of
from kube_cel.syntax_tree import Call, Ident, Literal, Node, Select
from kube_cel.type_names import no_such_key

_LISTS = (list,)
_MAPS = (dict, PartialMap)


@dataclass(frozen=True, slots=True)
class PathStep:
    """
    One step of a walk: the key in the data, and how the expression names it.

    `owner` is the schema of what is stepped into. An object's null property is absent; the null
    of a list or map is a value if its schema is `nullable`, and an error if not.
    """

    key: str | int
    name: str | int
    owner: Schema
    of_object: bool
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path from a variable: the hops, and the schema of what is there (None if unknown)."""

    place: Place
    hops: tuple[PathStep, ...]
    schema: Schema | None

    @property
    def shape(self) -> Shape:
        """How the value at the end is seen."""
        return PLAIN if self.schema is None else shape_of(self.schema)

    def raw(self, frame: Frame) -> Any:
        """Go step by step; raise what is wrong, or return the data at the end."""
        value = raise_if_deferred(frame[self.place.slot])
        if value is ABSENT:
            raise MissingVariable(self.place.name)
        if value is None and not self.place.nullable:
            raise EvaluationError(NULL)
        for hop in self.hops:
            if value is None:  # a nullable value that the schema calls an object or a list
                raise no_such_key(hop.name)
            if type(value) not in _container(hop):
                shape_of(hop.owner).value(value)  # raises for data that contradicts the schema
            if isinstance(value, list) and isinstance(hop.key, int):
                if hop.key >= len(value):
                    raise MissingData(f"index out of bounds: {hop.key}")
                found = value[hop.key]
            else:
                found = value.get(hop.key, ABSENT)
            if found is ABSENT or (found is None and hop.of_object):
                raise no_such_key(hop.name)
            if found is None and not hop.nullable:
                raise EvaluationError(NULL)
            value = found
        return value


def find_path(node: Node, scope: Scope) -> FieldPath | None:
    """Return the walk a node stands for, if its path is known."""
    chain: list[Node] = []
    while True:
        if isinstance(node, Select):
            chain.append(node)
            node = node.operand
        elif _constant_index(node) is not None and isinstance(node, Call):
            chain.append(node)
            node = node.arguments[0]
        else:
            break
    place = scope.find(node) if isinstance(node, Ident) else None
    if place is None or place.schema is None:
        return None
    walk = FieldPath(place, (), place.schema)
    for part in reversed(chain):
        if isinstance(part, Select):
            following: FieldPath | None = extend_path(walk, part.name)
        else:
            index = _constant_index(part)
            schema = walk.schema or {}
            if isinstance(index, str):
                # Objects have no index operator; a map's keys are written as they are.
                following = None if properties_of(schema) else extend_path(walk, index)
            else:
                items = schema.get("items")
                if index is None or schema.get("type") != "array" or not isinstance(items, Mapping):
                    following = None
                else:
                    hop = PathStep(
                        index, index, schema, of_object=False, nullable=bool(items.get("nullable"))
                    )
                    following = FieldPath(walk.place, (*walk.hops, hop), items)
        if following is None:
            return None
        walk = following
    return walk


def extend_path(walk: FieldPath, name: str) -> FieldPath | None:
    """Return the walk one field further, if its schema is an object's."""
    schema = walk.schema
    if schema is None or schema.get("type") != "object":
        return None
    properties = properties_of(schema)
    if properties:
        key = unescape(name)
        if key is None:
            return None
        hop = PathStep(key, name, schema, of_object=True)
        return FieldPath(walk.place, (*walk.hops, hop), properties.get(key))
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        hop = PathStep(name, name, schema, of_object=False, nullable=bool(values.get("nullable")))
        return FieldPath(walk.place, (*walk.hops, hop), values)
    return None


def _constant_index(node: Node) -> str | int | None:
    if not isinstance(node, Call) or node.function != "_[_]":
        return None
    index = node.arguments[1]
    if not isinstance(index, Literal):
        return None
    if index.kind == "string" and isinstance(index.value, str):
        return index.value
    if index.kind == "int" and isinstance(index.value, int) and index.value >= 0:
        return index.value
    return None


def _container(hop: PathStep) -> tuple[type, ...]:
    """Return the types of data that a hop leads into."""
    return _LISTS if isinstance(hop.key, int) else _MAPS


def step_of(walk: FieldPath) -> Step:
    """Compile a path to a step that returns the value at its end."""
    slot, keys, slowly = walk.place.slot, tuple(hop.key for hop in walk.hops), walk.raw
    exact, convert = walk.shape.exact, walk.shape.value
    if not keys:

        def read_variable(frame: Frame) -> Any:
            raw = frame[slot]
            if raw is None or raw is ABSENT or type(raw) is DeferredError:
                return slowly(frame)  # raises, or returns a null that is allowed
            return convert(raw)

        return read_variable
    if exact is not None and not _has_index(walk):

        def read_scalar(frame: Frame) -> Any:
            value = frame[slot]
            try:
                for key in keys:
                    value = value[key]
            except (KeyError, TypeError):
                value = ABSENT
            if type(value) is exact:
                return value
            raw = slowly(frame)  # raises if there is no value, or if it contradicts the schema
            return None if raw is None else convert(raw)

        return read_scalar
    read = raw_step(walk)
    if walk.shape.convert is None:
        return read

    def read_view(frame: Frame) -> Any:
        raw = read(frame)
        return None if raw is None else convert(raw)

    return read_view


def raw_step(walk: FieldPath) -> Step:
    """Compile a path to a step that returns the raw data at its end; null only if nullable."""
    slot, keys, slowly = walk.place.slot, tuple(hop.key for hop in walk.hops), walk.raw
    if not keys:

        def read_variable(frame: Frame) -> Any:
            value = frame[slot]
            return value if type(value) is dict or type(value) is list else slowly(frame)

        return read_variable
    if _has_index(walk):
        # Python would take an index in a string, too, so containers are checked on the way.
        typed_keys: tuple[tuple[Any, Any], ...] = tuple(
            (hop.key, _container(hop)) for hop in walk.hops
        )

        def read_indexed(frame: Frame) -> Any:
            value = frame[slot]
            try:
                for key, container in typed_keys:
                    if type(value) not in container:
                        return slowly(frame)
                    value = value[key]
            except (KeyError, IndexError):
                return slowly(frame)
            return slowly(frame) if value is None else value

        return read_indexed

    def read_raw(frame: Frame) -> Any:
        value = frame[slot]
        try:
            for key in keys:
                value = value[key]
        except (KeyError, TypeError):
            return slowly(frame)
        return slowly(frame) if value is None else value

    return read_raw


def _has_index(walk: FieldPath) -> bool:
    return any(isinstance(hop.key, int) for hop in walk.hops)
