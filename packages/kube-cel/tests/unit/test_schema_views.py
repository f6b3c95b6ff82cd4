from typing import Any

import pytest

from kube_cel.containers import ABSENT, ListView, MapView, ObjectView
from kube_cel.errors import EvaluationError
from kube_cel.scalars import Duration, Timestamp
from kube_cel.schema_views import PLAIN, Schema, shape_of

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}


def see(raw: Any, schema: Schema) -> Any:
    return shape_of(schema).value(raw)


def formatted(name: str) -> Schema:
    return {"type": "string", "format": name}


def objects(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("raw", "schema", "value"),
    [
        pytest.param("a", STRING, "a", id="text"),
        pytest.param("x", formatted("hostname"), "x", id="text in a format CEL does not know"),
        pytest.param(3, INTEGER, 3, id="an integer"),
        pytest.param(3.0, INTEGER, 3, id="a whole float is an integer"),
        pytest.param(2, {"type": "number"}, 2.0, id="a whole number is still a double"),
        pytest.param(True, {"type": "boolean"}, True, id="a boolean"),
        pytest.param("aGk=", formatted("byte"), b"hi", id="bytes"),
        pytest.param("-_-_", formatted("byte"), b"\xfb\xff\xbf", id="bytes, alphabet for URLs"),
        pytest.param("+/+/", formatted("byte"), b"\xfb\xff\xbf", id="bytes, usual alphabet"),
        pytest.param("", formatted("date-time"), Timestamp(0), id="an empty date-time"),
        pytest.param(
            "1970-01-01T00:00:01.5Z", formatted("date-time"), Timestamp(1_500_000_000), id="moment"
        ),
        pytest.param(
            "1970-01-01T00:00:01", formatted("date-time"), Timestamp(10**9), id="without a zone"
        ),
        pytest.param("1970-01-02", formatted("date"), Timestamp(86400 * 10**9), id="a day"),
        pytest.param("1m", formatted("duration"), Duration(60 * 10**9), id="Go's duration"),
        pytest.param("2 weeks", formatted("duration"), Duration(14 * 86400 * 10**9), id="in words"),
        pytest.param(80, {"x-kubernetes-int-or-string": True}, 80, id="int-or-string: int"),
        pytest.param("80%", {"format": "int-or-string"}, "80%", id="int-or-string: string"),
        pytest.param(
            [1, {"a": None}],
            {"x-kubernetes-preserve-unknown-fields": True},
            [1, {"a": None}],
            id="unknown data as it is",
        ),
        pytest.param(
            "1Gi", {"oneOf": [{"type": "string"}, {"type": "number"}]}, "1Gi", id="a quantity"
        ),
    ],
)
def test_data_becomes_what_its_schema_says(raw: Any, schema: Schema, value: Any) -> None:
    seen = see(raw, schema)
    assert seen == value
    assert type(seen) is type(value)


@pytest.mark.parametrize(
    ("raw", "schema", "message"),
    [
        (1, STRING, "invalid data, expected string, got int64"),
        ("1", INTEGER, "invalid data, expected int, got string"),
        (True, INTEGER, "invalid data, expected int, got bool"),
        (1.5, INTEGER, "invalid data, expected int, got non-integer float 1.5"),
        ("1", {"type": "number"}, "invalid data, expected float, got string"),
        (1, {"type": "boolean"}, "invalid data, expected bool, got int64"),
        ([], objects(a=STRING), "invalid data, expected a map for the provided schema"),
        ("x", {"type": "object"}, "invalid data, expected a map for the provided schema"),
        ({}, {"type": "array", "items": STRING}, "invalid data, expected an array"),
        ([], {"type": "array"}, "invalid array type, expected Items with a non-empty Schema"),
        ([], {"type": "array", "items": STRING, "x-kubernetes-list-type": "bag"}, "but got bag"),
        ("x", formatted("date-time"), "Invalid date-time formatted string x"),
        ("x", formatted("date"), "Invalid date formatted string x"),
        ("x", formatted("duration"), "Invalid duration x"),
        (1.5, {"x-kubernetes-int-or-string": True}, "XIntOrString value to be either"),
        (1, {}, "invalid type, expected object, array, number"),
    ],
)
def test_data_that_contradicts_its_schema_is_an_error(
    raw: Any, schema: Schema, message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        see(raw, schema)
    assert message in str(caught.value)


def test_bad_bytes_are_not_repeated_in_the_message() -> None:
    with pytest.raises(EvaluationError, match="Invalid byte formatted string") as caught:
        see("s3cret!", formatted("byte"))
    assert "s3cret" not in str(caught.value)


class TestObjects:
    def test_fields_are_found_by_their_escaped_names(self) -> None:
        view = see({"a-b": 1, "in": 2}, objects(**{"a-b": INTEGER, "in": INTEGER}))
        assert isinstance(view, ObjectView)
        assert view.find("a__dash__b") == 1
        assert view.find("__in__") == 2
        assert view.find("a-b") == 1  # an index expression may say it as it is

    def test_a_null_property_is_absent(self) -> None:
        view = see({"a": None}, objects(a=STRING))
        assert view.find("a") is ABSENT
        assert list(view.items()) == []

    def test_properties_unknown_to_the_schema_are_plain(self) -> None:
        assert see({"z": "2024"}, objects(a=STRING)).find("z") == "2024"

    def test_an_embedded_resource_has_metadata(self) -> None:
        schema = {"type": "object", "x-kubernetes-embedded-resource": True}
        view = see({"metadata": {"name": "n"}}, schema)
        assert isinstance(view.find("metadata"), ObjectView)

    def test_an_object_without_properties_is_plain(self) -> None:
        raw = {"a": None}
        assert see(raw, {"type": "object"}) is raw


class TestMaps:
    def test_values_are_converted_and_keys_are_not(self) -> None:
        view = see({"a/b": "aGk="}, {"type": "object", "additionalProperties": formatted("byte")})
        assert isinstance(view, MapView)
        assert view.find("a/b") == b"hi"
        assert view.keys() == ["a/b"]

    def test_texts_need_no_view(self) -> None:
        raw = {"a": "b"}
        assert see(raw, {"type": "object", "additionalProperties": STRING}) is raw

    def test_null_is_a_value_only_where_the_schema_allows_it(self) -> None:
        strict = see({"a": None}, {"type": "object", "additionalProperties": STRING})
        with pytest.raises(EvaluationError, match="got null for schema with nullable=false"):
            strict.find("a")
        nullable = {"type": "object", "additionalProperties": {**STRING, "nullable": True}}
        assert see({"a": None}, nullable).find("a") is None


class TestLists:
    def test_elements_are_converted_when_they_are_read(self) -> None:
        view = see(["aGk=", "?"], {"type": "array", "items": formatted("byte")})
        assert view[0] == b"hi"
        with pytest.raises(EvaluationError, match="Invalid byte formatted string"):
            view[1]

    def test_plain_elements_need_no_view(self) -> None:
        raw = ["a", "b"]
        assert see(raw, {"type": "array", "items": STRING}) is raw

    def test_a_null_among_them_does(self) -> None:
        view = see(["a", None], {"type": "array", "items": STRING})
        assert isinstance(view, ListView)
        with pytest.raises(EvaluationError, match="got null"):
            view[1]

    def test_the_list_type_is_kept(self) -> None:
        schema = {
            "type": "array",
            "items": objects(name=STRING),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a-name"],
        }
        view = see([], schema)
        assert (view.merge, view.keys) == ("map", ("a__dash__name",))


def test_a_schema_that_contains_itself_is_no_problem() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"value": INTEGER}}
    node["properties"]["children"] = {"type": "array", "items": node}
    view = see({"children": [{"children": [{"value": 1.0}]}]}, node)
    assert view.find("children")[0].find("children")[0].find("value") == 1


def test_without_a_schema_data_is_what_it_is() -> None:
    assert PLAIN.value(None) is None
