"""
Show the type and value of an expression, or what is wrong with it.

With --rgd the names of that definition are declared and typed; with --instance the instance is
rendered first, so that expressions see the children as they would be.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kro_gitops.cli.options import add_build_options

if TYPE_CHECKING:
    from kro_gitops.cel.declarations import Environment
    from kro_gitops.engine.graph.nodes import Graph

EXAMPLES = """\
examples:
  kro-gitops eval "[1, 2, 3].map(x, x * 2)"
  kro-gitops eval 'schema.spec.name + "-svc"' --rgd rgds/webapp.yaml --instance front.yaml
  kro-gitops eval 'cm.data.size()' --data data.yaml

--data is a mapping from names to values:
  cm:
    data: {a: "1"}
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `eval`."""
    parser.add_argument("expression", metavar="EXPRESSION", help="CEL, with or without ${…}")
    parser.add_argument("--rgd", metavar="FILE", help="a definition whose names to declare")
    parser.add_argument("--name", help="which definition, if the file has several")
    parser.add_argument("--instance", metavar="FILE", help="an instance of that definition")
    parser.add_argument("--data", metavar="FILE", help="values for names, as YAML or JSON")
    parser.add_argument(
        "-o",
        "--output",
        choices=["text", "json"],
        default="text",
        help="how to print the result (default: %(default)s)",
    )
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compile, evaluate, print."""
    from kro_gitops.cel.declarations import Environment
    from kro_gitops.cel.types import DYN
    from kro_gitops.cli.definitions import find_graph

    data = _data(args.data)
    environment = Environment.kro()
    graph = None
    if args.rgd:
        graph = find_graph(args, args.rgd, args.name)
        environment = graph.environment
        data = {**_graph_data(graph, args), **data}
    unknown = {name: DYN for name in data if name not in environment.variables}
    return _report(args, _text(args.expression), environment.extend(types=unknown), data)


def _report(
    args: argparse.Namespace, text: str, environment: "Environment", data: dict[str, Any]
) -> int:
    from kro_gitops.cel.engine import compile_text
    from kro_gitops.cli.main import PROBLEMS
    from kro_gitops.errors import ExpressionError

    result: dict[str, Any] = {"expression": text}
    try:
        program = compile_text(text, environment)
        result["type"] = str(program.type)
        result["value"] = program.evaluate(data)
    except ExpressionError as error:
        result["error"] = error.message
        result["pending"] = bool(getattr(error, "pending", False))
    _print(result, args.output)
    return PROBLEMS if "error" in result else 0


def _print(result: dict[str, Any], form: str) -> None:
    from kro_gitops.cli.output import say

    if form == "json":
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        return
    if "type" in result:
        sys.stdout.write(f"type:  {result['type']}\n")
    if "value" in result:
        sys.stdout.write(f"value: {json.dumps(result['value'], indent=2, ensure_ascii=False)}\n")
    if "error" in result:
        say(result["error"])
        if result["pending"]:
            say("data pending: kro waits until this exists")


def _text(expression: str) -> str:
    """Accept an expression as it stands in a definition, too."""
    from kro_gitops.cel.scanner import concatenation, scan

    if "${" not in expression:
        return expression
    template = scan(expression)
    if template.is_standalone:
        return template.expressions[0].text
    return expression if template.is_literal else concatenation(template)


def _data(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    value = _document(name)
    if not isinstance(value, dict):
        _refuse(f"{name}: expected a mapping from names to values")
    return dict(value)


def _document(name: str) -> Any:
    from kro_gitops.objects.documents import load

    try:
        found = load(Path(name).read_bytes(), name)
    except OSError as error:
        _refuse(f"{name}: {error.strerror}")
    if found.findings:
        finding = found.findings[0]
        _refuse(f"{finding.origin}: {finding.problem.summary}")
    return found.documents[0].value if found.documents else {}


def _graph_data(graph: "Graph", args: argparse.Namespace) -> dict[str, Any]:
    from kro_gitops.preview.render import node_values

    if not args.instance:
        return {}
    return node_values(graph, _document(args.instance))


def _refuse(text: str) -> NoReturn:
    from kro_gitops.cli.main import PROBLEMS
    from kro_gitops.cli.output import say

    say(text)
    sys.exit(PROBLEMS)
