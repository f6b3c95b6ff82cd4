"""
Evaluating the sixteen typical expressions, side by side with the other engines.

Each engine has its data converted beforehand and hands back plain values; ours has its budgets on.
In every round all engines take their turn at one expression before the next one comes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.processes import CPP, PYTHON, NotMeasuredError, Peer
from benchmarks.report import Goal, Report, microseconds, middle
from benchmarks.timing import Call, seconds_per_call
from benchmarks.typical import DATA, EXPRESSIONS, SCHEMAS
from kube_cel.environment import Environment
from kube_cel.program import Program, compile_text

_ROUNDS = 7
_SPEND = 0.02


@dataclass(slots=True)
class Figures:
    """What a peer took for each expression it can do, and why it cannot do the others."""

    seconds: dict[str, float] = field(default_factory=dict)
    cannot: dict[str, str] = field(default_factory=dict)


def run(report: Report, peers: Sequence[Peer]) -> None:
    """Measure, print the table, compare the means."""
    report.heading("1. Sixteen typical expressions, µs an evaluation")
    environment = Environment.kro().extend(schemas=SCHEMAS)
    ours: dict[str, float] = {}
    theirs = {peer.name: Figures() for peer in peers if not peer.missing}
    for text in EXPRESSIONS:
        program = compile_text(text, environment)
        rounds = _Rounds(program.evaluate(DATA))
        for _ in range(_ROUNDS):
            rounds.ours.append(seconds_per_call(_evaluation(program), _SPEND))
            for peer in peers:
                rounds.ask(peer, text)
        ours[text] = middle(rounds.ours)
        rounds.settle(text, theirs)
    _print_table(report, ours, theirs)
    for peer in peers:
        _print_peer(report, peer, ours, theirs.get(peer.name, Figures()))


def _evaluation(program: Program) -> Call:
    # A lambda, as the peers have one: its call costs them the same.
    return lambda: program.evaluate(DATA)


class _Rounds:
    """The rounds of one expression."""

    def __init__(self, expected: Any) -> None:
        self.ours: list[float] = []
        self._expected = expected
        self._theirs: dict[str, list[float]] = {}
        self._cannot: dict[str, str] = {}

    def ask(self, peer: Peer, text: str) -> None:
        """Let a peer have a round, unless it has shown that it cannot."""
        if peer.missing or peer.name in self._cannot:
            return
        try:
            answer = peer.ask("evaluate", text=text, data=DATA, spend=_SPEND)
        except NotMeasuredError as error:
            self._cannot[peer.name] = str(error)
            return
        if "cannot" in answer:
            self._cannot[peer.name] = answer["cannot"]
        elif _normal(answer["value"]) != _normal(self._expected):
            self._cannot[peer.name] = f"gives {answer['value']!r}"
        else:
            self._theirs.setdefault(peer.name, []).append(answer["seconds"])

    def settle(self, text: str, figures: dict[str, Figures]) -> None:
        """Hand over the medians."""
        for name, reason in self._cannot.items():
            figures[name].cannot[text] = reason
        for name, seconds in self._theirs.items():
            figures[name].seconds[text] = middle(seconds)


def _normal(value: Any) -> Any:
    """Forget the order of a list: one peer walks maps in no particular one."""
    return sorted(map(repr, value)) if isinstance(value, list) else value


def _print_table(report: Report, ours: dict[str, float], theirs: dict[str, Figures]) -> None:
    rows = [
        [
            text,
            microseconds(seconds),
            *(
                microseconds(figures.seconds[text]) if text in figures.seconds else "cannot"
                for figures in theirs.values()
            ),
        ]
        for text, seconds in ours.items()
    ]
    rows.append(["mean of what each can do", microseconds(_mean(ours)), *_means(theirs)])
    report.table(["", "ours", *theirs], rows)


def _means(theirs: dict[str, Figures]) -> list[str]:
    found = [figures.seconds for figures in theirs.values()]
    return [microseconds(_mean(seconds)) if seconds else "–" for seconds in found]


def _mean(seconds: dict[str, float]) -> float:
    return sum(seconds.values()) / len(seconds)


def _print_peer(report: Report, peer: Peer, ours: dict[str, float], figures: Figures) -> None:
    for text, reason in figures.cannot.items():
        report.line(f"{peer.name} cannot do {text}: {' '.join(reason.split())[:110]}")
    if not figures.seconds:
        report.missing(peer.name, peer.missing)
    ratio = _ratio(ours, figures) if figures.seconds else None
    if peer.name == CPP:
        subject = f"mean evaluation, times {CPP} with a reused activation and plain_value"
        report.goal(Goal(subject, 1.5, ratio, missing=peer.missing))
    elif peer.name == PYTHON:
        faster = None if ratio is None else 1 / ratio
        subject = f"mean evaluation, times faster than {PYTHON}"
        report.goal(Goal(subject, 50, faster, at_least=True, missing=peer.missing))
    elif ratio is not None:
        report.line(f"mean evaluation, times faster than {peer.name}: {1 / ratio:.3g}")


def _ratio(ours: dict[str, float], figures: Figures) -> float:
    """Compare the means over what the peer can do."""
    shared = {text: ours[text] for text in figures.seconds}
    return _mean(shared) / _mean(figures.seconds)
