"""
The walk over a checked expression that adds up its worst-case cost.

Each node is visited once, arguments before receivers, as in cel-go's checker/cost.go: the order
decides which path an operand is taken to have (`Path`). The caller supplies the sizes of variables
and fields.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kube_cel.costs.calls import Calling, Estimate, Operand, call_cost
from kube_cel.costs.loops import Loop, expand
from kube_cel.costs.sizes import (
    MAX_COST,
    NOTHING,
    ONE,
    UNKNOWN,
    Entries,
    Path,
    Size,
    SizeAt,
    plus,
    times,
)
from kube_cel.environment import Library
from kube_cel.signatures import Overload
from kube_cel.syntax_tree import (
    Call,
    Has,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Node,
    Select,
    dotted,
)
from kube_cel.types import BOOL, DOUBLE, DURATION, DYN, INT, TIMESTAMP, UINT, Type
from kube_cel.unification import Substitution, may_match

_SCALARS = frozenset((BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))
_NEW_LIST, _NEW_MAP = 10, 30
_NO_PATH = Path.of()


def estimate_cost(tree: Node, library: Library, size_at: SizeAt) -> int:
    """Return what a checked expression costs at worst; `MAX_COST` is as good as without end."""
    try:
        return _Estimator(library, size_at).cost(tree)
    except RecursionError:
        return 0  # not written by an author; whether it can be evaluated is decided elsewhere


@dataclass(frozen=True, slots=True)
class _Local:
    """A name bound by a loop."""

    path: Path
    size: Size | None
    entries: Entries | None = None


class _Estimator:
    __slots__ = ("_entries", "_library", "_locals", "_paths", "_repeated", "_size_at", "_sizes")

    def __init__(self, library: Library, size_at: SizeAt) -> None:
        self._library = library
        self._size_at = size_at
        self._locals: dict[str, _Local] = {}
        self._paths: dict[Node, Path] = {}
        self._sizes: dict[Node, Size] = {}
        self._entries: dict[Node, Entries] = {}
        self._repeated: dict[Node, int] = {}  # what stands twice in an expansion is counted once

    def cost(self, node: Node) -> int:
        """Return what a node costs with all that is below it."""
        return _VISITS[node.__class__](self, node)

    def literal(self, node: Literal) -> int:
        return 0

    def ident(self, node: Ident) -> int:
        self._paths[node] = self._path(node) if self._local(node) else Path.of(node.name)
        return 1

    def select(self, node: Select) -> int:
        owner = node.operand.type
        if owner is None:  # the dotted name of a type
            self._paths[node] = Path.of(dotted(node) or "")
            return 1
        cost = _VISITS[node.operand.__class__](self, node.operand)
        if owner.kind == "map" or owner.kind == "object":
            cost = plus(cost, 1)
        self._paths[node] = self._path(node.operand).below(node.name)
        return cost

    def has(self, node: Has) -> int:
        return _VISITS[node.operand.__class__](self, node.operand)

    def list_literal(self, node: ListLiteral) -> int:
        cost, size = 0, Size(MAX_COST, 0) if node.elements else NOTHING
        for element in node.elements:
            cost = plus(cost, _VISITS[element.__class__](self, element))
            size = size.or_else(self._size(element) or UNKNOWN)
        self._entries[node] = Entries("list", ONE, size)
        return plus(cost, _NEW_LIST)

    def map_literal(self, node: MapLiteral) -> int:
        cost = 0
        key = value = Size(MAX_COST, 0) if node.entries else NOTHING
        for entry in node.entries:
            cost = plus(cost, _VISITS[entry.key.__class__](self, entry.key))
            cost = plus(cost, _VISITS[entry.value.__class__](self, entry.value))
            key = key.or_else(self._size(entry.key) or UNKNOWN)
            value = value.or_else(self._size(entry.value) or UNKNOWN)
        self._entries[node] = Entries("map", key, value)
        return plus(cost, _NEW_MAP)

    def macro(self, node: Macro) -> int:
        expanded = expand(node)
        if node.name in ("optMap", "optFlatMap"):
            self._repeated[node.operand] = self.cost(node.operand)
        cost = self.cost(expanded)
        self._copy(node, expanded)
        return cost

    def loop(self, node: Loop) -> int:
        cost = plus(self.cost(node.ranged), self.cost(node.first))
        outside = self._locals
        accumulated = _Local(
            self._path(node.first), self._size(node.first), self._inside(node.first)
        )
        self._locals = {**outside, node.name: accumulated}
        if node.condition is None or node.step is None:
            cost = plus(cost, self.cost(node.result))
            self._locals = outside
            self._copy(node, node.result)
            return cost
        within = self._locals
        entries, path = self._inside(node.ranged), self._path(node.ranged)
        kind = entries.kind if entries is not None else (node.ranged.type or DYN).kind
        is_list = kind == "list"
        key = "@indices" if is_list and len(node.variables) == 2 else "@keys"
        key_size = entries.key if entries is not None else None
        value_size = entries.value if entries is not None else None
        value = "@items" if is_list else "@values"
        if len(node.variables) == 2:
            bound = [_Local(path.below(key), key_size), _Local(path.below(value), value_size)]
        elif is_list:
            bound = [_Local(path.below(value), value_size)]
        else:
            bound = [_Local(path.below(key), key_size)]
        self._locals = {**within, **dict(zip(node.variables, bound, strict=True))}
        each = plus(self.cost(node.condition), self.cost(node.step))
        self._locals = within
        cost = plus(cost, self.cost(node.result))
        self._locals = outside
        count = self._size(node.ranged) or UNKNOWN
        if isinstance(node.first, Literal):
            self._sizes[node] = ONE
        else:
            self._sizes[node] = count
            inside = self._inside(node.step)
            if inside is not None:
                self._entries[node] = inside
        return plus(cost, times(count.most, each))

    def call(self, node: Call) -> int:
        if node.function == "dyn":
            (argument,) = node.arguments
            cost = _VISITS[argument.__class__](self, argument)
            self._copy(node, argument)
            return plus(cost, 1)
        operands: list[Operand] = []
        costs: list[int] = []
        for argument in node.arguments:
            costs.append(_VISITS[argument.__class__](self, argument))
            operands.append(self._operand(argument))
        target, cost = None, 0
        if node.target is not None:
            known = self._repeated.get(node.target)
            cost = _VISITS[node.target.__class__](self, node.target) if known is None else known
            target = self._operand(node.target)
        return plus(cost, self._all_overloads(node, target, operands, costs))

    def _all_overloads(
        self, node: Call, target: Operand | None, operands: list[Operand], costs: list[int]
    ) -> int:
        """Return the highest cost of the overloads that fit, and note the size of the result."""
        worst, size = 0, None
        given = [operand.type for operand in ([target] if target else []) + operands]
        fitting: list[Overload | None] = []
        for candidate in self._library.candidates(
            node.function, node.target is not None, len(given)
        ):
            if may_match(given, candidate.parameters):
                substitution = Substitution()
                if substitution.unify_all(given, substitution.instantiate(candidate)[0]):
                    fitting.append(candidate)
        for overload in fitting or [None]:
            calling = Calling(overload, target, operands, self._size_at)
            if node.function in ("_&&_", "_||_"):
                found = Estimate(min(sum(costs), MAX_COST))
            elif node.function == "_?_:_":
                then, otherwise = calling.arguments[1:]
                self._join_entries(node, then.node, otherwise.node)
                either = (then.size or UNKNOWN).or_else(otherwise.size or UNKNOWN)
                found = Estimate(plus(costs[0], max(costs[1], costs[2])), either)
            else:
                if node.function == "_+_" and calling.takes("string", "bytes", "list"):
                    self._join_entries(node, *node.arguments)
                called = call_cost(node.function, calling)
                found = Estimate(min(called.cost + sum(costs), MAX_COST), called.size)
            worst = max(worst, found.cost)
            if found.size is not None:
                size = found.size if size is None else size.or_else(found.size)
            if node.function == "_[_]" and overload is not None:
                kind = overload.parameters[0].kind
                if kind in ("list", "map"):
                    step = "@items" if kind == "list" else "@values"
                    indexed = node.arguments[0]
                    entries = self._inside(indexed)
                    self._paths[node] = self._path(indexed).below(step)
                    size = entries.value if entries is not None else None
            size = size or self._size(node)
        if size is not None:
            self._sizes[node] = size
        return worst

    def _join_entries(self, node: Node, left: Node, right: Node) -> None:
        entries = self._inside(left)
        joined = entries.or_else(self._inside(right)) if entries is not None else None
        if joined is not None:
            self._entries[node] = joined

    def _operand(self, node: Node) -> Operand:
        return Operand(node, node.type or DYN, self._path(node), self._size(node))

    def _local(self, node: Node) -> _Local | None:
        if isinstance(node, Ident) and not node.absolute:
            return self._locals.get(node.name)
        return None

    def _path(self, node: Node) -> Path:
        local = self._local(node)
        return local.path if local is not None else self._paths.get(node, _NO_PATH)

    def _size(self, node: Node) -> Size | None:
        known = self._sizes.get(node)
        if known is not None:
            return known
        match node:
            case Literal(value=str() | bytes() as text):
                return Size(len(text), len(text))
            case Literal():
                return ONE
            case ListLiteral(elements=parts):
                return Size(len(parts), len(parts))
            case MapLiteral(entries=written):
                return Size(len(written), len(written))
            case _:
                pass
        names = self._path(node).names
        most = self._size_at(names) if names else None
        if most is not None:
            self._sizes[node] = Size(0, most)
            return self._sizes[node]
        examined: Type = node.type or DYN
        while examined.kind == "optional_type" and examined.parameters:
            examined = examined.parameters[0]
        if examined in _SCALARS:
            return ONE
        local = self._local(node)
        return local.size if local is not None else None

    def _inside(self, node: Node) -> Entries | None:
        local = self._local(node)
        return self._entries.get(node) or (local.entries if local is not None else None)

    def _copy(self, node: Node, source: Node) -> None:
        """Give a node the size and entries of the node it evaluates to."""
        size, entries = self._size(source), self._inside(source)
        if size is not None:
            self._sizes[node] = size
        if entries is not None:
            self._entries[node] = entries


_VISITS: dict[type[Node], Callable[[_Estimator, Any], int]] = {
    Literal: _Estimator.literal,
    Ident: _Estimator.ident,
    Select: _Estimator.select,
    Has: _Estimator.has,
    Call: _Estimator.call,
    ListLiteral: _Estimator.list_literal,
    MapLiteral: _Estimator.map_literal,
    Macro: _Estimator.macro,
    Loop: _Estimator.loop,
}
