"""Let a suspended source go on: it fetches and applies at once what it has missed."""

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
  kro-gitops resume shop
  kro-gitops resume gitops/shop --wait

exit codes: 0 resumed, or ready with --wait; 1 not found, failed or out of time;
            64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `resume`."""
    add_source(parser)
    add_waiting(parser)


def run(args: argparse.Namespace) -> int:
    """Resume it, and wait until it is ready if that is wanted."""
    return run_on_source(args, lambda session, source: _resume(session, args, source))


async def _resume(session: Session, args: argparse.Namespace, source: "KubeObject") -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.inspect.views.source_progress import Goal
    from kro_gitops.inspect.views.sources import is_suspended
    from kro_gitops.metadata import SUSPEND_REASON
    from kro_gitops.telemetry.printable import printable

    said = "goes on" if is_suspended(source) else "was not suspended"
    changes = {
        "metadata": {"annotations": {SUSPEND_REASON: None}},
        "spec": {"suspend": False},
    }
    asked = await change(session, source, changes)
    say(f"{printable(place(source))} {said}")
    return await finish(session, args, asked, Goal(generation(asked)))
