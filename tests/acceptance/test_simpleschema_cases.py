"""The acceptance cases of SimpleSchema, 1 to 35: what is written, and what comes of it."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from kro_gitops.engine.simpleschema.openapi import build_schema
from kube_objects.paths import MISSING, find
from kube_objects.problems import Path

Definitions = dict[str, Any]

PORT = {"Port": "integer | default=80 required=true"}
PRESERVE = "x-kubernetes-preserve-unknown-fields"


@dataclass(frozen=True)
class Accepted:
    """What stands at paths of the schema; `MISSING` is what must not be there."""

    spec: Definitions
    expected: dict[Path, Any]
    types: Definitions = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    """Texts that one error contains."""

    spec: Definitions
    texts: tuple[str, ...]
    types: Definitions = field(default_factory=dict)


def of(name: str, *below: str) -> Path:
    return ("properties", name, *below)


ACCEPTED = {
    "01 integer with default and bounds": Accepted(
        {"size": "integer | default=4 minimum=1 maximum=9"},
        {
            of("size"): {"type": "integer", "default": 4, "minimum": 1, "maximum": 9},
            ("default",): {},
        },
    ),
    "02 a required field keeps the default off the spec": Accepted(
        {"label": "string | required=true", "size": "integer | default=4"},
        {("required",): ["label"], ("default",): MISSING},
    ),
    "03 required names are sorted": Accepted(
        dict.fromkeys(("zeta", "alpha", "mid"), "string | required=true"),
        {("required",): ["alpha", "mid", "zeta"]},
    ),
    "04 a nested default reaches the spec": Accepted(
        {"net": {"host": "string", "mtu": "integer | default=1500"}},
        {of("net", "default"): {}, ("default",): {}},
    ),
    "05 a nested required field stops it": Accepted(
        {"net": {"host": "string | required=true", "mtu": "integer | default=1500"}},
        {of("net", "default"): MISSING, ("default",): MISSING},
    ),
    "06 float is number": Accepted({"ratio": "float"}, {of("ratio"): {"type": "number"}}),
    "07 list of lists": Accepted(
        {"grid": "[][]integer"},
        {
            of("grid"): {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
            }
        },
    ),
    "08 map of lists": Accepted(
        {"rates": "map[string][]float"},
        {
            of("rates"): {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "number"}},
            }
        },
    ),
    "09 object with a JSON default": Accepted(
        {"raw": 'object | default={"a":1}'},
        {of("raw"): {"type": "object", "default": {"a": 1}, PRESERVE: True}},
    ),
    "10 enum of strings with default": Accepted(
        {"mode": 'string | enum="fast, slow" default="fast"'},
        {of("mode", "enum"): ["fast", "slow"], of("mode", "default"): "fast"},
    ),
    "11 enum of integers": Accepted({"code": 'integer | enum="1,2"'}, {of("code", "enum"): [1, 2]}),
    "13 pattern with a bar": Accepted(
        {"sku": r'string | pattern="^(A|B)-\d{3}$"'},
        {of("sku", "pattern"): r"^(A|B)-\d{3}$"},
    ),
    "15 unique items are a set": Accepted(
        {"zones": "[]string | uniqueItems=true maxItems=3"},
        {of("zones", "x-kubernetes-list-type"): "set", of("zones", "maxItems"): 3},
    ),
    "18 two validation rules in their order": Accepted(
        {"id": "string | immutable=true validation=\"self != ''\""},
        {
            of("id", "x-kubernetes-validations"): [
                {"rule": "self == oldSelf", "message": "field is immutable"},
                {"rule": "self != ''", "message": "validation failed"},
            ]
        },
    ),
    "23 an equals sign inside a value": Accepted(
        {"note": "string | default=a=b"}, {of("note", "default"): "a=b"}
    ),
    "27 a required alias with default": Accepted(
        {"p": "Port"},
        {of("p"): {"type": "integer", "default": 80}, ("required",): ["p"]},
        PORT,
    ),
    "28 the same alias as item": Accepted(
        {"ps": "[]Port"},
        {of("ps", "items"): {"type": "integer", "default": 80}, ("required",): MISSING},
        PORT,
    ),
    "29 defaults climb through types": Accepted(
        {"t": "Tree"},
        {
            of("t", "default"): {},
            of("t", "properties", "leaf", "default"): {},
            ("default",): {},
        },
        {"Leaf": {"v": 'string | default="k"'}, "Tree": {"leaf": "Leaf"}},
    ),
    "34 sixteen levels of lists": Accepted(
        {"f": "[]" * 16 + "string"}, {of("f", *["items"] * 16): {"type": "string"}}
    ),
}

REFUSED = {
    "12 enum of booleans": Refused(
        {"lit": 'boolean | enum="true"'},
        ("enum values only supported for string and integer types, got type: boolean",),
    ),
    "14 pattern with look-ahead": Refused(
        {"sku": 'string | pattern="(?=x)"'}, ("invalid pattern regex",)
    ),
    "16 set and map at once": Refused(
        {"zones": "[]string | uniqueItems=true listType=map"},
        ("listType attempting to overwrite set type of set",),
    ),
    "17 map key without list type": Refused(
        {"zones": "[]string | listMapKey=id"}, ("listMapKey set while listType is unset",)
    ),
    "19 value with a blank": Refused(
        {"note": "string | description=two words"}, ("marker key 'words' without a value",)
    ),
    "20 trailing blank": Refused(
        {"note": "string | required=true "}, ("marker key '' without a value",)
    ),
    "21 second bar": Refused(
        {"note": "string | required=true | default=x"}, ('invalid marker key "|default"',)
    ),
    "22 single quotes": Refused(
        {"note": "string | default='x y'"}, ("marker key 'y'' without a value",)
    ),
    "24 fraction as default of an integer": Refused(
        {"n1": "integer | default=2.5"}, ("default value must be a valid integer, got: 2.5",)
    ),
    "25 int is no type": Refused({"n1": "int"}, ("field n1: unknown type: int",)),
    "26 map with integer keys": Refused({"m": "map[integer]string"}, ("map key must be string",)),
    "30 types in a circle": Refused(
        {},
        ("cyclic dependency in type", "graph contains a cycle"),
        {"A": "B", "B": "A"},
    ),
    "31 type that contains itself": Refused(
        {}, ("self references are not allowed",), {"Node": {"next": "[]Node"}}
    ),
    "32 unused type that refers nowhere": Refused(
        {}, ("node Nowhere does not exist",), {"A": "Nowhere"}
    ),
    "33 number as definition": Refused({"a": 7}, ("field a: unexpected type: int64",)),
    "34 seventeen levels of lists": Refused(
        {"f": "[]" * 17 + "string"}, ("type nesting too deep (max 16)",)
    ),
    "35 marker of lists on a string": Refused(
        {"f": "string | minItems=1"},
        ("minItems marker is only valid for array types, got type: string",),
    ),
}


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_accepted(case: Accepted) -> None:
    result = build_schema(case.spec, case.types)
    assert result.problems == ()
    assert {path: find(result.schema, path) for path in case.expected} == case.expected


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_refused(case: Refused) -> None:
    result = build_schema(case.spec, case.types)
    assert result.schema is None
    [message] = [problem.message for problem in result.problems]
    assert all(text in message for text in case.texts)


def test_every_case_is_there() -> None:
    assert sorted({int(name[:2]) for name in (*ACCEPTED, *REFUSED)}) == list(range(1, 36))
