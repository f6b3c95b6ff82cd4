"""
The connection of a verb to a cluster, found by kubectl's rules.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from kro_gitops import __version__
from kro_gitops.cli.cluster_reading import Reading
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import failure_text, say, style_of
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster
from kro_gitops.kube.client import Client
from kro_gitops.kube.credentials import (
    CredentialsError,
    from_kubeconfigs,
    in_cluster,
    kubeconfigs_of_user,
)
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.kube.transport import Transport
from kro_gitops.telemetry.printable import printable

_DEFAULT_NAMESPACE = "default"
# A user waits: an error soon is better than a success late.
_LIMITS = ClientLimits(in_flight=16, timeout=15.0, attempts=2)


@dataclass(frozen=True, slots=True)
class Session:
    """A cluster to read or write, and the namespace that was asked for."""

    reading: Reading
    cluster: Cluster
    namespace: str  # of the command line, or of the context
    everywhere: bool = False

    @property
    def searched(self) -> str:
        """Return the namespace to list; empty for all."""
        return "" if self.everywhere else self.namespace

    @property
    def place(self) -> str:
        """Return the searched namespace as a phrase for messages."""
        return "this cluster" if self.everywhere else f"namespace '{self.namespace}'"


def run_on_cluster(args: argparse.Namespace, work: Callable[[Session], Awaitable[int]]) -> int:
    """
    Connect, do the work and return its exit code; print an error with its hint.

    The cluster is found as kubectl does: by the flags, the user's kubeconfig, or the pod.
    """

    async def connect_and_work() -> int:
        paths = kubeconfigs(args)
        if paths:
            access = await from_kubeconfigs(paths, args.context)
        elif "KUBERNETES_SERVICE_HOST" in os.environ and not args.context:
            access = await in_cluster()
        else:
            raise CredentialsError(
                "no-kubeconfig",
                "no cluster is configured: there is no kubeconfig",
                hint="give --kubeconfig FILE, or set KUBECONFIG",
            )
        agent = f"kro-gitops/{__version__}"
        async with Transport(access, _LIMITS, user_agent=agent) as transport:
            discovery = Discovery(transport)
            client = Client(transport, discovery, access.identity)
            namespace = args.namespace or access.namespace or _DEFAULT_NAMESPACE
            everywhere = getattr(args, "all_namespaces", False)
            session = Session(Reading(client, discovery), client, namespace, everywhere)
            code = await work(session)
            for note in session.reading.notes:
                say(f"note: {printable(note)}")
            return code

    try:
        return asyncio.run(connect_and_work())
    except KroGitopsError as error:
        say(failure_text(error, style_of(args, sys.stderr)))
        return PROBLEMS


def kubeconfigs(args: argparse.Namespace) -> list[Path]:
    """Return the kubeconfigs to use; empty means the service account of a pod."""
    return [Path(args.kubeconfig)] if args.kubeconfig else kubeconfigs_of_user()
