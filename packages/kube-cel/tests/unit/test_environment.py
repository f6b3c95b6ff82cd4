from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.environment import Environment, Schema, escape, unescape
from kube_cel.types import DYN, INT, STRING, list_of, object_of

TEXT: Schema = {"type": "string"}


def type_of_schema(schema: Schema, env: Environment | None = None) -> str | None:
    found = (env or Environment.kro()).extend({"x": schema}).variables.get("x")
    return None if found is None else str(found)


def fields_of(schema: Schema, name: str = "__type_x") -> dict[str, str]:
    declaration = Environment.kro().extend({"x": schema}).fields(object_of(name))
    assert declaration is not None
    return {field: str(found) for field, found in declaration.fields.items()}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "byte"}, "bytes"),
        ({"type": "string", "format": "date"}, "google.protobuf.Timestamp"),
        ({"type": "string", "format": "date-time"}, "google.protobuf.Timestamp"),
        ({"type": "string", "format": "duration"}, "google.protobuf.Duration"),
        ({"type": "string", "format": "ipv4"}, "string"),
        ({"type": "boolean"}, "bool"),
        ({"type": "integer", "format": "int32"}, "int"),
        ({"type": "number"}, "double"),
        ({"type": ["integer", "null"]}, "int"),
        ({"x-kubernetes-int-or-string": True}, "dyn"),
        ({"type": "string", "format": "int-or-string"}, "dyn"),
        ({"type": "array", "items": TEXT}, "list(string)"),
        ({"type": "array"}, None),
        ({"type": "array", "items": {"oneOf": []}}, None),
        ({"type": "array", "items": {"type": "object"}}, "list(__type_x.@idx)"),
        ({"type": "object", "additionalProperties": TEXT}, "map(string, string)"),
        ({"type": "object", "additionalProperties": {}}, "map(string, dyn)"),
        (
            {"type": "object", "additionalProperties": {"type": "object"}},
            "map(string, __type_x.@elem)",
        ),
        (
            {"type": "object", "additionalProperties": TEXT, "properties": {"a": TEXT}},
            "map(string, string)",
        ),
        ({"type": "object", "additionalProperties": True}, "__type_x"),
        ({"type": "object", "additionalProperties": False}, "__type_x"),
        ({"type": "object"}, "__type_x"),
        ({"x-kubernetes-preserve-unknown-fields": True}, None),
        ({"oneOf": [TEXT, {"type": "number"}]}, None),
        ({"type": "null"}, None),
    ],
    ids=str,
)
def test_a_schema_has_the_type_kro_gives_it(schema: Schema, expected: str | None) -> None:
    assert type_of_schema(schema) == expected


def test_the_api_server_hides_maps_of_untyped_values() -> None:
    schema = {"type": "object", "additionalProperties": {}}
    assert type_of_schema(schema, Environment.rules()) is None


def test_fields_are_known_by_escaped_names_and_the_untyped_are_hidden() -> None:
    properties: dict[str, Any] = {
        "plain": TEXT,
        "my-field": {"type": "integer"},
        "namespace": TEXT,
        "a.b/c__d": TEXT,
        "quantity": {"oneOf": []},
        "1st": TEXT,
        "größe": TEXT,
        "$ref": TEXT,
    }
    assert fields_of({"type": "object", "properties": properties}) == {
        "plain": "string",
        "my__dash__field": "int",
        "__namespace__": "string",
        "a__dot__b__slash__c__underscores__d": "string",
    }


def test_a_reserved_word_may_be_written_plainly() -> None:
    env = Environment.kro().extend({"x": {"type": "object", "properties": {"namespace": TEXT}}})
    declaration = env.fields(object_of("__type_x"))
    assert declaration is not None
    assert declaration.find("namespace") == declaration.find("__namespace__") == STRING
    assert declaration.declared("namespace") is None


def test_unknown_fields_are_dyn_where_they_are_preserved() -> None:
    schema: Schema = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"known": {"type": "integer"}},
    }
    declaration = Environment.kro().extend({"x": schema}).fields(object_of("__type_x"))
    assert declaration is not None
    assert (declaration.find("known"), declaration.find("other")) == (INT, DYN)
    in_rule = Environment.rules().extend({"x": schema}).fields(object_of("__type_x"))
    assert in_rule is not None
    assert in_rule.find("other") is None


def test_an_embedded_resource_has_names_and_kinds() -> None:
    schema: Schema = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object"}},
    }
    assert list(fields_of(schema)) == ["spec", "apiVersion", "kind", "metadata"]


def test_an_embedded_resource_keeps_metadata_that_is_declared_in_full() -> None:
    names = {"name": TEXT, "generateName": TEXT, "uid": TEXT}
    metadata = {"type": "object", "properties": names}
    schema: Schema = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"apiVersion": TEXT, "kind": TEXT, "metadata": metadata},
    }
    env = Environment.kro().extend({"x": schema})
    assert env.find_type("__type_x.metadata.uid") == STRING


def test_types_are_found_by_name_below_lists_and_maps() -> None:
    leaf: Schema = {"type": "object", "properties": {"a": TEXT}}
    schema: Schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": leaf},
            "map": {"type": "object", "additionalProperties": leaf},
        },
    }
    env = Environment.kro().extend({"x": schema})
    assert env.find_type("__type_x.list.@idx.a") == STRING
    assert env.find_type("__type_x.map.@elem") == object_of("__type_x.map.@elem")
    assert env.find_type("__type_x.map.key") is None
    assert env.find_type("__type_x.nowhere.a") is None
    assert env.find_type("__type_y") is None


def test_extending_changes_nothing_in_the_environment_extended() -> None:
    base = Environment.kro()
    one = base.extend({"x": {"type": "integer"}})
    other = one.extend({"x": TEXT}, {"y": list_of(INT)})
    assert (one.variables["x"], other.variables["x"]) == (INT, STRING)
    assert other.variables["y"] == list_of(INT)
    assert "x" not in base.variables
    assert "y" not in one.variables


def test_a_variable_remembers_its_schema() -> None:
    schema: Schema = {"type": "object"}
    env = Environment.kro().extend({"x": schema}, {"y": INT})
    assert env.schema_of("x") is schema
    assert env.schema_of("y") is None
    assert env.schema_of("nowhere") is None


def test_an_iterator_typed_by_an_element_finds_its_fields() -> None:
    items: Schema = {"type": "object", "properties": {"name": TEXT}}
    env = Environment.kro().extend({"x": {"type": "array", "items": items}})
    element = env.variables["x"].parameters[0]
    declaration = env.extend(types={"each": element}).fields(element)
    assert declaration is not None
    assert declaration.find("name") == STRING


def test_only_what_is_asked_for_is_declared() -> None:
    class Watched(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            raise AssertionError(f"nobody asked for {key}")

    properties = {"wanted": TEXT, "unwanted": Watched()}
    env = Environment.kro().extend({"x": {"type": "object", "properties": properties}})
    declaration = env.fields(object_of("__type_x"))
    assert declaration is not None
    assert declaration.find("wanted") == STRING


def test_opaque_types_have_no_fields() -> None:
    env = Environment.kro()
    assert env.fields(object_of("kubernetes.Quantity")) is None
    assert env.fields(object_of("kro.run.Runtime")) is None
    assert env.fields(INT) is None


def test_conditions_have_four_texts() -> None:
    declaration = Environment.kro().fields(object_of("kro.run.Condition"))
    assert declaration is not None
    assert declaration.fields == dict.fromkeys(("type", "status", "reason", "message"), STRING)


@pytest.mark.parametrize(
    ("function", "in_kro", "in_rules"),
    [
        ("hash.sha256", True, False),
        ("json.encode", True, False),
        ("merge", True, False),
        ("omit", True, False),
        ("sets.contains", False, True),
        ("format.named", False, True),
        ("validate", False, True),
        ("quantity", True, True),
        ("optional.of", True, True),
        ("lists.range", True, True),
        ("math.greatest", False, False),
        ("authorizer", False, False),
    ],
)
def test_each_profile_has_its_functions(function: str, in_kro: bool, in_rules: bool) -> None:
    assert (function in Environment.kro().functions) == in_kro
    assert (function in Environment.rules().functions) == in_rules


def test_kro_has_only_the_short_form_of_semver() -> None:
    assert [len(one.parameters) for one in Environment.kro().functions["semver"]] == [1]
    assert [len(one.parameters) for one in Environment.rules().functions["semver"]] == [1, 2]


def test_overloads_print_as_they_are_called() -> None:
    functions = Environment.kro().functions
    assert [str(one) for one in functions["join"]] == [
        "list(string).join() -> string",
        "list(string).join(string) -> string",
    ]
    assert str(functions["@in"][0]) == "@in(<A>, list(<A>)) -> bool"


@given(st.text(alphabet="aZ09_.-/", max_size=12))
@settings(max_examples=200)
def test_escaping_can_be_undone(name: str) -> None:
    escaped = escape(name)
    if escaped is None:
        assert not name or name[0].isdigit()
    else:
        assert escaped.isidentifier()
        assert unescape(escaped) == name


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("name", "name"),
        ("my-field", "my__dash__field"),
        ("a.b", "a__dot__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("_a", "_a"),
        (".a", "__dot__a"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("interface", "interface"),
    ],
)
def test_names_are_escaped_as_kubernetes_does(name: str, escaped: str) -> None:
    assert escape(name) == escaped
    assert unescape(escaped) == name


@pytest.mark.parametrize("name", ["", "1st", "$ref", "größe", "a b", "a:b"])
def test_names_no_identifier_can_stand_for_are_not_escaped(name: str) -> None:
    assert escape(name) is None


@pytest.mark.parametrize("name", ["__nothing__", "a__for__", "__u__"])
def test_what_was_never_escaped_is_not_unescaped(name: str) -> None:
    assert unescape(name) is None
