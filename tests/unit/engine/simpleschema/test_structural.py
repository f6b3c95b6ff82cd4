"""Every case here was put to the validation of a Kubernetes 1.35 API server, by way of kro."""

from typing import Any

import pytest

from kro_gitops.engine.simpleschema.openapi import build_schema
from kube_objects.problems import Problem

TYPES: dict[str, Any] = {
    "Port": "integer | minimum=1 maximum=65535",
    "Net": {"host": "string | required=true", "mtu": "integer", "labels": "map[string]string"},
    "Loose": {"host": "string", "extra": "object"},
    "Key": {"id": "string | required=true", "nr": "integer | default=1", "opt": "string",
            "sub": {"x": "string"}, "list": "[]string"},
    "Fixed": {"id": "string | required=true", "nr": "integer | immutable=true"},
    "Names": "[]string | listType=set",
}  # fmt: skip


def problems(definition: Any) -> tuple[Problem, ...]:
    return build_schema({"f": definition}, TYPES).problems


ACCEPTED = [
    "integer | default=1 minimum=1.5",  # a bound loses its fraction
    "integer | minimum=5 maximum=1",
    "string | minLength=5 maxLength=2",
    "string | minimum=3 default=x",
    "[]integer | default=[1.0, -2.0]",
    "[]integer | uniqueItems=true default=[1,1]",
    "float | default=3",
    'string | enum="a,b" default="b"',
    'string | pattern="^a" default="ab"',
    "object | default=null",
    'object | default={"any": [null, {"deep": 1}]}',
    'map[string]Port | default={"web": 80}',
    'Net | default={"host": "x", "labels": {"a": "b"}}',
    'Loose | default={"extra": {"any": null}}',
    "[]Key | listType=map listMapKey=id listMapKey=nr",
    "[][]string | uniqueItems=true",
    "[]string | immutable=true",
    "[]Fixed | listType=map listMapKey=id",
    "map[string]Fixed",
    {"a": "string | immutable=true"},
]


@pytest.mark.parametrize("definition", ACCEPTED, ids=str)
def test_what_a_server_accepts_is_no_problem(definition: Any) -> None:
    assert problems(definition) == ()


REFUSED = [
    ("boolean | default=True", "default-not-json"),
    ("boolean | default=1", "default-wrong-type"),
    ("integer | default=007", "default-not-json"),
    ("integer | default=+5", "default-not-json"),
    ("float | default=.5", "default-not-json"),
    ("float | default=NaN", "default-not-json"),
    ('string | default="say \\"hi\\""', "default-not-json"),
    ('string | default="a\nb"', "default-not-json"),
    ('string | default="\\d"', "default-not-json"),
    ("[]string | default=[a]", "default-not-json"),
    ("object | default=x", "default-not-json"),
    ("object | default=[]", "default-wrong-type"),
    ("[]string | default={}", "default-wrong-type"),
    ("[]string | default=[null]", "default-wrong-type"),
    ("[]integer | default=[1.5]", "default-wrong-type"),
    ("[]integer | default=[12345678901234567890]", "default-wrong-type"),
    ('map[string]integer | default={"a": "b"}', "default-wrong-type"),
    ("integer | default=1 minimum=5", "default-out-of-bounds"),
    ("integer | default=9 maximum=5.5", "default-out-of-bounds"),
    ("Port | default=0", "default-out-of-bounds"),
    ("[]Port | default=[80, 70000]", "default-out-of-bounds"),
    ("string | default=a minLength=2", "default-out-of-bounds"),
    ("string | default=é maxLength=0", "default-out-of-bounds"),
    ("[]string | default=[] minItems=1", "default-out-of-bounds"),
    ('[]string | default=["a"] maxItems=0', "default-out-of-bounds"),
    ("string | enum=a,b default=c", "default-not-in-enum"),
    ("integer | enum=1,2 default=3", "default-not-in-enum"),
    ('string | pattern="^a" default="b"', "default-pattern-mismatch"),
    ("Net | default={}", "default-missing-field"),
    ('Net | default={"host": "x", "nope": 1}', "default-unknown-field"),
    ('Net | default={"host": null}', "default-wrong-type"),
    ("integer | minimum=Inf", "bound-not-finite"),
    ("integer | enum=007", "enum-not-json"),
    ('string | enum="a\x07"', "enum-not-json"),
    ("[]object | uniqueItems=true", "set-of-objects"),
    ("[]Net | listType=set", "set-of-objects"),
    ("[]Names | listType=set", "set-of-lists"),
    ("[]Key | listType=map", "list-map-without-key"),
    ("[]string | listType=map listMapKey=a", "list-map-of-scalars"),
    ("[]Key | listType=map listMapKey=nope", "list-map-key-unknown"),
    ("[]object | listType=map listMapKey=a", "list-map-key-unknown"),
    ("[]Key | listType=map listMapKey=opt", "list-map-key-optional"),
    ("[]Key | listType=map listMapKey=sub", "list-map-key-not-scalar"),
    ("[]Key | listType=map listMapKey=list", "list-map-key-not-scalar"),
    ("[]Fixed", "immutable-in-list"),
    ("map[string][]Fixed", "immutable-in-list"),
]


@pytest.mark.parametrize(("definition", "code"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_a_server_refuses_is_found_before_it_does(definition: str, code: str) -> None:
    assert [problem.code for problem in problems(definition)] == [code]


@pytest.mark.parametrize(
    ("definition", "summary"),
    [
        ("integer | default=1 minimum=5", "default 1 is less than the minimum 5"),
        ("[]Port | default=[1,0]", "default 0 at [1] is less than the minimum 1"),
        ('Net | default={"host":7}', "default 7 at host is not of type string"),
        ("string | enum=a,b default=c", 'default "c" is not one of a, b'),
        ("boolean | default=True", "default True is not valid JSON for type boolean"),
        ("object | default={1}", "default {1} is not valid JSON for type object: expecting "
         "property name enclosed in double quotes at character 2"),
        ('Net | default={"host":"' + "x" * 99 + '","a":1}',
         'default {"host":"' + "x" * 51 + "… has the unknown field 'a'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_default_is_said_with_its_value(definition: str, summary: str) -> None:
    [problem] = problems(definition)
    assert problem.summary == problem.message == summary


def test_the_default_is_underlined() -> None:
    definition = "integer | minimum=5 default=1 maximum=9"
    [problem] = problems(definition)
    assert definition[problem.spot.start : problem.spot.end] == "1"


def test_if_the_use_of_a_type_breaks_its_default_the_use_is_underlined() -> None:
    definition = "Web | minimum=100"
    [problem] = build_schema({"f": definition}, {"Web": "integer | default=80"}).problems
    assert problem.spot.path == ("spec", "f")
    assert definition[problem.spot.start : problem.spot.end] == "100"


def test_a_mistake_in_a_type_is_shown_in_the_type_and_once() -> None:
    types = {"Flag": "boolean | default=True", "Net": {"up": "Flag"}}
    [problem] = build_schema({"a": "Flag", "b": "[]Flag", "c": "Net", "d": "Net"}, types).problems
    assert problem.spot.path == ("types", "Flag")


def test_a_type_that_nobody_uses_never_reaches_a_server() -> None:
    assert build_schema({"a": "string"}, {"Flag": "boolean | default=True"}).problems == ()


def test_a_default_that_every_use_replaces_never_reaches_a_server() -> None:
    types = {"Flag": "boolean | default=True"}
    assert build_schema({"a": "Flag | default=true"}, types).problems == ()


def test_defaults_inside_map_values_are_not_checked_by_servers() -> None:
    types = {"Low": "integer | minimum=5 default=1"}
    assert build_schema({"a": "map[string]Low"}, types).problems == ()


def test_but_they_must_be_json_there_too() -> None:
    types = {"Flag": "boolean | default=True"}
    [problem] = build_schema({"a": "map[string]Flag"}, types).problems
    assert problem.code == "default-not-json"


def test_mistakes_kro_finds_do_not_hide_those_it_leaves_to_a_server() -> None:
    result = build_schema({"a": "strin", "b": "integer | default=1 minimum=5"}, {})
    assert [problem.code for problem in result.problems] == [
        "unknown-type",
        "default-out-of-bounds",
    ]


def test_a_field_of_unknown_type_takes_every_default() -> None:
    types = {"Net": {"host": "strin"}}
    result = build_schema({"a": 'Net | default={"host": 7}'}, types)
    assert [problem.code for problem in result.problems] == ["undeclared-type"]
