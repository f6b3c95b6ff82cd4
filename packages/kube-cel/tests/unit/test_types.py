import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.types import (
    BOOL,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    TypeTooLarge,
    format_for_message,
    format_type,
    list_of,
    map_of,
    object_of,
    optional_of,
    parse_type,
    type_of,
)

PRIMITIVES = st.sampled_from(
    [BOOL, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, object_of("__type_schema.spec.@idx")]
)
TYPES = st.recursive(
    PRIMITIVES,
    lambda inner: (
        inner.map(list_of)
        | inner.map(optional_of)
        | inner.map(type_of)
        | st.builds(map_of, inner, inner)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("shown", "text", "in_messages"),
    [
        (map_of(STRING, list_of(DYN)), "map(string, list(dyn))", "map(string, list(dyn))"),
        (NULL, "null_type", "null"),
        (TIMESTAMP, "google.protobuf.Timestamp", "timestamp"),
        (list_of(DURATION), "list(google.protobuf.Duration)", "list(duration)"),
        (optional_of(INT), "optional_type(int)", "optional_type(int)"),
        (type_of(INT), "type(int)", "type(int)"),
        (Type("type"), "type", "type"),
        (object_of("__type_schema.spec"), "__type_schema.spec", "__type_schema.spec"),
        (list_of(Type("var", (), "1")), "list(dyn)", "list(dyn)"),
        (list_of(Type("param", (), "T")), "list(<T>)", "list(<T>)"),
        (ERROR, "!error!", "!error!"),
    ],
    ids=str,
)
def test_types_print_as_kro_and_cel_go_name_them(shown: Type, text: str, in_messages: str) -> None:
    assert (format_type(shown), format_for_message(shown)) == (text, in_messages)


@given(TYPES)
@settings(max_examples=100)
def test_what_is_printed_can_be_read_back(shown: Type) -> None:
    assert parse_type(str(shown)) == shown


@given(TYPES)
@settings(max_examples=50)
def test_equal_types_have_equal_hashes(shown: Type) -> None:
    copy = parse_type(str(shown))
    assert hash(copy) == hash(shown)


def test_signatures_may_use_short_names() -> None:
    assert parse_type("map(timestamp, duration)") == map_of(TIMESTAMP, DURATION)


@pytest.mark.parametrize("text", ["", "list(", "list(int", "list(int))", "list(int,)", "(int)"])
def test_a_text_that_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"type|\)"):
        parse_type(text)


def test_a_type_is_open_if_a_variable_is_anywhere_inside() -> None:
    variable = Type("var", (), "1")
    assert map_of(STRING, list_of(variable)).is_open
    assert not map_of(STRING, list_of(INT)).is_open


def test_a_type_that_doubles_too_often_is_refused() -> None:
    doubled = INT
    for _ in range(8):
        doubled = map_of(doubled, doubled)
    with pytest.raises(TypeTooLarge):
        map_of(doubled, doubled)
