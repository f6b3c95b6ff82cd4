"""Selections, presence tests and optionals, on data with and without a schema."""

from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import DYN
from kube_cel.values import EvaluationError, MissingData

STRING = {"type": "string"}
NOTES = {"type": "object", "additionalProperties": STRING}
OWNER = {"type": "object", "properties": {"name": STRING, "uid": STRING}}
META = {
    "type": "object",
    "properties": {
        "name": STRING,
        "notes": NOTES,
        "owners": {"type": "array", "items": OWNER},
        "made": {"type": "string", "format": "date-time"},
    },
}
ENV = Environment.kro().extend(
    schemas={"pod": {"type": "object", "properties": {"meta": META}}}, types={"x": DYN}
)
POD = {
    "meta": {
        "name": "p",
        "notes": {"a/b": "c"},
        "owners": [{"name": "o"}],
        "made": "2024-01-01T00:00:00Z",
    }
}
DATA = {
    "pod": POD,
    "x": {"m": {"k": "v", "nil": None}, "l": [1, 2], "n": None, "s": "text"},
}


def evaluate(text: str, data: Any = None) -> Any:
    return compile_text(text, ENV).evaluate(DATA if data is None else data)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("x.m.k", "v"),
        ("x['m']['k']", "v"),
        ("x.m.nil", None),
        ("pod.meta.owners.filter(o, true)[0].name", "o"),
        ("(true ? pod.meta : pod.meta).name", "p"),
        ("dyn(pod).meta.name", "p"),
        ("dyn(pod.meta)['name']", "p"),
        ("cel.bind(m, pod.meta, m.name + m.owners[0].name)", "po"),
        ("cel.bind(m, pod.meta, m)", POD["meta"]),
        ("has(pod.meta.name)", True),
        ("has(pod.meta.owners[0].uid)", False),
        ("has(pod.meta.notes.x)", False),
        ("has(x.m.k)", True),
        ("has(x.m.nil)", True),
        ("has(x.s.k)", False),
        ("has(x.n.k)", False),
        ("has(dyn(pod).meta.nope)", False),
    ],
)
def test_what_is_there_is_found(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x.nope", "no such key: nope"),
        ("x.n.k", "no such key: k"),
        ("x.s.k", "no such key: k"),
        ("x.l[2]", "index out of bounds: 2"),
        ("has(x.nope.k)", "no such key: nope"),
        ("has(pod.meta.owners[1].uid)", "index out of bounds: 1"),
        ("dyn(pod).meta.nope", "no such key: nope"),
        ("pod.meta.owners.filter(o, true)[0].uid", "no such key: uid"),
    ],
)
def test_what_is_not_there_may_come(text: str, message: str) -> None:
    with pytest.raises(MissingData) as caught:
        evaluate(text)
    assert str(caught.value) == message


def test_a_list_has_no_fields() -> None:
    with pytest.raises(EvaluationError, match="unsupported index type 'string' in list"):
        evaluate("x.l.k")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("pod.meta.?name", "p"),
        ("pod.meta.?notes['a/b'].orValue('')", "c"),
        ("pod.meta.?notes['x'].orValue('none')", "none"),
        ("pod.meta.?notes[?'x'].hasValue()", False),
        ("pod.meta.?made.optMap(t, t.getFullYear()).orValue(0)", 2024),
        ("pod.?meta.owners[0].name", "o"),
        ("pod.?meta.owners[7].name", None),
        ("pod.meta.owners[?0].?uid", None),
        ("pod.meta.owners[?0].optFlatMap(o, o.?name).orValue('')", "o"),
        ("x.?m.k", "v"),
        ("x.?nope.k.deeper", None),
        ("x.?n.k", None),
        ("x.?nope.or(x.?s).value()", "text"),
        ("dyn(optional.of(x)).m.k", "v"),
        ("x.l[?5].orValue(7)", 7),
        ("optional.none().or(optional.none()).hasValue()", False),
        ("[?x.?nope, ?x.?s, 1]", ["text", 1]),
        ("{?'a': x.?nope, ?'b': x.?s}", {"b": "text"}),
    ],
)
def test_optionals_pass_the_question_on(text: str, result: Any) -> None:
    assert evaluate(text) == result


def test_what_stands_before_the_question_mark_must_be_there() -> None:
    with pytest.raises(MissingData, match="no such key: meta"):
        evaluate("pod.meta.?name", {"pod": {}})


def test_the_alternative_is_not_evaluated_in_vain() -> None:
    assert evaluate("x.?s.orValue(string(1 / 0))") == "text"


def test_or_value_wants_an_optional() -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        evaluate("dyn(x.s).orValue('a')")


def test_opt_map_wants_an_optional() -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate("dyn(x.s).optMap(v, v)")
    assert str(caught.value) == "no such overload: hasValue(string)"
