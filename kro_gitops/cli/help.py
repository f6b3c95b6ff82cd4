"""`help`: the help of a verb, or the list of verbs."""

import argparse

from kro_gitops.cli.verbs import build_parser


def run(args: argparse.Namespace) -> int:
    """Print the help."""
    parser = build_parser(args.topic)
    if args.topic:
        parser.parse_args([args.topic, "--help"])
    parser.print_help()
    return 0
