from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from kube_cel.budget import MAX_SIZE, Budget, check_size
from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import DYN, STRING
from kube_cel.values import ConversionError, EvaluationError

ENV = Environment.kro().extend(types={"x": DYN, "s": STRING})
STOPPED = "evaluation stopped: more than 1000000 iterations"
TOO_LONG = f"{MAX_SIZE} are allowed"


def evaluate(text: str, budget: Budget | None = None, **data: Any) -> Any:
    return compile_text(text, ENV).evaluate(data, budget)


def doubled(start: str, times: int) -> str:
    """Bind a value, then its double, then its double …."""
    names = [f"v{i}" for i in range(times)]
    text = names[-1]
    for older, newer in reversed(list(pairwise(names))):
        text = f"cel.bind({newer}, {older} + {older}, {text})"
    return f"cel.bind({names[0]}, {start}, {text})"


def nested_lists(levels: int, ending: str) -> str:
    """Bind a list that holds ten times the one before: few characters, 10^levels elements."""
    text = ending
    for level in range(levels, 0, -1):
        held = ", ".join([f"v{level - 1}"] * 10)
        text = f"cel.bind(v{level}, [{held}], {text})"
    return f"cel.bind(v0, 1, {text})"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "lists.range(2000).map(a, lists.range(2000).map(b, a + b))", STOPPED, id="loop in loop"
        ),
        pytest.param("lists.range(2000).map(a, lists.range(2000))", STOPPED, id="lists of lists"),
        pytest.param(doubled("s + s", 40), TOO_LONG, id="doubling texts"),
        pytest.param(doubled("[1, 2]", 40), STOPPED, id="doubling lists"),
        pytest.param("lists.range(900000).map(i, s + string(i))", STOPPED, id="many long texts"),
        pytest.param("lists.range(100000000)", "exceeds maximum allowed", id="one huge list"),
        pytest.param("s.replace('a', s).replace('a', s).replace('a', s)", TOO_LONG, id="replace"),
        pytest.param("lists.range(9000).all(i, i in lists.range(9000))", STOPPED, id="searching"),
        pytest.param(
            "lists.range(9000).all(i, x.long.contains('zzz') || true)", STOPPED, id="scanning"
        ),
        pytest.param(
            f"lists.range(900000).map(i, [{', '.join(['0'] * 2000)}])", STOPPED, id="long bodies"
        ),
        pytest.param(nested_lists(9, "v9 == v9"), STOPPED, id="comparing what is shared"),
        pytest.param(nested_lists(9, "[v9, v9].distinct()"), STOPPED, id="distinct, shared"),
        pytest.param(nested_lists(9, "v9 in [v9]"), STOPPED, id="searching what is shared"),
        pytest.param(nested_lists(9, "[v9].flatten(9)"), STOPPED, id="flattening it"),
    ],
)
def test_an_expression_that_would_run_away_is_stopped(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, s="a" * 1000, x={"long": "a" * 1_000_000})
    assert message in str(caught.value)
    assert not caught.value.pending


@pytest.mark.parametrize(
    ("text", "argument", "message"),
    [
        pytest.param("x.findAll('a')", "a" * 200_000, "100000 matches", id="many matches"),
        pytest.param("x.findAll('')", "ü" * 200_000, "100000 matches", id="many empty matches"),
        pytest.param("json.unmarshal(x)", "[" + "1," * 600_000, "500000 are allowed", id="JSON"),
        pytest.param("hash.fnv64a(x)", "a" * 2_000_000, "1048576 are allowed", id="a hash"),
        pytest.param("semver(x)", "1.2.3-" + "a." * 9_000, "10000 are allowed", id="a version"),
        pytest.param("isURL(x)", "http://" + "a" * 70_000, "65536 are allowed", id="a URL"),
        pytest.param("x.format([1])", "%d" * 300_000, "200000 are allowed", id="a template"),
        pytest.param("'%s'.format([x])", [0] * 300_000, "200000 are allowed", id="an argument"),
        pytest.param("json.encode(x)", [0] * 300_000, "200000 are allowed", id="encoding"),
        pytest.param("json.marshal([x])", [0] * 300_000, "more than 200000 values", id="marshal"),
        pytest.param(
            "x.distinct()", [[[n]] for n in range(900)], "200000 comparisons", id="comparisons"
        ),
        pytest.param(
            "x.deepMerge(x)",
            {str(n): n for n in range(150_000)},
            "200000 are allowed",
            id="merging",
        ),
    ],
)
def test_no_call_takes_long(text: str, argument: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, x=argument)
    assert message in str(caught.value)


def test_a_duration_of_many_thousand_units_is_none() -> None:
    with pytest.raises(EvaluationError, match="type conversion error from 'string'"):
        evaluate("duration(x)", x="1s" * 10_000)


def test_a_result_larger_than_any_object_is_refused() -> None:
    with pytest.raises(ConversionError, match="the result has more than 1000000 values"):
        evaluate(nested_lists(9, "v9"))


def test_ordinary_work_stays_far_below_the_budget() -> None:
    assert evaluate("lists.range(100000).filter(i, i % 2 == 0).size()") == 50_000


@pytest.mark.parametrize(
    ("budget", "text", "message"),
    [
        (Budget(iterations=10), "lists.range(11).map(i, i)", "more than 10 iterations"),
        (Budget(elements=200), "lists.range(201)", "201 characters or elements, 200 are allowed"),
        (Budget(characters=200), "s + s", "2000 characters or elements, 200 are allowed"),
    ],
)
def test_a_budget_may_be_smaller(budget: Budget, text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text, budget, s="a" * 1000)
    assert message in str(caught.value)


def test_the_result_may_not_be_deeper_than_the_budget() -> None:
    with pytest.raises(ConversionError, match="nested more than 3 levels deep"):
        evaluate("[[[[1]]]]", Budget(depth=3))


def test_what_is_left_does_not_carry_over_to_the_next_evaluation() -> None:
    program = compile_text("lists.range(9).map(i, i)", ENV)
    budget = Budget(iterations=10)
    assert [program.evaluate({}, budget) for _ in range(3)] == [list(range(9))] * 3


def after(calls: int) -> Callable[[], bool]:
    """Make a deadline that is over when it has been asked that often."""
    asked = iter(range(calls))
    return lambda: next(asked, None) is None


def test_a_deadline_ends_a_loop_on_the_way() -> None:
    deadline = after(3)
    with pytest.raises(EvaluationError) as caught:
        evaluate("lists.range(100000).map(i, i)", Budget(deadline=deadline))
    assert str(caught.value) == "evaluation stopped: the time allowed is over"


def test_a_deadline_that_is_not_over_changes_nothing() -> None:
    budget = Budget(deadline=lambda: False)
    assert evaluate("lists.range(1000).map(i, i).size()", budget) == 1000
    assert evaluate("{'a': 1}.transformList(k, v, v)", budget) == [1]


def test_a_budget_that_is_spent_cannot_be_absorbed() -> None:
    with pytest.raises(EvaluationError, match="more than 5 iterations"):
        evaluate("lists.range(6).all(i, true) || true", Budget(iterations=5))


def test_library_functions_ask_before_they_build() -> None:
    check_size(MAX_SIZE)
    with pytest.raises(EvaluationError, match="evaluation stopped"):
        check_size(MAX_SIZE + 1)


@pytest.mark.parametrize("ending", ["true", "1 / 0 == 1"])
def test_a_meter_is_told_what_an_evaluation_took(ending: str) -> None:
    told: list[int] = []
    budget = Budget(iterations=100, meter=told.append)
    loop = compile_text(f"[1, 2, 3].all(i, i > 0) && {ending}", ENV)
    for _ in range(2):
        with suppress(EvaluationError):
            loop.evaluate({}, budget)
    assert told == [3, 3]
