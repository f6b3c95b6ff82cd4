"""
Confirmation of a change by the user: on a terminal by an answer, in scripts by `--yes`.
"""

import argparse
import signal
import sys

from kro_gitops.cli.exit_codes import NOT_CONFIRMED
from kro_gitops.cli.messages import say

_YES = ("y", "yes")


def confirm(args: argparse.Namespace, question: str) -> int:
    """
    Return 0 if the user agrees, else the exit code; then nothing must be changed.

    Without a terminal there is nobody to ask, and only --yes is an answer.
    """
    if args.yes:
        return 0
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"{question} Nothing was changed: there is no terminal to ask on; --yes confirms it")
        return NOT_CONFIRMED
    sys.stdout.flush()
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    # asyncio's own handler would let Ctrl-C wait for the answer.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        answer = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, former)
    if answer.strip().lower() in _YES:
        return 0
    say("nothing was changed")
    return NOT_CONFIRMED
