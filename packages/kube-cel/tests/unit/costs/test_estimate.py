"""The estimate for sizes given by hand; recorded ones are with the rules of definitions."""

from collections.abc import Sequence

import pytest

from kube_cel.checker import check
from kube_cel.costs.estimate import estimate_cost
from kube_cel.costs.sizes import MAX_COST
from kube_cel.environment import Environment
from kube_cel.parser import parse

_SIZES = {"self": 0, "self.text": 40, "self.list": 10, "self.list.@items": 20}
_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "list": {"type": "array", "items": {"type": "string"}},
        "free": {"type": "string"},
    },
}


def size_at(path: Sequence[str]) -> int | None:
    return _SIZES.get(".".join(path))


def cost(text: str) -> int:
    environment = Environment.rules().extend(schemas={"self": _SCHEMA})
    tree = parse(text)
    check(tree, environment, text)
    return estimate_cost(tree, environment.profile.library, size_at)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("true", 0, id="a constant is free"),
        pytest.param("has(self.text)", 1, id="so is to ask whether something is there"),
        pytest.param("self.text == 'ab'", 3, id="the shorter text is compared"),
        pytest.param("self.text == self.text", 8, id="one unit for ten characters"),
        pytest.param("self.text.contains(self.text)", 20, id="every place, every character"),
        pytest.param("self.list.all(x, true)", 33, id="a loop, ten times"),
        pytest.param("self.list.all(x, x == self.text)", 83, id="a loop with something in it"),
        pytest.param("self.free + self.free == 'a'", MAX_COST // 10 + 8, id="without bounds"),
    ],
)
def test_an_expression_costs(text: str, expected: int) -> None:
    assert cost(text) == pytest.approx(expected, rel=1e-9)


def test_what_stands_twice_in_an_expansion_is_looked_at_once() -> None:
    chain = "optional.of(1)" + ".optMap(x, x + 1)" * 100
    assert cost(f"{chain}.hasValue()") == MAX_COST


def test_a_long_sum_is_counted_to_its_end() -> None:
    assert cost(" + ".join(["self.text"] * 200) + " == ''") > 200
