"""
A thousand different expressions, from text to program.

Ours are typed by schemas, and the types are declared within the time measured. A peer that puts
part of the work off until a program first runs has that counted, too.
"""

import gc
from collections.abc import Sequence
from itertools import pairwise, repeat
from time import process_time
from typing import Any

from benchmarks.peers.processes import CPP, NotMeasuredError, Peer
from benchmarks.report import Goal, Report, middle, milliseconds
from benchmarks.typical import variant_schemas, variants
from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.parser import parse
from kube_cel.program import Program, compile_program

COUNT = 1000
STEPS = ("parse", "check", "compile")
_ROUNDS = 5
_AT_A_TIME = 50


def seconds_of_steps(texts: Sequence[str], environment: Environment) -> dict[str, float]:
    """Compile expressions, a few at a time, and return what each step took for all of them."""
    total = dict.fromkeys(STEPS, 0.0)
    programs: list[Program] = []
    gc.collect()
    for start in range(0, len(texts), _AT_A_TIME):
        some = texts[start : start + _AT_A_TIME]
        marks = [process_time()]
        trees = [parse(text) for text in some]
        marks.append(process_time())
        for tree, text in zip(trees, some, strict=True):
            check(tree, environment, text)
        marks.append(process_time())
        programs += [compile_program(*each) for each in zip(trees, repeat(environment), some)]
        marks.append(process_time())
        for step, (before, after) in zip(total, pairwise(marks), strict=True):
            total[step] += after - before
    return total


def run(report: Report, peers: Sequence[Peer]) -> None:
    """Measure, print, compare."""
    report.heading(f"2. {COUNT:,} different expressions parsed, checked and compiled, ms")
    texts, schemas = variants(COUNT), variant_schemas(COUNT)
    assert len(set(texts)) == COUNT
    ours: list[dict[str, float]] = []
    theirs: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in peers}
    for _ in range(_ROUNDS):
        ours.append(seconds_of_steps(texts, Environment.kro().extend(schemas=schemas)))
        for peer in peers:
            try:
                theirs[peer.name].append(peer.ask("compile", texts=texts, names=list(schemas)))
            except NotMeasuredError:
                continue  # said below
    total = middle([sum(steps.values()) for steps in ours])
    parts = {step: milliseconds(middle([steps[step] for steps in ours])) for step in ours[0]}
    shown = ", ".join(f"{step} {figure}" for step, figure in parts.items())
    rows = [["ours", milliseconds(total), f"{COUNT}", shown]]
    rows += [_row(name, rounds) for name, rounds in theirs.items() if rounds]
    report.table(["", "ms", "expressions", "of which"], rows)
    for peer in peers:
        if peer.missing:
            report.missing(peer.name, peer.missing)
    _compare(report, ours, peers, theirs)


def _row(name: str, rounds: list[dict[str, Any]]) -> list[str]:
    first_use = milliseconds(middle([each["first_use"] for each in rounds]))
    total, compiled = milliseconds(_total(rounds)), str(rounds[0]["compiled"])
    return [name, total, compiled, f"planned at first use {first_use}"]


def _total(rounds: list[dict[str, Any]]) -> float:
    return middle([each["compiling"] + each["first_use"] for each in rounds])


def _compare(
    report: Report,
    ours: list[dict[str, float]],
    peers: Sequence[Peer],
    theirs: dict[str, list[dict[str, Any]]],
) -> None:
    cpp = next(peer for peer in peers if peer.name == CPP)
    # Round by round: what disturbed one of the two disturbed the other.
    pairs = zip(ours, theirs[CPP], strict=False)  # a peer may have ended on the way
    ratios = [sum(steps.values()) / _total([each]) for steps, each in pairs]
    subject = f"{COUNT:,} compiled, times {CPP}'s compilation and first-use planning"
    report.goal(Goal(subject, 1.5, middle(ratios) if ratios else None, missing=cpp.missing))
