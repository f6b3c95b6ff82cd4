"""Values as Go prints them; the expectations were printed by Go."""

from typing import Any

import pytest

from kube_objects.go_format import (
    format_literal,
    format_value,
    json_text,
    type_name,
    whole_floats_as_integers,
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
    assert format_value(float(value)) == text


def test_values_in_messages() -> None:
    read = {"b": [1, "x", None, 1.5, True], "a": 1e7}
    assert format_value(read) == "map[a:1e+07 b:[1 x <nil> 1.5 true]]"
    value = whole_floats_as_integers(read)
    assert format_value(value) == "map[a:10000000 b:[1 x <nil> 1.5 true]]"
    assert format_literal(value) == (
        'map[string]interface {}{"a":10000000, '
        '"b":[]interface {}{1, "x", interface {}(nil), 1.5, true}}'
    )


def test_a_number_too_large_for_an_integer_is_a_float() -> None:
    assert format_value(2**63) == "9.223372036854776e+18"
    assert format_value(2**63 - 1) == "9223372036854775807"


def test_control_characters_are_quoted_as_go_quotes_them() -> None:
    assert format_literal({"a\x01": "\x7f\u200b"}) == (
        r'map[string]interface {}{"a\x01":"\x7f\u200b"}'
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [("a", "string"), (True, "bool"), ({}, "map[string]interface {}"), ([], "[]interface {}")],
)
def test_names_of_types(value: Any, name: str) -> None:
    assert type_name(value) == name
