"""
A thousand instances of the large definition rendered.

Compared with nothing but the evaluation of the same expressions over the same values: the
difference is defaults, templates copied and filled, and what each node shows to the others.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from benchmarks.large_definition import large_graph
from benchmarks.report import Goal, Report, middle
from benchmarks.timing import seconds_of
from benchmarks.workload import instance
from kro_gitops.cel.failures import UnknownValue
from kro_gitops.cel.program import Program
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.preview.render import node_values, render

_COUNT = 1000
_ROUNDS = 3


def run(report: Report) -> None:
    """Render and evaluate in turns, print both."""
    report.heading(f"5. {_COUNT:,} instances of that definition rendered")
    graph = large_graph()
    instances = [instance("Large", number) for number in range(_COUNT)]
    programs = list(_programs(graph))
    rendered: list[float] = []
    evaluated: list[float] = []
    for _ in range(_ROUNDS):
        rendered.append(sum(seconds_of(partial(render, graph, each)) for each in instances))
        evaluated.append(sum(_bare(programs, node_values(graph, each)) for each in instances))
    whole, bare = middle(rendered), middle(evaluated)
    count = _COUNT * len(programs)
    rows = [
        ["rendered", f"{whole:.2f}", f"{whole / _COUNT * 1e3:.2f}", f"{whole / count * 1e6:.2f}"],
        ["evaluated", f"{bare:.2f}", f"{bare / _COUNT * 1e3:.2f}", f"{bare / count * 1e6:.2f}"],
    ]
    report.table(["", "s", "ms an instance", "µs an expression"], rows)
    subject = f"rendering, times the bare evaluation of its {len(programs)} expressions"
    report.goal(Goal(subject, 3, whole / bare))


def _programs(graph: Graph) -> Iterator[Program]:
    """Yield what rendering evaluates: neither readiness nor status."""
    for node in graph.nodes.values():
        yield from (field.expression.program for field in node.fields)
        yield from (condition.program for condition in node.include_when)


def _bare(programs: list[Program], values: Mapping[str, Any]) -> float:
    def evaluate_all() -> None:
        for program in programs:
            with suppress(UnknownValue):
                program.evaluate(values)

    return seconds_of(evaluate_all)
