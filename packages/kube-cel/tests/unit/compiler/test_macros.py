from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import DYN
from kube_cel.values import EvaluationError, MissingData

STRING = {"type": "string"}
PORT = {
    "type": "object",
    "properties": {"name": STRING, "port": {"type": "integer"}, "tags": {"type": "object"}},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "ports": {"type": "array", "items": PORT},
        "maybe": {"type": "array", "items": {**PORT, "nullable": True}},
        "days": {"type": "array", "items": {"type": "string", "format": "date"}},
        "labels": {"type": "object", "additionalProperties": STRING},
    },
}
ENV = Environment.kro().extend(schemas={"web": SCHEMA}, types={"x": DYN})
WEB = {
    "ports": [{"name": "b", "port": 80}, {"name": "a", "port": 443, "extra": None}],
    "maybe": [None, {"name": "c"}],
    "days": ["2024-01-02", "2023-01-01"],
    "labels": {"app": "web", "tier": "front"},
}


def evaluate(text: str, x: Any = None) -> Any:
    return compile_text(text, ENV).evaluate({"web": WEB, "x": x})


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[1, 2, 3].map(i, i * 2)", [2, 4, 6]),
        ("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6]),
        ("[1, 2, 3].filter(i, i != 2)", [1, 3]),
        ("[1, 2].all(i, i > 0)", True),
        ("[1, 2].exists(i, i > 1)", True),
        ("[1, 2, 2].exists_one(i, i == 2)", False),
        ("[].all(i, false)", True),
        ("[].exists(i, true)", False),
        ("{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]),
        ("{'a': 1}.exists(k, k == 'a')", True),
        ("['a', 'b'].transformList(i, v, string(i) + v)", ["0a", "1b"]),
        ("['a', 'b'].transformList(i, v, i > 0, v)", ["b"]),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", {"a": 2, "b": 3}),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", {"b": 2}),
        ("['a', 'b'].transformMapEntry(i, v, {v: i})", {"a": 0, "b": 1}),
        ("{'a': 1}.all(k, v, k == 'a' && v == 1)", True),
        ("{'a': 1}.exists(k, v, v == 2)", False),
        ("[3, 3].existsOne(i, v, i == 1)", True),
        ("['bb', 'a'].sortBy(s, s.size())", ["a", "bb"]),
        ("[1, 2].map(i, [3, 4].map(j, i * j))", [[3, 4], [6, 8]]),
        ("[1].map(i, [2].map(i, i) + [i])", [[2, 1]]),
    ],
)
def test_loops(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("web.ports.map(p, p.port)", [80, 443]),
        ("web.ports.filter(p, p.name == 'a')", [{"name": "a", "port": 443, "extra": None}]),
        ("web.ports.map(p, p)", WEB["ports"]),
        ("web.ports.exists(p, has(p.tags))", False),
        ("web.ports.map(p, p.?tags.hasValue())", [False, False]),
        ("web.ports.sortBy(p, p.name).map(p, p.port)", [443, 80]),
        ("web.ports.transformMapEntry(i, p, {p.name: p.port})", {"b": 80, "a": 443}),
        ("web.ports.transformList(i, p, p.name + string(i))", ["b0", "a1"]),
        ("web.days.map(d, d.getFullYear())", [2024, 2023]),
        ("web.days.filter(d, d.getFullYear() > 2023)", ["2024-01-02T00:00:00Z"]),
        ("web.labels.map(k, k)", ["app", "tier"]),
        ("web.labels.transformList(k, v, k + '=' + v)", ["app=web", "tier=front"]),
        ("web.labels.exists(k, v, v == 'front')", True),
        ("web.maybe.filter(m, m != null).map(m, m.name)", ["c"]),
        ("dyn(web.ports).map(p, p.name)", ["b", "a"]),
    ],
)
def test_loops_over_data_with_a_schema(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[0, 2].exists(i, 4 / i == 2)", True),
        ("[0, 2].all(i, 4 / i == 1)", False),
        ("[0, 2].exists(i, v, 4 / v == 2)", True),
    ],
)
def test_an_error_does_not_matter_if_another_round_decides(text: str, result: bool) -> None:
    assert evaluate(text) is result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[0, 2].exists(i, 4 / i == 3)", "division by zero"),
        ("[0, 2].exists_one(i, 4 / i == 2)", "division by zero"),
        ("[0].map(i, 4 / i)", "division by zero"),
        ("[dyn(1)].filter(i, i)", "no such overload"),
        ("[dyn(1)].all(i, i)", "no such overload"),
        ("[1, 1].transformMapEntry(i, v, {string(v): i})", "insert failed: key 1 already exists"),
        ("[dyn(1)].transformMapEntry(i, v, v)", "no such overload"),
        ("dyn(1).map(i, i)", "got 'types.Int', expected iterable type"),
        ("dyn('a').all(k, v, true)", "unsupported comprehension range type: types.String"),
        ("dyn({}).sortBy(i, i)", "no such overload: @sortByAssociatedKeys"),
        ("[dyn(1), dyn('a')].sortBy(i, i)", "list elements must have the same type"),
        ("web.maybe.map(m, m.name)", "no such key: name"),
    ],
)
def test_other_errors_end_the_loop(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert str(caught.value) == message


def test_a_field_that_a_round_misses_is_pending() -> None:
    with pytest.raises(MissingData, match="no such key: tags"):
        evaluate("web.ports.map(p, p.tags)")


def test_a_null_among_typed_objects_is_an_error() -> None:
    program = compile_text("web.ports.map(p, p.port)", ENV)
    with pytest.raises(EvaluationError, match="invalid data"):
        program.evaluate({"web": {"ports": [None]}})
