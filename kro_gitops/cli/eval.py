"""`eval`: print the type and value of a CEL expression, or the error."""

import argparse
import sys
from typing import Any

from kro_gitops.cli.definitions import find_graph
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.inputs import build_options, deadline_in, load_documents
from kro_gitops.cli.messages import fail, say, wrong_usage
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.plan.evaluation import finite
from kro_gitops.engine.plan.resolve import without_omitted
from kro_gitops.preview.render import node_values
from kro_gitops.settings.option import OMIT_GATE
from kro_gitops.telemetry.printable import printable, printable_lines, to_json
from kube_cel.budget import Budget
from kube_cel.environment import Environment
from kube_cel.errors import ExpressionError, MissingVariable, UnknownValue
from kube_cel.interpolation import concatenation, scan
from kube_cel.parser import parse
from kube_cel.program import compile_text
from kube_cel.references import find_references
from kube_cel.types import DYN
from kube_cel.values import OMIT
from kube_objects.refs import ObjectRef


def run(args: argparse.Namespace) -> int:
    """Compile, evaluate, print."""
    if not args.rgd and (args.instance or args.name):
        return wrong_usage(args.verb, "--instance and --name need --rgd")
    data: dict[str, Any] = {}
    if args.data is not None:
        documents = load_documents(args.data)
        value = documents[0].value if documents else {}
        if not isinstance(value, dict):
            fail(f"{args.data}: expected a mapping from names to values")
        data = dict(value)
    environment = Environment.kro()
    if args.rgd:
        graph = find_graph(args, args.rgd, args.name)
        environment = graph.environment
        if args.instance is not None:
            data = {**_graph_data(graph, args.instance), **data}
    given = {name: DYN for name in data if name not in environment.variables}
    result = _result(args, environment.extend(types=given), data)
    if args.output == "json":
        sys.stdout.write(to_json(result))
    else:
        _print_text(result)
    return PROBLEMS if "error" in result else 0


def _result(
    args: argparse.Namespace, environment: Environment, data: dict[str, Any]
) -> dict[str, Any]:
    """Return type and value of the expression, or why there is no value."""
    result: dict[str, Any] = {"expression": args.expression}
    try:
        text = args.expression
        if "${" in text:  # as it is written in a definition
            template = scan(text)
            if template.is_standalone:
                text = template.expressions[0].text
            elif not template.is_literal:
                text = concatenation(template)
        result["expression"] = text
        references = find_references(parse(text), environment.variables, environment.functions)
        if references.uses_omit and not build_options(args).omit:
            raise ExpressionError(
                "feature-gate",
                f"omit() requires the {OMIT_GATE} feature gate to be enabled",
                hint=f"enable it with --feature {OMIT_GATE}, in the cluster too",
            )
        program = compile_text(text, environment)
        result["type"] = str(program.type)
        value = program.evaluate(data, Budget(deadline=deadline_in(args.timeout)))
        finite(value)
        if value is OMIT:
            result["omitted"] = True
        else:
            result["value"] = without_omitted(value)
    except UnknownValue as error:
        result["unknown"] = list(error.paths)
    except MissingVariable as error:
        result["missing"] = error.name
    except ExpressionError as error:
        result["error"] = error.message
        result["hint"] = error.hint
        result["pending"] = bool(getattr(error, "pending", False))
    return result


def _print_text(result: dict[str, Any]) -> None:
    if "type" in result:
        sys.stdout.write(f"type:  {result['type']}\n")
    if "value" in result:
        sys.stdout.write(f"value: {to_json(result['value'])}")
    if "omitted" in result:
        sys.stdout.write("value: (omitted)\n")
    if "unknown" in result:
        paths = printable(", ".join(result["unknown"]))
        sys.stdout.write(f"value: ⟨known after apply: {paths}⟩\n")
    if "missing" in result:
        say(f"no value: '{result['missing']}' is not known; give --instance or --data")
    if "error" in result:
        say(printable_lines(result["error"]))
        if result["hint"]:
            say(f"hint: {printable(result['hint'])}")
        if result["pending"]:
            say("data pending: kro waits until this exists")


def _graph_data(graph: Graph, file: str) -> dict[str, Any]:
    """Return the values of a definition's names for the instance in a file."""
    served = graph.served.kind
    found = [
        document.value
        for document in load_documents(file)
        if isinstance(document.value, dict) and ObjectRef.of(document.value).kind == served
    ]
    if not found:
        fail(f"no {served} in {file}")
    if len(found) > 1:
        first = printable(str(ObjectRef.of(found[0])))
        say(f"{file} has {len(found)} instances: using the first, {first}")
    return node_values(graph, found[0])
