"""`sync`: make a source fetch its repository now."""

import argparse
import time
from datetime import UTC, datetime

from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.messages import say
from kro_gitops.cli.source_waiting import wait_if_asked
from kro_gitops.cli.sources import change, place, run_on_source
from kro_gitops.inspect.views.source_progress import Goal
from kro_gitops.inspect.views.sources import is_suspended, suspension
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.telemetry.printable import printable
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject


def run(args: argparse.Namespace) -> int:
    """Request a reconcile, and wait for it with --wait."""

    async def sync(session: Session, source: KubeObject) -> int:
        name = place(source)
        if is_suspended(source):
            raise RefusedError(
                "source-suspended",
                f"{name} is {suspension(source)}",
                hint=f"`kro-gitops resume {name}` resumes and syncs it",
            )
        # To the nanosecond, so that no two requests are the same.
        seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
        request = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{nanos:09}Z"
        annotations = {REQUESTED_AT: request}
        changed = await change(session, source, {"metadata": {"annotations": annotations}})
        say(f"requested a sync of {printable(name)}")
        return await wait_if_asked(session, args, changed, Goal(request=request))

    return run_on_source(args, sync)
