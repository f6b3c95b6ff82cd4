"""
The command line: `python -m kube_sandbox FOLDER`, or `kube-sandbox FOLDER`.

When the server is ready, one line on standard output names its kubeconfig. If it cannot serve, the
last line on standard error says why: `code: message`. With --guarded it ends when its standard
input does, so that none is left behind when the process that started it is killed. SIGUSR1
compacts the store: watches and lists from an older version get 410 Gone.
"""

import argparse
import asyncio
import errno
import gc
import resource
import signal
import sys
from pathlib import Path

import kube_sandbox
from kube_objects.errors import CodedError, InvalidError
from kube_sandbox.authentication.private_files import write_private
from kube_sandbox.controllers.workloads.simulated_outcomes import (
    OUTCOME_ANNOTATION,
    OUTCOMES,
    parse_outcomes,
)

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def main() -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    arguments = _parse_arguments()
    # Nearly everything that a start allocates stays allocated. To search it for garbage again and
    # again takes a fifth of the time, so the collector is off until the server is ready.
    gc.disable()
    # As many connections as the system allows, as programs in Go have them.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        asyncio.run(_serve(arguments))
    except CodedError as error:
        sys.stderr.write(f"{error.code}: {error.message}\n")
        return 1
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kube-sandbox", description=__doc__)
    parser.add_argument("folder", type=Path, help="directory for keys and the store")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--ephemeral", action="store_true", help="keep objects in memory only")
    parser.add_argument("--snapshot", type=Path, help="start with the objects of this file")
    parser.add_argument(
        "--no-controllers",
        action="store_true",
        help="run no controllers: no garbage collection, no namespace deletion, no workloads",
    )
    parser.add_argument(
        "--no-workloads",
        action="store_true",
        help="do not simulate workload controllers: Deployments get no Pods",
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
        help=f"what becomes of the Pods of an image: {', '.join(OUTCOMES)}",
    )
    parser.add_argument(
        "--outcome-annotation",
        default=OUTCOME_ANNOTATION,
        metavar="KEY",
        help="the annotation of a Pod that names its outcome (default: %(default)s)",
    )
    parser.add_argument(
        "--context",
        default="kube-sandbox",
        metavar="NAME",
        help="name of the context in the kubeconfig (default: %(default)s)",
    )
    parser.add_argument("--guarded", action="store_true", help="end when standard input does")
    parser.add_argument("--audit-log", type=Path, help="write a line for each request to this file")
    return parser.parse_args()


def _outcome(text: str) -> str:
    try:
        parse_outcomes([text])
    except ValueError:
        choices = ", ".join(OUTCOMES)
        problem = f"'{text}' is not IMAGE=OUTCOME, where OUTCOME is one of {choices}"
        raise argparse.ArgumentTypeError(problem) from None
    return text


async def _serve(arguments: argparse.Namespace) -> None:
    # The names of the package are imported when they are first read, which is here.
    workloads = kube_sandbox.WorkloadSettings(
        arguments.step,
        outcomes=parse_outcomes(arguments.outcome),
        outcome_annotation=arguments.outcome_annotation,
    )
    options = kube_sandbox.ServerOptions(
        arguments.folder,
        arguments.host,
        arguments.port,
        arguments.ephemeral,
        arguments.audit_log,
        collects=not arguments.no_controllers,
        workloads=None if arguments.no_workloads else workloads,
        snapshot=arguments.snapshot,
        context=arguments.context,
    )
    server = kube_sandbox.SandboxServer(options)
    kubeconfig = arguments.folder / "kubeconfig"
    try:
        await server.open()
        # Replaced as a whole: a reader gets the old one or the new one.
        write_private(kubeconfig, server.kubeconfig.encode())
    except OSError as error:
        raise _start_error(error, arguments) from error
    gc.freeze()  # what there is now stays; the collector need not look at it again
    gc.enable()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, server.store.compact, 0)
    if arguments.guarded:
        try:
            loop.add_reader(sys.stdin, ended.set)
        except PermissionError:
            ended.set()  # a file or /dev/null: no parent keeps it open
    # Last, because the reader may send a signal or close standard input at once.
    sys.stdout.write(f"{kubeconfig}\n")
    sys.stdout.flush()
    await ended.wait()
    await server.close()


def _start_error(error: OSError, arguments: argparse.Namespace) -> InvalidError:
    """Return the validation errors of the folder or the address."""
    why = error.strerror or str(error)
    place = arguments.folder if error.errno in _DISK_FULL else error.filename
    if place is not None:
        return InvalidError("folder-unusable", f"'{place}' cannot be used: {why}")
    if error.errno == errno.EADDRINUSE:
        why = "the address is already in use"
    text = f"cannot listen at {arguments.host} port {arguments.port}: {why}"
    return InvalidError("address-unavailable", text)
