"""
Constants, list literals and map literals.
"""

from typing import Any

from kube_cel.budget import FREE_SIZE, Frame, charge
from kube_cel.compiler.scope import Builder, Step
from kube_cel.containers import ABSENT, new_map
from kube_cel.errors import BuildError
from kube_cel.scalars import UInt
from kube_cel.syntax_tree import Entry, ListLiteral, Literal, MapLiteral, Node
from kube_cel.type_names import KEY_TYPES, no_such_key


def constant_of(node: Node) -> Any:
    """Return the value of a literal, or `ABSENT` for any other node."""
    if not isinstance(node, Literal):
        return ABSENT
    return UInt(node.value) if node.kind == "uint" and type(node.value) is int else node.value


def check_key(node: Node) -> None:
    """Raise for a constant in brackets whose type cannot be a key."""
    value = constant_of(node)
    if value is not ABSENT and type(value) not in KEY_TYPES:
        raise BuildError(no_such_key(value).message)


def build_literal(_builder: Builder, node: Literal) -> Step:
    """Compile a constant."""
    value = constant_of(node)
    return lambda _frame: value


def build_list(builder: Builder, node: ListLiteral) -> Step:
    """Compile `[a, ?b]`."""
    if node.optional:
        elements = tuple(
            builder.build_optional(element) if index in node.optional else builder.build(element)
            for index, element in enumerate(node.elements)
        )

        def make(frame: Frame) -> list[Any]:
            charge(frame, len(elements))
            values = [step(frame) for step in elements]
            return [value for value in values if value is not ABSENT]

        return make
    steps = tuple(map(builder.build, node.elements))
    if len(steps) <= FREE_SIZE:
        return lambda frame: [step(frame) for step in steps]

    def long_list(frame: Frame) -> list[Any]:
        charge(frame, len(steps))
        return [step(frame) for step in steps]

    return long_list


def build_map(builder: Builder, node: MapLiteral) -> Step:
    """Compile `{k: v, ?k: v}`."""
    keys = [constant_of(entry.key) for entry in node.entries]
    simple = all(type(key) is str for key in keys)
    if simple and len(keys) <= FREE_SIZE and not any(entry.optional for entry in node.entries):
        values = tuple(builder.build(entry.value) for entry in node.entries)
        pairs = tuple(zip(keys, values, strict=True))
        return lambda frame: {key: value(frame) for key, value in pairs}
    return _any_map(builder, node.entries)


def _any_map(builder: Builder, entries: list[Entry]) -> Step:
    pairs = tuple(
        (
            builder.build(entry.key),
            builder.build_optional(entry.value) if entry.optional else builder.build(entry.value),
        )
        for entry in entries
    )

    def make(frame: Frame) -> Any:
        charge(frame, len(pairs))
        entries = [(key(frame), value(frame)) for key, value in pairs]
        return new_map([entry for entry in entries if entry[1] is not ABSENT])

    return make
