"""
One large definition compiled: 30 resources, 200 expressions.

The parts are measured by doing them once more on their own, in an environment that has seen
nothing yet; what is left of the whole is the graph: bodies walked, references, order, CRD.
"""

from collections.abc import Iterator
from importlib.resources import files

from benchmarks.compilation import STEPS, seconds_of_steps
from benchmarks.report import Report, middle, milliseconds
from benchmarks.timing import seconds_of
from benchmarks.workload import definition
from kro_gitops.engine.graph.build import build
from kro_gitops.engine.graph.nodes import SCHEMA, Expression, Graph
from kro_gitops.engine.simpleschema.openapi import build_schema
from kube_cel.environment import Environment
from kube_objects.builtins.catalog import Catalog, catalog

_ROUNDS = 7
_GROUPS = 6


def large_graph() -> Graph:
    """Return the compiled definition."""
    return build(definition("large", "Large", _GROUPS), catalog)


def expressions(graph: Graph) -> Iterator[Expression]:
    """Yield every expression of a definition."""
    for node in graph.nodes.values():
        yield from (field.expression for field in node.fields)
        yield from (*node.include_when, *node.ready_when)
    yield from (field.expression for field in graph.status)


def run(report: Report) -> None:
    """Measure the whole and its parts, print both."""
    graph = large_graph()
    texts = [expression.text for expression in expressions(graph)]
    size = f"{len(graph.nodes)} resources, {len(texts)} expressions"
    report.heading(f"4. A definition with {size} compiled, ms")
    rounds = [_round(graph, texts) for _ in range(_ROUNDS)]
    parts = {name: middle([each[name] for each in rounds]) for name in rounds[0]}
    whole = middle([sum(each.values()) for each in rounds])
    rows = [[name, milliseconds(part), f"{part / whole:.0%}"] for name, part in parts.items()]
    report.table(["", "ms", "share"], [*rows, ["the whole", milliseconds(whole), ""]])
    alone = sum(parts[step] for step in STEPS)
    report.line(f"the whole, times its expressions compiled alone: {whole / alone:.2f}")
    cold = middle([seconds_of(lambda: _read_schemas(graph)) for _ in range(_ROUNDS)])
    report.line(f"besides, once a process: built-in schemas read in {milliseconds(cold)} ms")


def _round(graph: Graph, texts: list[str]) -> dict[str, float]:
    whole = seconds_of(large_graph)
    parts = seconds_of_steps(texts, _fresh_environment(graph))
    parts["schema"] = seconds_of(lambda: _build_schema(graph))
    return {**parts, "graph and CRD": whole - sum(parts.values())}


def _fresh_environment(graph: Graph) -> Environment:
    schemas = {node.id: node.served.schema for node in graph.nodes.values()}
    return Environment.kro().extend(schemas={SCHEMA: graph.instance_schema, **schemas})


def _build_schema(graph: Graph) -> None:
    build_schema(graph.definition.schema.spec, graph.definition.schema.types)


def _read_schemas(graph: Graph) -> None:
    unread = Catalog(files("kube_objects.builtins") / "data")
    for node in graph.nodes.values():
        assert unread.find(node.resource) is not None
