"""`rollback`: pin a source, or one object of it, to a commit that it applied before."""

import argparse
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from kro_gitops.cli.argument_types import SourceName
from kro_gitops.cli.cluster_session import Session, kubeconfigs, run_on_cluster
from kro_gitops.cli.messages import say, wrong_usage
from kro_gitops.cli.rollback_plan import confirmed, planned
from kro_gitops.cli.rollback_target import find_target
from kro_gitops.cli.source_waiting import wait_if_asked
from kro_gitops.cli.sources import change, find_source, generation, place
from kro_gitops.errors import UserError
from kro_gitops.inspect.views.source_history import (
    Reason,
    attempt_at,
    commit_named,
    last_healthy,
    last_healthy_of,
    named_commit,
    pin,
    pinned_name,
    pins_of,
    with_pin_of,
)
from kro_gitops.inspect.views.source_progress import Goal
from kro_gitops.inspect.views.sources import short_revision
from kro_gitops.kube.credentials import read_context
from kro_gitops.kube.responses import Conflict
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject, ObjectRef

_MAX_NAME = 253  # characters
_ATTEMPTS = 10  # to change a source that its controller writes, too


def run(args: argparse.Namespace) -> int:
    """Pin the source or one object, or remove the pin; wait with --wait."""
    if args.undo and (args.revision or args.to or args.reason or args.lasting):
        text = "--undo cannot be used with REVISION, --to, --reason or --for"
        return wrong_usage(args.verb, text)
    if args.revision and args.to:
        return wrong_usage(args.verb, "REVISION and --to COMMIT cannot be used together")

    async def work(session: Session) -> int:
        target = await find_target(session, args.source)
        if target.object is not None:
            return await pin_object(session, args, target.source, target.object)
        return await (remove_pin if args.undo else add_pin)(session, args, target.source)

    return run_on_cluster(args, work)


async def add_pin(session: Session, args: argparse.Namespace, source: KubeObject) -> int:
    """Pin a source to an earlier commit."""
    commit = chosen_commit(args, source, None)
    reason = given_reason(args)
    plan = await planned(session, source, {"pin": {"commit": commit}})
    code = confirmed(args, source, plan)
    if code is not None:
        return code
    changed = await change(session, source, pin(commit, reason))
    name = printable(place(source))
    say(f"{name} is pinned to {commit}{until_text(reason)}; new commits are ignored")
    say("  the normal way is `git revert` and a push; when that is done, remove the pin:")
    say(f"  kro-gitops rollback {name} --undo")
    return await wait_if_asked(session, args, changed, Goal(generation(changed), commit=commit))


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
    for each in pins_of(source):
        say(f"  {printable(pinned_name(each))} stays pinned to {printable(each['commit'][:12])}")
    return await wait_if_asked(session, args, changed, Goal(generation(changed)))


async def pin_object(
    session: Session, args: argparse.Namespace, source: KubeObject, obj: KubeObject
) -> int:
    """Pin one object of a source to an earlier commit, or remove its pin."""
    commit = "" if args.undo else chosen_commit(args, source, obj)
    reason = None if args.undo else given_reason(args)
    pins = with_pin_of(source, obj, commit, reason)
    name, owner = printable(str(ObjectRef.of(obj))), printable(place(source))
    if args.undo and pins == pins_of(source):
        say(f"{name} was not pinned")
        return 0
    code = confirmed(args, source, await planned(session, source, {"pins": pins}))
    if code is not None:
        return code
    changed = await change_pins(session, source, pins)
    if args.undo:
        say(f"{name} follows {owner} again")
    else:
        say(f"{name} is pinned to {commit}{until_text(reason)}; the rest of {owner} follows git")
        say(f"  `kro-gitops rollback {printable(shown_target(args))} --undo` removes the pin")
    return await wait_if_asked(session, args, changed, Goal(generation(changed)))


async def change_pins(
    session: Session, source: KubeObject, pins: list[dict[str, Any]]
) -> KubeObject:
    """
    Replace the pins of a source, unless another client has changed its spec since; return it.

    A list is replaced as a whole, so without that check a pin of another user could get lost.
    """
    ref = ObjectRef.of(source)
    for _ in range(_ATTEMPTS):
        latest = await find_source(session, SourceName(ref.name, ref.namespace))
        if latest["spec"] != source["spec"]:
            break
        version = {"resourceVersion": latest["metadata"]["resourceVersion"]}
        with suppress(Conflict):  # the controller may have written the status
            patch = {"metadata": version, "spec": {"pins": pins or None}}
            return await change(session, source, patch)
    raise UserError(
        "conflict",
        f"the spec of {ref.place} was changed by another client meanwhile; nothing was changed",
        hint="look at it, and run the command again",
    )


def shown_target(args: argparse.Namespace) -> str:
    """Return the object as it was named, for a command that is to be typed."""
    named: SourceName = args.source
    namespace = f" -n {args.namespace}" if args.namespace else ""
    return f"{named.namespace}/{named.name}{namespace}"


def given_reason(args: argparse.Namespace) -> Reason:
    """Return why, by whom and until when something is pinned."""
    expires = datetime.now(UTC) + timedelta(seconds=args.lasting) if args.lasting else None
    paths = kubeconfigs(args)
    # Only the name of the context's user is stored, never a credential.
    user = read_context(paths, args.context).user_name[:_MAX_NAME] if paths else "in-cluster"
    return Reason((args.reason or "").strip(), user, expires)


def until_text(reason: Reason | None) -> str:
    """Return until when a pin lasts, as a part of a sentence; empty without an end."""
    expires = reason.expires if reason is not None else None
    return f" until {expires:%Y-%m-%d %H:%M:%S} UTC" if expires else ""


def chosen_commit(args: argparse.Namespace, source: KubeObject, obj: KubeObject | None) -> str:
    """Return the commit to go to; print a warning if it was not healthy when it ran."""
    if args.to:
        commit = commit_named(source, args.to)
    elif args.revision:
        commit = named_commit(source, args.revision)
    else:
        commit = (last_healthy(source) if obj is None else last_healthy_of(source, obj)).commit
    attempt = attempt_at(source, commit)
    if attempt is not None and not attempt.is_healthy:
        say(f"warning: {short_revision(attempt.revision)} {printable(attempt.outcome)} when it ran")
    return commit
