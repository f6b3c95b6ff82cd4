"""
Names, selections, presence tests and optional access.

Where the path is known from the schema, `field_paths` reads it. Otherwise the value decides: a map
has keys, a view of an object has fields, an optional forwards the access. Selecting from any other
value raises `no such key`: callers wait for data on that error, so its class and text matter.

Optionals are compiled without creating one: their steps return the value or `ABSENT`, and only a
consumer of the optional itself boxes it.
"""

from typing import Any

from kube_cel.budget import Frame
from kube_cel.compiler.field_paths import FieldPath, extend_path, find_path, raw_step, step_of
from kube_cel.compiler.literals import check_key
from kube_cel.compiler.scope import Builder, Step
from kube_cel.containers import (
    ABSENT,
    LISTS,
    MapView,
    MixedMap,
    ObjectView,
    PartialMap,
)
from kube_cel.errors import DeferredError, MissingVariable
from kube_cel.escaping import unescape
from kube_cel.library.operators import find_at, list_position, select
from kube_cel.scalars import NONE, RUNTIME, Condition, OptionalValue, Runtime, TypeValue
from kube_cel.schema_views import properties_of, shape_of
from kube_cel.syntax_tree import Call, Has, Ident, Literal, Node, Select, dotted
from kube_cel.type_names import no_such_key, no_such_overload


def build_ident(builder: Builder, node: Ident) -> Step:
    """Compile a name."""
    place = builder.scope.find(node)
    if place is None:
        return _constant(TypeValue(_described(node) or node.name))
    if node.type is not None and node.type.name == Runtime.KIND:
        return _constant(RUNTIME)  # the only value of its type, whatever the data holds
    if place.schema is not None:
        return step_of(FieldPath(place, (), place.schema))
    is_data = builder.scope.variables.get(place.name) is place
    if not is_data:
        return local_variable(place.slot)
    slot = place.slot

    def read(frame: Frame) -> Any:
        value = frame[slot]
        if value is ABSENT:
            raise MissingVariable(place.name)
        return value

    return read


def local_variable(slot: int) -> Step:
    """Compile the variable of a macro, whose value may be one that cannot be read."""

    def read(frame: Frame) -> Any:
        value = frame[slot]
        if type(value) is DeferredError:
            value.raise_error()
        return value

    return read


def build_select(builder: Builder, node: Select) -> Step:
    """Compile `operand.name`."""
    walk = find_path(node, builder.scope)
    if walk is not None:
        return step_of(walk)
    if node.type is not None and node.type.kind == "type":
        root: Node = node
        while isinstance(root, Select):
            root = root.operand
        if isinstance(root, Ident) and builder.scope.find(root) is None:
            return _constant(TypeValue(_described(node) or dotted(node) or ""))
    operand = builder.build(node.operand)
    return _select_field(builder, operand, node.operand, node.name)


def build_has(builder: Builder, node: Has) -> Step:
    """Compile `has(operand.name)`."""
    walk = find_path(node.operand, builder.scope)
    key = unescape(node.name)
    if walk is not None and key is not None and properties_of(walk.schema or {}):
        read = raw_step(walk)

        def is_set(frame: Frame) -> bool:
            raw = read(frame)
            if type(raw) is dict or type(raw) is PartialMap:
                return raw.get(key) is not None
            return raw is not None and _take(walk.shape.value(raw), node.name) is not ABSENT

        return is_set
    operand = builder.build(node.operand)
    name = node.name
    return lambda frame: _take(operand(frame), name) is not ABSENT


def build_optional_select(builder: Builder, node: Call) -> Step:
    """Compile `operand.?name` to a step that returns the value or `ABSENT`."""
    holder, named = node.arguments
    name = named.value if isinstance(named, Literal) and isinstance(named.value, str) else ""
    walk = find_path(holder, builder.scope)
    field = extend_path(walk, name) if walk is not None else None
    if walk is not None and field is not None and field.hops[-1].of_object:
        # Read a field of a typed object that may be absent, on an object that may not.
        read_object, last, shape = raw_step(walk), field.hops[-1], field.shape
        key = str(last.key)

        def read_field(frame: Frame) -> Any:
            # Of raw data only this field is converted; null is the same as missing.
            raw = read_object(frame)
            if type(raw) is dict or type(raw) is PartialMap:
                value = raw.get(key)
                return ABSENT if value is None else shape.value(value)
            return ABSENT if raw is None else _take(walk.shape.value(raw), last.name)

        return read_field
    operand = _operand(builder, holder)

    def read(frame: Frame) -> Any:
        value = operand(frame)
        return value if value is ABSENT else _take(value, name)

    return read


def build_optional_index(builder: Builder, node: Call) -> Step:
    """Compile `operand[?key]`, or `operand[key]` on an optional, to the value or `ABSENT`."""
    check_key(node.arguments[1])
    operand = _operand(builder, node.arguments[0])
    key = builder.build(node.arguments[1])

    def read(frame: Frame) -> Any:
        value = operand(frame)
        return value if value is ABSENT else find_at(value, key(frame))

    return read


def build_chained_select(builder: Builder, node: Select) -> Step:
    """Compile `optional.name` to a step that returns the value or `ABSENT`."""
    operand = builder.build_optional(node.operand)
    name = node.name

    def read(frame: Frame) -> Any:
        value = operand(frame)
        return value if value is ABSENT else _take(value, name)

    return read


def box(step: Step) -> Step:
    """Make an optional of what a step returns."""

    def boxed(frame: Frame) -> OptionalValue:
        value = step(frame)
        return NONE if value is ABSENT else OptionalValue(value)

    return boxed


def unbox(step: Step, function: str = "") -> Step:
    """Unbox an optional; `function` is named in the error for other values."""

    def unboxed(frame: Frame) -> Any:
        optional = step(frame)
        if type(optional) is not OptionalValue:
            raise no_such_overload(function, optional)
        return optional.value if optional.present else ABSENT

    return unboxed


def is_optional(node: Node) -> bool:
    """Return whether a node is an optional by its type."""
    return node.type is not None and node.type.kind == "optional_type"


def _take(value: Any, name: Any) -> Any:
    """Return a field of any value, or `ABSENT`."""
    kind = type(value)
    if kind is dict or kind is PartialMap:
        return value.get(name, ABSENT)
    if kind is ObjectView or kind is MapView or kind is MixedMap:
        return value.find(name)
    if kind is Condition:
        return getattr(value, name, ABSENT)
    if kind is OptionalValue:
        return _take(value.value, name) if value.present else ABSENT
    if kind in LISTS:
        list_position(name)  # raises: a list has no fields
    return ABSENT


def _operand(builder: Builder, node: Node) -> Step:
    """Compile the holder of a field: the value of an optional, or any other value."""
    if is_optional(node):
        return builder.build_optional(node)
    # Open a value that turns out to be an optional at run time.
    step = builder.build(node)

    def opened(frame: Frame) -> Any:
        value = step(frame)
        if type(value) is OptionalValue:
            return value.value if value.present else ABSENT
        return value

    return opened


def _select_field(builder: Builder, operand: Step, holder: Node, name: str) -> Step:
    owner = builder.scope.env.fields(holder.type) if holder.type is not None else None
    properties = properties_of(owner.schema) if owner is not None else {}
    key = unescape(name)
    if key is not None and key in properties:
        shape = shape_of(properties[key])

        def select_property(frame: Frame) -> Any:
            value = operand(frame)
            if type(value) is ObjectView:
                value = value.raw
            if type(value) is not dict and type(value) is not PartialMap:
                return select(value, name)
            raw = value.get(key)
            if raw is None:
                raise no_such_key(name)
            return shape.value(raw)

        return select_property

    def select_field(frame: Frame) -> Any:
        value = operand(frame)
        kind = type(value)
        if kind is dict or kind is PartialMap:
            found = value.get(name, ABSENT)
        elif kind is ObjectView or kind is MapView:
            found = value.find(name)
        else:
            return select(value, name)
        if found is ABSENT:
            raise no_such_key(name)
        return found

    return select_field


def _described(node: Node) -> str:
    """Return the name of the type of a node of type `type(…)`."""
    described = node.type.parameters[0] if node.type is not None and node.type.parameters else None
    return "" if described is None else described.name or described.kind


def _constant(value: Any) -> Step:
    return lambda _frame: value
