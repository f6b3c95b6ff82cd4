from typing import Any

import pytest

from kube_objects.problems import Spot
from kube_objects.schemas import Schema
from kube_objects.validation import validate


def schema(field: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"v": field}}},
    }


VALUES = [
    pytest.param(
        {"type": "integer"},
        "three",
        "wrong-type",
        "'spec.v' must be an integer, but is the string \"three\"",
        "",
        id="text for a number",
    ),
    pytest.param(
        {"type": "integer"},
        "3",
        "wrong-type",
        "'spec.v' must be an integer, but is the string \"3\"",
        "remove the quotes",
        id="a number in quotes",
    ),
    pytest.param(
        {"type": "string"},
        8080,
        "wrong-type",
        "'spec.v' must be a string, but is the number 8080",
        "put it in quotes",
        id="a number for text",
    ),
    pytest.param(
        {"type": "string"},
        True,
        "wrong-type",
        "'spec.v' must be a string, but is the boolean true",
        "put it in quotes",
        id="yes for text",
    ),
    pytest.param(
        {"type": "integer"},
        1.5,
        "wrong-type",
        "'spec.v' must be an integer, but is the number 1.5",
        "",
        id="a fraction for an integer",
    ),
    pytest.param(
        {"type": "integer"},
        1e20,
        "wrong-type",
        "'spec.v' must be an integer, but is the number 1e+20",
        "",
        id="an integer beyond its range",
    ),
    pytest.param(
        {"type": "boolean"},
        1,
        "wrong-type",
        "'spec.v' must be a boolean, but is the number 1",
        "",
        id="a number for a boolean",
    ),
    pytest.param(
        {"type": "array"},
        {},
        "wrong-type",
        "'spec.v' must be a list, but is an object",
        "",
        id="an object for a list",
    ),
    pytest.param(
        {"x-kubernetes-int-or-string": True},
        [],
        "wrong-type",
        "'spec.v' must be an integer or a string, but is a list",
        "",
        id="a list for int-or-string",
    ),
    pytest.param(
        {"enum": ["small", "medium", "large"]},
        "Smal",
        "not-in-enum",
        "'spec.v' is \"Smal\", but must be one of: small, medium, large",
        "did you mean 'small'?",
        id="enum",
    ),
    pytest.param(
        {"enum": [1, 2]},
        3,
        "not-in-enum",
        "'spec.v' is 3, but must be one of: 1, 2",
        "",
        id="enum of numbers",
    ),
    pytest.param(
        {"pattern": "^[a-z]+$"},
        "Web",
        "pattern-mismatch",
        "'spec.v' is \"Web\", which does not match the pattern ^[a-z]+$",
        "",
        id="pattern",
    ),
    pytest.param(
        {"pattern": "a(?=b)"},
        "Web",
        "invalid-pattern",
        "'spec.v' cannot be checked: the pattern a(?=b) is not valid",
        "",
        id="a pattern of another dialect",
    ),
    pytest.param(
        {"format": "date"},
        "today",
        "wrong-format",
        "'spec.v' is \"today\", which does not have the format date",
        "",
        id="format",
    ),
    pytest.param(
        {"minimum": 1}, 0, "out-of-range", "'spec.v' is 0, but must be at least 1", "", id="min"
    ),
    pytest.param(
        {"minimum": 1, "exclusiveMinimum": True},
        1,
        "out-of-range",
        "'spec.v' is 1, but must be greater than 1",
        "",
        id="exclusive minimum",
    ),
    pytest.param(
        {"maximum": 2.5},
        2.6,
        "out-of-range",
        "'spec.v' is 2.6, but must be at most 2.5",
        "",
        id="maximum",
    ),
    pytest.param(
        {"maximum": 9, "exclusiveMaximum": True},
        9,
        "out-of-range",
        "'spec.v' is 9, but must be less than 9",
        "",
        id="exclusive maximum",
    ),
    pytest.param(
        {"multipleOf": 5},
        12,
        "not-a-multiple",
        "'spec.v' is 12, but must be a multiple of 5",
        "",
        id="multiple of",
    ),
    pytest.param(
        {"maxLength": 2},
        "äöü",
        "wrong-length",
        "'spec.v' has 3 characters, but may have at most 2",
        "",
        id="too long, in characters",
    ),
    pytest.param(
        {"minLength": 2},
        "x",
        "wrong-length",
        "'spec.v' has 1 character, but must have at least 2",
        "",
        id="too short",
    ),
    pytest.param(
        {"minItems": 1},
        [],
        "wrong-length",
        "'spec.v' has 0 items, but must have at least 1",
        "",
        id="too few items",
    ),
    pytest.param(
        {"maxItems": 1},
        [1, 2],
        "wrong-length",
        "'spec.v' has 2 items, but may have at most 1",
        "",
        id="too many items",
    ),
    pytest.param(
        {"minProperties": 1, "x-kubernetes-preserve-unknown-fields": True},
        {},
        "wrong-length",
        "'spec.v' has 0 fields, but must have at least 1",
        "",
        id="too few fields",
    ),
    pytest.param(
        {"maxProperties": 1, "x-kubernetes-preserve-unknown-fields": True},
        {"a": 1, "b": 2},
        "wrong-length",
        "'spec.v' has 2 fields, but may have at most 1",
        "",
        id="too many fields",
    ),
    pytest.param(
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        True,
        "wrong-type",
        "'spec.v' must be an integer or a string, but is the boolean true",
        "put it in quotes",
        id="any of some types",
    ),
    pytest.param(
        {"anyOf": [{"minimum": 5}, {"maximum": 1}]},
        3,
        "no-alternative",
        "'spec.v' matches none of its 2 alternatives",
        "the nearest one says: 'spec.v' is 3, but must be at least 5",
        id="any of",
    ),
    pytest.param(
        {"oneOf": [{"minimum": 1}, {"maximum": 5}]},
        3,
        "many-alternatives",
        "'spec.v' matches 2 of its 2 alternatives, but must match exactly one",
        "",
        id="one of",
    ),
    pytest.param(
        {"allOf": [{"minimum": 1}, {"maximum": 5}]},
        7,
        "out-of-range",
        "'spec.v' is 7, but must be at most 5",
        "",
        id="all of",
    ),
    pytest.param(
        {"not": {"enum": ["latest"]}},
        "latest",
        "excluded-form",
        "'spec.v' matches a schema that is not allowed",
        "",
        id="not",
    ),
]


@pytest.mark.parametrize(("field", "value", "code", "summary", "hint"), VALUES)
def test_a_flaw_is_told_as_a_fact_with_a_hint(
    field: Schema, value: Any, code: str, summary: str, hint: str
) -> None:
    (problem,) = validate({"spec": {"v": value}}, schema(field))
    assert (problem.code, problem.summary, problem.hint) == (code, summary, hint)
    assert problem.spot == Spot(("spec", "v"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param({"type": "number"}, 1, id="an integer is a number"),
        pytest.param({"type": "integer"}, 3.0, id="a whole number is an integer"),
        pytest.param({"x-kubernetes-int-or-string": True}, "50%", id="int-or-string"),
        pytest.param({"type": "string", "nullable": True}, None, id="nullable"),
        pytest.param({"type": "integer"}, None, id="a null that is dropped"),
        pytest.param({"type": "integer", "format": "int32"}, 2**40, id="int32 is not checked"),
        pytest.param({"multipleOf": 0.1}, 0.3, id="calculated with floats"),
        pytest.param({"minimum": 2.5}, 2, id="a bound is cut for integers"),
        pytest.param({"pattern": "b"}, "abc", id="a pattern matches anywhere"),
        pytest.param(
            {"pattern": "", "minimum": 3, "maximum": 3, "multipleOf": 2, "maxItems": 1},
            "text",
            id="not about text",
        ),
        pytest.param({"enum": []}, 1, id="an empty enum"),
        pytest.param({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 1, id="one of"),
        pytest.param({"not": {"minimum": 5}}, 3, id="not"),
        pytest.param({"default": 3, "type": "integer"}, None, id="a default for null"),
    ],
)
def test_what_the_api_server_accepts_is_accepted(field: Schema, value: Any) -> None:
    assert validate({"spec": {"v": value}}, schema(field)) == []


def test_a_null_is_no_choice() -> None:
    field: Schema = {"type": "string", "nullable": True, "enum": ["a", None]}
    assert validate({"spec": {"v": None}}, schema(field))[0].code == "not-in-enum"
