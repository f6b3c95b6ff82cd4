"""What the body of an apply says, as a real API server took it."""

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.decoding import parse_apply

BOMB = "a0: &a0 [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.0", 2),
        ("1e3", 1000),
        ("1e21", 1e21),
        ("2.5", 2.5),
        ("-0.0", 0),
        ("9223372036854775808", 9.223372036854775808e18),
    ],
)
def test_numbers_are_what_go_reads_after_json(text: str, value: float) -> None:
    for body in (f'{{"a": {text}}}', f"a: {text}\n"):
        found = parse_apply(body.encode())["a"]
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("n", False),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("190:20:30", "190:20:30"),
        ("2001-01-01", "2001-01-01"),
        ("!!str 5", "5"),
        ("{a: b, a: c}", {"a": "c"}),
        ("&a [1]\nb: *a", [1]),
    ],
)
def test_words_of_yaml_are_what_go_reads(text: str, value: object) -> None:
    found = parse_apply(f"a: {text}\n".encode())["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: b: c", "mapping values are not allowed in this context"),
        ("a: [1", "line 1: did not find expected ',' or ']'"),
        ("\tx: 1", "found character that cannot start any token"),
        ("a: 'b", "found unexpected end of stream"),
        ("- 1\nb: 2", "line 1: did not find expected '-' indicator"),
    ],
)
def test_what_is_no_yaml_is_refused_in_its_words(text: str, why: str) -> None:
    with pytest.raises(StatusError) as refused:
        parse_apply(text.encode())
    prefix = "error decoding YAML: error converting YAML to JSON: yaml: "
    assert (refused.value.code, refused.value.message) == (400, prefix + why)


def test_aliases_cannot_grow_beyond_measure() -> None:
    with pytest.raises(StatusError) as refused:
        parse_apply(BOMB.encode())
    assert refused.value.code == 400
