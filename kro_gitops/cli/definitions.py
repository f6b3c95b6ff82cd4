"""
One definition, named on the command line by its file: what `graph`, `generate` and `eval` need.
"""

import argparse
import sys
from pathlib import Path

from kro_gitops.cli.loading import load, show_findings
from kro_gitops.cli.main import PROBLEMS
from kro_gitops.cli.output import say
from kro_gitops.engine.graph.nodes import Graph


def add_definition_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a definition is named."""
    parser.add_argument("definition", metavar="RGD", help="the file with the definition")
    parser.add_argument("--name", help="which definition, if the file has several")


def find_graph(args: argparse.Namespace, file: str, name: str | None = None) -> Graph:
    """
    Compile one definition, or exit saying what is wrong with it.

    Kinds that other files of its folder define are known, so a definition that uses another one,
    or a CRD beside it, compiles as it does with `validate`.
    """
    folder = str(Path(file).parent)
    loaded = load([folder, file] if file != "-" else ["-"], args)
    own = "<stdin>" if file == "-" else str(Path(file))
    found = [
        each
        for each in loaded.repository.definitions
        if Path(each.manifest.document.file) == Path(own) and name in (None, each.manifest.ref.name)
    ]
    errors = [finding for finding in loaded.errors if Path(finding.origin.file) == Path(own)]
    if not found:
        if errors:
            show_findings(loaded, errors)
        else:
            say(f"no ResourceGraphDefinition{f' named {name}' if name else ''} in {file}")
        sys.exit(PROBLEMS)
    if len(found) > 1:
        names = ", ".join(each.manifest.ref.name for each in found)
        say(f"{file} has several definitions ({names}): choose one with --name")
        sys.exit(PROBLEMS)
    graph = found[0].graph
    if graph is None:
        show_findings(loaded, errors or loaded.errors)
        sys.exit(PROBLEMS)
    return graph
