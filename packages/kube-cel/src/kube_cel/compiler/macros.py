"""
Macros: loops over lists and maps, and names for values (`cel.bind`, `optMap`, `optFlatMap`).

A loop is charged for all its rounds before the first, by their number and the length of its body.
Where the range is a list of typed objects, read straight from the data, the loop variable holds raw
JSON and its fields are read by `field_paths`.

In `all` and `exists` an error does not matter if another round decides. An element that cannot be
read matters only to a body that reads it.

`for frame[slot] in items` is the whole binding of a loop variable: Python assigns the next item to
the slot, and the body reads it from there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kube_cel.budget import FREE_SIZE, Frame, charge_created, charge_loop
from kube_cel.compiler.access import is_optional, local_variable, unbox
from kube_cel.compiler.field_paths import FieldPath, find_path, raw_step, step_of
from kube_cel.compiler.operators import undecided
from kube_cel.compiler.scope import Builder, Step
from kube_cel.containers import ABSENT, LISTS, MAPS, MixedMap
from kube_cel.errors import (
    DeferredError,
    EvaluationError,
    EvaluationStopped,
    defer_error,
    merge_errors,
)
from kube_cel.library.lists import sort_by
from kube_cel.schema_views import Schema, properties_of
from kube_cel.syntax_tree import Macro
from kube_cel.type_names import key_text, no_such_overload, not_iterable

_CHARACTERS_PER_STEP = 128


@dataclass(frozen=True, slots=True)
class Loop:
    """
    A loop with its compiled parts; `name` is the macro's.

    `items` yields what the slot of the first variable is set to in each round; with two variables
    it sets the slot of the other one itself. `read` returns the value in the slot.
    """

    name: str
    slot: int
    items: Callable[[Frame], Iterable[Any]]
    read: Step
    body: Step
    test: Step | None = None


LoopBuilder = Callable[[Loop], Step]
_LOOPS: dict[str, LoopBuilder] = {}


def _builds(*names: str) -> Callable[[LoopBuilder], LoopBuilder]:
    """Register a function that compiles the loops of the macros with these names."""

    def register(build: LoopBuilder) -> LoopBuilder:
        _LOOPS.update(dict.fromkeys(names, build))
        return build

    return register


def build_loop(builder: Builder, node: Macro) -> Step:
    """Compile a loop."""
    path = find_path(node.operand, builder.scope)
    schema: Schema | None = None  # of the objects in a list that is read straight from the data
    if path is not None and path.schema is not None and path.schema.get("type") == "array":
        items = path.schema.get("items")
        if isinstance(items, Mapping) and items.get("type") == "object" and properties_of(items):
            schema = items
    operand = builder.build(node.operand) if path is None or schema is None else _raw_list(path)
    if node.name == "sortBy":
        operand = _list_only(operand)
    places = [builder.scope.reserve(name) for name in node.variables[:-1]]
    places.append(builder.scope.reserve(node.variables[-1], schema))
    with builder.scope.binding(*places):
        bodies = tuple(map(builder.build, node.bodies))
    cost = 1 + sum(body.end - body.start for body in node.bodies) // _CHARACTERS_PER_STEP
    first = places[0]
    read = (
        local_variable(first.slot)
        if first.schema is None
        else step_of(FieldPath(first, (), first.schema))
    )
    loop = Loop(
        node.name,
        first.slot,
        _items(operand, cost) if len(places) == 1 else _pairs(operand, cost, places[1].slot),
        read,
        bodies[-1],
        bodies[0] if len(bodies) == 2 else None,
    )
    return _LOOPS[node.name](loop)


def _raw_list(path: FieldPath) -> Step:
    read = raw_step(path)
    convert = path.shape.value

    def read_list(frame: Frame) -> Any:
        raw = read(frame)
        return raw if type(raw) is list or raw is None else convert(raw)

    return read_list


def _list_only(operand: Step) -> Step:
    """Reject a map, over which any other loop may run."""

    def read_list(frame: Frame) -> Any:
        held = operand(frame)
        if type(held) in MAPS:
            raise EvaluationError("no such overload: @sortByAssociatedKeys")
        return held

    return read_list


def _items(operand: Step, cost: int) -> Callable[[Frame], Iterable[Any]]:
    def items(frame: Frame) -> Iterable[Any]:
        held = operand(frame)
        found: Iterable[Any]
        if type(held) in LISTS:
            found = held
        elif type(held) in MAPS:
            found = held.keys()
        else:
            raise not_iterable(held)
        return charge_loop(frame, found, len(held) * cost)

    return items


def _pairs(operand: Step, cost: int, second: int) -> Callable[[Frame], Iterable[Any]]:
    def pairs(frame: Frame) -> Iterator[Any]:
        held = operand(frame)
        if type(held) in LISTS:
            found = enumerate(held)
        elif type(held) in MAPS:
            found = held.items()
        else:
            raise not_iterable(held, pairs=True)
        paid = charge_loop(frame, found, len(held) * cost)
        for key, frame[second] in paid:
            yield key

    return pairs


@_builds("all", "exists")
def _quantifier(loop: Loop) -> Step:
    """Compile `exists`, which one True decides, or `all`, which one False does."""
    slot, items, body, decisive = loop.slot, loop.items, loop.body, loop.name == "exists"

    def decide(frame: Frame) -> Any:
        # The loop of `operators.build_logic` once more: sharing it through a generator of steps
        # makes `exists` over three elements a third slower.
        failure: EvaluationError | None = None
        found = items(frame)
        for frame[slot] in found:
            try:
                verdict = body(frame)
                if verdict is decisive:
                    return decisive
                if type(verdict) is not bool:
                    raise no_such_overload()
            except EvaluationError as error:
                failure = merge_errors(failure, error)
        return undecided(failure, decisive)

    return decide


@_builds("exists_one", "existsOne")
def _exists_one(loop: Loop) -> Step:
    slot, items, holds = loop.slot, loop.items, _boolean(loop.body)
    return lambda frame: sum(holds(frame) for frame[slot] in items(frame)) == 1


@_builds("filter")
def _filter(loop: Loop) -> Step:
    slot, items, body, read = loop.slot, loop.items, loop.body, loop.read

    def select(frame: Frame) -> list[Any]:
        kept = []
        found = items(frame)
        for frame[slot] in found:
            verdict = body(frame)
            if verdict is True:
                kept.append(read(frame))
            elif verdict is not False:
                raise no_such_overload()
        return kept

    return select


@_builds("map", "transformList")
def _map(loop: Loop) -> Step:
    """Build `map`; with three arguments, the second one selects the items."""
    slot, items, body = loop.slot, loop.items, loop.body
    if loop.test is None:
        return lambda frame: [body(frame) for frame[slot] in items(frame)]
    holds = _boolean(loop.test)
    return lambda frame: [body(frame) for frame[slot] in items(frame) if holds(frame)]


@_builds("transformMap")
def _transform_map(loop: Loop) -> Step:
    slot, items, body = loop.slot, loop.items, loop.body
    holds = None if loop.test is None else _boolean(loop.test)

    def transform(frame: Frame) -> Any:
        made: dict[Any, Any] | MixedMap = {}
        found = items(frame)
        for frame[slot] in found:
            if holds is None or holds(frame):
                key, value = frame[slot], body(frame)
                if type(key) is str:  # a key of the map looped over: there is no other
                    made[key] = value
                else:
                    made = _insert(made, key, value)
        return made

    return transform


@_builds("transformMapEntry")
def _transform_entries(loop: Loop) -> Step:
    entries_of = _map(loop)

    def merge(frame: Frame) -> Any:
        merged: dict[Any, Any] | MixedMap = {}
        for entries in entries_of(frame):
            if type(entries) not in MAPS:
                raise no_such_overload()
            if len(entries) > FREE_SIZE:
                charge_created(frame, entries)
            for key, value in entries.items():
                merged = _insert(merged, key, value)
        return merged

    return merge


def _insert(made: dict[Any, Any] | MixedMap, key: Any, value: Any) -> dict[Any, Any] | MixedMap:
    """Add an entry with a new key; return the map, which may be another object."""
    if type(made) is dict and (type(key) is not str or type(value) is DeferredError):
        made = MixedMap(made.items())
    if key in made:
        raise EvaluationError(f"insert failed: key {key_text(key)} already exists")
    made[key] = value
    return made


@_builds("sortBy")
def _sort_by(loop: Loop) -> Step:
    slot, items, body, read = loop.slot, loop.items, loop.body, loop.read
    return lambda frame: sort_by(
        [(body(frame), defer_error(read, frame)) for frame[slot] in items(frame)]
    )


def _boolean(step: Step) -> Step:
    """Return a step that raises unless the result is a boolean."""

    def holds(frame: Frame) -> bool:
        verdict = step(frame)
        if verdict is True or verdict is False:
            return bool(verdict)
        raise no_such_overload()

    return holds


def build_bind(builder: Builder, node: Macro) -> Step:
    """
    Compile `cel.bind(name, value, body)`; data with a schema is bound as it is.

    A value that fails is an error only where the body reads it.
    """
    walk = find_path(node.operand, builder.scope)
    if walk is not None and walk.schema is not None:
        value = raw_step(walk)
        place = builder.scope.reserve(node.variables[0], walk.schema)
    else:
        value = builder.build(node.operand)
        place = builder.scope.reserve(node.variables[0])
    with builder.scope.binding(place):
        body = builder.build(node.bodies[0])
    slot = place.slot

    def bind(frame: Frame) -> Any:
        try:
            frame[slot] = value(frame)
        except EvaluationStopped:
            raise
        except EvaluationError as error:
            frame[slot] = DeferredError(error)
        return body(frame)

    return bind


def build_optional_map(builder: Builder, node: Macro) -> Step:
    """Compile `optional.optMap(name, body)` to a step that returns the value or `ABSENT`."""
    if is_optional(node.operand):
        optional = builder.build_optional(node.operand)
    else:
        optional = unbox(builder.build(node.operand), "hasValue")
    place = builder.scope.reserve(node.variables[0])
    with builder.scope.binding(place):
        is_flat = node.name == "optFlatMap"
        body = (builder.build_optional if is_flat else builder.build)(node.bodies[0])
    slot = place.slot

    def bind(frame: Frame) -> Any:
        frame[slot] = value = optional(frame)
        return value if value is ABSENT else body(frame)

    return bind
