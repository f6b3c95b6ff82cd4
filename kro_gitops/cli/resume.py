"""`resume`: let a suspended source reconcile again; with --all, every suspended one."""

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
    """Resume, and with --wait wait until it is ready."""
    work = partial(resume, args=args)
    return change_all(args, work, is_suspended) if args.all else run_on_source(args, work)


async def resume(session: Session, source: KubeObject, args: argparse.Namespace) -> int:
    """Resume a source."""
    message = "is resumed" if is_suspended(source) else "was not suspended"
    changes = {"metadata": {"annotations": {SUSPEND_REASON: None}}, "spec": {"suspend": False}}
    changed = await change(session, source, changes)
    say(f"{printable(place(source))} {message}")
    return await wait_if_asked(session, args, changed, Goal(generation(changed)))
