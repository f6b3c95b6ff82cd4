"""`rollback`: pin a source to a commit that it applied before."""

import argparse
from datetime import UTC, datetime, timedelta

from kro_gitops.cli.cluster_session import Session, kubeconfigs
from kro_gitops.cli.messages import say, wrong_usage
from kro_gitops.cli.rollback_plan import confirmed, planned
from kro_gitops.cli.source_waiting import wait_if_asked
from kro_gitops.cli.sources import change, generation, place, run_on_source
from kro_gitops.inspect.views.source_history import (
    Reason,
    attempt_at,
    commit_named,
    last_healthy,
    named_commit,
    pin,
)
from kro_gitops.inspect.views.source_progress import Goal
from kro_gitops.inspect.views.sources import short_revision
from kro_gitops.kube.credentials import read_context
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject

_MAX_NAME = 253  # characters


def run(args: argparse.Namespace) -> int:
    """Pin the source or remove the pin, and wait with --wait."""
    if args.undo and (args.revision or args.to or args.reason or args.lasting):
        return wrong_usage(
            args.verb, "--undo cannot be used with REVISION, --to, --reason or --for"
        )
    if args.revision and args.to:
        return wrong_usage(args.verb, "REVISION and --to COMMIT cannot be used together")
    work = remove_pin if args.undo else add_pin
    return run_on_source(args, lambda session, source: work(session, args, source))


async def add_pin(session: Session, args: argparse.Namespace, source: KubeObject) -> int:
    """Pin a source to an earlier commit."""
    commit = chosen_commit(source, args)
    expires = datetime.now(UTC) + timedelta(seconds=args.lasting) if args.lasting else None
    paths = kubeconfigs(args)
    # Only the name of the context's user is stored, never a credential.
    user = read_context(paths, args.context).user_name[:_MAX_NAME] if paths else "in-cluster"
    reason = Reason((args.reason or "").strip(), user, expires)
    plan = await planned(session, source, {"pin": {"commit": commit}})
    code = confirmed(args, source, plan)
    if code is not None:
        return code
    changed = await change(session, source, pin(commit, reason))
    name = printable(place(source))
    until = f" until {expires:%Y-%m-%d %H:%M:%S} UTC" if expires else ""
    say(f"{name} is pinned to {commit}{until}; new commits are ignored")
    say("  the normal way is `git revert` and a push; when that is done, remove the pin:")
    say(f"  kro-gitops rollback {name} --undo")
    return await wait_if_asked(session, args, changed, Goal(generation(changed), commit=commit))


def chosen_commit(source: KubeObject, args: argparse.Namespace) -> str:
    """Return the commit to go to; print a warning if it was not healthy when it ran."""
    if args.to:
        commit = commit_named(source, args.to)
    elif args.revision:
        commit = named_commit(source, args.revision)
    else:
        commit = last_healthy(source).commit
    attempt = attempt_at(source, commit)
    if attempt is not None and not attempt.is_healthy:
        say(f"warning: {short_revision(attempt.revision)} {printable(attempt.outcome)} when it ran")
    return commit


async def remove_pin(session: Session, args: argparse.Namespace, source: KubeObject) -> int:
    """Let a source follow git again."""
    was_pinned = bool(source.get("spec", {}).get("pin"))
    if was_pinned:
        code = confirmed(args, source, await planned(session, source, {"pin": None}))
        if code is not None:
            return code
    changed = await change(session, source, {"spec": {"pin": None}})
    message = "follows git again" if was_pinned else "was not pinned"
    say(f"{printable(place(source))} {message}")
    return await wait_if_asked(session, args, changed, Goal(generation(changed)))
