"""`graph`: draw the dependency graph of a definition."""

import argparse
import sys

from kro_gitops.cli.definitions import find_graph
from kro_gitops.preview.graph_svg import as_svg
from kro_gitops.preview.graph_text import as_dot, as_mermaid, as_text
from kro_gitops.telemetry.printable import printable_lines

_FORMATS = {"text": as_text, "mermaid": as_mermaid, "dot": as_dot, "svg": as_svg}


def run(args: argparse.Namespace) -> int:
    """Print the drawing."""
    graph = find_graph(args, args.definition, args.name)
    sys.stdout.write(printable_lines(_FORMATS[args.output](graph)))
    return 0
