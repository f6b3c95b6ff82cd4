"""Leave a source alone: nothing is fetched, applied, repaired or pruned until it is resumed."""

import argparse
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import Session
from kro_gitops.cli.source_options import (
    add_source,
    add_waiting,
    change,
    finish,
    generation,
    place,
    run_on_source,
)

if TYPE_CHECKING:
    from kube_objects.refs import KubeObject

EXAMPLES = """\
examples:
  kro-gitops suspend shop --reason "database migration until noon"
  kro-gitops suspend gitops/shop --wait

exit codes: 0 suspended; 1 not found, not to be written or out of time; 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `suspend`."""
    add_source(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who find it suspended")
    add_waiting(parser)


def run(args: argparse.Namespace) -> int:
    """Suspend it, and wait until it is at rest if that is wanted."""
    return run_on_source(args, lambda session, source: _suspend(session, args, source))


async def _suspend(session: Session, args: argparse.Namespace, source: "KubeObject") -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.inspect.views.source_progress import Goal
    from kro_gitops.inspect.views.sources import is_suspended
    from kro_gitops.metadata import SUSPEND_REASON
    from kro_gitops.telemetry.printable import printable

    was_suspended = is_suspended(source)
    changes: dict[str, object] = {"spec": {"suspend": True}}
    if args.reason or not was_suspended:  # what was the reason once is none any more
        changes["metadata"] = {"annotations": {SUSPEND_REASON: args.reason or None}}
    already = " already" if was_suspended else ""
    asked = await change(session, source, changes)
    name = printable(place(source))
    say(f"{name} is suspended{already}; `kro-gitops resume {name}` lets it go on")
    return await finish(session, args, asked, Goal(generation(asked), suspended=True))
