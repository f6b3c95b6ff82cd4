"""
The parser, the verbs and the exit codes.

A verb's module is imported when the verb is called, and the libraries it needs when it runs, so
`--help` answers at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from kro_gitops import __version__

PROBLEMS = 1
WRONG_USAGE = 64

VERBS = {
    "validate": "check definitions and instances in files, without a cluster",
    "render": "show the children of each instance, without a cluster",
    "graph": "draw the dependency graph of a definition",
    "generate": "print a definition's CRD, a sample instance or a JSON Schema",
    "eval": "show the type and value of an expression",
    "completion": "print a completion script for your shell",
}

_EXAMPLES = """\
examples:
  kro-gitops validate .
  kro-gitops render rgds/ instances/team-a/ --instance shop/front

`kro-gitops VERB --help` says more about a verb.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser that exits with 64, the code of sysexits.h for a wrong command line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)

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
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in arguments if word in VERBS), None)
    args = build_parser(verb).parse_args(arguments)
    try:
        code: int = import_module(f"kro_gitops.cli.{args.verb}").run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; keep the interpreter from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
