"""Print what a definition generates: its CRD, a sample instance, or a JSON Schema for editors."""

import argparse
import sys

from kro_gitops.cli.options import add_build_options, add_definition_arguments

EXAMPLES = """\
examples:
  kro-gitops generate crd rgds/webapp.yaml
  kro-gitops generate instance rgds/webapp.yaml > instances/front.yaml
  kro-gitops generate schema rgds/webapp.yaml > .schemas/webapp.json

An editor's YAML plugin uses the schema for files that start with
  # yaml-language-server: $schema=.schemas/webapp.json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `generate`."""
    parser.add_argument("what", choices=["crd", "instance", "schema"], help="what to print")
    add_definition_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=["yaml", "json"],
        help="the form of a CRD or an instance (default: yaml); a schema is always JSON",
    )
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the generated document."""
    from kro_gitops.cli.definitions import find_graph
    from kro_gitops.preview.generate import json_schema, sample_instance
    from kro_gitops.telemetry.printable import to_json
    from kube_objects.yaml_writer import to_yaml

    graph = find_graph(args, args.definition, args.name)
    if args.what == "schema":
        sys.stdout.write(to_json(json_schema(graph)))
        return 0
    comments: dict[tuple[str | int, ...], str] = {}
    document = graph.crd
    if args.what == "instance":
        document, comments = sample_instance(graph)
    if args.output == "json":
        sys.stdout.write(to_json(document))
    else:
        sys.stdout.write(to_yaml(document, comments))
    return 0
