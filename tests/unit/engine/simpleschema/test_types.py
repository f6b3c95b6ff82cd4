from typing import Any

import pytest

from kro_gitops.engine.simpleschema.types import load_types
from kube_objects.problems import Problem


def problems(types: dict[str, Any]) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(one.message, one.spot.path) for one in load_types(types).problems]


def only_problem(types: dict[str, Any]) -> Problem:
    [problem] = load_types(types).problems
    return problem


def test_types_may_refer_to_later_ones() -> None:
    assert problems({"A": "[]B", "B": {"c": "map[string]C"}, "C": "string"}) == []


def test_a_long_chain_of_types_is_followed() -> None:
    chain = {f"T{i}": f"T{i + 1}" for i in range(3000)} | {"T3000": "integer"}
    assert load_types(chain).drafts["T0"].type == "integer"


def test_a_circle_is_shown_as_a_path_and_underlined_where_it_begins() -> None:
    problem = only_problem({"Z": "A", "A": {"x": "string", "b": "[]B"}, "B": "map[string]A"})
    assert problem.message == ("cyclic dependency in type A: graph contains a cycle: A -> B -> A")
    assert problem.summary == "types contain each other: A → B → A"
    assert (problem.spot.path, problem.spot.start, problem.spot.end) == (("types", "A", "b"), 2, 3)


def test_separate_circles_are_all_reported() -> None:
    found = problems({"A": "B", "C": "D", "B": "A", "D": "E", "E": "C"})
    assert [message for message, _ in found] == [
        "cyclic dependency in type A: graph contains a cycle: A -> B -> A",
        "cyclic dependency in type C: graph contains a cycle: C -> D -> E -> C",
    ]


@pytest.mark.parametrize("text", ["Node", "[]Node", "map[string]Node"])
def test_a_type_must_not_contain_itself(text: str) -> None:
    assert problems({"Node": {"next": text}}) == [
        ("self references are not allowed", ("types", "Node", "next"))
    ]


def test_an_undeclared_type_is_reported_at_each_place_even_if_nobody_uses_it() -> None:
    assert problems({"A": {"x": "Adress", "y": "[]Adress"}, "Address": "string"}) == [
        ("node Adress does not exist", ("types", "A", "x")),
        ("node Adress does not exist", ("types", "A", "y")),
    ]


def test_an_undeclared_type_gets_a_hint() -> None:
    assert only_problem({"A": "Adress", "Address": "string"}).hint == "did you mean 'Address'?"


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        pytest.param("[]", "parsing type T: empty slice element type", id="an alias"),
        pytest.param({"f": ""}, "parsing type T: field f: empty type", id="a field"),
        pytest.param({"f": {"g": 7}}, "parsing type T: field f: field g: unexpected type: int64",
                     id="a nested field"),
        pytest.param(None, "parsing type T: unexpected type: <nil>", id="no definition"),
        pytest.param(
            {"f": "string | minItems=1"},
            "building schema for T: field f: "
            "minItems marker is only valid for array types, got type: string",
            id="a marker",
        ),
        pytest.param(
            "string | x=1",
            'building schema for T: invalid marker key "x": unknown marker: x',
            id="a marker of an alias",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_the_step_kro_finds_them_in(
    definition: Any, message: str
) -> None:
    assert only_problem({"T": definition}).message == message


def test_a_built_in_name_is_never_a_custom_type() -> None:
    assert load_types({"string": {"a": "integer"}, "T": "string"}).drafts["T"].type == "string"


def test_a_mistake_in_a_type_is_not_reported_again_by_types_that_use_it() -> None:
    types = {"A": "strin", "B": "A | minLength=1", "C": {"a": "[]A | minItems=1", "b": "B"}}
    assert problems(types) == [("node strin does not exist", ("types", "A"))]
