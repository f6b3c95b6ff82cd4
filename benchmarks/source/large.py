"""
What is measured with a large repository: it is brought in once, for all that was asked for.
"""

import time
from collections.abc import Collection

from benchmarks.engine.attempts import attempt
from benchmarks.engine.usage import resident_bytes
from benchmarks.report import Report
from benchmarks.source import change, poll, restart
from benchmarks.source.world import Following, World, wait_until_ready, world

CHANGE, POLL, RESTART = "source-change", "source-poll", "source-restart"
COUNT = 5_000


def run(report: Report, names: Collection[str], count: int = COUNT) -> None:
    """Measure what is named, and print it."""
    attempt(report, f"{count:,} instances from git", lambda: _run(report, names, count))


def _run(report: Report, names: Collection[str], count: int) -> None:
    with world(count) as made:
        with made.following() as following:
            empty = resident_bytes(following.controller.pid)
            _bring_in(report, made, following, count)
            if CHANGE in names:
                change.print_changes(report, change.measure(made, following, count), count)
            if POLL in names:
                poll.print_polls(report, poll.measure(made, following), count)
        if RESTART in names:
            restart.print_restart(report, restart.measure(made, empty), count)


def _bring_in(report: Report, made: World, following: Following, count: int) -> None:
    began = time.monotonic()
    made.follow()
    wait_until_ready(made, made.repository.head(), 120 + count)
    made.field.audit.wait_until_quiet(2.0)
    report.line(
        f"\n{count:,} instances brought in within {time.monotonic() - began:.0f} s; "
        f"{resident_bytes(following.controller.pid) / 2**20:.0f} MiB resident"
    )
