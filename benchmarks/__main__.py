"""`python -m benchmarks`: every subject, then the goals together; subjects may be named."""

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence

from benchmarks import (
    command,
    compilation,
    evaluation,
    large_definition,
    long_lists,
    rendering,
)
from benchmarks.peers.processes import Peer, open_peers
from benchmarks.report import Report

_SUBJECTS: dict[str, Callable[[Report, Sequence[Peer]], None]] = {
    "evaluation": evaluation.run,
    "compilation": compilation.run,
    "lists": long_lists.run,
    "definition": lambda report, _: large_definition.run(report),
    "rendering": lambda report, _: rendering.run(report),
    "command": lambda report, _: command.run(report),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(_SUBJECTS))
    names = parser.parse_args().subjects or list(_SUBJECTS)
    if unknown := set(names) - set(_SUBJECTS):
        parser.error(f"no such subject: {', '.join(sorted(unknown))}")
    report = Report()
    began = time.monotonic()
    cores = os.cpu_count()
    report.line(
        f"Python {platform.python_version()}, {platform.machine()}, {cores} cores, CPU time"
    )
    with open_peers() as peers:
        for peer in peers:
            if peer.missing:
                report.missing(f"everything against {peer.name}", peer.missing)
        for name in names:
            _SUBJECTS[name](report, peers)
    report.summary()
    report.line(f"\nmeasured in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
