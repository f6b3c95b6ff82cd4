import pytest

from kro_gitops.engine.simpleschema.grammar import (
    Atomic,
    ListType,
    MapType,
    Named,
    TypeExpression,
    hint_for_unknown,
    named_types,
    parse_type,
)
from kube_objects.errors import SchemaError

STRING = Atomic("string")


def error_of(definition: str) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        parse_type(definition)
    return caught.value


def underlined(definition: str) -> str:
    spot = error_of(definition).spot
    return definition[spot.start : spot.end]


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        pytest.param("string", STRING, id="a built-in name"),
        pytest.param("object", Atomic("object"), id="an object of any shape"),
        pytest.param("[]string", ListType(STRING), id="a list"),
        pytest.param("[][]string", ListType(ListType(STRING)), id="a list of lists"),
        pytest.param("map[string]string", MapType(STRING), id="a map"),
        pytest.param(
            "map[string][]Port", MapType(ListType(Named("Port"))), id="a map of lists of a type"
        ),
        pytest.param(" \n string\t", STRING, id="blanks around the type"),
        pytest.param("[] string", ListType(STRING), id="a blank before the item type"),
        pytest.param("map[string] string", MapType(STRING), id="a blank before the value type"),
        pytest.param("\u00a0string\u2003", STRING, id="blanks beyond ASCII"),
        pytest.param("String", Named("String"), id="another case is another name"),
        pytest.param("int", Named("int"), id="names of other languages are custom types"),
        pytest.param("a b, c", Named("a b, c"), id="anything else is a name, verbatim"),
        pytest.param("map", Named("map"), id="a map without key is a name"),
        pytest.param("string|x", STRING, id="the type ends at the bar"),
        pytest.param("string | a=1 | b=2", STRING, id="the type ends at the first bar"),
    ],
)
def test_types_are_read(definition: str, expected: TypeExpression) -> None:
    assert parse_type(definition) == expected


@pytest.mark.parametrize(
    ("definition", "message", "underline"),
    [
        pytest.param("", "empty type", "", id="empty"),
        pytest.param("  ", "empty type", "  ", id="blank"),
        pytest.param(" | required=true", "empty type", " ", id="nothing before the bar"),
        pytest.param("[]", "empty slice element type", "[]", id="a list of nothing"),
        pytest.param("[] []", "empty slice element type", "[]", id="a list of lists of nothing"),
        pytest.param("map[int]x", "map key must be string", "int", id="a key that is no string"),
        pytest.param("map[ string]x", "map key must be string", " string", id="a blank in a key"),
        pytest.param("map[stringX", "map key must be string", "stringX", id="an unclosed key"),
        pytest.param("[]map[]x", "map key must be string", "", id="an empty key"),
        pytest.param(
            "map[string] ", "map value type is required", "map[string]", id="a map of nothing"
        ),
    ],
)
def test_a_wrong_type_is_underlined(definition: str, message: str, underline: str) -> None:
    assert error_of(definition).message == message
    assert underlined(definition) == underline


def test_sixteen_levels_are_allowed() -> None:
    found: object = parse_type("[]" * 16 + "string")
    for _ in range(16):
        assert isinstance(found, ListType)
        found = found.items
    assert found == STRING


def test_the_seventeenth_level_is_too_deep() -> None:
    error = error_of("[]" * 16 + 'map[string] "x')
    assert error.message == r'type nesting too deep (max 16): "\"x"'


def test_custom_types_know_where_they_stand() -> None:
    definition = "map[string][] Port | default={}"
    [named] = named_types(parse_type(definition))
    assert definition[named.start : named.end] == named.name == "Port"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("int", "did you mean 'integer'?"),
        ("Int64", "did you mean 'integer'?"),
        ("number", "did you mean 'float'?"),
        ("bool", "did you mean 'boolean'?"),
        ("any", "did you mean 'object'?"),
        ("String", "did you mean 'string'?"),
        ("strng", "did you mean 'string'?"),
        ("array", "write '[]string'"),
        ("list", "write '[]string'"),
        ("Adress", "did you mean 'Address'?"),
        ("qqq", "declare it under 'types', or use one of string, integer, boolean, float, object"),
    ],
)
def test_an_unknown_type_gets_a_hint(name: str, hint: str) -> None:
    assert hint_for_unknown(name, ["Address"]) == hint
