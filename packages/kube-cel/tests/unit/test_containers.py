"""Maps whose keys are not all texts."""

from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.values import (
    ABSENT,
    BuildError,
    ConversionError,
    EvaluationError,
    MixedMap,
    UInt,
    equals,
    find_key,
    new_map,
)

ENV = Environment.kro()


def evaluate(text: str) -> Any:
    return compile_text(text, ENV).evaluate({})


def test_a_map_of_texts_is_a_plain_dict() -> None:
    assert new_map([("a", 1), ("a", 2)]) == {"a": 2}
    assert type(new_map([("a", 1), (1, 2)])) is MixedMap


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("size({0: 1, 0u: 2})", 2),
        ("size({1: 'a', 1.0: 'b'})", 2),
        ("size({1: 'a', 1: 'b'})", 1),
        ("size({null: 1, 'a': 2})", 2),
        ("size({[1]: 1, [1]: 2, {}: 3})", 3),
        ("size({duration('1s'): 1, duration('1s'): 2})", 1),
        ("{0: 1, 0u: 2}[0]", 1),
        ("{0: 1, 0u: 2}[0u]", 2),
        ("{0: 1, 0u: 2}[dyn(0.0)]", 1),
        ("{0u: 1, 0: 2}[dyn(0.0)]", 2),
        ("{7u: 1}[dyn(7)]", 1),
        ("{7: 1}[dyn(7u)]", 1),
        ("{1: 'a', true: 'b'}[true]", "b"),
        ("{1: 'a', true: 'b'}[1]", "a"),
        ("{1: 'a', 1: 'b'}[1]", "b"),
        ("{1: 'a', 'x': 'b'}.x", "b"),
        ("{1: 'a', 'x': 'b'}.?x.orValue('')", "b"),
        ("{1: 'a', 'x': 'b'}[?'y'].orValue('none')", "none"),
        ("has({1: 'a', 'x': 'b'}.x)", True),
        ("{dyn('a'): 1, ?2: optional.none()}", {"a": 1}),
        ("null in {null: 1}", True),
        ("duration('1s') in {duration('1s'): 1}", True),
        ("dyn(1) in {1.0: 2}", False),
        ("dyn(1.0) in {1: 2}", True),
        ("dyn(true) in {1: 2}", False),
        ("[1] in {[1]: 2}", False),
        ("cel.bind(l, [1], l in {l: 2})", True),
        ("{[1]: 2}.map(k, k)", [[1]]),
        ("{1: 2, 3: 4}.map(k, k)", [1, 3]),
        ("{1: 2, 3: 4}.transformList(k, v, k + v)", [3, 7]),
        ("{true: 1, 1: 2}.transformMap(k, v, v)[true]", 1),
        ("[5, 6].transformMap(i, v, v)[1]", 6),
        ("[1.0, 1].transformMapEntry(i, v, {v: i}).size()", 2),
        ("[1, true].transformMapEntry(i, v, {v: i}).size()", 2),
        ("{1: 2} == dyn({1u: 2.0})", True),
        ("dyn({true: 2}) == {1: 2}", False),
        ("[{1: 2}, {1u: 2}].distinct().size()", 1),
        ("dyn({1: 2}).merge({1u: 3})[1u]", 3),
        ("dyn({1: 2}).merge({1u: 3}).size()", 1),
        ("dyn({1: 2}).merge({'a': 3}).size()", 2),
        ("dyn({1: 2}).deepMerge({1u: 3}).size()", 2),
        ("{1: {'a': 2}}.deepMerge({1: {'b': 3}})[1]", {"a": 2, "b": 3}),
        ("'%s'.format([{true: 1, [1]: 2}])", "{[1]: 2, true: 1}"),
        ("type({1: 2}) == map", True),
        ("optional.ofNonZeroValue({1: 2}).hasValue()", True),
    ],
)
def test_keys_are_told_apart_by_their_types(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{duration('90m'): 1}", {"1h30m0s": 1}),
        ("{timestamp('2024-01-01T00:00:00.5Z'): 1}", {"2024-01-01T00:00:00Z": 1}),
        ("{optional.of('a'): [{'b': 1}]}", {"a": [{"b": 1}]}),
        ("json.marshal({duration('1s'): 2})", '{"1s":2}'),
    ],
)
def test_keys_that_have_a_text_leave_as_it(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{1: 2}", "map key must be string, got int64"),
        ("{1u: 2}", "map key must be string, got uint64"),
        ("{'a': {null: 2}}", "map key must be string, got <nil>"),
        ("{[1]: 2}", "map key must be string, got []interface {}"),
        ("{{}: 2}", "map key must be string, got map[string]interface {}"),
        ("{optional.of(1): 2}", "map key must be string, got int64"),
        ("{omit(): 2}", "map key must be string, got sentinels.Omit"),
        ("{int: 2}", "failed to convert map key: unsupported type: type"),
    ],
)
def test_other_keys_cannot_leave(text: str, message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        evaluate(text)
    assert caught.value.message.endswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'a': 'b'}[dyn(null)]", "invalid qualifier type: types.Null"),
        ("{'a': 'b'}[?dyn(null)]", "invalid qualifier type: types.Null"),
        ("{duration('1s'): 1}[duration('1s')]", "invalid qualifier type: types.Duration"),
        ("{}[?{'a': 1}]", "invalid qualifier type: *types.baseMap"),
        ("[1][dyn([1])]", "invalid qualifier type: *types.baseList"),
        ("dyn(1)[dyn(b'a')]", "invalid qualifier type: types.Bytes"),
        ("{'a': 1}[dyn(quantity('1'))]", "invalid qualifier type: cel.Quantity"),
        ("{b'a': 1}.size()", "internal error: runtime error: hash of unhashable type types.Bytes"),
        ("dyn(b'a') in {1: 2}", "internal error: runtime error: hash of unhashable type"),
        ("{1: 2, 1u: 3}.transformMap(k, v, v)", "insert failed: key 1 already exists"),
        ("[1, 1u].transformMapEntry(i, v, {v: i})", "insert failed: key 1 already exists"),
        ("json.encode({1: 2})", "unsupported type conversion from 'int' to string"),
        ("json.encode({'a': {true: 2}})", "type conversion error from bool to 'string'"),
        ("json.encode({1.5: 2})", "type conversion error from Double to 'string'"),
        ("json.encode({[1]: 2})", "type conversion error from list to 'string'"),
    ],
)
def test_what_no_key_may_be(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(text)
    assert caught.value.message.startswith(message)
    assert not caught.value.pending


@pytest.mark.parametrize("text", ["{null: 1}[null]", "{null: 1}[?null]", "dyn({1: 1})[b'a']"])
def test_a_constant_that_no_key_may_be_is_refused_when_the_program_is_made(text: str) -> None:
    with pytest.raises(BuildError, match=r"invalid qualifier type: types\."):
        compile_text(text, ENV)


def test_an_equal_number_is_not_found_by_an_integer_if_it_is_a_double() -> None:
    mixed = MixedMap([(1.0, "double")])
    assert find_key(mixed, 1) is ABSENT
    assert find_key(mixed, 1.0) == "double"


def test_not_a_number_is_no_key_that_could_be_found() -> None:
    mixed = MixedMap([(float("nan"), 1), (float("nan"), 2)])
    assert len(mixed) == 2
    assert find_key(mixed, float("nan")) is ABSENT


def test_views_of_keys_and_entries_agree() -> None:
    mixed = MixedMap([(1, "a"), (UInt(1), "b"), ("x", "c")])
    assert list(mixed) == mixed.keys() == [key for key, _ in mixed.items()]
    assert equals(mixed, MixedMap(mixed.items()))
