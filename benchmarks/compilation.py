"""
A thousand different expressions, from text to program.

Ours are typed by schemas, and the types are declared within the time measured. A peer that puts part
of the work off until a program first runs has that counted, too.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.peers.processes import CPP, NotMeasuredError, Peer
from benchmarks.report import Goal, Report, middle, milliseconds
from benchmarks.timing import seconds_of
from benchmarks.typical import variant_schemas, variants
from kro_gitops.cel.check import check
from kro_gitops.cel.declarations import Environment
from kro_gitops.cel.program import compile_program
from kro_gitops.cel.syntax import parse
from kro_gitops.cel.tree import Node

COUNT = 1000
_ROUNDS = 5


class Steps:
    """The three steps of our compiler, over all expressions, each with its time."""

    def __init__(self, texts: Sequence[str], environment: Environment) -> None:
        self._texts = texts
        self._environment = environment
        self._trees: list[Node] = []
        self.seconds = {
            "parse": seconds_of(self._parse),
            "check": seconds_of(self._check),
            "compile": seconds_of(self._compile),
        }
        self.total = sum(self.seconds.values())

    def _parse(self) -> None:
        self._trees = [parse(text) for text in self._texts]

    def _check(self) -> None:
        for tree, text in zip(self._trees, self._texts, strict=True):
            check(tree, self._environment, text)

    def _compile(self) -> None:
        programs = []
        for tree, text in zip(self._trees, self._texts, strict=True):
            programs.append(compile_program(tree, self._environment, text))  # noqa: PERF401


def run(report: Report, peers: Sequence[Peer]) -> None:
    """Measure, print, compare."""
    report.heading(f"2. {COUNT:,} different expressions parsed, checked and compiled, ms")
    texts, schemas = variants(COUNT), variant_schemas(COUNT)
    assert len(set(texts)) == COUNT
    ours: list[Steps] = []
    theirs: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in peers}
    for _ in range(_ROUNDS):
        ours.append(Steps(texts, Environment.kro().extend(schemas=schemas)))
        for peer in peers:
            try:
                theirs[peer.name].append(peer.ask("compile", texts=texts, names=list(schemas)))
            except NotMeasuredError as error:
                report.missing(peer.name, str(error))
    total = middle([steps.total for steps in ours])
    parts = {
        step: milliseconds(middle([steps.seconds[step] for steps in ours]))
        for step in ours[0].seconds
    }
    shown = ", ".join(f"{step} {figure}" for step, figure in parts.items())
    rows = [["ours", milliseconds(total), f"{COUNT}", shown]]
    rows += [_row(name, rounds) for name, rounds in theirs.items() if rounds]
    report.table(["", "ms", "expressions", "of which"], rows)
    _compare(report, total, peers, theirs)


def _row(name: str, rounds: list[dict[str, Any]]) -> list[str]:
    first_use = milliseconds(middle([each["first_use"] for each in rounds]))
    total, compiled = milliseconds(_total(rounds)), str(rounds[0]["compiled"])
    return [name, total, compiled, f"planned at first use {first_use}"]


def _total(rounds: list[dict[str, Any]]) -> float:
    return middle([each["compiling"] + each["first_use"] for each in rounds])


def _compare(
    report: Report, total: float, peers: Sequence[Peer], theirs: dict[str, list[dict[str, Any]]]
) -> None:
    cpp = next(peer for peer in peers if peer.name == CPP)
    rounds = theirs[CPP]
    ratio = total / _total(rounds) if rounds else None
    subject = f"{COUNT:,} compiled, times {CPP}'s compilation and first-use planning"
    report.goal(Goal(subject, 1.5, ratio, missing=cpp.missing))
