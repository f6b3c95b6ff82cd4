from collections.abc import Iterable
from typing import Any

import pytest

from kube_objects.problems import Path, Problem, Spot
from kube_objects.schemas import Schema
from kube_objects.validation import Checks, validate


def schema(**properties: Schema) -> Schema:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def web(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "kro.run/v1", "kind": "WebApp", "metadata": {"name": "x"}, "spec": spec}


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


def test_a_missing_field_is_marked_at_the_key_of_its_parent() -> None:
    shape = schema(size={"type": "string", "enum": ["s", "m"]}, done={"default": 1})
    shape["properties"]["spec"]["required"] = ["size", "done"]
    problem = only(validate(web(), shape))
    assert problem.code == "missing-field"
    assert problem.summary == "'spec.size' is required but missing"
    assert problem.hint == "one of: s, m"
    assert problem.spot == Spot(("spec",), on_key=True)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("replcas", "did you mean 'replicas'?"),
        ("Replicas", "did you mean 'replicas'?"),
        ("zzz", "the fields here are: replicas, image"),
    ],
)
def test_an_unknown_field_gets_the_nearest_name(name: str, hint: str) -> None:
    shape = schema(replicas={"type": "integer"}, image={"type": "string"})
    problem = only(validate(web(**{name: 3}), shape))
    assert problem.code == "unknown-field"
    assert problem.summary == f"'spec.{name}' is not a field of WebApp"
    assert problem.hint == hint
    assert problem.spot == Spot(("spec", name), on_key=True)


def test_many_fields_or_none_are_not_listed() -> None:
    shape = schema(**{f"field{number}": {} for number in range(20)})
    assert only(validate(web(zzz=1), shape)).hint == ""
    assert only(validate(web(zzz=1), schema())).hint == ""


LIST_MAP: Schema = {
    "items": {"x-kubernetes-preserve-unknown-fields": True},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
}


@pytest.mark.parametrize(
    ("field", "value", "summary"),
    [
        pytest.param(
            {"x-kubernetes-list-type": "set"},
            ["a", 1, "a"],
            "'spec.v[2]' has the same value \"a\" as 'spec.v[0]'",
            id="set",
        ),
        pytest.param(
            {"uniqueItems": True, "items": {"x-kubernetes-preserve-unknown-fields": True}},
            [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
            "'spec.v[1]' has the same value {\"b\": 2, \"a\": 1} as 'spec.v[0]'",
            id="unique items",
        ),
        pytest.param(
            LIST_MAP,
            [{"name": "a", "port": 1}, {"name": "a", "port": 2}, {"port": 1, "name": "a"}],
            "'spec.v[2]' has the same name \"a\" and port 1 as 'spec.v[0]'",
            id="map",
        ),
        pytest.param(
            LIST_MAP,
            [{"x": 1}, {"x": 2}],
            "'spec.v[1]' has the same key (none) as 'spec.v[0]'",
            id="no key",
        ),
    ],
)
def test_items_that_must_differ_are_compared(field: Schema, value: Any, summary: str) -> None:
    problem = only(validate(web(v=value), schema(v=field)))
    assert (problem.code, problem.summary) == ("duplicate-item", summary)


def test_true_and_one_are_different_items() -> None:
    assert validate(web(v=[1, True, "1"]), schema(v={"x-kubernetes-list-type": "set"})) == []


def test_the_items_of_a_map_must_be_objects() -> None:
    problem = only(validate(web(v=["x"]), schema(v=LIST_MAP)))
    assert (problem.code, problem.summary) == ("wrong-type", "'spec.v[0]' must be an object")


@pytest.mark.parametrize(
    ("rule", "value", "summary"),
    [
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "needs one of 'a' or 'b'"),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 2},
            "may have only one of 'a' or 'b', but has 'a' and 'b'",
        ),
        ({"not": {"required": ["a"]}}, {"a": 1}, "must not have 'a'"),
    ],
)
def test_alternatives_of_fields_are_named(rule: Schema, value: Any, summary: str) -> None:
    shape = schema(v={"type": "object", "properties": {"a": {}, "b": {}}, **rule})
    assert only(validate(web(v=value), shape)).summary == f"'spec.v' {summary}"


def test_every_problem_is_found() -> None:
    shape = schema(a={"type": "integer"}, b={"items": {"type": "object", "required": ["c"]}})
    problems = validate(web(a="x", b=[{}, 3], d=1), shape)
    assert [(problem.code, problem.spot.path) for problem in problems] == [
        ("wrong-type", ("spec", "a")),
        ("missing-field", ("spec", "b", 0)),
        ("wrong-type", ("spec", "b", 1)),
        ("unknown-field", ("spec", "d")),
    ]


def test_an_embedded_object_must_say_what_it_is() -> None:
    shape = schema(v={"type": "object", "x-kubernetes-embedded-resource": True})
    problems = validate(web(v={"kind": ""}), shape)
    assert [problem.summary for problem in problems] == [
        "'spec.v.apiVersion' is required but missing",
        "'spec.v.kind' must be a string that is not empty",
    ]


def test_a_document_that_is_no_object_is_one_problem() -> None:
    assert only(validate([], schema())).summary == "the document must be an object, but is a list"


def test_long_values_are_cut() -> None:
    summary = only(validate(web(v="x" * 500), schema(v={"enum": ["a"]}))).summary
    assert len(summary) < 150
    assert "…" in summary


SECRET: Schema = {
    "type": "object",
    "properties": {
        "type": {"enum": ["Opaque"]},
        "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
        "stringData": {
            "type": "object",
            "additionalProperties": {"type": "string", "enum": ["a"], "pattern": "^a"},
        },
        "list": {"x-kubernetes-list-type": "set"},
    },
}


def test_secrets_are_not_told() -> None:
    secret = {
        "kind": "Secret",
        "type": "shown",
        "data": {"a": "hunter2!", "b": 12345},
        "stringData": {"c": "hunter3"},
        "list": ["hunter4", "hunter4"],
    }
    checks = Checks(redact=lambda path: path[:1] in (("data",), ("stringData",), ("list",)))
    problems = validate(secret, SECRET, checks)
    text = " ".join(problem.summary + problem.hint for problem in problems)
    assert len(problems) == 6
    assert "hunter" not in text
    assert "12345" not in text
    assert "shown" in text
    assert "a hidden value" in text


def test_rules_are_given_what_they_are_about() -> None:
    rule: Schema = {"x-kubernetes-validations": [{"rule": "self > 1"}]}
    shape = {**schema(n={"type": "integer", "default": 7, **rule}, m={"type": "integer"}), **rule}
    asked: list[tuple[Any, Path]] = []

    def rules(part: Schema, value: Any, path: Path) -> Iterable[Problem]:
        assert part["x-kubernetes-validations"]
        asked.append((value, path))
        return [Problem("rule-failed", "no", Spot(path))]

    problems = validate(web(), shape, Checks(rules=rules))
    assert [problem.spot.path for problem in problems] == [("spec", "n"), ()]
    assert asked == [(7, ("spec", "n")), (web(n=7), ())]


def test_rules_wait_until_the_shape_is_right() -> None:
    rule: Schema = {"x-kubernetes-validations": [{"rule": "self > 1"}]}
    shape = schema(n={"type": "integer", **rule}, m={"type": "integer", "minimum": 3})

    def rules(part: Schema, value: Any, path: Path) -> Iterable[Problem]:
        return [Problem("rule-failed", "no", Spot(path))]

    checks = Checks(rules=rules)
    assert [each.code for each in validate(web(n=1, m="x"), shape, checks)] == ["wrong-type"]
    codes = [each.code for each in validate(web(n=1, m=1), shape, checks)]
    assert codes == ["out-of-range", "rule-failed"]


def test_a_part_of_an_object_is_named_by_its_whole_path() -> None:
    shape: Schema = {"type": "object", "properties": {"kind": {"type": "integer"}}}
    problems = validate({"kind": "x", "metadata": 1}, shape, Checks(prefix=("spec", "v")))
    assert [(problem.summary, problem.spot.path) for problem in problems] == [
        ("'spec.v.kind' must be an integer, but is the string \"x\"", ("spec", "v", "kind")),
        ("'spec.v.metadata' is not a field of this object", ("spec", "v", "metadata")),
    ]


BUILT_IN: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "default": ""},
        "port": {"type": "integer", "format": "int32"},
        "raw": {"type": "object"},
    },
}


def test_kinds_of_the_server_itself_follow_their_own_rules() -> None:
    checks = Checks(built_in=True)
    assert [each.code for each in validate({"port": 1}, BUILT_IN, checks)] == ["missing-field"]
    assert [each.code for each in validate({"name": None}, BUILT_IN, checks)] == ["missing-field"]
    assert validate({"name": "x", "port": None, "raw": {"any": 1}}, BUILT_IN, checks) == []
    problem = only(validate({"name": "x", "port": 2**31}, BUILT_IN, checks))
    assert problem.summary == "'port' is 2147483648, but must fit int32"


def test_metadata_follows_the_servers_own_rules_in_every_object() -> None:
    labels: Schema = {"type": "object", "additionalProperties": {"type": "string", "default": ""}}
    shape = schema()
    shape["properties"]["metadata"] = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "labels": labels,
            "creationTimestamp": {"type": "string", "format": "date-time"},
        },
    }
    value = web()
    value["metadata"] = {"creationTimestamp": None, "labels": {"a": True}, "lables": {}}
    problems = validate(value, shape)
    assert [problem.summary for problem in problems] == [
        "'metadata.labels.a' must be a string, but is the boolean true",
        "'metadata.lables' is not a field of WebApp",
    ]
    assert problems[1].hint == "did you mean 'labels'?"
