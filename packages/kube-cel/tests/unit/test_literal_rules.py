import pytest

from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.issues import CheckError
from kube_cel.parser import parse

RULES = Environment.rules()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1, 'a', 2.0] == []", ["5: expected type 'int' but found 'string'"]),
        ("[[1, 'a']].size() > 0", ["6: expected type 'int' but found 'string'"]),
        ("[?optional.of(1), 'a'].size() > 0", ["19: expected type 'int' but found 'string'"]),
        (
            "{'a': 1, 2: null}.size() > 0",
            [
                "10: expected type 'string' but found 'int'",
                "13: expected type 'int' but found 'null'",
            ],
        ),
        ("'a'.matches('(')", ["13: invalid matches argument"]),
        ("duration('1 day') > duration('1s')", ["10: invalid duration argument"]),
        ("timestamp('today') == timestamp(0)", ["11: invalid timestamp argument"]),
    ],
)
def test_literals_the_api_server_refuses_are_reported(expression: str, expected: list[str]) -> None:
    with pytest.raises(CheckError) as caught:
        check(parse(expression), RULES, expression)
    assert [f"{one.offset + 1}: {one.message}" for one in caught.value.issues] == expected


@pytest.mark.parametrize(
    "expression",
    [
        "'%s %d'.format(['a', 1]) == 'a 1'",
        "'%s'.format([[1, 'a']]) == ''",
        "[1, 2] == [3]",
        "{'a': 1, ?'b': optional.of(2)}.size() > 0",
        "'a'.matches('^a+$')",
        "duration('1h') > duration('1s')",
        "timestamp('2024-01-01T00:00:00Z') == timestamp(0)",
        "1 < 2.0",
        "sets.contains([1], [2])",
        "format.dns1123Label().validate('a').hasValue()",
    ],
)
def test_literals_the_api_server_accepts_pass(expression: str) -> None:
    assert str(check(parse(expression), RULES, expression)) == "bool"


@pytest.mark.parametrize("expression", ["[1, 'a']", "'a'.matches('(')", "duration('x')"])
def test_kro_demands_nothing_of_literals(expression: str) -> None:
    check(parse(expression), Environment.kro(), expression)
