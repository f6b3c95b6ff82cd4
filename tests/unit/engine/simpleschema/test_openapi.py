from typing import Any

import pytest

from kro_gitops.engine.simpleschema.openapi import build_schema
from kube_objects.problems import Problem


def schema_of(spec: dict[str, Any], types: dict[str, Any] | None = None) -> dict[str, Any]:
    result = build_schema(spec, types or {})
    assert result.problems == ()
    assert result.schema is not None
    return result.schema


def field(definition: Any, types: dict[str, Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = schema_of({"f": definition}, types)["properties"]["f"]
    return found


def only_problem(spec: dict[str, Any], types: dict[str, Any] | None = None) -> Problem:
    result = build_schema(spec, types or {})
    assert result.schema is None
    [problem] = result.problems
    return problem


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("string", {"type": "string"}),
        ("integer", {"type": "integer"}),
        ("boolean", {"type": "boolean"}),
        ("float", {"type": "number"}),
        ("object", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ("[]float", {"type": "array", "items": {"type": "number"}}),
        ("map[string]integer", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ({}, {"type": "object"}),
        ({"a": "string"}, {"type": "object", "properties": {"a": {"type": "string"}}}),
    ],
)
def test_types_become_openapi(definition: Any, expected: dict[str, Any]) -> None:
    assert field(definition) == expected


@pytest.mark.parametrize(
    ("definition", "keywords"),
    [
        ("string | default=x", {"default": "x"}),
        ("string | default=", {"default": ""}),
        ('string | default="a\\nb"', {"default": "a\nb"}),
        ('integer | default="5"', {"default": 5}),
        ("float | default=1e3", {"default": 1000.0}),
        ("boolean | default=true", {"default": True}),
        ('[]string | default=["a", "b"]', {"default": ["a", "b"]}),
        ("object | default=null", {"default": None}),
        ("object | default=", {"default": None}),
        ("string | description=x", {"description": "x"}),
        ('string | description=""', {}),
        ("integer | minimum=1.0 maximum=1e2", {"minimum": 1, "maximum": 100}),
        ("float | minimum=-.5", {"minimum": -0.5}),
        ("string | minLength=1 maxLength=-1", {"minLength": 1, "maxLength": -1}),
        ("[]string | minItems=0 maxItems=3", {"minItems": 0, "maxItems": 3}),
        ('string | enum="a, b,c"', {"enum": ["a", "b", "c"]}),
        ("integer | enum=1,2", {"enum": [1, 2]}),
        ("string | pattern=^a", {"pattern": "^a"}),
        ("[]string | uniqueItems=true", {"x-kubernetes-list-type": "set"}),
        ("[]string | uniqueItems=false", {}),
        ("[]string | listType=set uniqueItems=true", {"x-kubernetes-list-type": "set"}),
        ("[]string | listType=atomic", {"x-kubernetes-list-type": "atomic"}),
        ("string | immutable=false required=false", {}),
        (
            "string | immutable=true immutable=true",
            {
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "field is immutable"},
                    {"rule": "self == oldSelf", "message": "field is immutable"},
                ]
            },
        ),
        (
            "string | validation=self.size()>0",
            {
                "x-kubernetes-validations": [
                    {"rule": "self.size()>0", "message": "validation failed"}
                ]
            },
        ),
    ],
)
def test_markers_become_keywords(definition: str, keywords: dict[str, Any]) -> None:
    bare, _, _ = definition.partition("|")
    assert field(definition) == field(bare) | keywords


def test_whole_bounds_are_written_as_integers() -> None:
    assert isinstance(field("float | minimum=1.0")["minimum"], int)


def test_keywords_come_in_a_fixed_order_type_first() -> None:
    definition = "[]T | description=d listMapKey=k minItems=0 listType=map default=[] required=true"
    found = field(definition, {"T": {"k": "string | required=true"}})
    assert list(found) == [
        "type",
        "description",
        "default",
        "minItems",
        "items",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
    ]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("string | required=yes",
         'failed to parse required marker value: strconv.ParseBool: parsing "yes": invalid syntax'),
        ("string | immutable=",
         'failed to parse immutable marker value: strconv.ParseBool: parsing "": invalid syntax'),
        ("integer | minimum=x",
         'failed to parse minimum enum value: strconv.ParseFloat: parsing "x": invalid syntax'),
        ("integer | maximum=1e999",
         'failed to parse maximum enum value: strconv.ParseFloat: parsing "1e999": '
         "value out of range"),
        ('string | enum="a,,b"', "empty enum values are not allowed"),
        ('string | enum=""', "empty enum values are not allowed"),
        ("integer | enum=1,b",
         'failed to parse integer enum value: strconv.ParseInt: parsing "b": invalid syntax'),
        ("float | enum=1",
         "enum values only supported for string and integer types, got type: number"),
        ("object | validation=", "validation failed"),
        ('string | pattern=""', "pattern marker value cannot be empty"),
        ("integer | pattern=a", "pattern marker is only valid for string types, got type: integer"),
        ("[]string | minLength=1",
         "minLength marker is only valid for string types, got type: array"),
        ("string | maxLength=x",
         'failed to parse maxLength value: strconv.ParseInt: parsing "x": invalid syntax'),
        ("map[string]string | maxItems=1",
         "maxItems marker is only valid for array types, got type: object"),
        ("[]string | minItems=1.5",
         'failed to parse minItems value: strconv.ParseInt: parsing "1.5": invalid syntax'),
        ("[]string | uniqueItems=x",
         "failed to parse uniqueItems marker value: "
         'strconv.ParseBool: parsing "x": invalid syntax'),
        ("string | uniqueItems=true",
         "uniqueItems marker is only valid for array types, got type: string"),
        ("[]string | listType=atomic uniqueItems=true",
         "cannot set unique when listType is set to atomic"),
        ("string | listType=set", "listType marker only applies to array types"),
        ("[]string | listType=bag",
         "unsupported value for listType bag, needs to be one of atomic, set, or map"),
        ("string | listMapKey=a", "listMapKey marker only applies to array types"),
        ("[]string | listType=set listMapKey=a",
         "listMapKey set while listType is set to set, listType must be set to map"),
        ("float | default=x", "default value must be a valid number, got: x"),
        ("boolean | default=yes", "default value must be a valid boolean, got: yes"),
    ],
)  # fmt: skip
def test_wrong_markers_are_reported_in_the_words_of_kro(definition: str, message: str) -> None:
    assert only_problem({"f": definition}).message == f"field f: {message}"


def test_a_repeated_map_key_is_reported() -> None:
    types = {"T": {"a": "string | required=true"}}
    problem = only_problem({"f": "[]T | listType=map listMapKey=a listMapKey=a"}, types)
    assert problem.message == "field f: duplicate listMapKey marker, value a"


@pytest.mark.parametrize(
    ("definition", "summary", "underline"),
    [
        ("integer | minimum=x", "minimum is a number, not 'x'", "x"),
        ("string | required=yes", "required is true or false, not 'yes'", "yes"),
        ("string | minItems=1", "minItems does not apply to type string", "minItems=1"),
        ("string | default=a enum=", "empty enum values are not allowed", "enum="),
        ('integer | default="two 2"', "default two 2 is not a valid integer", '"two 2"'),
        ("[]integr | minItems=1", "unknown type 'integr'", "integr"),
    ],
)
def test_a_mistake_is_said_in_our_words_and_underlined(
    definition: str, summary: str, underline: str
) -> None:
    problem = only_problem({"f": definition})
    assert problem.summary == summary
    assert definition[problem.spot.start : problem.spot.end] == underline


def test_all_problems_come_at_once_types_first_in_the_order_they_are_written() -> None:
    result = build_schema(
        {
            "z": "int",
            "net": {"mtu": "integer | default=x minimum=y", "host": 7},
            "a": "string | default=1 | enum=1",
        },
        {"T": {"b": "map[int]x", "a": "string | minItems=1"}, "A": "Nope"},
    )
    assert [(one.spot.path, one.message) for one in result.problems] == [
        (("types", "T", "b"), "parsing type T: field b: map key must be string"),
        (
            ("types", "T", "a"),
            "building schema for T: field a: "
            "minItems marker is only valid for array types, got type: string",
        ),
        (("types", "A"), "node Nope does not exist"),
        (("spec", "z"), "field z: unknown type: int"),
        (
            ("spec", "net", "mtu"),
            "field net: field mtu: default value must be a valid integer, got: x",
        ),
        (
            ("spec", "net", "mtu"),
            "field net: field mtu: failed to parse minimum enum value: "
            'strconv.ParseFloat: parsing "y": invalid syntax',
        ),
        (("spec", "net", "host"), "field net: field host: unexpected type: int64"),
        (("spec", "a"), 'field a: invalid marker key "|enum": unknown marker: |enum'),
    ]


@pytest.mark.parametrize(
    ("value", "go_type"),
    [(1.5, "float64"), (False, "bool"), (None, "<nil>"), (["a"], "[]interface {}")],
)
def test_a_definition_that_is_neither_text_nor_map_is_refused(value: Any, go_type: str) -> None:
    assert only_problem({"f": value}).message == f"field f: unexpected type: {go_type}"


def test_markers_of_a_field_of_unknown_type_are_still_checked() -> None:
    result = build_schema({"f": "strin | minLength=x minItems=1 enum=a default={"}, {})
    assert [one.code for one in result.problems] == [
        "unknown-type",
        "invalid-number",
        "unclosed-bracket",
    ]


class TestCustomTypes:
    def test_the_use_adds_to_the_type(self) -> None:
        types = {"Port": "integer | minimum=1 default=80 immutable=true description=port"}
        assert field("Port | default=443 validation=self>2", types) == {
            "type": "integer",
            "description": "port",
            "default": 443,
            "minimum": 1,
            "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "field is immutable"},
                {"rule": "self>2", "message": "validation failed"},
            ],
        }

    def test_one_use_does_not_change_another(self) -> None:
        types = {"Port": "integer | validation=self>0"}
        found = schema_of({"a": "Port | validation=self>1", "b": "Port"}, types)["properties"]
        assert len(found["a"]["x-kubernetes-validations"]) == 2
        assert len(found["b"]["x-kubernetes-validations"]) == 1

    def test_uses_share_no_part_of_the_result(self) -> None:
        types = {"T": {"k": "object | default={}"}}
        found = schema_of({"a": "T", "b": "T"}, types)["properties"]
        found["a"]["properties"]["k"]["default"]["x"] = 1
        assert found["b"]["properties"]["k"]["default"] == {}

    def test_a_required_type_and_a_required_use_count_twice(self) -> None:
        types = {"T": "string | required=true"}
        assert schema_of({"f": "T | required=true"}, types)["required"] == ["f", "f"]

    def test_a_use_cannot_take_required_back(self) -> None:
        types = {"T": "string | required=true"}
        assert schema_of({"f": "T | required=false"}, types)["required"] == ["f"]

    def test_items_and_values_do_not_make_a_field_required(self) -> None:
        types = {"T": "string | required=true"}
        assert "required" not in schema_of({"f": "[]T", "g": "map[string]T"}, types)

    def test_an_unknown_type_is_reported_once_where_it_is_written(self) -> None:
        types = {"A": "Nope", "B": {"a": "A"}}
        assert only_problem({"x": "A", "y": "[]B"}, types).spot.path == ("types", "A")


class TestDefaultsOfStructures:
    def test_a_required_sibling_prevents_the_default(self) -> None:
        found = field({"a": "string | default=x", "b": "string | required=true"})
        assert "default" not in found

    def test_a_structure_without_default_does_not_pass_one_up(self) -> None:
        spec = {"a": {"b": "string | default=x", "c": "string | required=true"}, "d": "string"}
        assert "default" not in schema_of(spec)

    def test_a_sibling_may_still_give_one_to_the_parent(self) -> None:
        spec = {"a": {"b": "string | default=x", "c": "string | required=true"},
                "d": "string | default=y"}  # fmt: skip
        assert schema_of(spec)["default"] == {}

    def test_items_do_not_pass_their_default_up(self) -> None:
        found = schema_of({"ports": "[]Port"}, {"Port": "integer | default=80"})
        assert "default" not in found


class TestLimits:
    def test_types_that_multiply_beyond_all_bounds_are_refused(self) -> None:
        types: dict[str, Any] = {"T0": {"a": "string"}}
        types |= {f"T{i}": {"a": f"T{i - 1}", "b": f"T{i - 1}"} for i in range(1, 60)}
        assert only_problem({"f": "T59"}, types).code == "schema-too-large"

    def test_types_that_nest_beyond_all_bounds_are_refused(self) -> None:
        types: dict[str, Any] = {"T0": "string"}
        types |= {f"T{i}": {"a": f"T{i - 1}"} for i in range(1, 2000)}
        assert only_problem({"f": "T1999"}, types).code == "schema-too-deep"

    def test_structures_that_nest_beyond_all_bounds_are_refused(self) -> None:
        spec: dict[str, Any] = {}
        for _ in range(5000):
            spec = {"a": spec}
        assert only_problem(spec).code == "schema-too-deep"

    def test_what_people_write_is_far_from_the_bounds(self) -> None:
        spec: Any = "[]" * 16 + "string"
        for _ in range(50):
            spec = {"a": spec}
        assert build_schema(spec, {}).problems == ()
