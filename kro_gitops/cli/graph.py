"""Draw the dependency graph of a definition: what is applied before what, and why."""

import argparse
import sys

from kro_gitops.cli.options import add_build_options, add_definition_arguments

EXAMPLES = """\
examples:
  kro-gitops graph rgds/webapp.yaml
  kro-gitops graph rgds/webapp.yaml -o svg > webapp.svg
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `graph`."""
    add_definition_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=["text", "mermaid", "dot", "svg"],
        default="text",
        help="how to draw it (default: %(default)s)",
    )
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the drawing."""
    from kro_gitops.cli.definitions import find_graph
    from kro_gitops.preview.graph_svg import as_svg
    from kro_gitops.preview.graph_text import as_dot, as_mermaid, as_text
    from kro_gitops.telemetry.printable import printable_lines

    draw = {"text": as_text, "mermaid": as_mermaid, "dot": as_dot, "svg": as_svg}[args.output]
    graph = find_graph(args, args.definition, args.name)
    sys.stdout.write(printable_lines(draw(graph)))
    return 0
