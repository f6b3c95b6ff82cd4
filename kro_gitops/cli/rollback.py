"""
Pin a source to a commit that it ran before, until git is put right.

The normal way back is `git revert`: it is reviewed, it stays, and everybody sees it. A pin is for
when that takes too long: it holds whatever the branch says, until it expires or is removed.
"""

import argparse
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import Session, kubeconfigs
from kro_gitops.cli.source_options import (
    add_source,
    add_waiting,
    change,
    duration,
    finish,
    generation,
    place,
    run_on_source,
    wrong_usage,
)

if TYPE_CHECKING:
    from kro_gitops.inspect.views.source_history import Reason
    from kube_objects.refs import KubeObject

EXAMPLES = """\
examples:
  kro-gitops rollback shop --reason "checkout fails" --for 2h
  kro-gitops rollback gitops/shop 2 --reason "checkout fails" --wait
  kro-gitops rollback shop --undo

`kro-gitops history SOURCE` shows what N counts: 1, the default, is what ran before.

exit codes: 0 pinned, or ready with --wait; 1 not found, failed or out of time;
            64 wrong command line
"""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0: 1 is what ran before")
    return int(text)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rollback`."""
    add_source(parser)
    parser.add_argument(
        "number", nargs="?", type=_number, metavar="N", help="how many revisions back (default: 1)"
    )
    parser.add_argument("--to", metavar="COMMIT", help="this commit, instead of counting back")
    parser.add_argument("--reason", metavar="TEXT", help="why; required, everybody will see it")
    parser.add_argument(
        "--for",
        dest="lasting",
        type=duration,
        metavar="DURATION",
        help="let the pin expire by itself, as in 2h (default: it stays)",
    )
    parser.add_argument("--undo", action="store_true", help="remove the pin: follow git again")
    add_waiting(parser)


def run(args: argparse.Namespace) -> int:
    """Pin the source or remove the pin, and wait if that is wanted."""
    wrong = _mistake(args)
    if wrong:
        return wrong_usage(args, wrong)
    work = _undo if args.undo else _roll_back
    return run_on_source(args, lambda session, source: work(session, args, source))


def _mistake(args: argparse.Namespace) -> str:
    if args.undo and (args.number or args.to or args.reason or args.lasting):
        return "--undo goes with no N, --to, --reason or --for"
    if args.number and args.to:
        return "either N or --to COMMIT, not both"
    if not args.undo and not (args.reason or "").strip():
        return "--reason TEXT is required: whoever finds the source pinned will want to know"
    return ""


async def _roll_back(session: Session, args: argparse.Namespace, source: "KubeObject") -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.inspect.views.source_history import commit_before, commit_named, pin
    from kro_gitops.inspect.views.source_progress import Goal
    from kro_gitops.telemetry.printable import printable

    number = args.number or 1
    commit = commit_named(source, args.to) if args.to else commit_before(source, number)
    reason = _reason(args)
    asked = await change(session, source, pin(commit, reason))
    name = printable(place(source))
    until = f" until {reason.expires:%Y-%m-%d %H:%M:%S} UTC" if reason.expires else ""
    say(f"{name} is pinned to {commit}{until}, whatever git says")
    say("  the normal way is `git revert` and a push; when that is done, remove the pin:")
    say(f"  kro-gitops rollback {name} --undo")
    return await finish(session, args, asked, Goal(generation(asked), commit=commit))


def _reason(args: argparse.Namespace) -> "Reason":
    from datetime import UTC, datetime, timedelta

    from kro_gitops.inspect.views.source_history import Reason

    lasting = args.lasting
    expires = datetime.now(UTC) + timedelta(seconds=lasting) if lasting else None
    return Reason(args.reason.strip(), _user(args), expires)


def _user(args: argparse.Namespace) -> str:
    """Return who does it: the name of the context's user, never what proves it."""
    from kro_gitops.cli.kubeconfig_users import read_kubeconfigs, user_of_context

    paths = kubeconfigs(args)
    if not paths:
        return "in-cluster"
    return user_of_context(read_kubeconfigs(paths), args.context or "")


async def _undo(session: Session, args: argparse.Namespace, source: "KubeObject") -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.inspect.views.source_progress import Goal
    from kro_gitops.telemetry.printable import printable

    was_pinned = bool(source.get("spec", {}).get("pin"))
    asked = await change(session, source, {"spec": {"pin": None}})
    said = "follows git again" if was_pinned else "was not pinned"
    say(f"{printable(place(source))} {said}")
    return await finish(session, args, asked, Goal(generation(asked)))
