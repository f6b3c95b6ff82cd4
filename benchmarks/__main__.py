"""`python -m benchmarks`: every subject, then the goals together; subjects may be named."""

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks import (
    command,
    compilation,
    evaluation,
    large_definition,
    long_lists,
    rendering,
)
from benchmarks.embedded import apply as embedded_apply
from benchmarks.embedded import engine as embedded_engine
from benchmarks.embedded import memory as embedded_memory
from benchmarks.embedded import start as embedded_start
from benchmarks.embedded import workloads as embedded_workloads
from benchmarks.engine import create, drift, memory, restart, scaling
from benchmarks.peers.processes import Peer, open_peers
from benchmarks.report import Report
from benchmarks.source import first, large
from benchmarks.source import memory as source_memory
from benchmarks.tenants import neighbours
from tools.cluster.control_plane import leave_on_signals

_COMPARED: dict[str, Callable[[Report, Sequence[Peer]], None]] = {
    "evaluation": evaluation.run,
    "compilation": compilation.run,
    "lists": long_lists.run,
}
_ALONE: dict[str, Callable[[Report], None]] = {
    "definition": large_definition.run,
    "rendering": rendering.run,
    "command": command.run,
}
# The API server that comes with kro-gitops beside a real one, by wall clock.
_EMBEDDED: dict[str, Callable[[Report], None]] = {
    "embedded-start": embedded_start.run,
    "embedded-apply": embedded_apply.run,
    "embedded-memory": embedded_memory.run,
    "embedded-engine": embedded_engine.run,
    "embedded-workloads": embedded_workloads.run,
}
# On a real API server, by wall clock.
_ENGINE: dict[str, Callable[[Report, bool], None]] = {
    "engine-create": lambda report, _: create.run(report),
    "engine-restart": lambda report, full: restart.run(report, full=full),
    "engine-memory": lambda report, _: memory.run(report),
    "engine-drift": lambda report, _: drift.run(report),
    "engine-scaling": lambda report, _full: scaling.run(report),
}
# From a git repository; those of a large one are measured together, because it is brought in once.
_LARGE = (large.CHANGE, large.POLL, large.RESTART)
_SUBJECTS = (
    *(*_COMPARED, *_ALONE, *_EMBEDDED, *_ENGINE),
    *(*_LARGE, first.SUBJECT, source_memory.SUBJECT, neighbours.SUBJECT),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(_SUBJECTS))
    parser.add_argument(
        "--full", action="store_true", help="restart kro, too, where we restart ours"
    )
    parser.add_argument(
        "--instances", type=int, default=large.COUNT, help="how many a repository has at most"
    )
    options = parser.parse_args()
    names = options.subjects or _SUBJECTS
    if unknown := set(names) - set(_SUBJECTS):
        parser.error(f"no such subject: {', '.join(sorted(unknown))}")
    leave_on_signals()
    report = Report()
    began = time.monotonic()
    _print_machine(report)
    with _peers_for(report, names) as peers:
        for name in names:
            if name in _COMPARED:
                _COMPARED[name](report, peers)
            elif name in _ALONE:
                _ALONE[name](report)
            elif name in _EMBEDDED:
                _EMBEDDED[name](report)
            elif name in _ENGINE:
                _ENGINE[name](report, options.full)
        if wanted := set(_LARGE).intersection(names):
            large.run(report, wanted, options.instances)
        if first.SUBJECT in names:
            first.run(report, min(first.COUNT, options.instances))
        if source_memory.SUBJECT in names:
            source_memory.run(report)
        if neighbours.SUBJECT in names:
            neighbours.run(report)
    report.summary()
    report.line(f"\nmeasured in {time.monotonic() - began:.0f} s")


def _print_machine(report: Report) -> None:
    cores = os.cpu_count()
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    report.line(
        f"Python {platform.python_version()}, {platform.machine()}, {cores} cores, load {load}; "
        "CPU time, but for the running engine"
    )


@contextmanager
def _peers_for(report: Report, names: Sequence[str]) -> Iterator[Sequence[Peer]]:
    """Find the peers, if a subject wants them."""
    if _COMPARED.keys().isdisjoint(names):
        yield ()
        return
    with open_peers() as peers:
        for peer in peers:
            if peer.missing:
                report.missing(f"everything against {peer.name}", peer.missing)
        yield peers


if __name__ == "__main__":
    main()
