from typing import Any

import pytest

from kro_gitops.engine.graph.build import build
from kro_gitops.errors import DefinitionError
from kube_objects.builtins.catalog import catalog
from kube_objects.problems import Problem, Spot
from tests.builders import built, config_map, definition, graph, resource


def problems(obj: dict[str, Any]) -> tuple[Problem, ...]:
    return built(obj).problems


def text_at(obj: dict[str, Any], spot: Spot) -> str:
    """Return what a spot underlines."""
    value: Any = obj
    for step in spot.path:
        value = value[step]
    assert isinstance(value, str)
    return value[spot.start : spot.end]


def test_six_mistakes_are_six_problems() -> None:
    obj = definition(
        resource("cm", config_map(a="${schema.spec.nme}", b="${ghost.data.x}")),
        resource("Bad", config_map("other")),
        resource("extra", {"apiVersion": "v1", "kind": "ConfgMap", "metadata": {"name": "x"}}),
        spec={"name": "string", "size": "int"},
        status={"plain": "text"},
    )
    obj["spec"]["schema"]["spec"]["size"] = "integer"
    obj["spec"]["resources"][0]["includeWhen"] = ["${schema.spec.size}"]
    assert {problem.code for problem in problems(obj)} == {
        "undefined-field",
        "unknown-identifier",
        "invalid-id",
        "unknown-kind",
        "status-without-expression",
        "not-a-bool",
    }


def test_the_first_problem_is_the_one_kro_reports() -> None:
    obj = definition(
        resource("Bad", config_map(a="${schema.spec.missing}")), spec={"x": "nonsense"}
    )
    assert "naming convention violation" in problems(obj)[0].message


def test_a_broken_schema_does_not_make_its_readers_look_wrong() -> None:
    obj = definition(
        resource("cm", config_map(a="${schema.spec.name + '!'}", b="${schema.spec.other}")),
        spec={"name": "strin"},
    )
    assert [problem.code for problem in problems(obj)] == ["unknown-type"]


def test_an_unknown_kind_does_not_make_its_readers_look_wrong() -> None:
    obj = definition(
        resource("gone", {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "x"}}),
        resource("cm", config_map(a="${gone.status.phase}")),
    )
    assert [problem.code for problem in problems(obj)] == ["unknown-kind"]


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        pytest.param("${schema.spec.nme}", "nme", id="the field, not its owner"),
        pytest.param("a-${schema.spec.nme}-b", "nme", id="in a template, too"),
        pytest.param("${'x' + shout(1)}", "shout", id="a function's name"),
        pytest.param("${1 + ghost}", "ghost", id="an identifier"),
        pytest.param("${schema.spec.name.sizee()}", "sizee", id="a method"),
    ],
)
def test_what_is_wrong_is_underlined(text: str, underlined: str) -> None:
    obj = definition(resource("cm", config_map(a=text)), spec={"name": "string"})
    (problem,) = problems(obj)
    assert text_at(obj, problem.spot) == underlined


@pytest.mark.parametrize(
    ("obj", "hint"),
    [
        pytest.param(
            definition(resource("cm", config_map(a="${schema.spec.nme}")), spec={"name": "string"}),
            "name",
            id="a field",
        ),
        pytest.param(
            definition(resource("cm", config_map(a="${schma.spec.name}")), spec={"name": "string"}),
            "schema",
            id="a name",
        ),
        pytest.param(
            definition(resource("cm", {**config_map(), "kind": "ConfigMapp"})),
            "ConfigMap",
            id="a kind",
        ),
        pytest.param(
            definition(
                resource(
                    "dep",
                    {"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "x"}},
                )
            ),
            "apps/v1",
            id="a version",
        ),
        pytest.param(
            definition(resource("cm", {**config_map(), "dta": {}})), "data", id="a template's field"
        ),
    ],
)
def test_a_near_name_is_suggested(obj: dict[str, Any], hint: str) -> None:
    (problem,) = problems(obj)
    assert f"'{hint}'" in problem.hint


def test_a_conversion_is_suggested_where_types_differ() -> None:
    obj = definition(resource("cm", config_map(a="${schema.spec.size}")), spec={"size": "integer"})
    (problem,) = problems(obj)
    assert problem.hint == "convert it: ${string(schema.spec.size)}"


def test_our_own_prefix_is_reserved_too() -> None:
    body = config_map()
    body["metadata"]["annotations"] = {"gitops.kro.run/source": "x"}
    (problem,) = problems(definition(resource("cm", body)))
    assert problem.code == "reserved-metadata"


def test_a_definition_without_spec_is_refused_not_crashed() -> None:
    obj = {"apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "metadata": {}}
    assert problems(obj)[0].code == "missing-field"


@pytest.mark.parametrize("junk", [None, 7, "text", [], [None], {"schema": 5}, {"resources": {}}])
def test_junk_in_a_definition_is_a_problem_and_no_crash(junk: Any) -> None:
    obj = {**definition(), "spec": junk}
    assert problems(obj)


def test_a_dependency_says_what_it_is_for() -> None:
    obj = definition(
        resource("a"),
        resource("b", config_map("b", x="${a.metadata.name}"), includeWhen=["${has(a.data)}"]),
    )
    (dependency,) = graph(obj).nodes["b"].dependencies
    assert [(use.where, use.reads) for use in dependency.uses] == [
        ("data.x", ("a.metadata.name",)),
        ("includeWhen[0]", ("a.data",)),
    ]


def test_build_raises_with_every_problem() -> None:
    obj = definition(resource("cm", config_map(a="${x}", b="${y}")))
    with pytest.raises(DefinitionError) as caught:
        build(obj, catalog)
    assert [problem.code for problem in caught.value.problems] == ["unknown-identifier"] * 2


def test_a_rule_that_does_not_compile_is_found_in_its_marker() -> None:
    obj = definition(spec={"a": 'string | validation="self.sizee() > 1"'})
    (problem,) = problems(obj)
    assert problem.code == "invalid-rule"
    assert text_at(obj, problem.spot) == "sizee"


def test_a_rule_of_a_custom_type_is_reported_once() -> None:
    obj = definition(spec={"a": "Port", "b": "Port"}, types={"Port": 'integer | validation="self"'})
    (problem,) = problems(obj)
    assert problem.spot.path == ("spec", "schema", "types", "Port")


def test_a_kind_whose_plural_no_server_takes_is_refused() -> None:
    (problem,) = problems(definition(kind="DNS"))
    assert problem.code == "unusable-plural"
    assert "dnsDNSes" in problem.summary


def test_single_quotes_around_a_brace_are_explained() -> None:
    found = problems(definition(resource("cm", config_map(a="${'}'}"))))
    assert found
    assert all("single quotes" in problem.hint for problem in found)


def test_a_type_mismatch_is_put_shortly_and_in_kros_words() -> None:
    obj = definition(resource("cm", config_map(a="${schema.spec.size}")), spec={"size": "integer"})
    (problem,) = problems(obj)
    assert problem.summary == "data.a takes string, but the expression yields int"
    assert 'returns type "int" but expected "string"' in problem.message
