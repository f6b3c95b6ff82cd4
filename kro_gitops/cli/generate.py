"""`generate`: print the CRD of a definition, a sample, a JSON Schema or the role it needs."""

import argparse
import sys

from kro_gitops.cli.definitions import find_graph
from kro_gitops.preview.generate import controller_role, json_schema, sample_instance
from kro_gitops.telemetry.printable import to_json
from kube_objects.yaml_writer import to_yaml


def run(args: argparse.Namespace) -> int:
    """Print the generated document."""
    graph = find_graph(args, args.definition, args.name)
    if args.what == "schema":
        sys.stdout.write(to_json(json_schema(graph)))
        return 0
    comments: dict[tuple[str | int, ...], str] = {}
    document = graph.crd
    if args.what == "instance":
        document, comments = sample_instance(graph)
    if args.what == "role":
        document, comments = controller_role(graph)
    if args.output == "json":
        sys.stdout.write(to_json(document))
    else:
        sys.stdout.write(to_yaml(document, comments))
    return 0
