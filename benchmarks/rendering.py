"""
A thousand instances of the large definition rendered.

Compared with nothing but the evaluation of the same expressions over the same values: the
difference is defaults, templates copied and filled, what each node shows to the others, readiness,
and the stamps of 30 children.
"""

from collections.abc import Iterator

from benchmarks.large_definition import large_graph
from benchmarks.report import Goal, Report, middle
from benchmarks.timing import seconds_of
from benchmarks.workload import KubeObject, instance
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.preview.render import node_values, render
from kube_cel.errors import UnknownValue
from kube_cel.program import Program

_COUNT = 1000
_AT_A_TIME = 50
_ROUNDS = 3


def run(report: Report) -> None:
    """Render and evaluate in turns, print both."""
    report.heading(f"5. {_COUNT:,} instances of that definition rendered")
    graph = large_graph()
    programs = list(_programs(graph))
    instances = [instance("Large", number) for number in range(_COUNT)]
    turns = [
        _turn(graph, programs, instances[start : start + _AT_A_TIME])
        for _ in range(_ROUNDS)
        for start in range(0, _COUNT, _AT_A_TIME)
    ]
    whole, bare = (middle(seconds) * _COUNT / _AT_A_TIME for seconds in zip(*turns, strict=True))
    count = _COUNT * len(programs)
    rows = [
        [name, f"{total:.2f}", f"{total / _COUNT * 1e3:.2f}", f"{total / count * 1e6:.2f}"]
        for name, total in (("rendered", whole), ("evaluated", bare))
    ]
    report.table(["", "s", "ms an instance", "µs an expression"], rows)
    ratio = middle([rendered / evaluated for rendered, evaluated in turns])
    subject = f"rendering, times the bare evaluation of its {len(programs)} expressions"
    report.goal(Goal(subject, 3, ratio))


def _programs(graph: Graph) -> Iterator[Program]:
    """Yield what rendering evaluates for every instance; status is not among it."""
    for node in graph.nodes.values():
        yield from (field.expression.program for field in node.fields)
        yield from (condition.program for condition in node.include_when)


def _turn(
    graph: Graph, programs: list[Program], instances: list[KubeObject]
) -> tuple[float, float]:
    """Return the seconds some instances take to render, and their expressions to evaluate."""
    values = [node_values(graph, each) for each in instances]

    def render_all() -> None:
        for each in instances:
            render(graph, each)

    def evaluate_all() -> None:
        for known in values:
            for program in programs:
                try:
                    program.evaluate(known)
                except UnknownValue:
                    continue

    return seconds_of(render_all), seconds_of(evaluate_all)
