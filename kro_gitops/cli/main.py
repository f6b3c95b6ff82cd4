"""
The parser and the verbs.

A verb's module is imported when the verb is called, and the libraries it needs when it runs, so
`--help` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from signal import SIGINT, SIGPIPE
from typing import Any, NoReturn

from kro_gitops import __version__
from kro_gitops.cli.exits import KILLED_BY, PROBLEMS, WRONG_USAGE

VERBS = {
    "validate": "check definitions and instances in files, without a cluster",
    "render": "show the children of each instance, without a cluster",
    "graph": "draw the dependency graph of a definition",
    "generate": "print a definition's CRD, a sample instance or a JSON Schema",
    "eval": "show the type and value of an expression",
    "run": "run the controllers, on an API of their own or a cluster",
    "snapshot": "save what the embedded API holds to a file, or put it back",
    "get": "list definitions, instances, revisions or sources in a cluster",
    "tree": "show an instance or a source of a cluster with everything it made",
    "explain": "say why an instance of a cluster is as it is, and what to do",
    "why": "say where an object or a field of it comes from: line, commit, who changed it",
    "sync": "have a source look at its repository now",
    "suspend": "leave a source alone until it is resumed",
    "resume": "let a suspended source go on",
    "history": "show what a source ran, and how that ended",
    "rollback": "pin a source to a commit that it ran before",
    "completion": "print a completion script for your shell",
}

_EXAMPLES = """\
examples:
  kro-gitops validate .
  kro-gitops render rgds/ instances/team-shop/ --instance shop/front

`kro-gitops VERB --help` says more about a verb.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser with our exit code and layout."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)
        self._is_reading = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Let options stand before an argument that may be missing, as in `why X -n shop FIELD`."""
        # Read in one go, that argument would count as missing as soon as an option comes.
        if self._is_reading or not any(
            each.nargs == "?" for each in self._get_positional_actions()
        ):
            return super().parse_known_args(args, namespace)
        self._is_reading = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_reading = False

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line and how to find help."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def build_parser(verb: str | None = None) -> Parser:
    """Make the parser; only the verb that is asked for gets its arguments."""
    parser = Parser(
        prog="kro-gitops",
        description="Reconcile kro ResourceGraphDefinitions and their instances from git.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"kro-gitops {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    for name, summary in VERBS.items():
        module = import_module(f"kro_gitops.cli.{name}") if verb in (name, "*") else None
        sub = verbs.add_parser(
            name,
            help=summary,
            description=module.__doc__ if module else None,
            epilog=module.EXAMPLES if module else None,
        )
        if module:
            module.configure(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    _prepare_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in arguments if word in VERBS), None)
    args = build_parser(verb).parse_args(arguments)
    try:
        code: int = import_module(f"kro_gitops.cli.{args.verb}").run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough. Not 0: it has not seen everything.
        _abandon_output()
        return KILLED_BY + SIGPIPE
    except OSError as error:
        # A full disk, a file that went away while it was read: nothing to trace.
        print(f"kro-gitops: {error}", file=sys.stderr)
        _abandon_output()
        return PROBLEMS
    except KeyboardInterrupt:
        return KILLED_BY + SIGINT
    return code


def _prepare_streams() -> None:
    """See to it that no character of a manifest can make printing fail."""
    if sys.stdout is None:  # closed by who called us, with `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # YAML and JSON are UTF-8 wherever they go; a terminal gets what it can show.
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _abandon_output() -> None:
    """Keep the interpreter from trying to write the rest when it ends."""
    with suppress(OSError):  # streams of tests have no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
