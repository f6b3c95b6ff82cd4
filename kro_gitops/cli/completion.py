"""`completion`: a script that completes verbs, options and their values in your shell."""

import argparse
import sys
from collections.abc import Iterator

import shtab

from kro_gitops.cli.verbs import VERBS, build_parser

_FILES = ("FILE", "PATH", "RGD")
_FOLDERS = ("DIR", "FOLDER")


def run(args: argparse.Namespace) -> int:
    """Print the script, which shtab makes from the parser itself."""
    parser = build_parser("*")
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab's own attribute
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(parser, args.shell).rstrip("\n") + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options of a parser and of all its verbs; argparse offers no public way."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for name in VERBS:
                yield from _actions(action.choices[name])
