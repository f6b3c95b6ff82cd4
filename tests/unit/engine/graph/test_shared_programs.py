"""Definitions share programs only where the variables of an expression have the same types."""

from typing import Any

from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.render import render
from tests.builders import built, config_map, definition, graph, instance, resource

TEXT = "${string(schema.spec.value)}"


def of_type(declared: str, text: str = TEXT, **more: Any) -> dict[str, Any]:
    return definition(resource("cm", config_map(v=text)), spec={"value": declared}, **more)


def rendered(obj: dict[str, Any], spec: dict[str, Any]) -> list[dict[str, Any]]:
    rendering = render(graph(obj), instance(spec), bounds=Bounds())
    assert not rendering.failures
    return [child.object["data"] for child in rendering.children]


def test_the_same_text_is_compiled_for_each_type() -> None:
    assert rendered(of_type("integer"), {"value": 3}) == [{"v": "3"}]
    assert rendered(of_type("boolean"), {"value": True}) == [{"v": "true"}]
    sum_ = "${string(schema.spec.value + 1)}"
    assert rendered(of_type("integer", sum_), {"value": 3}) == [{"v": "4"}]
    problems = built(of_type("string", sum_)).problems
    assert [problem.code for problem in problems] == ["no-matching-overload"]


def test_a_text_that_is_wrong_in_one_definition_is_right_in_another() -> None:
    reads_other = config_map("${other.metadata.name}-2")
    alone = definition(resource("cm", reads_other))
    assert [problem.code for problem in built(alone).problems] == ["unknown-identifier"]
    both = definition(resource("other"), resource("cm", reads_other))
    assert built(both).graph is not None
    assert [problem.code for problem in built(alone).problems] == ["unknown-identifier"]


def test_an_iterator_has_the_type_of_its_list() -> None:
    item = resource(
        "cm",
        config_map("${schema.metadata.name}-${string(entry.size)}", v="${string(entry.size)}"),
        forEach=[{"entry": "${schema.spec.items}"}],
    )
    for declared, size in (("integer", 3), ("string", "large")):
        obj = definition(item, spec={"items": "[]Item"}, types={"Item": {"size": declared}})
        assert rendered(obj, {"items": [{"size": size}]}) == [{"v": str(size)}]


def test_equal_definitions_share_their_programs() -> None:
    one, other = (graph(of_type("integer", kind=kind)) for kind in ("One", "Other"))
    assert one.environment is not other.environment
    (first,), (second,) = (
        [field.expression for field in made.nodes["cm"].fields if field.path == ("data", "v")]
        for made in (one, other)
    )
    assert first.program is second.program
