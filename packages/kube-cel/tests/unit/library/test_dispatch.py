from typing import Any

import pytest

from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.values import EvaluationError, ListView, UInt


def shown(*arguments: Any) -> str:
    return f"any of {len(arguments)}"


GLOBALS = global_functions(
    {
        "f()": lambda: "none",
        "f(string)": lambda text: f"text {text}",
        "f(int)": lambda number: f"number {number}",
        "f(list, dyn)": shown,
    }
)
MEMBERS = member_functions(
    {
        "m(string, int)": lambda text, number: text * number,
        "m(list)": len,
    }
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param((), "none", id="no argument"),
        pytest.param(("a",), "text a", id="a string"),
        pytest.param((1,), "number 1", id="an int"),
        pytest.param(([], None), "any of 2", id="dyn takes null"),
        pytest.param((ListView([1], lambda value: value), 2), "any of 2", id="a view is a list"),
    ],
)
def test_the_values_choose_the_overload(arguments: tuple[Any, ...], expected: str) -> None:
    assert GLOBALS["f"](*arguments) == expected
    assert GLOBALS["f"](*arguments) == expected  # the second time from memory


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        pytest.param((True,), "bool", id="a bool is no int"),
        pytest.param((UInt(1),), "uint", id="a uint is no int"),
        pytest.param(("a", 1), "string, int", id="too many"),
    ],
)
def test_a_call_that_fits_no_overload_names_what_it_was_given(
    arguments: tuple[Any, ...], kinds: str
) -> None:
    with pytest.raises(EvaluationError, match=rf"^no such overload: f\({kinds}\)$"):
        GLOBALS["f"](*arguments)


def test_members_are_found_by_the_kind_of_their_receiver() -> None:
    assert MEMBERS["m", "string"]("ab", 2) == "abab"
    assert MEMBERS["m", "list"]([1, 2, 3]) == 3
    assert set(MEMBERS) == {("m", "string"), ("m", "list")}
