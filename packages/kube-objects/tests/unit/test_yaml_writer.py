from typing import Any

import pytest
import yaml

from kube_objects.documents import load
from kube_objects.yaml_writer import to_yaml

OBJECT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"on": "yes", "version": "1.0"}},
    "spec": {
        "replicas": 3,
        "ports": [{"name": "http", "port": 80}, {"name": "x"}],
        "command": ["sh", "-c", "set -e\necho hi\n"],
        "empty": [{}, [], None, ""],
        "matrix": [[1, 2], [3]],
        "text": "${a ? b : c}",
        "host": "*.example.org",
        "ratio": 0.5,
        "open": True,
    },
}

TEXT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels:
    "on": "yes"
    version: "1.0"
spec:
  replicas: 3
  ports:
  - name: http
    port: 80
  - name: x
  command:
  - sh
  - -c
  - |
    set -e
    echo hi
  empty:
  - {}
  - []
  - null
  - ""
  matrix:
  - - 1
    - 2
  - - 3
  text: "${a ? b : c}"
  host: "*.example.org"
  ratio: 0.5
  open: true
"""


def test_objects_are_printed_as_people_write_them() -> None:
    assert to_yaml(OBJECT) == TEXT


def test_comments_stand_at_the_end_of_the_line_of_their_value() -> None:
    text = to_yaml(
        {"a": {"b": 1}, "c": [{"d": 2, "e": "x\ny"}], "f": "g"},
        {
            (): "made by\nhand",
            ("a",): "a mapping",
            ("a", "b"): "a scalar",
            ("c", 0): "an item",
            ("c", 0, "e"): "a text",
            ("nowhere",): "lost",
        },
    )
    assert text == (
        "# made by hand\n"
        "a: # a mapping\n"
        "  b: 1 # a scalar\n"
        "c:\n"
        "- d: 2 # an item\n"
        "  e: |- # a text\n"
        "    x\n"
        "    y\n"
        "f: g\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            "nginx:1.25",
            "a b",
            "10Gi",
            "-c",
            "--flag",
            "a#b",
            "http://x/y",
            "x=y",
            "$x",
            "a: b"[:1],
        ),
        *("é", "<a", "1.25-alpine", "foo.bar/baz", "it's"),
    ],
)
def test_ordinary_words_are_not_quoted(text: str) -> None:
    assert to_yaml({"a": text}) == f"a: {text}\n"


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "~", "null", "Null", "true", "TRUE", "yes", "NO", "on", "y", "N"),
        *("1", "-1", "0x1F", "0o14", "1e3", ".5", "1_000", "22:22", "2024-01-01", "1.2.3"),
        *(".inf", "-.INF", ".nan", "=", "<<", "-", "- a", "---", "...", "?", ": a", "a: b", "a:"),
        *("a #b", "#a", "&a", "*a", "!a", "|", ">", "'a", '"a', "%a", "@a", "`a", "[a", "{a"),
        *(" a", "a ", "a\tb", "\ta", "a\rb", "\x00", "\x7f", "\x85", "\u2028", "\ufeff", "\\"),
    ],
    ids=repr,
)
def test_strings_that_could_be_something_else_stay_strings(text: str) -> None:
    printed = to_yaml({"a": text, text: "b"})
    assert load(printed, "f.yaml").documents[0].value == {"a": text, text: "b"}
    assert yaml.safe_load(printed) == {"a": text, text: "b"}


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("one\ntwo", "|-"),
        ("one\n", "|"),
        ("one\n\n\n", "|+"),
        ("  indented\nnot\n", "|2"),
        ("\n\n  x\ny", "|2-"),
        ("\ttab\nx", "|2-"),
        ("x\n  \n", "|"),
        ("# no comment\n--- no separator\n", "|"),
    ],
)
def test_texts_of_several_lines_are_blocks(text: str, header: str) -> None:
    for value in ({"a": text, "b": 1}, {"a": {"b": [text, [text]]}}, [text], text):
        printed = to_yaml(value)
        assert f"{header}\n" in printed
        assert load(printed, "f.yaml").documents[0].value == value


@pytest.mark.parametrize("text", ["\n", "\n\n", "a\nb\r\n", "a\x07\nb", "a\n\u2028"])
def test_texts_that_no_block_can_hold_are_quoted(text: str) -> None:
    printed = to_yaml([text])
    assert printed.startswith('- "')
    assert load(printed, "f.yaml").documents[0].value == [text]


@pytest.mark.parametrize(("number", "text"), [(1e30, "1.0e+30"), (-2.5e-9, "-2.5e-09")])
def test_floats_have_a_point_for_old_parsers(number: float, text: str) -> None:
    assert to_yaml(number) == f"{text}\n"
    assert yaml.safe_load(text) == number


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_numbers_that_are_none_cannot_be_printed(number: float) -> None:
    with pytest.raises(ValueError, match="is no JSON number"):
        to_yaml([number])
