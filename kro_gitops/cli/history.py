"""Show what a source ran: revisions, who wrote them, what they changed, how they ended."""

import argparse
import sys
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import Session, add_cluster_options, add_output, style_of
from kro_gitops.cli.source_options import add_source, place, run_on_source

if TYPE_CHECKING:
    from datetime import datetime

    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.views.source_history import Attempt
    from kube_objects.refs import KubeObject

EXAMPLES = """\
examples:
  kro-gitops history shop
  kro-gitops history gitops/shop -o json

Column N is what `kro-gitops rollback SOURCE N` takes: 0 runs now, 1 ran before it.

exit codes: 0 shown, 1 not found or not to be read, 64 wrong command line
"""

_HEADER = ("N", "REVISION", "RESULT", "FINISHED", "TOOK", "CHANGES", "AUTHOR", "MESSAGE")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `history`."""
    add_source(parser)
    add_output(parser, "text", "json", "yaml")
    add_cluster_options(parser, everywhere=False)


def run(args: argparse.Namespace) -> int:
    """Print the history."""
    return run_on_source(args, lambda session, source: _history(session, args, source))


async def _history(_: Session, args: argparse.Namespace, source: "KubeObject") -> int:
    from datetime import UTC, datetime

    from kro_gitops.cli.output import say
    from kro_gitops.cli.tables import format_table
    from kro_gitops.inspect.views.source_history import attempts
    from kro_gitops.telemetry.printable import printable

    listed = attempts(source)
    if args.output != "text":
        sys.stdout.write(_data(source, listed, args.output))
    elif listed:
        lines = [_line(each, datetime.now(UTC)) for each in listed]
        sys.stdout.write(format_table(_HEADER, lines, style_of(args)))
    else:
        say(f"{printable(place(source))} has applied nothing yet")
    return 0


def _data(source: "KubeObject", listed: "tuple[Attempt, ...]", form: str) -> str:
    """Print the history as the status has it, each attempt with its number."""
    from kro_gitops.telemetry.printable import to_json
    from kube_objects.yaml_writer import to_yaml

    raw = source["status"]["history"] if listed else []
    data = [{"n": each.number, **kept} for each, kept in zip(listed, raw, strict=True)]
    return to_json(data) if form == "json" else to_yaml(data)


def _line(attempt: "Attempt", now: "datetime") -> "Line":
    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.views.instances import NONE, age
    from kro_gitops.inspect.views.sources import short_revision

    took = attempt.took
    return Line(
        (
            NONE if attempt.number is None else str(attempt.number),
            short_revision(attempt.revision),
            attempt.result or NONE,
            f"{age(attempt.finished, now)} ago" if attempt.finished else NONE,
            NONE if took is None else age(now - took, now),
            attempt.changes or "none",
            attempt.author,
            attempt.message,
        )
    )
