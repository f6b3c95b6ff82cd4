"""
Messages for the user, on standard error; results go to standard output.

What another person may have written (a file, an object of the cluster) is made printable before it
gets here: it must not be able to control the terminal.
"""

import argparse
import os
import sys
from typing import NoReturn, TextIO

from kro_gitops.cli.exit_codes import PROBLEMS, WRONG_USAGE
from kro_gitops.errors import KroGitopsError
from kro_gitops.telemetry.printable import printable, printable_lines


class Style:
    """Colours on a terminal; none elsewhere, with NO_COLOR or with --no-color."""

    def __init__(self, stream: TextIO | None, *, no_color: bool = False) -> None:
        is_terminal = stream is not None and stream.isatty()
        self.is_on = is_terminal and not no_color and "NO_COLOR" not in os.environ

    def paint(self, text: str, colour: str) -> str:
        """Wrap text in the codes of a colour; `colour` is an SGR parameter such as `31`."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self.is_on and text else text


def is_live(stream: TextIO, *, no_color: bool = False) -> bool:
    """Return whether a stream is a terminal that can be updated in place; lines are for others."""
    return Style(stream, no_color=no_color).is_on and os.environ.get("TERM") != "dumb"


def style_of(args: argparse.Namespace, stream: TextIO | None = None) -> Style:
    """Return the colours for a stream, by default standard output."""
    return Style(stream or sys.stdout, no_color=args.no_color)


def say(text: str) -> None:
    """Print a message for the user."""
    # Where both streams go to one log, the result comes first.
    sys.stdout.flush()
    print(text, file=sys.stderr)


def fail(text: str) -> NoReturn:
    """Print why there is no result, and exit."""
    say(text)
    sys.exit(PROBLEMS)


def wrong_usage(verb: str, *problems: str) -> int:
    """Print the mistakes of the command line, a line each, and return the exit code."""
    program = f"kro-gitops {verb}"
    for problem in problems:
        say(f"{program}: {printable(problem)}")
    say(f"Try '{program} --help'.")
    return WRONG_USAGE


def failure_text(error: KroGitopsError, style: Style) -> str:
    """Format an error as `validate` does, without a place in a file."""
    label = style.paint(f"error[{error.code}]", "1;31")
    text = f"{label}: {printable(error.message)}"
    if error.hint:
        text += f"\n  {style.paint('hint:', '34')} {printable_lines(error.hint)}"
    return text


def counted(number: int, word: str) -> str:
    """Format `1 error`, `2 errors`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
