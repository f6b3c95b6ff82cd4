"""Have a source look at its repository now, instead of at the next interval."""

import argparse
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import Session
from kro_gitops.cli.source_options import (
    add_source,
    add_waiting,
    change,
    finish,
    place,
    run_on_source,
)

if TYPE_CHECKING:
    from kube_objects.refs import KubeObject

EXAMPLES = """\
examples:
  kro-gitops sync shop
  kro-gitops sync gitops/shop --wait --timeout 10m

exit codes: 0 asked, or ready with --wait; 1 not found, failed or out of time; 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `sync`."""
    add_source(parser)
    add_waiting(parser)


def run(args: argparse.Namespace) -> int:
    """Ask for it, and wait if that is wanted."""
    return run_on_source(args, lambda session, source: _sync(session, args, source))


async def _sync(session: Session, args: argparse.Namespace, source: "KubeObject") -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.inspect.views.source_progress import Goal
    from kro_gitops.inspect.views.sources import is_suspended, suspension
    from kro_gitops.metadata import REQUESTED_AT
    from kro_gitops.telemetry.printable import printable
    from kube_objects.errors import RefusedError

    name = place(source)
    if is_suspended(source):
        raise RefusedError(
            "source-suspended",
            f"{name} is {suspension(source)}",
            hint=f"`kro-gitops resume {name}` lets it go on, and syncs it",
        )
    request = _now()
    asked = await change(session, source, {"metadata": {"annotations": {REQUESTED_AT: request}}})
    say(f"{printable(name)} is asked to sync")
    return await finish(session, args, asked, Goal(request=request))


def _now() -> str:
    """Return the time to the nanosecond: no two requests are the same."""
    import time
    from datetime import UTC, datetime

    seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanos:09}Z"
