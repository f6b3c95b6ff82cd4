"""
Show the type and value of an expression, or what is wrong with it.

With --rgd the names of that definition are declared and typed; with --instance the instance is
rendered first, so that expressions see the children as they would be.
"""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from kro_gitops.cli.options import add_build_options, add_timeout, deadline_in

if TYPE_CHECKING:
    from kro_gitops.engine.graph.nodes import Graph
    from kube_cel.environment import Environment

EXAMPLES = """\
examples:
  kro-gitops eval "[1, 2, 3].map(x, x * 2)"
  kro-gitops eval 'schema.spec.image.split(":")[1]' --rgd rgds/webapp.yaml --instance front.yaml
  kro-gitops eval 'cm.data.size()' --data data.yaml

--data is a mapping from names to values:
  cm:
    data: {a: "1"}

exit codes: 0 evaluated, 1 problems found, 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `eval`."""
    parser.add_argument("expression", metavar="EXPRESSION", help="CEL, with or without ${…}")
    parser.add_argument("--rgd", metavar="FILE", help="a definition whose names to declare")
    parser.add_argument("--name", help="which definition, if there are several")
    parser.add_argument("--instance", metavar="FILE", help="an instance of that definition")
    parser.add_argument("--data", metavar="FILE", help="values for names, as YAML or JSON")
    parser.add_argument(
        "-o",
        "--output",
        choices=["text", "json"],
        default="text",
        help="how to print the result (default: %(default)s)",
    )
    add_timeout(parser, "the evaluation")
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compile, evaluate, print."""
    from kro_gitops.cli.definitions import find_graph
    from kro_gitops.cli.exits import PROBLEMS, WRONG_USAGE
    from kro_gitops.cli.output import say
    from kube_cel.environment import Environment
    from kube_cel.types import DYN

    if not args.rgd and (args.instance or args.name):
        say("kro-gitops eval: --instance and --name need --rgd\nTry 'kro-gitops eval --help'.")
        return WRONG_USAGE
    data = _data(args.data)
    environment = Environment.kro()
    if args.rgd:
        graph = find_graph(args, args.rgd, args.name)
        environment = graph.environment
        data = {**_graph_data(graph, args.instance), **data}
    given = {name: DYN for name in data if name not in environment.variables}
    result = _result(args, environment.extend(types=given), data)
    if args.output == "json":
        _print_json(result)
    else:
        _print_text(result)
    return PROBLEMS if "error" in result else 0


def _result(
    args: argparse.Namespace, environment: "Environment", data: dict[str, Any]
) -> dict[str, Any]:
    """Return what is known of the expression: type and value, or why there is none."""
    from kube_cel.budget import Budget
    from kube_cel.errors import ExpressionError, MissingVariable, UnknownValue
    from kube_cel.program import compile_text

    result: dict[str, Any] = {"expression": args.expression}
    try:
        result["expression"] = _text(args.expression)
        _check_gates(result["expression"], args, environment)
        program = compile_text(result["expression"], environment)
        result["type"] = str(program.type)
        _set_value(result, program.evaluate(data, Budget(deadline=deadline_in(args.timeout))))
    except UnknownValue as error:
        result["unknown"] = list(error.paths)
    except MissingVariable as error:
        result["missing"] = error.name
    except ExpressionError as error:
        result["error"] = error.message
        result["hint"] = error.hint
        result["pending"] = bool(getattr(error, "pending", False))
    return result


def _check_gates(text: str, args: argparse.Namespace, environment: "Environment") -> None:
    from kro_gitops.cli.options import build_options
    from kro_gitops.settings.gates import OMIT_GATE
    from kube_cel.errors import ExpressionError
    from kube_cel.parser import parse
    from kube_cel.references import find_references

    references = find_references(parse(text), environment.variables, environment.functions)
    if references.uses_omit and not build_options(args).omit:
        raise ExpressionError(
            "feature-gate",
            f"omit() requires the {OMIT_GATE} feature gate to be enabled",
            hint=f"enable it with --feature {OMIT_GATE}, in the cluster too",
        )


def _set_value(result: dict[str, Any], value: Any) -> None:
    """Note a value as it would be written into an object."""
    from kro_gitops.engine.plan.evaluation import finite
    from kro_gitops.engine.plan.resolve import without_omitted
    from kube_cel.values import OMIT

    finite(value)
    if value is OMIT:
        result["omitted"] = True
    else:
        result["value"] = without_omitted(value)


def _print_json(result: dict[str, Any]) -> None:
    from kro_gitops.telemetry.printable import to_json

    sys.stdout.write(to_json(result))


def _print_text(result: dict[str, Any]) -> None:
    from kro_gitops.cli.output import say
    from kro_gitops.telemetry.printable import printable, printable_lines, to_json

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
        say(f"no value: nothing is known of '{result['missing']}'; give --instance or --data")
    if "error" in result:
        say(printable_lines(result["error"]))
        if result["hint"]:
            say(f"hint: {printable(result['hint'])}")
        if result["pending"]:
            say("data pending: kro waits until this exists")


def _text(expression: str) -> str:
    """Accept an expression as it stands in a definition, too."""
    from kube_cel.interpolation import concatenation, scan

    if "${" not in expression:
        return expression
    template = scan(expression)
    if template.is_standalone:
        return template.expressions[0].text
    return expression if template.is_literal else concatenation(template)


def _data(name: str | None) -> dict[str, Any]:
    from kro_gitops.cli.loading import load_documents
    from kro_gitops.cli.output import refuse

    if name is None:
        return {}
    documents = load_documents(name)
    value = documents[0].value if documents else {}
    if not isinstance(value, dict):
        refuse(f"{name}: expected a mapping from names to values")
    return dict(value)


def _graph_data(graph: "Graph", file: str | None) -> dict[str, Any]:
    """Return what the names of a definition stand for, if an instance says so."""
    from kro_gitops.cli.loading import load_documents
    from kro_gitops.cli.output import refuse, say
    from kro_gitops.preview.render import node_values
    from kro_gitops.telemetry.printable import printable
    from kube_objects.refs import ObjectRef

    if file is None:
        return {}
    served = graph.served.kind
    found = [
        document.value
        for document in load_documents(file)
        if isinstance(document.value, dict) and ObjectRef.of(document.value).kind == served
    ]
    if not found:
        refuse(f"no {served} in {file}")
    if len(found) > 1:
        first = printable(str(ObjectRef.of(found[0])))
        say(f"{file} has {len(found)} instances: this is about the first, {first}")
    return node_values(graph, found[0])
