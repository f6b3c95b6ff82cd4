"""Files that are written to hurt: each must be refused, or read, in a moment."""

import string

import pytest
import yaml

from kube_objects import yaml_parser
from kube_objects.documents import load
from kube_objects.problems import Spot
from kube_objects.yaml_values import Limits

pytestmark = pytest.mark.timeout(10)

MEBIBYTE = 1 << 20


def alias_bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for inner, outer in zip(string.ascii_lowercase, string.ascii_lowercase[1:10], strict=False):
        lines.append(f"{outer}: &{outer} [{', '.join([f'*{inner}'] * 9)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        pytest.param("[" * 10_000, "too-deep", "1:65", id="10,000 open brackets"),
        pytest.param("[" * 9_999 + "]" * 9_999, "too-deep", "1:65", id="and closed ones"),
        pytest.param("{a: " * 10_000, "too-deep", "1:257", id="10,000 open braces"),
        pytest.param('{"a":' * 10_000 + "1" + "}" * 10_000, "too-deep", "1:321", id="deep JSON"),
        pytest.param("- " * 200_000 + "x", "too-deep", "1:129", id="200,000 dashes"),
        pytest.param("? " * 200_000, "too-deep", "1:129", id="200,000 question marks"),
        pytest.param("[" * (MEBIBYTE - 1), "too-deep", "1:65", id="a mebibyte of brackets"),
        pytest.param(alias_bomb(), "alias", "2:8", id="alias bomb"),
        pytest.param(
            "a: 1\n---\n" * 25_000, "too-many-documents", "40001:1", id="25,000 documents"
        ),
        pytest.param("a: " + "x" * MEBIBYTE, "file-too-large", "1:1", id="large file"),
        pytest.param('a: "' + "x" * 1_000_000, "yaml-syntax", "1:4", id="an open quote"),
        pytest.param("x" * 5_000 + ": 1", "yaml-syntax", "1:5001", id="a very long key"),
    ],
)
def test_it_is_refused(text: str, code: str, place: str) -> None:
    loaded = load(text, "f.yaml")
    assert loaded.documents == ()
    assert [finding.problem.code for finding in loaded.findings] == [code]
    assert str(loaded.findings[0].origin) == f"f.yaml:{place}"


def test_an_alias_bomb_is_refused_where_aliases_are_allowed() -> None:
    loaded = load(alias_bomb(), "f.yaml", limits=Limits(aliases=1_000))
    assert [finding.problem.code for finding in loaded.findings] == ["alias-bomb"]


def test_other_documents_survive_a_deep_one() -> None:
    loaded = load("a: 1\n---\n" + "[" * 10_000 + "\n---\nb: 2\n", "f.yaml")
    assert [document.value for document in loaded.documents] == [{"a": 1}, {"b": 2}]


def test_64_levels_are_allowed() -> None:
    loaded = load("[" * 64 + "]" * 64, "f.yaml")
    assert loaded.findings == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: " + "x" * 1_000_000, id="a long plain scalar"),
        pytest.param('a: "' + "x " * 500_000 + '"', id="a long quoted scalar"),
        pytest.param("a: " + "1" * 1_000_000, id="a million digits"),
        pytest.param("a: 1\n" + "#" * 1_000_000, id="a long comment"),
        pytest.param(" " * 1_000_000 + "a: 1", id="a million spaces"),
        pytest.param("---\n" * 200_000 + "a: 1", id="200,000 separators"),
        pytest.param("".join(f"k{number}: 1\n" for number in range(50_000)), id="50,000 keys"),
        pytest.param("".join(f"- &a{number} x\n" for number in range(50_000)), id="anchors"),
    ],
)
def test_it_is_read(text: str) -> None:
    loaded = load(text, "f.yaml")
    assert loaded.findings == ()
    assert len(loaded.documents) == 1


def test_a_place_in_a_long_scalar_is_found() -> None:
    document = load('a: "' + "x " * 400_000 + '"', "f.yaml").documents[0]
    assert document.origin(Spot(("a",), 700_000)).column == 700_005


def test_a_file_of_the_largest_size_is_read() -> None:
    limits = Limits(file_bytes=9)
    assert load("a: 12345\n", "f.yaml", limits=limits).findings == ()
    assert load("a: 123456\n", "f.yaml", limits=limits).documents == ()
    assert load("a: éé12\n", "f.yaml", limits=limits).documents == ()


def test_without_libyaml_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: [1, 'x', {b: c}]\n---\nc: 1\nc: 2\n---\n" + "[" * 100 + "\n---\nd: @x\n"
    with_libyaml = load(text, "f.yaml")
    monkeypatch.setattr(yaml_parser, "_Parser", yaml.SafeLoader)
    without = load(text, "f.yaml")
    assert [each.value for each in without.documents] == [
        each.value for each in with_libyaml.documents
    ]
    assert [each.origin for each in without.findings] == [
        each.origin for each in with_libyaml.findings
    ]
    assert without.documents[0].origin(Spot(("a", 1))).column == 8
