"""Values as Go prints them; the expectations were printed by Go."""

from typing import Any

import pytest

from kube_sandbox.managedfields.go_text import (
    format_literal,
    format_value,
    json_text,
    number,
    type_name,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ("c<&>", '"c\\u003c\\u0026\\u003e"'),
        ('q"é\\b', '"q\\"é\\\\b"'),
        ("\b\f\n\t\x01\u2028", '"\\u0008\\u000c\\n\\t\\u0001\\u2028"'),
        (80, "80"),
        (2.0, "2"),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (True, "true"),
        (None, "null"),
        ({"b": [1, "<"], "a": {}}, '{"a":{},"b":[1,"\\u003c"]}'),
    ],
)
def test_json(value: Any, text: str) -> None:
    assert json_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (65535, "65535"),
        (100000, "100000"),
        (1000000, "1e+06"),
        (123456789, "1.23456789e+08"),
        (0.1, "0.1"),
        (1e-5, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (2.5e30, "2.5e+30"),
        (12345678.9, "1.23456789e+07"),
        (-21e6, "-2.1e+07"),
        (0, "0"),
    ],
)
def test_floats_in_messages(value: float, text: str) -> None:
    assert number(value) == text


def test_values_in_messages() -> None:
    value = {"b": [1, "x", None, 1.5, True], "a": 1e7}
    assert format_value(value) == "map[a:10000000 b:[1 x <nil> 1.5 true]]"
    assert format_literal(value) == (
        'map[string]interface {}{"a":10000000, '
        '"b":[]interface {}{1, "x", interface {}(nil), 1.5, true}}'
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [("a", "string"), (True, "bool"), ({}, "map[string]interface {}"), ([], "[]interface {}")],
)
def test_names_of_types(value: Any, name: str) -> None:
    assert type_name(value) == name
