from typing import Any

import pytest

from kube_cel.values import (
    NONE,
    OMIT,
    Condition,
    ConversionError,
    DeferredError,
    Duration,
    EvaluationError,
    ListView,
    MapView,
    MixedMap,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
    to_json,
)

DAY = 86400 * 10**9


def as_it_is(value: Any) -> Any:
    return value


def refuse_null(value: Any) -> Any:
    if value is None:
        return DeferredError(EvaluationError("invalid data, got null"))
    return value


@pytest.mark.parametrize(
    ("value", "json"),
    [
        pytest.param("a", "a", id="text"),
        pytest.param(2.0, 2.0, id="a double stays one"),
        pytest.param(UInt(5), 5, id="an unsigned number"),
        pytest.param(Timestamp(DAY + 999), "1970-01-02T00:00:00Z", id="whole seconds"),
        pytest.param(Timestamp(0, 7200), "1970-01-01T00:00:00Z", id="times in UTC"),
        pytest.param(Timestamp(-62135596800 * 10**9), None, id="the first moment is no time"),
        pytest.param(Duration(5_400_000_000_000), "1h30m0s", id="durations as Go writes them"),
        pytest.param(OptionalValue(OptionalValue(1)), 1, id="an optional is its value"),
        pytest.param(NONE, None, id="none is null"),
        pytest.param([UInt(1), [NONE]], [1, [None]], id="lists"),
        pytest.param({"a": Duration(0)}, {"a": "0s"}, id="maps"),
        pytest.param(MapView({"t": "2024-01-01T00:00:00.5Z"}, as_it_is),
                     {"t": "2024-01-01T00:00:00.5Z"}, id="input data as it came"),
        pytest.param(ListView(["a"], as_it_is), ["a"], id="a list view"),
    ],
)  # fmt: skip
def test_values_become_json(value: Any, json: Any) -> None:
    made = to_json(value)
    assert made == json
    assert type(made) is type(json)


def test_omit_is_left_for_who_removes_it() -> None:
    assert to_json({"a": [OMIT]}) == {"a": [OMIT]}


def test_input_data_is_copied() -> None:
    raw = {"a": {"b": [1, {"c": None}]}}
    made = to_json(MapView(raw, as_it_is))
    made["a"]["b"][1]["c"] = "changed"
    assert raw == {"a": {"b": [1, {"c": None}]}}


def test_keys_keep_their_order() -> None:
    assert list(to_json({"b": UInt(1), "a": 2, "c": []})) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"x", "unsupported type: bytes value cannot be used directly"),
        ({"a": [b"x"]}, "unsupported type: bytes value cannot be used directly"),
        (UInt(2**63), "uint value 9223372036854775808 overflows int64"),
        (MixedMap([(1, "a")]), "map key must be string, got int64"),
        (MixedMap([(UInt(1), "a")]), "map key must be string, got uint64"),
        (MixedMap([(1.5, "a")]), "map key must be string, got float64"),
        ({"b": MixedMap([(True, "a")])}, "map key must be string, got bool"),
        (TypeValue("int"), "unsupported type: type"),
        ([Condition()], "unsupported type: kro.run.Condition"),
        (ListView(["a", None], refuse_null), "unsupported type: error"),
    ],
)
def test_what_no_object_can_hold_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_json(value)
    assert message in str(caught.value)


def test_encoders_get_bytes_and_large_numbers_as_they_are() -> None:
    assert to_json([b"x", UInt(2**63)], strict=False) == [b"x", 2**63]


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def test_deep_data_is_copied_without_running_out_of_stack() -> None:
    made = to_json(nested(9_999))
    depth = 0
    while made != "leaf":
        made = made[0] if isinstance(made, list) else made["k"]
        depth += 1
    assert depth == 9_999


def test_too_deep_a_result_is_refused() -> None:
    with pytest.raises(ConversionError, match="nested more than 5 levels deep"):
        to_json(nested(6), max_depth=5)


def test_a_small_list_held_many_times_over_counts_each_time() -> None:
    row = [0] * 100
    with pytest.raises(ConversionError, match="more than 1000 values"):
        to_json([row] * 20, max_nodes=1000)
