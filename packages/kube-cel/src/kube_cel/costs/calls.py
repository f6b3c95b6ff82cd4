"""
What a call costs besides its arguments, and how large its result may be.

One rule per CEL function, registered under its names. A function without a rule costs one unit, and
so does a call for which its rule returns None.

Follows Kubernetes' apiserver/pkg/cel/library/cost.go and cel-go's checker/cost.go.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kube_cel.costs.sizes import (
    MAX_COST,
    NOTHING,
    ONE,
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    UNKNOWN,
    Path,
    Size,
    SizeAt,
    plus,
    scaled,
    times,
)
from kube_cel.signatures import Overload
from kube_cel.syntax_tree import Literal, Node
from kube_cel.types import Type

_NEW_LIST = 10
_MAX_FORMAT_PATTERN = 128
_MAX_FORMAT_NAME = 64
_TEXTS = ("string", "bytes")
_ADDRESS = Size(4, 16)  # bytes
_COMPARED_AT_ONCE = frozenset(
    ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"),
)


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument or a receiver, and what is known of its size."""

    node: Node
    type: Type
    path: Path
    size: Size | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of a call, and the size of its result if that is known."""

    cost: int
    size: Size | None = None


@dataclass(frozen=True, slots=True)
class Calling:
    """A call by one of its overloads."""

    overload: Overload | None
    target: Operand | None
    arguments: list[Operand]
    size_at: SizeAt

    @property
    def first(self) -> Operand | None:
        """The receiver, or the first argument of a function without one."""
        return self.target or (self.arguments[0] if self.arguments else None)

    def takes(self, *kinds: str) -> bool:
        """Return whether the overload's first parameter is of one of these kinds."""
        given = self.overload.parameters if self.overload is not None else ()
        return bool(given) and given[0].kind in kinds

    def size(self, operand: Operand | None) -> Size:
        """Return how large an operand may be."""
        if operand is None:
            return UNKNOWN
        return operand.size or self._below(operand.path.names) or UNKNOWN

    def element_size(self, operand: Operand) -> Size:
        """Return how large the elements of a list may be."""
        names = operand.path.names
        return (self._below([*names, "@items"]) if names else None) or UNKNOWN

    def _below(self, names: list[str]) -> Size | None:
        most = self.size_at(names) if names else None
        return None if most is None else Size(0, most)


Rule = Callable[[Calling], Estimate | None]
_AnyRule = TypeVar("_AnyRule", bound=Rule)

_RULES: dict[str, Rule] = {}


def _cost_of(*names: str) -> Callable[[_AnyRule], _AnyRule]:
    """Register a function as the cost rule of the CEL functions with these names."""

    def register(rule: _AnyRule) -> _AnyRule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def call_cost(function: str, call: Calling) -> Estimate:
    """Return what a call costs, without its arguments."""
    rule = _RULES.get(function)
    return (rule(call) if rule is not None else None) or Estimate(1)


def _walked(size: Size, factor: float = PER_CHARACTER) -> int:
    return scaled(size.most, factor)


@_cost_of("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
def _walk(call: Calling) -> Estimate:
    return Estimate(_walked(call.size(call.first)))


@_cost_of("ip.isCanonical")
def _walk_twice(call: Calling) -> Estimate:
    return Estimate(_walked(call.size(call.first), 2 * PER_CHARACTER))


@_cost_of("url", "lowerAscii", "upperAscii", "substring", "trim")
def _walk_and_copy(call: Calling) -> Estimate:
    size = call.size(call.first)
    return Estimate(_walked(size), size)


@_cost_of("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
def _compare_elements(call: Calling) -> Estimate:
    assert call.target is not None
    size = call.size(call.target)
    if not call.target.type.parameters:
        return Estimate(_walked(size))
    each = 1
    if call.target.type.parameters[0].kind in _TEXTS:
        each = plus(1, _walked(call.element_size(call.target)))
    return Estimate(times(size.most, each))


@_cost_of("replace")
def _replace(call: Calling) -> Estimate:
    size, old, new = (call.size(each) for each in (call.target, *call.arguments[:2]))
    if old.least == 0:
        most = plus(times(plus(size.most, 1), new.most), size.most)
    elif new.most <= old.least:
        most = size.most
    else:
        most = times(_quotient(size.most, old.least), new.most)
    if old.most == 0:
        least = plus(times(plus(size.least, 1), new.least), size.least)
    elif old.most <= new.least:
        least = size.least
    else:
        least = times(_quotient(size.least, old.most), new.least)
    return Estimate(_walked(size, 2 * PER_CHARACTER), Size(least, most))


def _quotient(left: int, right: int) -> int:
    found = math.ceil(float(left) / float(right))
    return found if found <= MAX_COST else 0  # what a processor makes of a number that does not fit


@_cost_of("split")
def _split(call: Calling) -> Estimate:
    size = call.size(call.target)
    limit = _number(call.arguments[1]) if len(call.arguments) > 1 else None
    most = size.most if limit is None else limit & MAX_COST
    return Estimate(_walked(size, 2 * PER_CHARACTER), Size(0, most))


def _number(operand: Operand) -> int | None:
    node = operand.node
    if isinstance(node, Literal) and node.kind == "int" and isinstance(node.value, int):
        return node.value
    return None


@_cost_of("join")
def _join(call: Calling) -> Estimate:
    assert call.target is not None
    count, size = call.size(call.target), NOTHING
    if call.target.type.parameters:
        size = count.times(call.element_size(call.target))
    if call.arguments:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(call.size(call.arguments[0]).times(between))
    return Estimate(_walked(size), size)


def _pattern_cost(text: Size, pattern: Size) -> int:
    walk = _walked(text.plus(ONE))
    return times(walk, _walked(pattern, PER_PATTERN_CHARACTER))


@_cost_of("find", "findAll")
def _find(call: Calling) -> Estimate:
    size = call.size(call.target)
    cost = _pattern_cost(size, call.size(call.arguments[0]))
    return Estimate(cost, Size(0, size.most))


@_cost_of("matches")
def _matches(call: Calling) -> Estimate | None:
    if call.target is None:
        return None
    return Estimate(_pattern_cost(call.size(call.target), call.size(call.arguments[0])))


@_cost_of("contains")
def _contains(call: Calling) -> Estimate:
    walk = _walked(call.size(call.target))
    return Estimate(times(walk, _walked(call.size(call.arguments[0]))))


@_cost_of("ip")
def _ip(call: Calling) -> Estimate | None:
    return None if call.target is not None else _walk(call)


@_cost_of("containsIP")
def _contains_ip(call: Calling) -> Estimate:
    return _contains_address(call, _walked(_ADDRESS.plus(_ADDRESS)))


@_cost_of("containsCIDR")
def _contains_cidr(call: Calling) -> Estimate:
    return _contains_address(call, _walked(_ADDRESS.plus(_ADDRESS)) + _walked(_ADDRESS) + 1)


def _contains_address(call: Calling, cost: int) -> Estimate:
    if call.overload is not None and call.overload.parameters[1].kind == "string":
        cost = plus(cost, _walked(call.size(call.arguments[0])))
    return Estimate(cost)


@_cost_of("validate")
def _validate(call: Calling) -> Estimate:
    walk = _walked(call.size(call.arguments[0]))
    return Estimate(scaled(walk, _MAX_FORMAT_PATTERN * PER_PATTERN_CHARACTER))


@_cost_of("sets.contains", "sets.intersects")
def _compare_sets(call: Calling, factor: float = 1) -> Estimate:
    left, right = (call.size(each) for each in call.arguments)
    return Estimate(plus(_walked(left.times(right), factor), 1))


@_cost_of("sets.equivalent")
def _compare_sets_twice(call: Calling) -> Estimate:
    return _compare_sets(call, 2)


def _new_list(size: Size, factor: float) -> Estimate:
    return Estimate(plus(_walked(size, factor), 1 + _NEW_LIST), size)


def _bound(operand: Operand, otherwise: int) -> int:
    found = _number(operand)
    return otherwise if found is None else max(found, 0)


@_cost_of("slice")
def _slice(call: Calling) -> Estimate:
    start, end = call.arguments
    count = _bound(end, call.size(call.target).most) - _bound(start, 0)
    return _new_list(Size(count & MAX_COST, count & MAX_COST), 1)


@_cost_of("lists.range")
def _range(call: Calling) -> Estimate:
    count = _bound(call.arguments[0], MAX_COST)
    return _new_list(Size(count, count), 1)


@_cost_of("reverse")
def _reverse(call: Calling) -> Estimate:
    return _new_list(call.size(call.target), 1)


@_cost_of("flatten")
def _flatten(call: Calling) -> Estimate:
    depth = _bound(call.arguments[0], MAX_COST) if call.arguments else 1
    return _new_list(call.size(call.target), float(depth))


@_cost_of("distinct")
def _distinct(call: Calling) -> Estimate:
    size = call.size(call.target)
    return _new_list(size.times(size), 2.0)


@_cost_of("sort", "@sortByAssociatedKeys")
def _sort(call: Calling) -> Estimate:
    """Estimate a sort as quadratic; comparing texts costs per character."""
    assert call.overload is not None
    sorted_by = call.arguments[0] if call.arguments else call.target
    size = call.size(sorted_by)
    is_text = call.overload.parameters[-1].parameters[0].kind in _TEXTS
    return _new_list(size.times(size), 2.0 + (PER_CHARACTER if is_text else 0.0))


@_cost_of("format")
def _format(call: Calling) -> Estimate:
    return Estimate(_walked(call.size(call.target)))


@_cost_of("bytes")
def _to_bytes(call: Calling) -> Estimate | None:
    if not call.takes("string"):
        return None
    size = call.size(call.arguments[0])
    return Estimate(_walked(size), Size(size.least, size.most * 4 & MAX_COST))


@_cost_of("string")
def _to_string(call: Calling) -> Estimate | None:
    if not call.takes("bytes"):
        return None
    size = call.size(call.arguments[0])
    return Estimate(_walked(size), Size(size.least // 4, size.most))


@_cost_of("strings.quote")
def _quote(call: Calling) -> Estimate:
    size = call.size(call.arguments[0])
    return Estimate(_walked(size), Size(size.least + 2, size.most * 2 + 2 & MAX_COST))


@_cost_of("startsWith", "endsWith")
def _starts_with(call: Calling) -> Estimate:
    return Estimate(_walked(call.size(call.arguments[0])))


@_cost_of("@in")
def _in(call: Calling) -> Estimate | None:
    if call.overload is None or call.overload.parameters[1].kind != "list":
        return None
    return Estimate(_walked(call.size(call.arguments[1]), 1))


@_cost_of("_+_")
def _add(call: Calling) -> Estimate | None:
    """Estimate `+`; of lists only a view is made, texts are copied."""
    if not call.takes("string", "bytes", "list"):
        return None
    left, right = call.arguments
    size = call.size(left).plus(call.size(right))
    return Estimate(1 if call.takes("list") else _walked(size), size)


@_cost_of("_<_", "_<=_", "_>_", "_>=_")
def _order(call: Calling) -> Estimate | None:
    return _compare(call) if call.takes(*_TEXTS) else None


@_cost_of("_!=_")
def _compare(call: Calling) -> Estimate:
    return Estimate(scaled(min(call.size(each).most for each in call.arguments), PER_CHARACTER))


@_cost_of("_==_")
def _equals(call: Calling) -> Estimate | None:
    left, right = call.arguments
    if left.type == right.type and left.type.kind == "object":
        if left.type.name in _COMPARED_AT_ONCE:
            return None
        if left.type.name == "kubernetes.NamedFormat":
            return Estimate(scaled(_MAX_FORMAT_NAME, PER_CHARACTER))
        if left.type.name == "kubernetes.URL":
            return Estimate(_walked(right.size or ONE))
    return _compare(call)
