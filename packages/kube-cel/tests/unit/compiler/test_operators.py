"""Logic that absorbs errors, and operators that meet what the checker did not expect."""

from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import BOOL, DYN, INT, STRING
from kube_cel.values import EvaluationError

ENV = Environment.kro().extend(types={"s": STRING, "t": STRING, "n": INT, "b": BOOL, "x": DYN})


def evaluate(text: str, **data: Any) -> Any:
    return compile_text(text, ENV).evaluate(data)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 / 0 > 0 || true", True),
        ("true || 1 / 0 > 0", True),
        ("1 / 0 > 0 && false", False),
        ("false && 1 / 0 > 0", False),
        ("(1 / 0 > 0 || 2 / 0 > 0) || true", True),
        ("true ? 1 : 1 / 0", 1),
        ("false ? 1 / 0 : 2", 2),
    ],
)
def test_the_side_that_decides_hides_the_others_error(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0 > 0 || false", "division by zero"),
        ("1 / 0 > 0 || 1 % 0 > 0", "division by zero"),
        ("true && 1 % 0 > 0", "modulus by zero"),
        ("1 / 0 > 0 ? 1 : 2", "division by zero"),
        ("dyn(1) && true", "no such overload"),
        ("dyn('a') ? 1 : 2", "no such overload"),
        ("!dyn(1)", "no such overload"),
    ],
)
def test_an_error_that_nothing_decides_remains(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("s + '-' + t", "a-b"),
        ("s < t", True),
        ("s in ['a', 'c']", True),
        ("n * 2 + 1", 7),
        ("n - 5 <= -2", True),
        ("b == true", True),
        ("n in [1, 2, 3]", True),
        ("n % 2", 1),
    ],
)
def test_operands_of_known_types(text: str, result: Any) -> None:
    assert evaluate(text, s="a", t="b", n=3, b=True) == result


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("s + '-x'", {"s": 1}),
        ("s + '-' + t", {"s": "a", "t": None}),
        ("s < 'a'", {"s": 1}),
        ("n + 1", {"n": "1"}),
        ("n > 1", {"n": "1"}),
    ],
)
def test_data_of_another_type_is_refused_as_the_operator_would(
    text: str, data: dict[str, Any]
) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, **data)
    assert str(caught.value).startswith("no such overload")


@pytest.mark.parametrize(
    ("text", "data", "result"),
    [
        ("s == 'a'", {"s": 1}, False),
        ("n == 1", {"n": True}, False),
        ("n == 1", {"n": 1.0}, True),
        ("n < 2", {"n": 1.5}, True),
        ("b == true", {"b": 1}, False),
        ("s in ['a']", {"s": 1}, False),
    ],
)
def test_comparisons_look_at_what_they_are_really_given(
    text: str, data: dict[str, Any], result: bool
) -> None:
    assert evaluate(text, **data) is result


def test_integers_do_not_wrap_around() -> None:
    with pytest.raises(EvaluationError, match="integer overflow"):
        evaluate("n + 1", n=2**63 - 1)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{'b': 1, 'a': [x, {}]}", {"b": 1, "a": ["x", {}]}),
        ("{'a': 1, 'a': 2}", {"a": 2}),
        ("{x: 1}", {"x": 1}),
        ("[[]]", [[]]),
    ],
)
def test_literals(text: str, result: Any) -> None:
    assert evaluate(text, x="x") == result


def test_two_evaluations_do_not_share_a_literal() -> None:
    program = compile_text("[1, 2]", ENV)
    program.value({}).append(3)
    assert program.value({}) == [1, 2]


TYPED = Environment.kro().extend({"o": {"type": "object", "properties": {"a": {"type": "string"}}}})


@pytest.mark.parametrize("other", ["1", "'a'", "[1]"])
def test_an_object_with_a_schema_is_compared_with_maps_only(other: str) -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        compile_text(f"o == dyn({other})", TYPED).evaluate({"o": {}})


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("o == dyn({})", True),
        ("o == dyn({'a': 1})", False),
        ("o == null", False),
        ("o != dyn(1)", True),
        ("dyn(1) == o", False),
        ("[1].indexOf(dyn(o))", -1),
        ("dyn(o) in [1]", False),
        ("omit() == null", False),
    ],
)
def test_whoever_else_asks_just_learns_that_they_differ(text: str, result: Any) -> None:
    assert compile_text(text, TYPED).evaluate({"o": {}}) == result
