"""
Serve a cluster until told to stop: `python -m kube_sandbox FOLDER`.

One line on standard output says when it is ready: the path of the kubeconfig. If it cannot serve,
the last line on standard error says why: `code: message`. Whoever started it holds its standard
input open; when that ends, so does the server, so that none is left behind.
SIGUSR1 has it forget the past, as it will sooner or later: whoever watches from there starts over.
"""

import argparse
import asyncio
import errno
import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kube_objects.errors import CodedError, InvalidError
from kube_sandbox.authentication.certificates import write_private
from kube_sandbox.controllers.workloads.simulated_outcomes import OUTCOMES, parse_outcomes

if TYPE_CHECKING:
    from kube_sandbox.server import EmbeddedCluster

_FULL = (errno.ENOSPC, errno.EDQUOT)


def main() -> int:
    """Serve until told to stop."""
    chosen = _parser().parse_args()
    # What a start makes stays for good; to look for garbage in it takes a fifth of the time.
    gc.disable()
    try:
        asyncio.run(_serve(chosen))
    except CodedError as error:
        sys.stderr.write(f"{error.code}: {error.message}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kube_sandbox", description=__doc__)
    parser.add_argument("folder", type=Path, help="where keys and the store are")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ephemeral", action="store_true", help="keep objects in memory only")
    parser.add_argument("--snapshot", type=Path, help="begin with what this file holds")
    parser.add_argument(
        "--no-controllers", action="store_true", help="collect no garbage, end no namespaces"
    )
    parser.add_argument(
        "--no-workloads", action="store_true", help="leave Deployments and their like as they are"
    )
    parser.add_argument(
        "--step", type=float, default=1.0, help="seconds that each step of a workload takes"
    )
    parser.add_argument(
        "--outcome",
        type=_outcome,
        action="append",
        default=[],
        metavar="IMAGE=OUTCOME",
        help=f"outcome of the Pods of an image: {', '.join(OUTCOMES)}",
    )
    parser.add_argument("--guarded", action="store_true", help="end when standard input does")
    parser.add_argument("--audit-log", type=Path, help="note there who asked for what")
    return parser


def _outcome(text: str) -> str:
    try:
        parse_outcomes([text])
    except ValueError:
        choices = ", ".join(OUTCOMES)
        problem = f"'{text}' is not IMAGE=OUTCOME, where OUTCOME is one of {choices}"
        raise argparse.ArgumentTypeError(problem) from None
    return text


def _cluster(chosen: argparse.Namespace) -> "EmbeddedCluster":
    # Hundreds of modules come with these, so they have to wait until nobody looks for garbage.
    from kube_sandbox.controllers.workloads.plan_steps import Settings  # noqa: PLC0415
    from kube_sandbox.server import EmbeddedCluster, ServerOptions  # noqa: PLC0415

    settings = Settings(chosen.step, outcomes=parse_outcomes(chosen.outcome))
    options = ServerOptions(
        chosen.folder,
        chosen.host,
        chosen.port,
        chosen.ephemeral,
        chosen.audit_log,
        collects=not chosen.no_controllers,
        workloads=None if chosen.no_workloads else settings,
        snapshot=chosen.snapshot,
    )
    return EmbeddedCluster(options)


@contextmanager
def _explained(chosen: argparse.Namespace) -> Iterator[None]:
    """Say of an address or a folder what is wrong with it."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        place = chosen.folder if error.errno in _FULL else error.filename
        if place is not None:
            text = f"'{place}' cannot be used: {why}"
            raise InvalidError("folder-unusable", text) from error
        if error.errno == errno.EADDRINUSE:
            why = "the address is already in use"
        text = f"cannot listen at {chosen.host} port {chosen.port}: {why}"
        raise InvalidError("address-unavailable", text) from error


async def _serve(chosen: argparse.Namespace) -> None:
    cluster = _cluster(chosen)
    path = chosen.folder / "kubeconfig"
    with _explained(chosen):
        await cluster.open()
        # Whoever reads it meanwhile has the old one or the new one, as a whole.
        write_private(path, cluster.kubeconfig.encode())
    # What was made so far need not be looked at ever again.
    gc.freeze()
    gc.enable()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, cluster.store.compact, 0)
    if chosen.guarded:
        loop.add_reader(sys.stdin, ended.set)
    # Only now: whoever reads it may end us at once.
    sys.stdout.write(f"{path}\n")
    sys.stdout.flush()
    await ended.wait()
    await cluster.close()


if __name__ == "__main__":
    sys.exit(main())
