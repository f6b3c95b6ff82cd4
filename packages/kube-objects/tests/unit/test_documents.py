import json
from typing import Any

import pytest

from kube_objects.documents import Document, LoadResult, load
from kube_objects.problems import Finding, Problem, Spot
from kube_objects.yaml_values import Limits


def values(loaded: LoadResult) -> list[Any]:
    return [document.value for document in loaded.documents]


def read(text: str | bytes) -> list[Any]:
    loaded = load(text, "app.yaml")
    assert loaded.findings == ()
    return values(loaded)


def complaint(text: str | bytes, limits: Limits | None = None) -> Finding:
    (finding,) = load(text, "app.yaml", limits=limits or Limits()).findings
    return finding


def test_documents_of_a_file_are_read_in_order_and_blank_ones_left_out() -> None:
    text = "# head\n---\na: 1\n--- # second\n---\n\n---\nb: [x, 2.5, yes, ~]\n"
    loaded = load(text, "app.yaml")
    assert values(loaded) == [{"a": 1}, {"b": ["x", 2.5, True, None]}]
    assert [document.index for document in loaded.documents] == [0, 1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: '1'", {"a": "1"}, id="quoted numbers are text"),
        pytest.param("a: !!str 1", {"a": "1"}, id="a tag makes text"),
        pytest.param("a: ! 12", {"a": "12"}, id="a lone ! makes text"),
        pytest.param("! 12 : 1", {"12": 1}, id="also of a key"),
        pytest.param('a: !!int "12"', {"a": 12}, id="a tag makes numbers"),
        pytest.param("a: !!map {b: !!seq [1]}", {"a": {"b": [1]}}, id="tags on collections"),
        pytest.param("a: &x 1", {"a": 1}, id="an anchor nobody repeats is harmless"),
        pytest.param("a:\nb: 2024-01-01", {"a": None, "b": "2024-01-01"}, id="dates are text"),
        pytest.param("a: |+\n  x\n\n", {"a": "x\n\n"}, id="block scalars keep their breaks"),
        pytest.param("'<<': 1", {"<<": 1}, id="a quoted << is a key"),
        pytest.param("a: <<", {"a": "<<"}, id="<< is a value like any other"),
        pytest.param("null", None, id="a document may be null"),
        pytest.param("- 1\n- [2]", [1, [2]], id="a document may be a list"),
    ],
)
def test_values_are_json_data(text: str, value: Any) -> None:
    assert read(text) == [value]


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, True, None, "x"], "b": {}},
        {"a": '😀 \u2028 \\ " \n'},
        [],
        [{"a/b": "c"}],
    ],
)
def test_json_is_read_as_json(value: Any) -> None:
    assert read(json.dumps(value)) == [value]
    assert read(json.dumps(value, indent="\t")) == [value]


def test_json_may_escape_characters_in_pairs_as_yaml_may_not() -> None:
    assert read('{"a": "\\ud83d\\ude00"}') == [{"a": "😀"}]
    assert read('{"a": "\\ud83d"}') == [{"a": "�"}]


def test_what_looks_like_json_but_is_not_is_read_as_yaml() -> None:
    assert read("{a: 1, 'b': [x,]}") == [{"a": 1, "b": ["x"]}]
    assert read('{"a": NaN}') == [{"a": "NaN"}]


def test_a_mistake_costs_one_document_and_not_the_file() -> None:
    loaded = load("a: [1,\n---\nb: 2\n---\nc: }\n---\nd: 4\n", "app.yaml")
    assert values(loaded) == [{"b": 2}, {"d": 4}]
    assert [str(finding.origin) for finding in loaded.findings] == ["app.yaml:1:6", "app.yaml:5:4"]
    assert [document.index for document in loaded.documents] == [1, 3]


def test_findings_carry_file_and_revision() -> None:
    (finding,) = load("a: 1\na: 2\n", "app.yaml", revision="0123456789abcdef").findings
    assert str(finding.origin) == "app.yaml:2:1@0123456789ab"


SYNTAX = [
    pytest.param("a:\n\tb: 1\n", "2:1", "tabs are not allowed for indentation", id="tab"),
    pytest.param(
        "a: b: c\n", "1:5", "a mapping is not allowed here: unexpected ': '", id="two colons"
    ),
    pytest.param('a: 1\nb: "x\n', "2:4", "the quoted text that begins here is not closed", id="“"),
    pytest.param("h: *.example.org\n", "1:4", "'*' begins an alias, and no name", id="star"),
    pytest.param("h: & x\n", "1:4", "'&' begins an anchor, and no name", id="ampersand"),
    pytest.param("a: @x\n", "1:4", "a value cannot begin with '@'", id="at"),
    pytest.param('a: "\\d+"\n', "1:5", "unknown escape sequence in double quotes", id="escape"),
    pytest.param(
        'a: "\\uD83D"\n', "1:7", "invalid Unicode escape in double quotes", id="surrogate"
    ),
    pytest.param("a:\n  b: 1\n c: 2\n", "3:2", "this line does not fit the mapping", id="indent"),
    pytest.param("- a\nb: 1\n", "2:1", "this line does not fit the list", id="list indent"),
    pytest.param("a: - b\n", "1:4", "a list item '- ' is not allowed here", id="dash"),
    pytest.param("a: 1\nfoo\nb: 2\n", "2:1", "a ':' is missing", id="no colon"),
    pytest.param("a: [1, 2\nb: 3\n", "2:2", "expected ',' or ']' in the list", id="brackets"),
    pytest.param("a: {b: 1\nc: 3\n", "2:2", "expected ',' or '}' in the mapping", id="braces"),
    pytest.param("a: [1, {b: 2}\n", "1:4", "the '[' here is not closed", id="open ["),
    pytest.param("a: {b: }}\n", "1:9", "this line does not fit the mapping", id="close }"),
    pytest.param("a: ]\n", "1:4", "a value is expected here", id="only ]"),
    pytest.param("a: !x!y z\n", "1:4", "a tag uses an undefined prefix", id="tag handle"),
    pytest.param("%YAML 1.2\n---\n", "1:1", "a line that begins with '%'", id="directive"),
    pytest.param("a: 1\n...\nb: 2\n", "3:1", "the document ended before this line", id="dots"),
    pytest.param('{"a":1}\n{"b":2}', "2:1", "the document ended before this line", id="two JSONs"),
    pytest.param("--- {a: 1}\n", "1:1", "this is not a document separator", id="after ---"),
    pytest.param("---a\n", "1:1", "this is not a document separator", id="three dashes"),
    pytest.param(
        "a: >x\n b\n", "1:5", "while scanning a block scalar", id="the parser's own words"
    ),
]


@pytest.mark.parametrize(("text", "place", "summary"), SYNTAX)
def test_syntax_errors_are_told_in_words_for_authors(text: str, place: str, summary: str) -> None:
    finding = complaint(text)
    assert finding.problem.code == "yaml-syntax"
    assert finding.problem.summary.startswith(summary)
    assert str(finding.origin) == f"app.yaml:{place}"


def test_a_key_given_twice_names_both_lines() -> None:
    finding = complaint("a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert finding.problem.code == "duplicate-key"
    assert finding.problem.summary == "the key 'b' is given twice in one mapping"
    assert finding.problem.hint == "it is first given in line 2"
    assert finding.problem.spot == Spot(("a", "b"), on_key=True)
    assert (finding.origin.line, finding.origin.column, finding.width) == (4, 3, 1)


@pytest.mark.parametrize(
    ("key", "meaning"),
    [
        ("on", "the boolean true"),
        ("y", "the boolean true"),
        ("n", "the boolean false"),
        ("1", "a number"),
        (".5", "a number"),
        (".inf", "a number"),
        ("~", "null"),
    ],
)
def test_a_key_that_is_no_text_is_to_be_quoted(key: str, meaning: str) -> None:
    finding = complaint(f"spec:\n  {key}: x\n")
    assert finding.problem.code == "non-string-key"
    assert finding.problem.summary == f"the key '{key}' is read as {meaning}, not as text"
    assert finding.problem.hint == f'put the key in quotes: "{key}"'
    assert (finding.origin.line, finding.origin.column, finding.width) == (2, 3, len(key))
    assert read(f'spec:\n  "{key}": x\n') == [{"spec": {key: "x"}}]


def test_a_missing_key_is_found() -> None:
    assert complaint("? \n: 1\n").problem.summary == "a ':' has no key before it"


@pytest.mark.parametrize(
    ("text", "what"), [("a: {{ .Values.x }}\n", "mapping"), ("? [a]\n: 1\n", "list")]
)
def test_a_collection_is_no_key(text: str, what: str) -> None:
    finding = complaint(text)
    assert finding.problem.code == "non-string-key"
    assert finding.problem.summary == f"a {what} is used as a key"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("a: !!python/object/apply:os.system [ls]", "!!python/object/apply:os.system"),
        ("a: !!binary aGk=", "!!binary"),
        ("a: !!set {x}", "!!set"),
        ("a: !!timestamp 2024-01-01", "!!timestamp"),
        ("a: !Ref x", "!Ref"),
        ("!!int a: 1", "!!int"),
    ],
)
def test_tags_without_a_meaning_in_json_are_refused(text: str, tag: str) -> None:
    problem = complaint(text).problem
    assert problem.code == "tag"
    assert problem.summary == f"the tag '{tag}' has no meaning in a manifest"


def test_a_tag_must_tell_the_truth() -> None:
    assert complaint("a: !!int abc").problem.summary == "'abc' is not what '!!int' says"


@pytest.mark.parametrize("text", ["a: .nan", "a: -.inf", "a: !!float .inf"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    assert complaint(text).problem.code == "not-finite"


def test_a_doubtful_document_is_read_on_as_its_author_meant_it() -> None:
    loaded = load("on: 1\na: 1\na: 2\nb: .inf\n---\nc: 3\n", "app.yaml")
    assert values(loaded) == [{"on": 1, "a": 2, "b": ".inf"}, {"c": 3}]
    assert [document.is_valid for document in loaded.documents] == [False, True]
    assert len(loaded.findings) == 3


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        pytest.param(b"a: 1\nb: caf\xe9\n", "not-utf8", "2:7", id="Latin-1"),
        pytest.param(b"\xff\xfea\0:\0", "not-utf8", "1:1", id="UTF-16"),
        pytest.param("a: 1\nb: \x07\n", "control-character", "2:4", id="bell"),
        pytest.param("a: \ud800\n", "control-character", "1:4", id="half a pair"),
    ],
)
def test_text_must_be_text(text: str | bytes, code: str, place: str) -> None:
    finding = complaint(text)
    assert finding.problem.code == code
    assert str(finding.origin) == f"app.yaml:{place}"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    document = load(b"\xef\xbb\xbfa: 1\n", "app.yaml").documents[0]
    assert document.value == {"a": 1}
    assert document.origin(Spot(("a",), on_key=True)).column == 1


def test_aliases_are_refused_unless_allowed() -> None:
    text = "a: &x {b: 1}\nc: *x\n"
    assert complaint(text).problem.summary == "'*x' is an alias, and aliases are not supported"
    loaded = load(text, "app.yaml", limits=Limits(aliases=1))
    assert values(loaded) == [{"a": {"b": 1}, "c": {"b": 1}}]


def test_what_an_alias_repeats_is_a_copy() -> None:
    document = load("a: &x [1]\nb: *x\n", "app.yaml", limits=Limits(aliases=1)).documents[0]
    document.value["a"].append(2)
    assert document.value["b"] == [1]


def test_merge_keys_are_refused_unless_aliases_are_allowed() -> None:
    text = "x: &x {a: 1, b: 1}\nc:\n  <<: *x\n  b: 2\n"
    assert complaint(text).problem.code == "merge-key"
    loaded = load(text, "app.yaml", limits=Limits(aliases=1))
    assert values(loaded) == [{"x": {"a": 1, "b": 1}, "c": {"a": 1, "b": 2}}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\n<<: {a: 2, b: 3}", {"a": 2, "b": 3}),
        ("<<: {a: 2}\na: 1", {"a": 1}),
        ("<<: [{a: 1}, {a: 2, b: 1}]", {"a": 1, "b": 1}),
    ],
)
def test_the_merge_that_wins_is_the_one_that_wins_in_kubernetes(text: str, value: Any) -> None:
    assert values(load(text, "app.yaml", limits=Limits(aliases=1))) == [value]


@pytest.mark.parametrize(
    ("text", "limits", "code"),
    [
        pytest.param("a: *x", Limits(aliases=1), "alias", id="nobody is called that"),
        pytest.param("a: &x [*x]", Limits(aliases=1), "alias", id="a value inside itself"),
        pytest.param("a: &x 1\nb: [*x, *x]", Limits(aliases=1), "alias", id="too many"),
        pytest.param("a: &x 1\n*x : 2", Limits(aliases=1), "non-string-key", id="as a key"),
        pytest.param("<<: 3", Limits(aliases=1), "merge-key", id="merging a number"),
        pytest.param(
            "a: &x [1, 2]\nb: *x", Limits(aliases=1, expanded_nodes=2), "alias-bomb", id="nodes"
        ),
        pytest.param("a: &x [[1]]\nb: [*x]", Limits(aliases=1, depth=3), "too-deep", id="depth"),
    ],
)
def test_aliases_have_limits(text: str, limits: Limits, code: str) -> None:
    assert complaint(text, limits).problem.code == code


def test_a_finding_can_be_made_of_any_problem_with_a_document() -> None:
    document: Document = load("spec:\n  replcas: 3\n", "apps/web.yaml").documents[0]
    problem = Problem("unknown-field", "…", Spot(("spec", "replcas"), on_key=True))
    finding = document.finding(problem, "WebApp front")
    assert str(finding.origin) == "apps/web.yaml:2:3"
    assert (finding.width, finding.subject) == (7, "WebApp front")
    assert document.source_line(2) == "  replcas: 3"
