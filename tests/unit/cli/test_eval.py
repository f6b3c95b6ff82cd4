import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import config_map, definition, instance, resource
from tests.command import EXAMPLES, Outcome, run

WEBAPP = EXAMPLES / "rgds" / "webapp.yaml"
FRONT = EXAMPLES / "instances" / "team-shop" / "front.yaml"
OUTLET = EXAMPLES / "instances" / "team-shop" / "outlet.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *documents: Any) -> str:
    text = "---\n".join(f"{json.dumps(document)}\n" for document in documents)
    Path(name).write_text(text, encoding="utf-8")
    return name


def evaluated(expression: str, *words: str | Path) -> Any:
    done = run("eval", expression, "-o", "json", *words)
    assert done.code == 0, done
    return done.json


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        pytest.param("1 + 1", "int", 2, id="a number"),
        pytest.param("${1 + 1}", "int", 2, id="as it stands in a definition"),
        pytest.param("a-${string(1)}-b", "string", "a-1-b", id="a text with an expression"),
        pytest.param("-1", "int", -1, id="not taken for an option"),
        pytest.param("[1, 2].map(x, x * 2)", "list(int)", [2, 4], id="a list"),
        pytest.param('{"a": 1.5}', "map(string, double)", {"a": 1.5}, id="a map"),
        pytest.param("optional.none()", "optional_type(dyn)", None, id="nothing"),
        pytest.param("optional.of(1)", "optional_type(int)", 1, id="something"),
        pytest.param('duration("90s")', "google.protobuf.Duration", "1m30s", id="a duration"),
    ],
)
def test_type_and_value_are_shown(expression: str, kind: str, value: Any) -> None:
    found = evaluated(expression)
    assert (found["type"], found["value"]) == (kind, value)


def test_text_shows_both_on_lines_of_their_own() -> None:
    done = run("eval", '"ü" + "\\u001b"')
    assert (done.code, done.err) == (0, "")
    assert done.out == 'type:  string\nvalue: "ü\\u001b"\n'


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param(
            '1 + "a"',
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
            ' | 1 + "a"\n'
            " | ..^\n"
            "hint: convert the int with string(…)\n",
            id="types",
        ),
        pytest.param(
            "foo",
            "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^\n",
            id="a name",
        ),
        pytest.param("1/0", "division by zero\n", id="at run time"),
        pytest.param("0.0 / 0.0", "the result is no number that JSON can hold\n", id="not JSON"),
        pytest.param(
            '{"a": 1}.b',
            "no such key: b\ndata pending: kro waits until this exists\n",
            id="what kro waits for",
        ),
        pytest.param(
            "${a ${b}}",
            "nested expressions are not allowed unless inside string literals\n"
            'hint: inside an expression names need no ${}; for the text ${x} write "${x}"\n',
            id="nested",
        ),
        pytest.param(
            "omit()",
            "omit() requires the CELOmitFunction feature gate to be enabled\n"
            "hint: enable it with --feature CELOmitFunction, in the cluster too\n",
            id="a feature",
        ),
    ],
)
def test_what_is_wrong_is_said(expression: str, said: str) -> None:
    done = run("eval", expression)
    assert done.code == 1
    assert done.err == said


def test_a_syntax_error_has_no_type() -> None:
    done = run("eval", "1 +", "-o", "json")
    assert done.code == 1
    assert set(done.json) == {"expression", "error", "hint", "pending"}
    assert "Syntax error: mismatched input '<EOF>'" in done.json["error"]


def test_json_says_whether_kro_would_wait() -> None:
    assert run("eval", '{"a": 1}.b', "-o", "json").json["pending"] is True
    assert run("eval", "1/0", "-o", "json").json["pending"] is False


def test_omitted_values_are_shown_as_such() -> None:
    words = ("--feature", "CELOmitFunction")
    assert run("eval", "omit()", *words).out == "type:  dyn\nvalue: (omitted)\n"
    assert evaluated('{"a": omit(), "b": [omit(), 1]}', *words)["value"] == {"b": [1]}


def test_data_declares_names() -> None:
    write("data.yaml", {"cm": {"data": {"a": "1"}}, "n2": 3})
    assert evaluated("cm.data.a + string(n2)", "--data", "data.yaml")["value"] == "13"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("[1, 2]", "data.yaml: expected a mapping from names to values\n", id="a list"),
        pytest.param("a: [", "data.yaml:1:4: error[yaml-syntax]", id="no YAML"),
    ],
)
def test_data_must_be_a_mapping(text: str, said: str) -> None:
    Path("data.yaml").write_text(text, encoding="utf-8")
    done = run("eval", "1", "--data", "data.yaml")
    assert done.code == 1
    assert done.err.startswith(said)


def test_a_definition_declares_its_names_with_types() -> None:
    done = run("eval", "schema.spec.replicas", "--rgd", WEBAPP)
    assert done.code == 0
    assert done.out == "type:  int\n"
    assert done.err == "no value: 'schema' is not known; give --instance or --data\n"
    wrong = run("eval", "schema.spec.replcas", "--rgd", WEBAPP)
    assert wrong.code == 1
    assert wrong.err.endswith(" | ...........^\nhint: did you mean 'replicas'?\n")


def test_an_instance_gives_them_values() -> None:
    words = ("--rgd", WEBAPP, "--instance", FRONT)
    assert evaluated("schema.spec.port", *words)["value"] == 8080
    assert evaluated("service.spec.selector", *words)["value"] == {"app": "front"}


def test_what_only_a_cluster_knows_is_shown_as_such() -> None:
    words = ("--rgd", WEBAPP, "--instance", FRONT)
    found = evaluated("deployment.status.replicas", *words)
    assert found["type"] == "int"
    assert found["unknown"] == ["deployment.status"]
    done = run("eval", "deployment.status.replicas", *words)
    assert done.out == "type:  int\nvalue: ⟨known after apply: deployment.status⟩\n"


def test_data_stands_in_for_what_a_cluster_knows() -> None:
    write("data.yaml", {"deployment": {"status": {"replicas": 2}}})
    words = ("--rgd", WEBAPP, "--instance", FRONT, "--data", "data.yaml")
    assert evaluated("deployment.status.replicas", *words)["value"] == 2
    assert evaluated("schema.spec.replicas", *words)["value"] == 3


def test_of_several_instances_the_first_is_taken_and_named() -> None:
    done = run("eval", "schema.metadata.name", "--rgd", WEBAPP, "--instance", FRONT)
    assert done.out == 'type:  string\nvalue: "front"\n'
    assert done.err == f"{FRONT} has 2 instances: using the first, WebApp shop/front\n"


def test_an_instance_of_another_kind_is_refused() -> None:
    done = run("eval", "1", "--rgd", WEBAPP, "--instance", OUTLET)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"no kro.run/v1alpha1 WebApp in {OUTLET}\n"


def test_a_definition_that_does_not_compile_is_explained() -> None:
    write("rgd.yaml", definition(resource("cm", config_map("${schema.spec.nam}"))))
    done = run("eval", "1", "--rgd", "rgd.yaml")
    assert (done.code, done.out) == (1, "")
    assert "error[undefined-field]" in done.err


def nothing_raw(done: Outcome) -> bool:
    return (done.out + done.err).replace("\n", "").isprintable()


def test_nothing_in_data_steers_the_terminal() -> None:
    write("data.yaml", {"a": "\x1b[31m\x9b\u202e"})
    assert nothing_raw(run("eval", "a", "--data", "data.yaml"))
    assert nothing_raw(run("eval", "int(a)", "--data", "data.yaml"))
    assert nothing_raw(run("eval", '{"x": 1}[a]', "--data", "data.yaml"))
    body = config_map("x", value="${schema.spec.text}")
    write("rgd.yaml", definition(resource("cm", body), spec={"text": "string"}))
    write("instance.yaml", instance({"text": "\x1b\x9b"}))
    done = run("eval", "cm.data", "--rgd", "rgd.yaml", "--instance", "instance.yaml")
    assert done.code == 0
    assert nothing_raw(done)
