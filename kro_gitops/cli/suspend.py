"""`suspend`: stop a source from reconciling until it is resumed; with --all, every source."""

import argparse
from functools import partial

from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.messages import say
from kro_gitops.cli.source_waiting import wait_if_asked
from kro_gitops.cli.sources import change, change_all, generation, place, run_on_source
from kro_gitops.inspect.views.source_progress import Goal
from kro_gitops.inspect.views.sources import is_suspended
from kro_gitops.metadata import SUSPEND_REASON
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject


def run(args: argparse.Namespace) -> int:
    """Suspend, and with --wait wait until it has stopped."""
    work = partial(suspend, args=args)
    if args.all:
        return change_all(args, work, lambda source: not is_suspended(source))
    return run_on_source(args, work)


async def suspend(session: Session, source: KubeObject, args: argparse.Namespace) -> int:
    """Suspend a source."""
    was_suspended = is_suspended(source)
    changes: dict[str, object] = {"spec": {"suspend": True}}
    if args.reason or not was_suspended:  # an earlier reason does not apply to this suspension
        changes["metadata"] = {"annotations": {SUSPEND_REASON: args.reason or None}}
    changed = await change(session, source, changes)
    name = printable(place(source))
    already = " already" if was_suspended else ""
    say(f"{name} is suspended{already}; `kro-gitops resume {name}` resumes it")
    return await wait_if_asked(session, args, changed, Goal(generation(changed), suspended=True))
