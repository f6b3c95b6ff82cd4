"""
A filter over a long list: does an element cost the same in a list eight times as long?
"""

from collections.abc import Sequence

from benchmarks.peers.processes import NotMeasuredError, Peer
from benchmarks.report import Goal, Report, middle
from benchmarks.timing import seconds_per_call
from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import INT, list_of

_TEXT = "items.filter(x, x % 2 == 0)"
_SHORT, _LONG = 1_000, 8_000
_ROUNDS = 9
_PEER_ROUNDS = 2  # some take seconds for one evaluation
_SPEND = 0.1


def run(report: Report, peers: Sequence[Peer]) -> None:
    """Measure, print, compare."""
    report.heading(f"3. `{_TEXT}`, ms")
    rounds = [(_ours(_SHORT), _ours(_LONG)) for _ in range(_ROUNDS)]
    short, long = (middle(seconds) for seconds in zip(*rounds, strict=True))
    rows = [_row("ours", short, long)]
    for peer in peers:
        try:
            theirs = [_theirs(peer, size) for size in (_SHORT, _LONG)]
        except NotMeasuredError as error:
            report.missing(peer.name, str(error))
            continue
        rows.append(_row(peer.name, *theirs))
    heads = [f"{_SHORT:,} elements", f"{_LONG:,} elements", "growth of an element's cost"]
    report.table(["", *heads], rows)
    growth = middle([_growth(*pair) for pair in rounds])
    report.goal(Goal(f"cost of an element, {_LONG:,} against {_SHORT:,}", 1.3, growth))


def _ours(size: int) -> float:
    environment = Environment.kro().extend(types={"items": list_of(INT)})
    program = compile_text(_TEXT, environment)
    data = {"items": list(range(size))}
    return seconds_per_call(lambda: program.evaluate(data), _SPEND)


def _theirs(peer: Peer, size: int) -> float:
    data = {"items": list(range(size))}
    rounds = []
    for _ in range(_PEER_ROUNDS):
        answer = peer.ask("evaluate", text=_TEXT, data=data, spend=_SPEND)
        if "cannot" in answer:
            raise NotMeasuredError(answer["cannot"])
        rounds.append(answer["seconds"])
    return middle(rounds)


def _row(name: str, short: float, long: float) -> list[str]:
    growth = f"{_growth(short, long):.2f} ×"
    return [name, f"{short * 1e3:.2f}", f"{long * 1e3:,.2f}", growth]


def _growth(short: float, long: float) -> float:
    return (long / _LONG) / (short / _SHORT)
