from typing import Any

import pytest

from kube_cel.library.kro import GLOBALS, MEMBERS
from kube_cel.library.quantity import Quantity
from kube_cel.values import (
    NONE,
    OMIT,
    RUNTIME,
    Condition,
    Duration,
    EvaluationError,
    ListView,
    MapView,
    MixedMap,
    OptionalValue,
    PartialMap,
    Timestamp,
    UInt,
    UnknownValue,
    equals,
)


def call(name: str, *arguments: Any) -> Any:
    return GLOBALS[name](*arguments)


def message_of(function: Any, *arguments: Any) -> str:
    with pytest.raises(EvaluationError) as caught:
        function(*arguments)
    return caught.value.message


@pytest.mark.parametrize(
    ("name", "text", "digest"),
    [
        ("hash.fnv64a", "hello", "a430d84680aabd0b"),
        ("hash.fnv64a", "", "cbf29ce484222325"),
        ("hash.fnv64a", "ü", "0ac20a07b71807ea"),
        ("hash.md5", "hello", "5d41402abc4b2a76b9719d911017c592"),
        (
            "hash.sha256",
            "hello",
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        ),
    ],
)
def test_hashes_are_bytes(name: str, text: str, digest: str) -> None:
    assert call(name, text).hex() == digest


def test_hashes_are_taken_of_text_only() -> None:
    assert message_of(GLOBALS["hash.sha256"], b"a") == "no such overload: hash.sha256(bytes)"


@pytest.mark.parametrize(
    ("length", "seed", "text"),
    [
        (12, "abc", "r6qfjs5dr6qf"),
        (1, "abc", "r"),
        (8, "", None),
    ],
)
def test_a_seed_makes_the_same_text_everywhere(length: int, seed: str, text: str | None) -> None:
    made = call("random.seededString", length, seed)
    assert len(made) == length
    assert made == (text or made)
    assert call("random.seededString", 3 * length, seed).startswith(made)


def test_a_seeded_text_repeats_after_eight_characters() -> None:
    made = call("random.seededString", 20, "seed")
    assert made[:8] * 2 + made[:4] == made


@pytest.mark.parametrize(
    ("least", "limit", "number"),
    [
        (30000, 32768, 32138),
        (0, 1, 0),
        (-(2**63) + 1, 2**63 - 1, 4213142463398924267),
    ],
)
def test_a_seed_makes_the_same_number_everywhere(least: int, limit: int, number: int) -> None:
    assert call("random.seededInt", least, limit, "abc") == number


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("random.seededString", (0, "a"), "random.seededString length must be positive"),
        ("random.seededString", (-1, "a"), "random.seededString length must be positive"),
        (
            "random.seededString",
            ("a", "b"),
            "no such overload: random.seededString(string, string)",
        ),
        ("random.seededInt", (3, 3, "a"), "random.seededInt min must be less than max"),
        (
            "random.seededInt",
            (1, UInt(3), "a"),
            "no such overload: random.seededInt(int, uint, string)",
        ),
    ],
)
def test_seeds_need_room(name: str, arguments: tuple[Any, ...], message: str) -> None:
    assert message_of(GLOBALS[name], *arguments) == message


def test_a_seeded_text_has_its_limits() -> None:
    assert "are allowed" in message_of(GLOBALS["random.seededString"], 2**62, "a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(
            {"b": 1, "a": [2.0, "<&>"]}, r'{"a":[2,"\u003c\u0026\u003e"],"b":1}', id="map"
        ),
        pytest.param(b"abc", '"YWJj"', id="bytes"),
        pytest.param(UInt(2**64 - 1), "18446744073709551615", id="a large uint"),
        pytest.param(Timestamp(1704164645_123456789), '"2024-01-02T03:04:05Z"', id="a timestamp"),
        pytest.param(Duration(5_400_500_000_000), '"1h30m0.5s"', id="a duration"),
        pytest.param([OptionalValue(1), NONE], "[1,null]", id="optionals"),
        pytest.param({"a": OMIT}, '{"a":{}}', id="omit"),
        pytest.param(MapView({"a": "2024"}, len), '{"a":"2024"}', id="data stays as it is"),
        pytest.param(ListView(["a"], len), "[1]", id="elements by their schema"),
    ],
)
def test_marshal_writes_json_as_go_does(value: Any, text: str) -> None:
    assert call("json.marshal", value) == text


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (MixedMap([(1, 2)]), "convert value: map key must be string, got int64"),
        ([Quantity(1)], "convert value: unsupported type: kubernetes.Quantity"),
        (float("nan"), "encode value: json: unsupported value: NaN"),
        ([float("-inf")], "encode value: json: unsupported value: -Inf"),
    ],
)
def test_marshal_says_what_json_cannot_hold(value: Any, reason: str) -> None:
    assert message_of(GLOBALS["json.marshal"], value) == f"json.marshal failed to {reason}"


def test_unmarshal_makes_doubles_and_complains_as_go_does() -> None:
    assert call("json.unmarshal", '{"a": [1, null]}') == {"a": [1.0, None]}
    prefix = "json.unmarshal failed to parse JSON:"
    assert message_of(GLOBALS["json.unmarshal"], "[1") == f"{prefix} unexpected end of JSON input"
    assert message_of(GLOBALS["json.unmarshal"], b"1") == "no such overload: json.unmarshal(bytes)"


def test_deep_json_is_read_and_written_back() -> None:
    text = "[" * 9_999 + "]" * 9_999
    assert call("json.marshal", call("json.unmarshal", text)) == text


def merge(name: str, left: Any, right: Any) -> Any:
    return (MEMBERS.get((name, "map")) or MEMBERS[name, "*"])(left, right)


@pytest.mark.parametrize(
    ("left", "right", "shallow", "deep"),
    [
        pytest.param({}, {}, {}, {}, id="nothing"),
        pytest.param({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}, {"a": 2, "b": 3}, id="flat"),
        pytest.param(
            {"a": {"x": 1, "y": 2}},
            {"a": {"y": 3, "z": 4}},
            {"a": {"y": 3, "z": 4}},
            {"a": {"x": 1, "y": 3, "z": 4}},
            id="maps in maps",
        ),
        pytest.param({"a": {"x": 1}}, {"a": None}, {"a": None}, {"a": None}, id="null wins"),
        pytest.param({"a": {"x": 1}}, {"a": {}}, {"a": {}}, {"a": {"x": 1}}, id="empty loses"),
        pytest.param({"a": [1]}, {"a": [2]}, {"a": [2]}, {"a": [2]}, id="lists are replaced"),
    ],
)
def test_maps_are_merged(left: Any, right: Any, shallow: Any, deep: Any) -> None:
    before = (repr(left), repr(right))
    assert merge("merge", left, right) == shallow
    assert merge("deepMerge", left, right) == deep
    assert (repr(left), repr(right)) == before


def test_data_is_merged_by_its_schema() -> None:
    data = MapView({"a": {"x": 1}}, lambda value: MapView(value, lambda number: number + 1))
    assert merge("deepMerge", {"a": {"y": 0}}, data) == {"a": {"y": 0, "x": 2}}


def test_a_number_key_on_the_right_replaces_its_equal() -> None:
    merged = merge("merge", MixedMap([(1, "a"), ("k", 1)]), MixedMap([(UInt(1), "b")]))
    assert {type(key): value for key, value in merged.items()} == {str: 1, UInt: "b"}


def test_only_maps_are_merged() -> None:
    assert message_of(merge, "merge", {}, 1) == "no such overload: merge(map, int)"
    assert message_of(merge, "deepMerge", {"a": 1}, [1]) == "no such overload"
    assert message_of(merge, "deepMerge", 1, {"a": 1}) == "no such overload"


def test_deep_maps_are_merged_and_endless_ones_stopped() -> None:
    deep: dict[str, Any] = {"end": 1}
    wide: dict[str, Any] = {str(number): number for number in range(50_000)}
    for _ in range(9_000):
        deep = {"a": deep}
    for _ in range(60):
        wide = {"a": wide, "b": wide}
    merged = merge("deepMerge", deep, deep)
    for _ in range(9_000):
        merged = merged["a"]
    assert merged == {"end": 1}
    assert "are allowed" in message_of(merge, "deepMerge", wide, wide)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("setAtIndex", ([1, 2, 3], 1, 9), [1, 9, 3]),
        ("insertAtIndex", ([1, 2], 0, 9), [9, 1, 2]),
        ("insertAtIndex", ([1, 2], 2, 9), [1, 2, 9]),
        ("insertAtIndex", ([], 0, None), [None]),
        ("removeAtIndex", ([1, 2, 3], 2), [1, 2]),
        ("removeAtIndex", (ListView(["a", "b"], str.upper), 0), ["B"]),
    ],
)
def test_lists_are_changed_in_a_copy(
    name: str, arguments: tuple[Any, ...], expected: list[Any]
) -> None:
    before = list(arguments[0])
    assert call(f"lists.{name}", *arguments) == expected
    assert list(arguments[0]) == before


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("setAtIndex", ([1, 2, 3], 3, 9), "lists.setAtIndex: index 3 out of bounds [0, 3)"),
        ("insertAtIndex", ([1], 2, 9), "lists.insertAtIndex: index 2 out of bounds [0, 1]"),
        ("removeAtIndex", ([1], -1), "lists.removeAtIndex: index -1 out of bounds [0, 1)"),
        ("setAtIndex", ([1], "a", 1), "no such overload: lists.setAtIndex(list, string, int)"),
        ("removeAtIndex", ("a", 0), "no such overload: lists.removeAtIndex(string, int)"),
    ],
)
def test_positions_must_exist(name: str, arguments: tuple[Any, ...], message: str) -> None:
    assert message_of(GLOBALS[f"lists.{name}"], *arguments) == message


def test_omit_is_a_sentinel_that_cannot_be_compared() -> None:
    assert call("omit") is OMIT
    refusal = "omit() is a field-removal sentinel and cannot be compared"
    assert message_of(equals, call("omit"), 1) == refusal


def new_condition(**fields: Any) -> Any:
    return MEMBERS["newCondition", "kro.run.Runtime"](RUNTIME, fields)


def condition(owner: Any, wanted: Any = "Ready") -> Any:
    return MEMBERS["condition", "kro.run.Runtime"](RUNTIME, owner, wanted)


def test_a_condition_is_made_of_four_texts() -> None:
    made = new_condition(type="Ready", status="True", reason="R", message="M")
    assert made == Condition("Ready", "True", "R", "M")
    assert new_condition(type="Ready", status="Unknown") == Condition("Ready", "Unknown")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"type": "", "status": "True"}, "type must not be empty"),
        (
            {"type": "A", "status": 'so "so"'},
            r'status must be one of True, False, Unknown (got "so \"so\"")',
        ),
        ({"type": "A", "status": True}, "status must be a string, got bool"),
        ({"type": "A", "status": "True", "reason": 1}, "reason must be a string, got int"),
    ],
)
def test_a_condition_is_checked(fields: dict[str, Any], problem: str) -> None:
    def make() -> Any:
        return new_condition(**fields)

    assert message_of(make) == f"runtime.newCondition: {problem}"


READY = {"type": "Ready", "status": "True", "reason": 7}


@pytest.mark.parametrize(
    ("owner", "found"),
    [
        pytest.param({}, Condition(), id="no status"),
        pytest.param({"status": {}}, Condition(), id="no conditions"),
        pytest.param({"status": {"conditions": []}}, Condition(), id="none of that type"),
        pytest.param(
            {"status": {"conditions": [{}, READY]}}, Condition("Ready", "True"), id="data"
        ),
        pytest.param(
            {"status": {"conditions": [Condition("Ready", "False"), READY]}},
            Condition("Ready", "False"),
            id="the first one counts",
        ),
    ],
)
def test_a_condition_is_found_by_its_type(owner: Any, found: Condition) -> None:
    assert condition(owner) == found


@pytest.mark.parametrize(
    ("owner", "problem"),
    [
        (1, "obj must be an object, got int"),
        ({"status": None}, "obj.status must be an object"),
        ({"status": {"conditions": {}}}, "obj.status.conditions must be a list"),
        (
            {"status": {"conditions": [READY, 1]}},
            "unexpected condition element type int",
        ),
    ],
)
def test_an_object_of_the_wrong_shape_has_no_conditions(owner: Any, problem: str) -> None:
    assert message_of(condition, owner) == f"runtime.condition: {problem}"


def test_conditions_that_only_a_cluster_knows_stay_unknown() -> None:
    with pytest.raises(UnknownValue) as caught:
        condition(PartialMap({"spec": {}}, "web"))
    assert caught.value.paths == ("web.status",)


def test_the_type_of_a_condition_is_a_text() -> None:
    assert message_of(condition, {}, 1) == "no such overload: condition(kro.run.Runtime, map, int)"
