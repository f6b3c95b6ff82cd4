from typing import Any

import pytest

from kube_cel.assignability import expected_type, explain_mismatch, schema_of_type
from kube_cel.checker import check
from kube_cel.environment import Environment, Schema
from kube_cel.parser import parse
from kube_cel.types import DYN, Type, parse_type
from kube_objects.errors import SchemaError
from kube_objects.problems import Path

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}


def an_object(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties}


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def map_of(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


INSTANCE = an_object(
    code=an_object(code=TEXT),
    codeAndHue=an_object(code=TEXT, hue=TEXT),
    numericCode=an_object(code=NUMBER),
    parts=list_of(an_object(code=TEXT)),
    nothing=an_object(),
)
GADGET = an_object(
    text=TEXT,
    amount=NUMBER,
    weight={"type": "number"},
    key={"type": "string", "format": "byte"},
    born={"type": "string", "format": "date-time"},
    port={"x-kubernetes-int-or-string": True},
    texts=list_of(TEXT),
    labels=map_of(TEXT),
    boxes=map_of(an_object(code=TEXT)),
    box=an_object(code=TEXT, qty=NUMBER),
    codes=list_of(an_object(code=TEXT)),
    blob={**an_object(code=TEXT), **ANYTHING},
    untyped=ANYTHING,
)
ENV = Environment.kro().extend({"schema": INSTANCE, "gadget": GADGET})


def output_of(expression: str) -> Type:
    return check(parse(expression), ENV, expression)


def misfit(expression: str, field: str) -> str | None:
    expected = expected_type(GADGET, (field,), "gadget", ENV)
    return explain_mismatch(output_of(expression), expected, ENV)


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("'a'", "text"),
        ("dyn(1)", "text"),
        ("schema.code", "untyped"),
        ("1", "port"),
        ("'80%'", "port"),
        ("optional.of('a')", "text"),
        ("optional.of(optional.of('a'))", "text"),
        ("['a']", "texts"),
        ("[]", "texts"),
        ("[1, 'a']", "texts"),
        ("[optional.of('a')]", "texts"),
        ("{'a': 'b'}", "labels"),
        ("{}", "labels"),
        ("{'a': 'b'}", "texts"),
        ("schema.code", "labels"),
        ("quantity('1')", "labels"),
        ("schema.code", "box"),
        ("schema.nothing", "box"),
        ("schema.codeAndHue", "blob"),
        ("schema.parts", "codes"),
        ("gadget.box", "box"),
        ("{'code': 'x', 'qty': 1}", "box"),
        ("{'other': dyn(1)}", "box"),
        ("'a'", "box"),
        ("['a']", "box"),
        ("timestamp('x')", "box"),
        ("quantity('1')", "box"),
        ("runtime.condition(schema, 'T')", "box"),
    ],
)
def test_what_kro_accepts_fits(expression: str, field: str) -> None:
    assert misfit(expression, field) is None


@pytest.mark.parametrize(
    ("expression", "field", "reason"),
    [
        ("1", "text", 'type kind mismatch: got "int", expected "string"'),
        ("null", "text", 'type kind mismatch: got "null_type", expected "string"'),
        ("1", "weight", 'type kind mismatch: got "int", expected "double"'),
        ("1u", "amount", 'type kind mismatch: got "uint", expected "int"'),
        ("'a'", "key", 'type kind mismatch: got "string", expected "bytes"'),
        (
            "'a'",
            "born",
            'type kind mismatch: got "string", expected "google.protobuf.Timestamp"',
        ),
        (
            "quantity('1')",
            "text",
            'type kind mismatch: got "kubernetes.Quantity", expected "string"',
        ),
        ("['a']", "text", 'type kind mismatch: got "list(string)", expected "string"'),
        (
            "optional.of(1)",
            "text",
            'type kind mismatch: got "int", expected "string"',
        ),
        ("'a'", "texts", "list parameter count mismatch: got 0, expected 1"),
        ("schema.code", "texts", "list parameter count mismatch: got 0, expected 1"),
        (
            "[1]",
            "texts",
            'list element type incompatible: type kind mismatch: got "int", expected "string"',
        ),
        ("'a'", "labels", "map parameter count mismatch: got 0, expected 2"),
        ("['a']", "labels", "map parameter count mismatch: got 1, expected 2"),
        ("ip('::1')", "labels", "map parameter count mismatch: got 0, expected 2"),
        (
            "{1: 'a'}",
            "labels",
            'map key type incompatible: type kind mismatch: got "int", expected "string"',
        ),
        (
            "{'a': 1}",
            "labels",
            'map value type incompatible: type kind mismatch: got "int", expected "string"',
        ),
        (
            "schema.numericCode",
            "labels",
            'struct field "code" incompatible with map value type:'
            ' type kind mismatch: got "int", expected "string"',
        ),
        ("{1: 'a'}", "box", "map keys must be strings to assign to struct"),
        ("{}", "box", "map keys must be strings to assign to struct"),
        (
            "{'code': 'x'}",
            "box",
            'map value incompatible with struct field "qty":'
            ' type kind mismatch: got "string", expected "int"',
        ),
        ("schema.codeAndHue", "box", 'field "hue" exists in output but not in expected type'),
        (
            "schema.numericCode",
            "box",
            'field "code" has incompatible type: type kind mismatch: got "int", expected "string"',
        ),
        (
            "[schema.codeAndHue]",
            "codes",
            'list element type incompatible: field "hue" exists in output but not in expected type',
        ),
    ],
)
def test_what_kro_refuses_is_explained_in_its_words(
    expression: str, field: str, reason: str
) -> None:
    assert misfit(expression, field) == reason


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), "__type_gadget"),
        (("text",), "string"),
        (("texts", 3), "string"),
        (("labels", "app.io/x"), "string"),
        (("box",), "__type_gadget.box"),
        (("box", "qty"), "int"),
        (("codes", 0), "__type_gadget.codes.@idx"),
        (("codes", 0, "code"), "string"),
        (("codes", "code"), "string"),
        (("boxes", "key"), "__type_gadget.boxes.key"),
        (("boxes", "key", "code"), "string"),
        (("port",), "dyn"),
        (("untyped",), "dyn"),
        (("untyped", "a", "b"), "dyn"),
        (("blob", "unknown"), "dyn"),
        (("nowhere",), "dyn"),
        (("text", 0), "dyn"),
        (("text", "a"), "dyn"),
    ],
)
def test_a_field_expects_the_type_of_its_schema(path: Path, expected: str) -> None:
    assert str(expected_type(GADGET, path, "gadget", ENV)) == expected


def test_below_a_map_every_object_is_accepted() -> None:
    expected = expected_type(GADGET, ("boxes", "key"), "gadget", ENV)
    assert explain_mismatch(output_of("schema.codeAndHue"), expected, ENV) is None


def test_additional_properties_without_a_schema_expect_anything() -> None:
    schema: Schema = {"type": "object", "additionalProperties": True}
    assert expected_type(schema, ("a",), "x", ENV) == DYN


def test_a_resource_that_is_no_variable_has_expected_types_too() -> None:
    assert str(expected_type(GADGET, ("box",), "other", ENV)) == "__type_other.box"


@pytest.mark.parametrize(
    ("shown", "schema"),
    [
        ("bool", {"type": "boolean"}),
        ("int", {"type": "integer"}),
        ("uint", {"type": "integer"}),
        ("double", {"type": "number"}),
        ("string", {"type": "string"}),
        ("bytes", {"type": "string", "format": "byte"}),
        ("null_type", {"description": "null type - any value allowed", **ANYTHING}),
        (
            "timestamp",
            {
                "type": "string",
                "format": "date-time",
                "description": "Timestamp representing a creation time",
            },
        ),
        (
            "duration",
            {"description": "unknown CEL type: google.protobuf.Duration", **ANYTHING},
        ),
        (
            "optional_type(string)",
            {"description": "unknown CEL type: optional_type(string)", **ANYTHING},
        ),
        ("type(int)", {"description": "unknown CEL type: type(int)", **ANYTHING}),
        ("net.IP", {"description": "unknown CEL type: net.IP", **ANYTHING}),
        ("dyn", ANYTHING),
        ("list(int)", list_of(NUMBER)),
        ("list(dyn)", list_of(ANYTHING)),
        ("map(string, list(string))", map_of(list_of(TEXT))),
        ("map(int, string)", map_of(TEXT)),
        ("kubernetes.Quantity", {"type": "object", "additionalProperties": True}),
        ("kro.run.Condition", {"type": "object", "additionalProperties": True}),
    ],
)
def test_a_type_has_the_schema_kro_infers(shown: str, schema: Schema) -> None:
    assert schema_of_type(parse_type(shown), ENV) == schema


def test_an_object_is_rebuilt_from_its_declared_fields() -> None:
    assert schema_of_type(output_of("gadget"), ENV) == an_object(
        text=TEXT,
        amount=NUMBER,
        weight={"type": "number"},
        key={"type": "string", "format": "byte"},
        born=ANYTHING,
        port=ANYTHING,
        texts=list_of(TEXT),
        labels=map_of(TEXT),
        boxes=map_of(an_object(code=TEXT)),
        box=an_object(code=TEXT, qty=NUMBER),
        codes=list_of(an_object(code=TEXT)),
        blob=an_object(code=TEXT),
    )


def test_rebuilt_properties_keep_their_escaped_names() -> None:
    env = ENV.extend({"x": an_object(**{"my-field": TEXT, "namespace": TEXT})})
    assert schema_of_type(env.variables["x"], env) == an_object(
        my__dash__field=TEXT, __namespace__=TEXT
    )


def test_an_object_without_fields_loses_what_it_preserved() -> None:
    env = ENV.extend({"x": {"type": "object", **ANYTHING}})
    assert schema_of_type(env.variables["x"], env) == {"type": "object"}


def test_a_schema_that_contains_itself_has_no_end() -> None:
    node = an_object(name=TEXT)
    node["properties"]["children"] = list_of(node)
    env = ENV.extend({"x": node})
    with pytest.raises(
        SchemaError, match=r"^cyclic type reference detected: __type_x.children.@idx$"
    ):
        schema_of_type(env.variables["x"], env)
