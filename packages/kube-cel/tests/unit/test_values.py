from typing import Any

import pytest

from kube_cel.values import (
    ABSENT,
    NONE,
    OMIT,
    RUNTIME,
    Condition,
    Duration,
    EvaluationError,
    ListView,
    MapView,
    MissingData,
    MixedMap,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
    compare,
    equals,
    find_key,
    is_list,
    is_map,
    kind_of,
    no_such_key,
    no_such_overload,
)

NAN = float("nan")


def as_it_is(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "bool"),
        (1, "int"),
        (UInt(1), "uint"),
        (1.0, "double"),
        ("a", "string"),
        (b"a", "bytes"),
        (None, "null_type"),
        ([], "list"),
        (ListView([], as_it_is), "list"),
        ({}, "map"),
        (MapView({}, as_it_is), "map"),
        (Timestamp(0), "google.protobuf.Timestamp"),
        (Duration(0), "google.protobuf.Duration"),
        (NONE, "optional_type"),
        (TypeValue("int"), "type"),
        (OMIT, "kro.omit"),
        (Condition(), "kro.run.Condition"),
        (RUNTIME, "kro.run.Runtime"),
    ],
)
def test_every_value_has_the_name_cel_gives_its_type(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(1, UInt(1), id="int and uint"),
        pytest.param(1, 1.0, id="int and double"),
        pytest.param(2**53 + 1, float(2**53), id="an int becomes a double beside one"),
        pytest.param([1, {"a": 2.0}], [1.0, {"a": 2}], id="deep inside lists and maps"),
        pytest.param(
            MixedMap([(1, "a")]), MixedMap([(UInt(1), "a")]), id="map keys across number types"
        ),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, id="maps in another order"),
        pytest.param(OptionalValue(1), OptionalValue(1.0), id="optionals by their values"),
        pytest.param(NONE, OptionalValue(None, present=False), id="none and none"),
        pytest.param(Timestamp(5, 3600), Timestamp(5), id="one moment in two zones"),
        pytest.param(Condition("A", "True"), Condition("A", "True"), id="conditions"),
        pytest.param(None, None, id="null"),
    ],
)
def test_equal_values_are_equal_both_ways(left: Any, right: Any) -> None:
    assert equals(left, right)
    assert equals(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(True, 1, id="a bool is no number"),
        pytest.param([True], [1], id="not even in a list"),
        pytest.param({True: 1}, {1: 1}, id="nor as a key"),
        pytest.param("1", 1, id="text and number"),
        pytest.param(b"a", "a", id="bytes and text"),
        pytest.param(NAN, NAN, id="NaN and itself"),
        pytest.param([1], [1, 1], id="lists of different length"),
        pytest.param({"a": 1}, {"b": 1}, id="maps with different keys"),
        pytest.param([], {}, id="an empty list and an empty map"),
        pytest.param(Timestamp(1), Duration(1), id="a moment and a span"),
        pytest.param(OptionalValue(None), NONE, id="optional null and none"),
        pytest.param(1, OMIT, id="anything and omit"),
        pytest.param(TypeValue("int"), "int", id="a type and its name"),
    ],
)
def test_different_values_are_unequal_instead_of_an_error(left: Any, right: Any) -> None:
    assert not equals(left, right)


def test_omit_refuses_to_be_compared() -> None:
    with pytest.raises(EvaluationError, match="field-removal sentinel and cannot be compared"):
        equals(OMIT, 1)


class TestSetAndMapLists:
    def test_a_set_list_is_equal_in_any_order(self) -> None:
        view = ListView(["a", "b"], as_it_is, "set")
        assert equals(view, ["b", "a"])
        assert not equals(view, ["b", "c"])

    def test_an_ordinary_list_is_not(self) -> None:
        assert not equals(ListView(["a", "b"], as_it_is), ["b", "a"])

    def test_a_map_list_matches_elements_by_their_keys(self) -> None:
        ports = ListView([{"name": "a", "v": 1}, {"name": "b", "v": 2}], as_it_is, "map", ("name",))
        assert equals(ports, [{"name": "b", "v": 2}, {"name": "a", "v": 1}])
        assert not equals(ports, [{"name": "b", "v": 1}, {"name": "a", "v": 1}])


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (1, 2.5, -1),
        (UInt(3), 2, 1),
        ("a", "b", -1),
        (b"b", b"a", 1),
        (False, True, -1),
        (Timestamp(1), Timestamp(1), 0),
        (Duration(2), Duration(1), 1),
    ],
)
def test_values_of_one_family_have_an_order(left: Any, right: Any, order: int) -> None:
    assert compare(left, right) == order


@pytest.mark.parametrize(
    ("left", "right"), [(1, "a"), ([1], [2]), (None, None), (True, 1), (Timestamp(1), Duration(1))]
)
def test_values_without_an_order_say_so(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        compare(left, right)


def test_nan_cannot_be_ordered() -> None:
    with pytest.raises(EvaluationError, match="NaN values cannot be ordered"):
        compare(NAN, 1.0)


@pytest.mark.parametrize("key", [1, UInt(1), 1.0])
def test_a_number_finds_its_key_whatever_its_type(key: Any) -> None:
    assert find_key(MixedMap([(1, "one")]), key) == "one"


def test_true_is_not_the_key_one() -> None:
    assert find_key(MixedMap([(1, "one")]), True) is ABSENT
    assert find_key(MixedMap([(True, "yes")]), 1) is ABSENT
    assert find_key(MixedMap([(True, "yes")]), True) == "yes"


def test_a_list_is_nobodys_key() -> None:
    assert find_key({"a": 1}, [1]) is ABSENT


def test_views_count_as_lists_and_maps() -> None:
    assert is_list(ListView([], as_it_is))
    assert is_map(MapView({}, as_it_is))
    assert not is_map([])
    assert not is_list("text")


def test_missing_data_is_pending_by_its_class() -> None:
    assert MissingData("no such key: x").pending
    assert not EvaluationError("no such key: x").pending


@pytest.mark.parametrize(("key", "text"), [("a", "a"), (True, "true"), (1.0, "1"), (UInt(7), "7")])
def test_a_missing_key_is_printed_as_cel_writes_it(key: Any, text: str) -> None:
    assert str(no_such_key(key)) == f"no such key: {text}"


def test_a_refused_call_may_name_its_arguments() -> None:
    assert str(no_such_overload()) == "no such overload"
    assert str(no_such_overload("f", 1, "a")) == "no such overload: f(int, string)"
