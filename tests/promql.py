"""
Evaluates the PromQL of our alerts on pages that `/metrics` returned.

Parsed by the parser of GreptimeDB; evaluated here, as far as alerts and panels go: selectors,
`rate` and `increase` over all pages, `sum`, `max` and `count`, `histogram_quantile`, `absent`,
division and comparisons. Rates are not extrapolated to the ends of their window. What is not known
raises, so that an alert which uses more is noticed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, gt, lt
from typing import Any

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]
Vector = Mapping[Labels, float]


@dataclass(frozen=True, slots=True)
class Page:
    """What `/metrics` returned at a time in seconds."""

    time: float
    samples: Mapping[str, Vector]

    @classmethod
    def parse(cls, time: float, text: str) -> "Page":
        """Parse the text format."""
        samples: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
        return cls(time, samples)


def selectors(expression: str) -> Iterator[Any]:
    """Yield the vector selectors of an expression; raise if it is not PromQL."""
    yield from _selectors(promql_parser.parse(expression))


def _selectors(node: Any) -> Iterator[Any]:
    match type(node).__name__:
        case "VectorSelector":
            yield node
        case "MatrixSelector":
            yield node.vector_selector
        case "Call":
            for each in node.args:
                yield from _selectors(each)
        case "BinaryExpr":
            yield from _selectors(node.lhs)
            yield from _selectors(node.rhs)
        case "AggregateExpr" | "ParenExpr":
            yield from _selectors(node.expr)
        case "NumberLiteral":
            pass
        case name:
            raise NotImplementedError(name)


def groupings(expression: str) -> Iterator[tuple[str, ...]]:
    """Yield the labels of each aggregation."""

    def walk(node: Any) -> Iterator[tuple[str, ...]]:
        if type(node).__name__ == "AggregateExpr" and node.modifier is not None:
            yield tuple(node.modifier.labels)
        for part in ("lhs", "rhs", "expr"):
            if hasattr(node, part):
                yield from walk(getattr(node, part))
        for each in getattr(node, "args", ()):
            yield from walk(each)

    yield from walk(promql_parser.parse(expression))


def evaluate(expression: str, pages: Sequence[Page]) -> Vector:
    """Return the value at the last page; an alert fires for each of its elements."""
    found = _value(promql_parser.parse(expression), pages)
    assert not isinstance(found, float), "an alert is about series"
    return found


def _value(node: Any, pages: Sequence[Page]) -> Vector | float:
    match type(node).__name__:
        case "NumberLiteral":
            return float(node.val)
        case "ParenExpr":
            return _value(node.expr, pages)
        case "VectorSelector":
            return _selected(node, pages[-1])
        case "AggregateExpr":
            return _aggregated(node, _vector(node.expr, pages))
        case "Call":
            return _called(node, pages)
        case "BinaryExpr":
            return _combined(str(node.op), _vector(node.lhs, pages), _value(node.rhs, pages))
        case name:
            raise NotImplementedError(name)


def _vector(node: Any, pages: Sequence[Page]) -> Vector:
    found = _value(node, pages)
    assert not isinstance(found, float), "a vector is expected"
    return found


def _selected(node: Any, page: Page) -> Vector:
    matchers = node.matchers.matchers
    return {
        labels: value
        for labels, value in page.samples.get(node.name, {}).items()
        if all(_matches(dict(labels).get(each.name, ""), each) for each in matchers)
    }


def _matches(value: str, matcher: Any) -> bool:
    match str(matcher.op):
        case "MatchOp.Equal" | "=":
            return bool(value == matcher.value)
        case "MatchOp.Re" | "=~":
            return re.fullmatch(matcher.value, value) is not None
        case op:
            raise NotImplementedError(op)


def _aggregated(node: Any, vector: Vector) -> Vector:
    kept = set(node.modifier.labels) if node.modifier is not None else set()
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        key = frozenset((name, text) for name, text in labels if name in kept)
        groups.setdefault(key, []).append(value)
    match str(node.op):
        case "sum":
            return {key: sum(values) for key, values in groups.items()}
        case "max":
            return {key: max(values) for key, values in groups.items()}
        case "count":
            return {key: float(len(values)) for key, values in groups.items()}
        case op:
            raise NotImplementedError(op)


def _called(node: Any, pages: Sequence[Page]) -> Vector:
    match node.func.name:
        case "rate" | "increase" if len(pages) < 2:
            return {}  # it takes two samples
        case "rate" | "increase" as name:
            selector = node.args[0].vector_selector
            first, last = _selected(selector, pages[0]), _selected(selector, pages[-1])
            seconds = pages[-1].time - pages[0].time if name == "rate" else 1.0
            return {key: (last[key] - first[key]) / seconds for key in last.keys() & first.keys()}
        case "absent":
            return {} if _vector(node.args[0], pages) else {frozenset(): 1.0}
        case "histogram_quantile":
            return _quantiles(float(node.args[0].val), _vector(node.args[1], pages))
        case name:
            raise NotImplementedError(name)


def _quantiles(share: float, buckets: Vector) -> Vector:
    groups: dict[Labels, list[tuple[float, float]]] = {}
    for labels, value in buckets.items():
        bound = float(dict(labels)["le"])
        key = frozenset((name, text) for name, text in labels if name != "le")
        groups.setdefault(key, []).append((bound, value))
    found = {}
    for key, group in groups.items():
        group.sort()
        total = group[-1][1]
        if not total:
            continue
        below, under = 0.0, 0.0
        for bound, count in group:
            if count >= share * total:
                if bound == float("inf"):
                    found[key] = below
                else:
                    part = (share * total - under) / (count - under) if count > under else 1.0
                    found[key] = below + (bound - below) * part
                break
            below, under = bound, count
    return found


def _combined(op: str, left: Vector, right: Vector | float) -> Vector:
    if op == "/":
        assert not isinstance(right, float), "only vectors are divided"
        return {key: left[key] / right[key] for key in left.keys() & right.keys() if right[key]}
    assert isinstance(right, float), "only numbers are compared with"
    compare: Callable[[float, float], bool] = {">": gt, "<": lt, "==": eq}[op]
    return {key: value for key, value in left.items() if compare(value, right)}
