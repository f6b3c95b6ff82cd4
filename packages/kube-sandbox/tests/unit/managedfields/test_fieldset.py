"""Field sets are sets of paths: everything is checked against Python's own sets."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.managedfields import fieldset
from kube_sandbox.managedfields.fieldset import FieldSet, MalformedFieldsError

STEPS = ("f:a", "f:b", "f:é", 'k:{"name":"x"}', 'k:{"port":80,"protocol":"TCP"}', "v:1", 'v:"a"')

Paths = set[tuple[str, ...]]

PATHS: st.SearchStrategy[Paths] = st.sets(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=4).map(tuple), max_size=8
)


def made(paths: Paths) -> FieldSet:
    found: FieldSet = {}
    for path in paths:
        step: FieldSet = {}
        for name in reversed(path):
            step = {name: step}
        found = fieldset.union(found, step)
    return found


def is_below(path: tuple[str, ...], others: Paths) -> bool:
    return any(path[: len(other)] == other for other in others)


@given(PATHS)
def test_a_set_has_the_paths_it_is_made_of(paths: Paths) -> None:
    assert set(fieldset.paths(made(paths))) == paths


@given(PATHS, PATHS)
def test_union_has_the_paths_of_both(one: Paths, other: Paths) -> None:
    assert fieldset.union(made(one), made(other)) == made(one | other)


@given(PATHS, PATHS)
def test_difference_has_the_paths_of_one_alone(one: Paths, other: Paths) -> None:
    assert fieldset.difference(made(one), made(other)) == made(one - other)


@given(PATHS, PATHS)
def test_intersection_has_the_paths_in_both(one: Paths, other: Paths) -> None:
    assert fieldset.intersection(made(one), made(other)) == made(one & other)


@given(PATHS, PATHS)
def test_what_is_cut_goes_with_all_below(one: Paths, other: Paths) -> None:
    left = {path for path in one if not is_below(path, other)}
    assert fieldset.without(made(one), made(other)) == made(left)


@given(PATHS, PATHS)
def test_a_set_includes_its_parts(one: Paths, other: Paths) -> None:
    assert fieldset.includes(made(one), made(other)) == (other <= one)
    assert fieldset.includes(made(one | other), made(other))


@given(PATHS, PATHS)
def test_a_set_is_put_together_from_its_parts(one: Paths, other: Paths) -> None:
    first, second = made(one), made(other)
    common = fieldset.intersection(first, second)
    assert fieldset.union(fieldset.difference(first, second), common) == first


@given(PATHS, PATHS)
def test_sets_are_not_changed(one: Paths, other: Paths) -> None:
    first, second = made(one), made(other)
    before = orjson.dumps([first, second])
    fieldset.union(first, second)
    fieldset.difference(first, second)
    fieldset.intersection(first, second)
    fieldset.without(first, second)
    fieldset.ordered(first)
    assert orjson.dumps([first, second]) == before


@given(PATHS)
def test_a_set_that_is_ordered_or_read_is_the_same(paths: Paths) -> None:
    found = made(paths)
    assert fieldset.ordered(found) == found
    assert fieldset.parsed(found) == found


def test_steps_are_written_in_the_order_of_names_keys_values_and_places() -> None:
    steps = [
        "i:10",
        "i:9",
        "v:true",
        'v:"b"',
        "v:10",
        "v:9",
        'k:{"port":80}',
        'k:{"name":"b"}',
        'k:{"name":"a","port":1}',
        'k:{"port":443,"protocol":"TCP"}',
        'k:{"port":8}',
        "f:b",
        "f:B",
        ".",
    ]
    assert list(fieldset.ordered({step: {} for step in steps})) == [
        ".",
        "f:B",
        "f:b",
        'k:{"name":"a","port":1}',
        'k:{"name":"b"}',
        'k:{"port":8}',
        'k:{"port":80}',
        'k:{"port":443,"protocol":"TCP"}',
        "v:9",
        "v:10",
        'v:"b"',
        "v:true",
        "i:9",
        "i:10",
    ]


def test_paths_of_a_level_come_before_those_below() -> None:
    fields: FieldSet = {"f:b": {"f:x": {}}, "f:a": {".": {}, "f:y": {}}, "f:c": {}}
    found = [fieldset.path_text(path) for path in fieldset.paths(fields)]
    assert found == [".a", ".c", ".a.y", ".b.x"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("f:x/y", ".x/y"),
        ('k:{"name":"a<b","port":80}', '[name="a<b",port=80]'),
        ('k:{"port":2000000}', "[port=2e+06]"),
        ('k:{"a":null,"b":true,"c":[1,"x"],"d":{"e":1.5}}', '[a=null,b=true,c=[1,"x"],d=e=1.5]'),
        ('v:"a"', '[="a"]'),
        ("v:1.5", "[=1.5]"),
        ("i:3", "[3]"),
    ],
)
def test_steps_are_printed_as_in_messages(step: str, text: str) -> None:
    assert fieldset.step_text(step) == text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({}, {}),
        ({".": {}}, {}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {".": {"f:x": {}}, "f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({"x:a": {}, "f:a": {"y:b": {}}}, {"f:a": {}}),
        ({'k:{"b": 2.0, "a": 1}': {}}, {'k:{"a":1,"b":2}': {}}),
        ({'v: "a"': {}}, {'v:"a"': {}}),
    ],
)
def test_what_others_wrote_is_brought_into_form(written: Any, read: FieldSet) -> None:
    assert fieldset.parsed(written) == read


@pytest.mark.parametrize(
    "written", [{"a": {}}, {"abc": {}}, {"v:x": {}}, {"k:1": {}}, {"i:x": {}}, 1]
)
def test_what_makes_no_sense_is_refused(written: Any) -> None:
    with pytest.raises(MalformedFieldsError):
        fieldset.parsed(written)
