"""`history`: the revisions that a source applied, with author, changes and result."""

import argparse
import sys
from datetime import UTC, datetime

from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.messages import say
from kro_gitops.cli.sources import place, run_on_source
from kro_gitops.cli.tables import Row, format_data, print_table
from kro_gitops.inspect.views.instances import NONE, age
from kro_gitops.inspect.views.source_history import Attempt, attempts, pinned_name, pins_of
from kro_gitops.inspect.views.sources import short_revision
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject

_HEADER = ("N", "REVISION", "RESULT", "FINISHED", "TOOK", "CHANGES", "AUTHOR", "MESSAGE")


def run(args: argparse.Namespace) -> int:
    """Print the history."""

    async def show(_: Session, source: KubeObject) -> int:
        listed = attempts(source)
        if args.output != "text":
            # As the status has it, each attempt with its number.
            kept = source["status"]["history"] if listed else []
            data = [{"n": each.number, **entry} for each, entry in zip(listed, kept, strict=True)]
            sys.stdout.write(format_data(data, args.output))
        elif listed:
            now = datetime.now(UTC)
            print_table(_HEADER, [attempt_row(attempt, now) for attempt in listed], args)
            for pin in pins_of(source):
                commit = printable(str(pin.get("commit"))[:12])
                say(f"note: {printable(pinned_name(pin))} is pinned to {commit}")
        else:
            say(f"{printable(place(source))} has applied nothing yet")
        return 0

    return run_on_source(args, show)


def attempt_row(attempt: Attempt, now: datetime) -> Row:
    """Return the row of one attempt to apply a revision."""
    return Row(
        (
            NONE if attempt.number is None else str(attempt.number),
            short_revision(attempt.revision),
            attempt.result or NONE,
            f"{age(attempt.finished, now)} ago" if attempt.finished else NONE,
            NONE if attempt.took is None else age(now - attempt.took, now),
            attempt.changes or "none",
            attempt.author,
            attempt.message,
        )
    )
