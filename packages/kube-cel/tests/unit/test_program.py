from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.library import function_table
from kube_cel.program import compile_text
from kube_cel.types import BYTES, DOUBLE, DYN, INT, TIMESTAMP
from kube_cel.values import (
    OMIT,
    BuildError,
    Condition,
    ConversionError,
    EvaluationError,
    MissingData,
    OptionalValue,
)

STRING = {"type": "string"}
PORT = {
    "type": "object",
    "properties": {
        "name": STRING,
        "port": {"type": "integer"},
        "at": {"type": "string", "format": "date-time"},
    },
}
WEB = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "name": STRING,
                "a-b": STRING,
                "when": {"type": "string", "format": "date-time"},
                "ratio": {"type": "number"},
                "secret": {"type": "string", "format": "byte"},
                "labels": {"type": "object", "additionalProperties": STRING},
                "ports": {"type": "array", "items": PORT},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}
ENV = Environment.kro().extend(schemas={"web": WEB}, types={"x": DYN})


def evaluate(text: str, env: Environment = ENV, **data: Any) -> Any:
    return compile_text(text, env).evaluate(data)


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def test_a_program_knows_its_text_and_type() -> None:
    program = compile_text("[web.spec.name]", ENV)
    assert program.text == "[web.spec.name]"
    assert str(program.type) == "list(string)"


def test_value_gives_what_cel_computes_and_evaluate_what_json_holds() -> None:
    program = compile_text("optional.of(web.spec.name)", ENV)
    value = program.value({"web": spec(name="n")})
    assert isinstance(value, OptionalValue)
    assert program.evaluate({"web": spec(name="n")}) == "n"


class TestFailures:
    def test_a_variable_that_is_not_there_is_pending(self) -> None:
        with pytest.raises(MissingData) as caught:
            evaluate("web.spec.name")
        assert str(caught.value) == "no such attribute(s): web"

    def test_a_variable_nobody_reads_need_not_be_there(self) -> None:
        assert evaluate("true || web.spec.name == 'a'") is True

    def test_other_errors_are_not_pending(self) -> None:
        with pytest.raises(EvaluationError) as caught:
            evaluate("1 / 0")
        assert str(caught.value) == "division by zero"
        assert not caught.value.pending

    def test_a_result_that_json_cannot_hold_quotes_the_expression(self) -> None:
        with pytest.raises(ConversionError) as caught:
            evaluate('[bytes("a")]')
        assert str(caught.value).startswith(
            r'convert "[bytes(\"a\")]": unsupported type: bytes value cannot be used'
        )

    def test_a_constant_bad_pattern_of_find_fails_the_build(self) -> None:
        with pytest.raises(BuildError) as caught:
            compile_text("'abc'.find('(')", ENV)
        assert str(caught.value) == "error parsing regexp: missing closing ): `(`"

    def test_a_bad_pattern_of_matches_fails_when_it_is_used(self) -> None:
        program = compile_text("'abc'.matches('(')", ENV)
        with pytest.raises(EvaluationError, match="error parsing regexp"):
            program.evaluate({})

    def test_a_bug_of_ours_is_an_evaluation_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(_text: str) -> str:
            raise ZeroDivisionError("oops")

        monkeypatch.setitem(function_table.FUNCTIONS, "strings.quote", broken)
        with pytest.raises(EvaluationError) as caught:
            evaluate("strings.quote('a')")
        assert str(caught.value) == "internal error: ZeroDivisionError: oops"

    def test_data_too_deep_to_compare_is_an_error_not_a_crash(self) -> None:
        deep: list[Any] = []
        for _ in range(20_000):
            deep = [deep]
        with pytest.raises(EvaluationError, match="nested too deeply"):
            evaluate("x == x", x=deep)


class TestTypedData:
    def test_input_maps_leave_as_they_came(self) -> None:
        raw = spec(when="2024-01-02T03:04:05.5Z", secret="aGk=", name=None, **{"a-b": "x"})
        made = evaluate("web", web=raw)
        assert made == raw
        assert made is not raw

    def test_single_fields_are_converted(self) -> None:
        raw = spec(when="2024-01-02T03:04:05.5Z", ratio=2, secret="aGk=")
        assert evaluate("web.spec.when", web=raw) == "2024-01-02T03:04:05Z"
        assert evaluate("string(web.spec.secret)", web=raw) == "hi"
        assert evaluate("web.spec.ratio / 4.0", web=raw) == 0.5

    def test_escaped_names_are_read(self) -> None:
        assert evaluate("web.spec.a__dash__b", web=spec(**{"a-b": "x"})) == "x"

    @pytest.mark.parametrize("name", [None, "absent"])
    def test_null_and_absent_are_both_missing(self, name: str | None) -> None:
        web = spec(name=None) if name is None else spec()
        with pytest.raises(MissingData) as caught:
            evaluate("web.spec.name", web=web)
        assert str(caught.value) == "no such key: name"
        assert evaluate("has(web.spec.name)", web=web) is False

    @pytest.mark.parametrize(
        ("web", "message"),
        [
            (spec(name=5), "invalid data, expected string, got int64"),
            ({"spec": "text"}, "invalid data, expected a map for the provided schema"),
            ("text", "invalid data, expected a map for the provided schema"),
        ],
    )
    def test_data_that_contradicts_its_schema_is_an_error(self, web: Any, message: str) -> None:
        with pytest.raises(EvaluationError) as caught:
            evaluate("web.spec.name", web=web)
        assert message in str(caught.value)
        assert not caught.value.pending

    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("web.spec.ports[0].port", 80),
            ("web.spec.ports[1].name", "b"),
            ("web.spec.labels['a/b']", "c"),
            ("web.spec.labels.app", "web"),
            ("web.spec.free.deep.list[0]", 1),
            ("web.spec.ports[0].at.getFullYear()", 2024),
        ],
    )
    def test_paths_lead_through_lists_and_maps(self, text: str, result: Any) -> None:
        web = spec(
            ports=[{"port": 80, "at": "2024-01-01T00:00:00Z"}, {"name": "b"}],
            labels={"a/b": "c", "app": "web"},
            free={"deep": {"list": [1]}},
        )
        assert evaluate(text, web=web) == result

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("web.spec.ports[2].port", "index out of bounds: 2"),
            ("web.spec.ports[0].name", "no such key: name"),
            ("web.spec.labels['x']", "no such key: x"),
            ("web.spec.free.x.y", "no such key: x"),
        ],
    )
    def test_what_a_path_does_not_find_is_missing(self, text: str, message: str) -> None:
        web = spec(ports=[{"port": 80}], labels={}, free={})
        with pytest.raises(MissingData) as caught:
            evaluate(text, web=web)
        assert str(caught.value) == message

    def test_a_text_where_a_list_should_be_is_not_taken_apart(self) -> None:
        with pytest.raises(EvaluationError, match="expected an array"):
            evaluate("web.spec.ports[0].name", web=spec(ports="abc"))

    def test_a_null_in_a_list_is_an_error(self) -> None:
        with pytest.raises(EvaluationError, match="got null for schema with nullable=false"):
            evaluate("web.spec.ports[0].name", web=spec(ports=[None]))


class TestVariablesByType:
    """Loop variables of a collection have a type, but no schema of their own."""

    def test_an_object_type_brings_its_schema(self) -> None:
        env = ENV.extend(types={"port": compile_text("web.spec.ports[0]", ENV).type})
        made = evaluate("port.at.getMonth()", env, port={"at": "2024-03-01T00:00:00Z"})
        assert made == 2

    def test_a_list_of_them_does_too(self) -> None:
        env = ENV.extend(types={"ports": compile_text("web.spec.ports", ENV).type})
        ports = [{"at": "2024-03-01T00:00:00Z"}]
        assert evaluate("ports.map(p, p.at.getMonth())", env, ports=ports) == [2]

    @pytest.mark.parametrize(
        ("kind", "raw", "text", "result"),
        [
            (TIMESTAMP, "2024-03-01T00:00:00Z", "v.getFullYear()", 2024),
            (BYTES, "aGk=", "string(v)", "hi"),
            (DOUBLE, 2, "v * 1.5", 3.0),
            (INT, 2, "v + 1", 3),
        ],
    )
    def test_scalars_are_converted_by_their_type(
        self, kind: Any, raw: Any, text: str, result: Any
    ) -> None:
        assert evaluate(text, ENV.extend(types={"v": kind}), v=raw) == result


def test_a_condition_is_made_and_read() -> None:
    program = compile_text("runtime.newCondition({type: 'Ready', status: 'True'})", ENV)
    assert program.value({}) == Condition("Ready", "True")
    read = "runtime.condition(x, 'Ready').status"
    conditions = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert evaluate(read, x=conditions) == "False"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("[1.5].filter(e, false).sum() + 1.0", 1.0),
        ("[1u].filter(e, false).sum() + 1u", 1),
        ("[duration('1s')].slice(0, 0).sum()", "0s"),
        ("[].map(e, double(e)).sum() + 1.0", 1.0),
        ("dyn([1.5].filter(e, false)).sum() + 1", 1),
        ("[].sum() + 1", 1),
    ],
)
def test_nothing_adds_up_to_the_zero_of_its_type(text: str, result: Any) -> None:
    assert evaluate(text) == result


def test_omit_stays_in_the_result_for_others_to_remove() -> None:
    assert evaluate("{'a': omit(), 'b': 1}") == {"a": OMIT, "b": 1}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("type(1) == int", True),
        ("type(web) == map", True),
        ("type(x) == google.protobuf.Timestamp", False),
        ("type(duration('1s')) == duration", True),
        ("type(duration('1s')) == google.protobuf.Duration", True),
        ("[int, string][0] == type(2)", True),
    ],
)
def test_types_are_values(text: str, result: bool) -> None:
    assert evaluate(text, web=spec(), x=1) is result


def test_threads_share_a_program() -> None:
    program = compile_text("lists.range(x.n).map(i, i * x.n)", ENV)

    def run(number: int) -> bool:
        made: list[int] = program.evaluate({"x": {"n": number}})
        return made == [i * number for i in range(number)]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, [n % 50 for n in range(400)]))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 240 + "]" * 240, id="lists in lists"),
        pytest.param("!" * 240 + "true", id="negations"),
        pytest.param("true ? 1 : " * 240 + "1", id="conditions"),
        pytest.param("string(" * 240 + "1" + ")" * 240, id="calls"),
        pytest.param("1" + " + 1" * 240, id="sums"),
        pytest.param("[1].map(a, " * 240 + "a" + ")" * 240, id="loops in loops"),
        pytest.param("(" * 240 + "true" + " == true)" * 240, id="comparisons"),
        pytest.param("{'a': " * 240 + "1" + "}" * 240, id="maps in maps"),
        pytest.param("cel.bind(a, 1, " * 120 + "a" + ")" * 120, id="bindings"),
        pytest.param("[?optional.of(" * 120 + "1" + ")]" * 120, id="optional elements"),
        pytest.param("'a'" + " + 'b'" * 240, id="a long template"),
        pytest.param("true" + " && true" * 2000, id="a long conjunction"),
    ],
)
def test_expressions_as_deep_as_kro_allows_are_evaluated(text: str) -> None:
    evaluate(text)
