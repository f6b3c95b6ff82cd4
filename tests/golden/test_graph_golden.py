"""Every definition of the golden file compiles, or fails, as it does in kro, word for word."""

from typing import Any

import pytest

from kro_gitops.engine.graph.nodes import Graph
from kube_objects.paths import format_path
from tests.graph_cases import cases, outcomes

# Where we do better on purpose, and why.
DIFFERENCES = {
    "ref-type-name": "the name of a type is no unknown identifier: `type(x) == string` works",
    "plural-DNS": "kro builds a CRD that no API server takes; we say so at once",
    "ref-range-shadowed-by-variable": "what a loop runs over is outside the scope of its variable",
}


@pytest.mark.parametrize("name", sorted(cases().keys() & outcomes().keys()))
def test_a_definition_has_the_outcome_it_has_in_kro(name: str) -> None:
    expected, built = outcomes()[name], cases()[name].attempt()
    if name in DIFFERENCES:
        assert _outcome(built.graph) != _expected(expected), "no longer a difference"
    elif expected["ok"]:
        assert [problem.message for problem in built.problems] == []
        assert _outcome(built.graph) == _expected(expected)
    else:
        assert [problem.message for problem in built.problems][:1] == [expected["error"]]


def test_both_files_have_the_same_cases() -> None:
    assert cases().keys() == outcomes().keys()


def _outcome(graph: Graph | None) -> dict[str, Any] | None:
    if graph is None:
        return None
    return {
        "order": list(graph.order),
        "waves": dict(graph.waves),
        "name": graph.crd["metadata"]["name"],
        "crd": graph.crd["spec"],
        "conditions": [condition.text for condition in graph.conditions],
        "nodes": {
            node.id: {
                "dependencies": sorted(dependency.id for dependency in node.dependencies),
                "type": str(node.kind),
                "namespaced": node.served.namespaced,
                "resource": node.served.plural,
                "variables": sorted(
                    (format_path(item.path), item.expression.text, str(item.kind))
                    for item in node.fields
                ),
            }
            for node in graph.nodes.values()
        },
    }


def _expected(line: dict[str, Any]) -> dict[str, Any] | None:
    if not line["ok"]:
        return None
    return {
        "order": line["order"],
        "waves": line["waves"],
        "name": line["crd"]["metadata"]["name"],
        "crd": line["crd"]["spec"],
        "conditions": line["conditions"],
        "nodes": {
            node["id"]: {
                "dependencies": sorted(node["dependencies"]),
                "type": node["type"],
                "namespaced": node["namespaced"],
                "resource": node["resource"],
                "variables": sorted(
                    (field["path"], _text_of(field), field["kind"]) for field in node["variables"]
                ),
            }
            for node in line["resources"]
        },
    }


def _text_of(field: dict[str, Any]) -> str:
    text: str = field["expression"] if "expression" in field else field["expressions"][0]
    return text
