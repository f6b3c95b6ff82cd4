"""
What the verbs about one source share: its name, how long to wait, finding it, changing it.

Imports nothing heavy: `--help` reads this file.
"""

import argparse
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kro_gitops.cli.cluster_options import Session, add_cluster_options, run_on_cluster

if TYPE_CHECKING:
    from kro_gitops.inspect.views.source_progress import Goal
    from kube_objects.refs import KubeObject

MANAGER = "kro-gitops-cli"  # in whose name fields are changed
DEFAULT_TIMEOUT = 300.0
_SHOWN = 10
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(r"(?:(?:\d{1,6})[dhms])+")


@dataclass(frozen=True, slots=True)
class SourceName:
    """A source as it is named on the command line; without a namespace it is the context's."""

    name: str
    namespace: str = ""

    @classmethod
    def of(cls, first: str, second: str) -> "SourceName":
        """Put together what stood before and after a slash."""
        return cls(second, first) if second else cls(first)


def source_name(text: str) -> SourceName:
    """Read `NAME`, or `NAMESPACE/NAME`."""
    first, slash, second = text.partition("/")
    if not first or (slash and not second) or "/" in second:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME or NAMESPACE/NAME")
    return SourceName.of(first, second)


def duration(text: str) -> float:
    """Read `90s`, `5m`, `1h30m` or `2d`."""
    parts = re.findall(r"(\d+)([dhms])", text) if _DURATION.fullmatch(text) else []
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    if not seconds:
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration such as 90s, 5m or 1h30m")
    return seconds


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the source that is meant."""
    parser.add_argument(
        "source", type=source_name, metavar="SOURCE", help="the source: NAME or NAMESPACE/NAME"
    )


def add_waiting(parser: argparse.ArgumentParser) -> None:
    """Add the switches that say whether to wait, and the way to the cluster."""
    parser.add_argument("--wait", action="store_true", help="wait until it is done, or has failed")
    parser.add_argument(
        "--timeout",
        type=duration,
        default=DEFAULT_TIMEOUT,
        metavar="DURATION",
        help="the longest to wait (default: 5m)",
    )
    add_cluster_options(parser, everywhere=False)


def run_on_source(
    args: argparse.Namespace, work: "Callable[[Session, KubeObject], Awaitable[int]]"
) -> int:
    """Do something with the source that is named."""

    async def do(session: Session) -> int:
        return await work(session, await find_source(session, args.source))

    named = args.source.namespace
    if named and args.namespace and named != args.namespace:
        return wrong_usage(args, f"SOURCE is in namespace '{named}', and -n says another")
    return run_on_cluster(args, do)


def wrong_usage(args: argparse.Namespace, text: str) -> int:
    """Say what is wrong with the command line."""
    from kro_gitops.cli.exits import WRONG_USAGE
    from kro_gitops.cli.output import say
    from kro_gitops.telemetry.printable import printable

    program = f"kro-gitops {args.verb}"
    say(f"{program}: {printable(text)}\nTry '{program} --help'.")
    return WRONG_USAGE


async def find_source(session: Session, wanted: SourceName) -> "KubeObject":
    """Return a source, or say which there are."""
    from kro_gitops.errors import UserError
    from kro_gitops.source.api import GIT_SOURCE_KIND

    namespace = wanted.namespace or session.namespace
    resource = await session.reading.own_resource(GIT_SOURCE_KIND)
    found = await session.reading.find(resource, namespace, wanted.name)
    if found is None:
        raise UserError(
            "no-such-object",
            f"there is no source '{wanted.name}' in namespace '{namespace}'",
            hint=await _there_are(session),
        )
    return found


async def _there_are(session: Session) -> str:
    from kro_gitops.errors import KroGitopsError
    from kro_gitops.inspect.views.instances import in_order
    from kro_gitops.source.api import GIT_SOURCE_KIND
    from kube_objects.refs import ObjectRef

    try:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND))
    except KroGitopsError:
        return "`kro-gitops get sources` lists those of a namespace"  # not all may be listed
    names = ", ".join(ObjectRef.of(each).place for each in listed[:_SHOWN]) or "none"
    return f"there are: {names}{', …' if len(listed) > _SHOWN else ''}"


async def change(
    session: Session, source: "KubeObject", changes: Mapping[str, Any]
) -> "KubeObject":
    """Change some fields of a source, and return it as it is then."""
    from kro_gitops.cli.cluster_reading import refused
    from kro_gitops.kube.access_review import Permission
    from kro_gitops.kube.api import MergePatch, WriteOptions
    from kro_gitops.kube.responses import Forbidden
    from kube_objects.refs import ObjectRef

    ref = ObjectRef.of(source)
    try:
        return await session.cluster.patch(ref, MergePatch(changes), WriteOptions(MANAGER))
    except Forbidden as error:
        resource = await session.reading.own_resource(ref.kind)
        raise refused(error, Permission("patch", resource, ref.namespace)) from None


async def finish(
    session: Session, args: argparse.Namespace, source: "KubeObject", goal: "Goal"
) -> int:
    """Wait for what was asked for, if that is wanted."""
    if not args.wait:
        return 0
    from kro_gitops.cli.source_waiting import wait_for

    return await wait_for(session, args, source, goal)


def generation(source: "KubeObject") -> int:
    """Return which version of its spec a source has."""
    number = source["metadata"].get("generation")
    return number if type(number) is int else 0


def place(source: "KubeObject") -> str:
    """Return `namespace/name`, fit to be printed."""
    from kube_objects.refs import ObjectRef

    return ObjectRef.of(source).place
