from typing import Any

import pytest

from kube_cel.containers import ListView
from kube_cel.errors import EvaluationError, MissingData
from kube_cel.library.operators import BINARY, negate
from kube_cel.scalars import NONE, OMIT, Condition, Duration, OptionalValue, Timestamp, UInt

INF = float("inf")
NAN = float("nan")
LAST = Timestamp(253402300799 * 10**9)


def as_it_is(value: Any) -> Any:
    return value


def ask(left: Any, operator: str, right: Any) -> Any:
    names = {"in": "@in", "[]": "_[_]", "[?]": "_[?_]"}
    return BINARY[names.get(operator, f"_{operator}_")](left, right)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (1, "+", 2, 3),
        (UInt(1), "+", UInt(2), UInt(3)),
        (1.5, "+", 2.0, 3.5),
        ("a", "+", "b", "ab"),
        (b"a", "+", b"b", b"ab"),
        ([1], "+", [2], [1, 2]),
        (Duration(1), "+", Duration(2), Duration(3)),
        (Timestamp(1, 3600), "+", Duration(2), Timestamp(3)),
        (Duration(2), "+", Timestamp(1), Timestamp(3)),
        (3, "-", 5, -2),
        (UInt(5), "-", UInt(3), UInt(2)),
        (Timestamp(5), "-", Timestamp(3), Duration(2)),
        (Timestamp(5), "-", Duration(3), Timestamp(2)),
        (Duration(5), "-", Duration(3), Duration(2)),
        (3, "*", -4, -12),
        (UInt(3), "*", UInt(4), UInt(12)),
        (-7, "/", 2, -3),
        (7, "/", -2, -3),
        (UInt(7), "/", UInt(2), UInt(3)),
        (1.0, "/", 0.0, INF),
        (1.0, "/", -0.0, -INF),
        (-7, "%", 3, -1),
        (7, "%", -3, 1),
        (UInt(7), "%", UInt(4), UInt(3)),
        (1, "<", 1.5, True),
        (UInt(2), ">=", 2, True),
        ("a", "<", "b", True),
        (False, "<", True, True),
        (Duration(2), ">", Duration(1), True),
        (NAN, "<", 1.0, False),
        (NAN, ">=", NAN, False),
        (1, "!=", 2.0, True),
        (OMIT, "!=", 1, True),
        (1, "in", [3, 1.0], True),
        ("a", "in", {"a": None}, True),
        ([1], "in", {"a": 1}, False),
        ({"a": 1}, "[]", "a", 1),
        ([1, 2], "[]", UInt(1), 2),
        ([1, 2], "[]", 1.0, 2),
    ],
)
def test_operators(left: Any, operator: str, right: Any, result: Any) -> None:
    made = ask(left, operator, right)
    assert made == result
    assert type(made) is type(result)


def test_zero_by_zero_is_not_a_number() -> None:
    assert str(ask(0.0, "/", 0.0)) == "nan"


@pytest.mark.parametrize(
    ("left", "operator", "right", "message"),
    [
        (2**63 - 1, "+", 1, "integer overflow"),
        (-(2**63), "-", 1, "integer overflow"),
        (2**62, "*", 2, "integer overflow"),
        (-(2**63), "/", -1, "integer overflow"),
        (UInt(2**64 - 1), "+", UInt(1), "unsigned integer overflow"),
        (UInt(1), "-", UInt(2), "unsigned integer overflow"),
        (1, "/", 0, "division by zero"),
        (1, "%", 0, "modulus by zero"),
        (LAST, "+", Duration(10**9), "timestamp overflow"),
        (1, "+", 1.0, "no such overload"),
        (1, "+", UInt(1), "no such overload"),
        ("a", "+", 1, "no such overload"),
        (True, "+", True, "no such overload: _+_"),
        (None, "-", 1, "no such overload: _-_"),
        ("a", "-", "b", "no such overload"),
        (1.5, "%", 1.5, "no such overload: _%_"),
        ([1], "<", [2], "no such overload: _<_"),
        (1, "<", "a", "no such overload"),
        (1, "in", 1, "no such overload"),
        (OMIT, "==", 1, "omit() is a field-removal sentinel and cannot be compared"),
        ([1], "[]", "a", "unsupported index type 'string' in list"),
        ([1], "[]", 0.5, "unsupported index value 0.5 in list"),
    ],
)
def test_what_cannot_be_done_says_why(left: Any, operator: str, right: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        ask(left, operator, right)
    assert str(caught.value) == message
    assert not caught.value.pending


@pytest.mark.parametrize(
    ("container", "key", "message"),
    [
        ({"a": 1}, "b", "no such key: b"),
        ({}, True, "no such key: true"),
        ([1], 1, "index out of bounds: 1"),
        ([1], -1, "index out of bounds: -1"),
        (None, "a", "no such key: a"),
        (5, "a", "no such key: a"),
    ],
)
def test_what_is_not_there_may_still_come(container: Any, key: Any, message: str) -> None:
    with pytest.raises(MissingData) as caught:
        ask(container, "[]", key)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("container", "key", "value"),
    [
        ({"a": 1}, "a", 1),
        ([1], 0, 1),
        (OptionalValue({"a": 1}), "a", 1),
        (Condition(status="True"), "status", "True"),
    ],
)
def test_optional_access_finds(container: Any, key: Any, value: Any) -> None:
    found = ask(container, "[?]", key)
    assert found.present
    assert found.value == value


@pytest.mark.parametrize(("container", "key"), [({}, "a"), ([], 0), (NONE, "a"), (None, "a")])
def test_optional_access_gives_none(container: Any, key: Any) -> None:
    assert ask(container, "[?]", key) is NONE


@pytest.mark.parametrize(("value", "result"), [(5, -5), (1.5, -1.5), (Duration(1), Duration(-1))])
def test_negation(value: Any, result: Any) -> None:
    assert negate(value) == result


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-(2**63), "integer overflow"),
        (True, "no such overload"),
        ("a", "no such overload"),
        ([], "no such overload: -_"),
    ],
)
def test_what_has_no_negative(value: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        negate(value)
    assert str(caught.value) == message


class TestSetAndMapLists:
    def test_a_set_takes_in_only_what_is_new(self) -> None:
        both = ask(ListView(["b", "a"], as_it_is, "set"), "+", ["a", "c"])
        assert list(both) == ["b", "a", "c"]

    def test_a_map_list_replaces_by_key_in_place(self) -> None:
        left = ListView([{"k": "a", "v": 1}, {"k": "b", "v": 2}], as_it_is, "map", ("k",))
        both = ask(left, "+", [{"k": "a", "v": 9}, {"k": "c", "v": 3}])
        assert [(e["k"], e["v"]) for e in both] == [("a", 9), ("b", 2), ("c", 3)]

    def test_the_sum_of_a_set_is_still_a_set(self) -> None:
        both = ask(ListView(["a"], as_it_is, "set"), "+", ["b"])
        assert ask(both, "==", ["b", "a"])
