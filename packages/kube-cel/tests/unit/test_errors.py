"""What contradicts its schema, or fails where it is bound, is an error for who reads it."""

from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.errors import (
    ConversionError,
    DeferredError,
    EvaluationError,
    EvaluationStopped,
    MissingData,
    UnknownValue,
    defer_error,
    raise_if_deferred,
)
from kube_cel.program import compile_text

TEXTS = {"type": "array", "items": {"type": "string"}}
PLACES = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "texts": TEXTS,
        "places": PLACES,
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "loose": {"type": "array"},
        "on": {"type": "boolean"},
    },
}
ENV = Environment.kro().extend({"web": SCHEMA})
WEB = {
    "texts": ["a", None],
    "places": [None, {"name": "n"}],
    "labels": {"k": 1, "l": "m"},
    "loose": [1],
    "on": True,
}
NULL = "invalid data, got null for schema with nullable=false"


def evaluate(text: str) -> Any:
    return compile_text(text, ENV).evaluate({"web": WEB})


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("web.texts.filter(e, false)", []),
        ("web.texts.map(e, 1)", [1, 1]),
        ("web.texts.map(e, e == 'a' || true)", [True, True]),
        ("web.texts.all(e, true)", True),
        ("web.texts.all(e, e == 'b')", False),
        ("web.texts.exists(e, e == 'a')", True),
        ("web.texts.exists_one(e, true)", False),
        ("web.texts.transformList(i, v, i)", [0, 1]),
        ("web.texts.transformMapEntry(i, v, {string(i): i})", {"0": 0, "1": 1}),
        ("web.texts.sortBy(e, 1).map(e, 2)", [2, 2]),
        ("web.texts.indexOf('b')", -1),
        ("web.texts.lastIndexOf('a')", 0),
        ("web.texts.distinct().size()", 2),
        ("(web.texts + web.texts).distinct().size()", 3),
        ("(web.texts + web.texts)[0]", "a"),
        ("web.texts.reverse()[1]", "a"),
        ("web.texts.slice(0, 1)", ["a"]),
        ("[web.texts].flatten().size()", 2),
        ("lists.setAtIndex(web.texts, 1, 'x')", ["a", "x"]),
        ("lists.removeAtIndex(web.texts, 1)", ["a"]),
        ("['a', 'b'] == web.texts", False),
        ("web.texts != ['a', 'b']", True),
        ("'a' in web.texts", True),
        ("web.places.map(p, 1)", [1, 1]),
        ("web.places.exists(p, p.name == 'n')", True),
        ("web.labels.transformList(k, v, k)", ["k", "l"]),
        ("dyn(web).deepMerge({'x': 9}).x", 9),
        ("dyn(web).deepMerge({'on': false}).on", False),
        ("web.labels.merge({'x': 'y'}).x", "y"),
        ("cel.bind(x, 1 / 0, 2)", 2),
        ("cel.bind(x, web.labels.none, web.on ? 'a' : x)", "a"),
        ("cel.bind(x, [1][3], x == 1 || true)", True),
        ("cel.bind(x, web.places[0], web.on || x.name == 'n')", True),
    ],
)
def test_what_nobody_reads_does_no_harm(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("web.texts[1]", NULL),
        ("web.texts.map(e, e)", NULL),
        ("web.texts.filter(e, true)", NULL),
        ("web.texts.map(e, dyn(e))", NULL),
        ("web.texts.exists(e, e == 'b')", NULL),
        ("web.texts.transformList(i, v, v)", NULL),
        ("web.texts.sortBy(e, e)", NULL),
        ("web.texts.reverse()[0]", NULL),
        ("web.texts.last().value()", NULL),
        ("web.texts.isSorted()", NULL),
        ("web.texts.max()", NULL),
        ("web.texts == ['a', 'b']", NULL),
        ("'b' in web.texts", NULL),
        ("web.places.map(p, p.name)", NULL),
        ("web.texts.sort()", "list elements must have the same type"),
        ("web.texts.join(',')", f"join: invalid input: {NULL}"),
        ("'%s'.format([web.texts])", "error during formatting: string clause can only be used"),
        ("json.encode(web.texts)", "type conversion error from list to '*structpb.Value'"),
        ("web.labels.k", "invalid data, expected string, got int64"),
        ("web.labels.merge({'x': 'y'}).k", "invalid data, expected string, got int64"),
        ("dyn(web).deepMerge({'on': false}).loose", "invalid array type, expected Items"),
        ("cel.bind(x, 1 / 0, x)", "division by zero"),
        ("cel.bind(x, web.places[0], x.name)", NULL),
        ("cel.bind(x, web.places[0], has(x.name))", NULL),
        ("cel.bind(x, web.places[0], x)", NULL),
        ("cel.bind(x, 1 / 0, [1].map(y, x))", "division by zero"),
    ],
)
def test_who_reads_it_is_told(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "web.texts",
        "web.texts + ['b']",
        "{'a': web.texts.reverse()}",
        "web.texts.sortBy(e, 1)",
        "web.labels.merge({'x': 'y'})",
    ],
)
def test_it_cannot_leave(text: str) -> None:
    with pytest.raises(ConversionError, match=r"unsupported type: error"):
        evaluate(text)


def test_what_is_pending_stays_so_when_it_is_read() -> None:
    with pytest.raises(MissingData, match="no such key: none"):
        evaluate("cel.bind(x, web.labels.none, x)")


def test_a_stopped_evaluation_is_not_kept_for_later() -> None:
    with pytest.raises(EvaluationStopped):
        evaluate("cel.bind(x, lists.range(1000).map(a, lists.range(1000)).flatten(), 1)")


def test_an_unknown_that_is_bound_is_unknown_to_who_reads_it() -> None:
    def fail() -> Any:
        raise UnknownValue(("web.status",))

    kept = defer_error(fail)
    assert type(kept) is DeferredError
    with pytest.raises(UnknownValue):
        raise_if_deferred(kept)


def test_an_error_that_is_raised_again_does_not_grow() -> None:
    kept = DeferredError(EvaluationError("bad"))
    depths = set()
    for _ in range(3):
        with pytest.raises(EvaluationError) as caught:
            raise_if_deferred(kept)
        depths.add(len(caught.traceback))
    assert len(depths) == 1
