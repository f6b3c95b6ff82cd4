"""
Runs the verb that was asked for: its module is imported when its arguments are known.

This is the one place that decides what is loaded, so each verb has its imports at the top.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from signal import SIGINT, SIGPIPE

from kro_gitops.cli.exit_codes import KILLED_BY, PROBLEMS
from kro_gitops.cli.verbs import build_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    # No character of a manifest may make printing fail.
    if sys.stdout is None:  # closed by the parent process, with `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # YAML and JSON are always UTF-8; a terminal gets its own encoding.
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in arguments if not word.startswith("-")), None)
    args = build_parser(verb).parse_args(arguments)
    try:
        code: int = import_module(f"kro_gitops.cli.{args.verb}").run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`head`, a pager) has closed the pipe. Not 0: not everything was written.
        _abandon_output()
        return KILLED_BY + SIGPIPE
    except OSError as error:
        # A full disk, a file that was removed while it was read: a traceback would not help.
        print(f"kro-gitops: {error}", file=sys.stderr)
        _abandon_output()
        return PROBLEMS
    except KeyboardInterrupt:
        return KILLED_BY + SIGINT
    return code


def _abandon_output() -> None:
    """Keep the interpreter from writing the rest at exit, which would fail again."""
    with suppress(OSError):  # streams of tests have no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
