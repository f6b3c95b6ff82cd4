import json
from collections.abc import Iterator
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kube_objects.documents import load
from kube_objects.problems import Path, Spot
from kube_objects.yaml_values import Limits
from kube_objects.yaml_writer import to_yaml

# Pieces that mean something to a YAML parser find more than random characters do.
PIECES = st.sampled_from(
    [
        *("a", "b: ", "c:\n", " ", "  ", "\n", "\n  ", "\n\n", "- ", "\n- ", "---\n", "...\n"),
        *("[", "]", "{", "}", ",", ": ", "'", '"', "\\n", "\\\n", "#", " # x", "|\n", "|2-\n  "),
        *(">\n  ", "yes", "1", "0x1F", "~", "null", "&x ", "*x", "!!str ", "!x ", "<<: ", "? "),
        *("é", "😀", "%", "1e3", "\t", "\r\n", "\x85", "\u2028", "\ufeff", "\x00", "${x}", "@"),
    ]
)
SOURCE = st.lists(PIECES, max_size=14).map("".join)
TEXT = st.one_of(st.text(max_size=12), st.lists(PIECES, max_size=5).map("".join))
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(
    # Between these, Kubernetes reads the fewest digits of a float as an integer, which is another.
    lambda number: not 2**53 <= abs(number) < 2**63
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), FLOATS, TEXT)
VALUES = st.recursive(
    SCALARS,
    lambda parts: st.one_of(st.lists(parts, max_size=4), st.dictionaries(TEXT, parts, max_size=4)),
    max_leaves=10,
)


def paths(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from paths(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from paths(part, (*path, index))


@settings(max_examples=examples(200))
@given(st.one_of(st.binary(max_size=60), SOURCE.map(lambda text: text.encode())))
def test_no_file_is_too_strange_to_be_loaded(content: bytes) -> None:
    loaded = load(content, "f.yaml", limits=Limits(aliases=3))
    for document in loaded.documents:
        json.dumps(document.value, allow_nan=False)
        for path, _ in paths(document.value):
            assert document.origin(Spot(path)).line >= 1
            assert document.width(Spot(path, on_key=True)) >= 1
    for finding in loaded.findings:
        assert finding.origin.line >= 1
        assert finding.problem.summary


@settings(max_examples=examples(200))
@given(VALUES)
@example({"a": "x\n  \n y\n\n"})
def test_what_is_printed_is_read_back(value: Any) -> None:
    text = to_yaml(value)
    loaded = load(text, "f.yaml")
    assert loaded.findings == ()
    assert loaded.documents[0].value == value
    assert yaml.safe_load(text) == value


@settings(max_examples=examples(200))
@given(VALUES)
def test_comments_change_nothing(value: Any) -> None:
    comments = {path: f"note {number}" for number, (path, _) in enumerate(paths(value))}
    text = to_yaml(value, comments)
    loaded = load(text, "f.yaml")
    assert loaded.findings == ()
    assert loaded.documents[0].value == value
    assert all(f"# {comment}" in text for comment in comments.values())


@settings(max_examples=examples(200))
@given(VALUES.map(lambda value: json.dumps([value])))
def test_json_text_is_read_as_json_reads_it(text: str) -> None:
    loaded = load(text, "f.json")
    assert loaded.findings == ()
    assert loaded.documents[0].value == json.loads(text)


@settings(max_examples=examples(200))
@given(
    st.sampled_from(["", "'", '"', "|", "|-", "|+", ">", ">-", ">+", "|2", ">2-"]),
    SOURCE,
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_letter_of_a_string_is_found_where_it_is_written(
    style: str, body: str, indent: int, line_break: str
) -> None:
    margin = "\n" + " " * indent
    inner = body.replace("\n", margin)
    is_block = style[:1] in ("|", ">")
    text = f"a: {style}{margin if is_block else ''}{inner}{'' if is_block else style}\nb: 1\n"
    for document in load(text.replace("\n", line_break), "f.yaml").documents:
        value = document.value.get("a") if isinstance(document.value, dict) else None
        for offset, letter in enumerate(value if isinstance(value, str) else ""):
            if letter.isascii() and letter.isalpha():
                origin = document.origin(Spot(("a",), offset, offset + 1))
                found = document.source_line(origin.line)[origin.column - 1 :]
                assert found.startswith((letter, "\\"))
