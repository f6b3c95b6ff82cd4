from typing import Any

import pytest

from kube_cel.library.sets import GLOBALS
from kube_cel.values import EvaluationError, UInt


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("contains", [], [], True),
        ("contains", [], [1], False),
        ("contains", [1, 2, 3], [3.0, UInt(1)], True),
        ("contains", [1, 2], [1, 4], False),
        ("contains", [[1], {"a": 1}], [{"a": 1.0}], True),
        ("equivalent", [], [], True),
        ("equivalent", [1, 1, 2], [UInt(2), 1.0], True),
        ("equivalent", [1, 2], [1], False),
        ("equivalent", [1], [1, 2], False),
        ("intersects", [], [], False),
        ("intersects", [1], [2], False),
        ("intersects", [1, "a"], ["b", "a"], True),
        ("intersects", [True], [1], False),
    ],
)
def test_lists_as_sets(name: str, left: list[Any], right: list[Any], expected: bool) -> None:
    assert GLOBALS[f"sets.{name}"](left, right) is expected


def test_sets_are_made_of_lists_only() -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload: sets\.contains\(int, list\)$"):
        GLOBALS["sets.contains"](1, [1])
