import json

import pytest

from kube_objects.documents import Document, load
from kube_objects.positions import SourceText
from kube_objects.problems import Path, Spot
from kube_objects.yaml_values import Limits


def document(text: str) -> Document:
    loaded = load(text, "f.yaml", limits=Limits(aliases=9))
    assert loaded.findings == ()
    return loaded.documents[-1]


def underlined(read: Document, spot: Spot) -> tuple[int, str]:
    """Return the line a spot is on, and what would be underlined there."""
    origin = read.origin(spot)
    start = origin.column - 1
    return origin.line, read.source_line(origin.line)[start : start + read.width(spot)]


DEPLOYMENT = """\
# a comment
apiVersion: apps/v1
---
kind: Deployment   # trailing
metadata: {name: web, labels: {"app": 'x'}}
spec:
  replicas: 3
  empty:
  containers:
  - name: web
    args: [a, "b c"]
  -
    image: !!str "nginx"
  script: |
    one
    two
"""


@pytest.mark.parametrize(
    ("spot", "expected"),
    [
        (Spot(("kind",)), (4, "Deployment")),
        (Spot(("kind",), on_key=True), (4, "kind")),
        (Spot(("metadata", "name")), (5, "web")),
        (Spot(("metadata", "labels", "app")), (5, "'x'")),
        (Spot(("metadata", "labels", "app"), on_key=True), (5, '"app"')),
        (Spot(("metadata", "labels")), (5, "{\"app\": 'x'}")),
        (Spot(("spec", "replicas")), (7, "3")),
        (Spot(("spec",)), (7, "replicas: 3")),
        (Spot(("spec",), on_key=True), (6, "spec")),
        (Spot(("spec", "containers")), (10, "- name: web")),
        (Spot(("spec", "containers", 0)), (10, "name: web")),
        (Spot(("spec", "containers", 0), on_key=True), (10, "name: web")),
        (Spot(("spec", "containers", 0, "args", 1)), (11, '"b c"')),
        (Spot(("spec", "containers", 1, "image")), (13, '"nginx"')),
        (Spot(("spec", "script")), (14, "|")),
        (Spot(), (4, "kind: Deployment   # trailing")),
    ],
    ids=str,
)
def test_keys_and_values_are_found(spot: Spot, expected: tuple[int, str]) -> None:
    assert underlined(document(DEPLOYMENT), spot) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(("spec", "empty"), (8, "empty"), id="a value that is not written: its key"),
        pytest.param(("spec", "missing"), (6, "spec"), id="a missing field: the key above it"),
        pytest.param(("spec", "containers", 7, "x"), (9, "containers"), id="a missing item"),
        pytest.param(("spec", "replicas", "x"), (7, "3"), id="below a scalar: the scalar"),
        pytest.param(("nothing", "here"), (4, "kind: Deployment   # trailing"), id="the document"),
    ],
)
def test_what_is_not_there_is_where_its_parent_is(path: Path, expected: tuple[int, str]) -> None:
    assert underlined(document(DEPLOYMENT), Spot(path)) == expected


STYLES = [
    pytest.param("a: say ${x} now", (1, "${x}"), id="plain"),
    pytest.param("a: say\n  this\n\n  and ${x} now", (4, "${x}"), id="plain, folded"),
    pytest.param("a: 'it''s ${x} now'", (1, "${x}"), id="single quotes"),
    pytest.param("a: 'it''s\n  folded\n\n  ${x} now'", (4, "${x}"), id="single quotes, folded"),
    pytest.param('a: "tab\\t \\u00e9 \\x41 ${x} now"', (1, "${x}"), id="double quotes"),
    pytest.param('a: "one\n  two \\\n   three ${x}"', (3, "${x}"), id="double quotes, folded"),
    pytest.param("a: |\n  one\n\n  two ${x} now\n", (4, "${x}"), id="literal"),
    pytest.param("a: |2-\n    one\n  ${x}\n\n\n", (3, "${x}"), id="literal with indicators"),
    pytest.param("a: |+ # comment\n  one ${x}\n\n", (2, "${x}"), id="literal with a comment"),
    pytest.param("a: >\n  one\n  two\n\n    more\n  ${x}\n", (6, "${x}"), id="folded"),
    pytest.param("a: >-\n\n  one\n   two\n  ${x}", (5, "${x}"), id="folded, first line blank"),
    pytest.param("a: &n !!str # why\n  ${x}", (2, "${x}"), id="behind an anchor and a tag"),
    pytest.param("a: 'x \u2028  y \u2028\u2029  ${x}'", (1, "${x}"), id="line separators"),
    pytest.param('{"a": "😀 ${x}"}', (1, "${x}"), id="JSON"),
    pytest.param('{"a": "\\ud83d\\ude00 \\n ${x}"}', (1, "${x}"), id="JSON with escapes"),
]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(("text", "expected"), STYLES)
def test_offsets_are_found_in_every_style(
    text: str, expected: tuple[int, str], line_break: str
) -> None:
    read = document(text.replace("\n", line_break))
    start = read.value["a"].index("${x}")
    assert underlined(read, Spot(("a",), start, start + 4)) == expected


def test_an_offset_without_an_end_is_one_character() -> None:
    read = document("a: 'it''s'")
    assert underlined(read, Spot(("a",), 3)) == (1, "s")


def test_an_escape_is_underlined_as_a_whole() -> None:
    assert underlined(document('a: "x\\u00e9y"'), Spot(("a",), 1, 2)) == (1, "\\u00e9")


def test_a_piece_over_several_lines_is_underlined_on_its_first() -> None:
    assert underlined(document("a: |\n  one two  \n  three\n"), Spot(("a",), 4, 15)) == (2, "two")


def test_offsets_beyond_the_end_are_the_end() -> None:
    read = document("a: 'x'")
    assert underlined(read, Spot(("a",), 99, 120)) == (1, "'")


def test_offsets_in_what_is_no_string_are_in_its_text() -> None:
    assert underlined(document("a: 0x1F\nb: [1]"), Spot(("a",), 2, 4)) == (1, "1F")
    assert underlined(document("b: [1, 2]"), Spot(("b",), 1, 2)) == (1, "[1, 2]")


def test_columns_count_characters_not_bytes() -> None:
    origin = document("é😀: {ü: 1}").origin(Spot(("é😀", "ü")))
    assert (origin.line, origin.column) == (1, 9)


def test_what_an_alias_repeats_is_where_it_is_written() -> None:
    read = document("a: &x {b: 1}\nc:\n  d: *x\ne:\n  <<: *x\n")
    assert underlined(read, Spot(("c", "d", "b"))) == (1, "1")
    assert underlined(read, Spot(("c", "d"), on_key=True)) == (3, "d")
    assert underlined(read, Spot(("e", "b"))) == (1, "1")


def test_a_list_of_merges_is_searched_in_the_order_in_which_they_win() -> None:
    read = document("a:\n  <<: [{b: 1}, {b: 2, c: 3}]\n")
    assert underlined(read, Spot(("a", "b"))) == (2, "1")
    assert underlined(read, Spot(("a", "c"))) == (2, "3")


def test_a_repeated_key_is_the_one_that_counts() -> None:
    read = load("a: 1\na: 2\n", "f.yaml").documents[0]
    assert underlined(read, Spot(("a",))) == (2, "2")


def test_a_collection_as_a_key_hides_nothing() -> None:
    read = load("a:\n  {{ x }}\nb: 2\n", "f.yaml").documents[0]
    assert underlined(read, Spot(("b",))) == (3, "2")


def test_every_field_of_json_is_found() -> None:
    value = {"a": [1, {"b": 'q"q'}], "c/d": None}
    read = document(json.dumps(value, indent=2))
    assert underlined(read, Spot(("a", 1, "b"))) == (5, '"q\\"q"')
    assert underlined(read, Spot(("c/d",), on_key=True)) == (8, '"c/d"')
    assert underlined(read, Spot(("c/d",))) == (8, "null")


def test_lines_outside_the_file_are_empty() -> None:
    source = SourceText("one\r\ntwo")
    assert [source.line(number) for number in (0, 1, 2, 3)] == ["", "one", "two", ""]
