"""
Arguments of the verbs that ask a cluster, and the way to it: kubectl's rules.

Imports nothing heavy: `--help` reads this file.
"""

import argparse
import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from kro_gitops.cli.cluster_reading import Reading
    from kro_gitops.cli.output import Style
    from kro_gitops.errors import KroGitopsError
    from kro_gitops.kube.api import Cluster
    from kro_gitops.kube.credentials import Credentials

DEFAULT_NAMESPACE = "default"
ATTEMPTS = 2  # a person waits: better an answer that it does not work
TIMEOUT = 15.0  # seconds for one request


@dataclass(frozen=True, slots=True)
class Target:
    """What a verb is asked about: a kind, and one object of it or all."""

    kind: str
    name: str = ""


def target(text: str) -> Target:
    """Read `KIND/NAME`, or `KIND` alone."""
    kind, slash, name = text.partition("/")
    if not kind or (slash and not name) or "/" in name:
        raise argparse.ArgumentTypeError(f"'{text}' is not KIND/NAME, as in webapp/front")
    return Target(kind, name)


def full_target(text: str) -> Target:
    """Read `KIND/NAME`."""
    found = target(text)
    if not found.name:
        raise argparse.ArgumentTypeError(f"'{text}' is not KIND/NAME, as in webapp/front")
    return found


def add_cluster_options(parser: argparse.ArgumentParser, *, everywhere: bool = True) -> None:
    """Add the switches that say which cluster and where in it."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig to use")
    parser.add_argument("--context", metavar="NAME", help="the context in it to use")
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="the namespace (default: the context's)"
    )
    if everywhere:
        parser.add_argument("-A", "--all-namespaces", action="store_true", help="in all namespaces")
    parser.add_argument("--no-color", action="store_true", help="print without colours")


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    """Add the switch that says how to print."""
    parser.add_argument(
        "-o",
        "--output",
        choices=forms,
        default=forms[0],
        help="how to print it (default: %(default)s)",
    )


@dataclass(frozen=True, slots=True)
class Session:
    """A cluster to be read or written, and where in it to look."""

    reading: "Reading"
    cluster: "Cluster"
    namespace: str  # that of the command line, or of the context
    everywhere: bool = False

    @property
    def searched(self) -> str:
        """Return the namespace to list; empty for all."""
        return "" if self.everywhere else self.namespace

    @property
    def place(self) -> str:
        """Say where is looked."""
        return "this cluster" if self.everywhere else f"namespace '{self.namespace}'"


def run_on_cluster(args: argparse.Namespace, work: Callable[[Session], Awaitable[int]]) -> int:
    """Do something with a cluster; what goes wrong is said, with what to do about it."""
    from kro_gitops.cli.exits import PROBLEMS
    from kro_gitops.cli.output import say
    from kro_gitops.errors import KroGitopsError
    from kro_gitops.telemetry.printable import printable

    async def do() -> int:
        async with _connected(args) as session:
            code = await work(session)
            for note in session.reading.notes:
                say(f"note: {printable(note)}")
            return code

    try:
        return asyncio.run(do())
    except KroGitopsError as error:
        say(failure_text(error, style_of(args, sys.stderr)))
        return PROBLEMS


def failure_text(error: "KroGitopsError", style: "Style") -> str:
    """Say what is wrong as `validate` does, without a file to point at."""
    from kro_gitops.telemetry.printable import printable, printable_lines

    label = style.paint(f"error[{error.code}]", "1;31")
    text = f"{label}: {printable(error.message)}"
    if error.hint:
        text += f"\n  {style.paint('hint:', '34')} {printable_lines(error.hint)}"
    return text


def style_of(args: argparse.Namespace, stream: TextIO | None = None) -> "Style":
    """Return the colours to print with."""
    from kro_gitops.cli.output import Style

    # What is no terminal gets none.
    return Style(io.StringIO() if args.no_color else stream or sys.stdout)


@asynccontextmanager
async def _connected(args: argparse.Namespace) -> AsyncIterator[Session]:
    from kro_gitops import __version__
    from kro_gitops.cli.cluster_reading import Reading
    from kro_gitops.kube.client import Client
    from kro_gitops.kube.discovery import Discovery
    from kro_gitops.kube.ratelimit import ClientLimits
    from kro_gitops.kube.transport import Transport

    access = await _access(args)
    limits = ClientLimits(in_flight=16, timeout=TIMEOUT, attempts=ATTEMPTS)
    agent = f"kro-gitops/{__version__}"
    async with Transport(access, limits, user_agent=agent) as transport:
        discovery = Discovery(transport)
        client = Client(transport, discovery, access.identity)
        namespace = args.namespace or access.namespace or DEFAULT_NAMESPACE
        everywhere = getattr(args, "all_namespaces", False)
        yield Session(Reading(client, discovery), client, namespace, everywhere)


async def _access(args: argparse.Namespace) -> "Credentials":
    """Find the cluster as kubectl does: what is named, what the user has, the pod we run in."""
    from kro_gitops.kube.credentials import CredentialsError, from_kubeconfigs, in_cluster

    paths = kubeconfigs(args)
    if paths:
        return await from_kubeconfigs(paths, args.context)
    if "KUBERNETES_SERVICE_HOST" in os.environ and not args.context:
        return await in_cluster()
    raise CredentialsError(
        "no-kubeconfig",
        "there is no kubeconfig, so nobody knows which cluster is meant",
        hint="give --kubeconfig FILE, or set KUBECONFIG",
    )


def kubeconfigs(args: argparse.Namespace) -> list[Path]:
    """Return the kubeconfigs that are meant; none if we are to use a pod's account."""
    from kro_gitops.kube.credentials import kubeconfigs_of_user

    return [Path(args.kubeconfig)] if args.kubeconfig else kubeconfigs_of_user()
