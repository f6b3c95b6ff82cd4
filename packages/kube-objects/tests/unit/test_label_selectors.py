"""Label selectors: read, printed and matched as the API server does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_objects.errors import RefusedError
from kube_objects.label_selectors import Operator, Requirement, Selector


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    found: dict[str, Any] = {"key": key, "operator": operator}
    return {**found, "values": list(values)} if values else found


def selector(*expressions: dict[str, Any], **pairs: str) -> Selector:
    return Selector.parse({"matchLabels": pairs, "matchExpressions": list(expressions)})


@pytest.mark.parametrize("raw", [None, {}, {"matchLabels": {}}, {"matchExpressions": None}])
def test_no_requirement_selects_everything(raw: Any) -> None:
    found = Selector.parse(raw)
    assert found.matches({})
    assert found.matches({"a": "b"})
    assert str(found) == ""


@pytest.mark.parametrize(
    ("asked", "labels", "matches"),
    [
        (expression("a", "In", "1", "2"), {"a": "2"}, True),
        (expression("a", "In", "1", "2"), {"a": "3"}, False),
        (expression("a", "In", "1"), {}, False),
        (expression("a", "NotIn", "1"), {"a": "2"}, True),
        (expression("a", "NotIn", "1"), {"a": "1"}, False),
        (expression("a", "NotIn", "1"), {}, True),
        (expression("a", "Exists"), {"a": ""}, True),
        (expression("a", "Exists"), {"b": "1"}, False),
        (expression("a", "DoesNotExist"), {"b": "1"}, True),
        (expression("a", "DoesNotExist"), {"a": ""}, False),
        (expression("a", "In", ""), {"a": ""}, True),
        (expression("a", "In", ""), {}, False),
    ],
)
def test_operators_mean_what_they_mean_to_kubectl(
    asked: dict[str, Any], labels: dict[str, str], matches: bool
) -> None:
    assert selector(asked).matches(labels) is matches


def test_all_requirements_count() -> None:
    found = selector(expression("tier", "Exists"), app="shop")
    assert found.matches({"app": "shop", "tier": "web"})
    assert not found.matches({"app": "shop"})
    assert not found.matches({"tier": "web"})


def test_a_selector_is_printed_for_a_request() -> None:
    found = selector(
        expression("tier", "In", "a", "b"),
        expression("env", "NotIn", "prod"),
        expression("x", "Exists"),
        expression("example.com/y", "DoesNotExist"),
        app="shop",
    )
    assert str(found) == "app in (shop),tier in (a,b),env notin (prod),x,!example.com/y"


def test_equal_selectors_are_one() -> None:
    assert len({selector(b="2", a="1"), selector(a="1", b="2")}) == 1


@pytest.mark.parametrize(
    "raw",
    [
        "app=shop",
        {"matchLabels": ["app"]},
        {"matchLabels": {"app": 1}},
        {"matchLabels": {"app": None}},
        {"matchExpressions": {"key": "a"}},
        {"matchExpressions": ["a"]},
        {"matchExpressions": [{"operator": "Exists"}]},
        {"matchExpressions": [{"key": "", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "a", "operator": "Equals", "values": ["1"]}]},
        {"matchExpressions": [{"key": "a"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": "1"}]},
    ],
)
def test_what_is_no_selector_is_refused(raw: Any) -> None:
    with pytest.raises(RefusedError) as refused:
        Selector.parse(raw)
    assert refused.value.code == "invalid-selector"


texts = st.sampled_from(["", "1", "2"])
requirements = st.builds(
    Requirement,
    st.sampled_from("ab"),
    st.sampled_from(Operator),
    st.lists(texts, min_size=1, max_size=2).map(tuple),
)


@given(requirements, st.dictionaries(st.sampled_from("ab"), texts))
def test_opposites_never_agree(asked: Requirement, labels: dict[str, str]) -> None:
    opposite = {
        Operator.IN: Operator.NOT_IN,
        Operator.NOT_IN: Operator.IN,
        Operator.EXISTS: Operator.DOES_NOT_EXIST,
        Operator.DOES_NOT_EXIST: Operator.EXISTS,
    }[asked.operator]
    other = Requirement(asked.key, opposite, asked.values)
    assert asked.matches(labels) is not other.matches(labels)
