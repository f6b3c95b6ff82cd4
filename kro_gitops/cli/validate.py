"""Check definitions and instances in files or folders, without a cluster."""

import argparse
import sys

from kro_gitops.cli.options import add_build_options

EXAMPLES = """\
examples:
  kro-gitops validate .
  kro-gitops validate -o github rgds/ instances/
  cat webapp.yaml | kro-gitops validate -

exit codes: 0 nothing wrong, 1 problems found, 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `validate`."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="files or folders; '-' is standard input"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=["text", "json", "github", "sarif"],
        default="text",
        help="how to print what is wrong (default: %(default)s)",
    )
    parser.add_argument("--strict", action="store_true", help="let warnings fail the run, too")
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print every finding; 1 if one of them is an error."""
    from kro_gitops.cli.exits import PROBLEMS
    from kro_gitops.cli.loading import load
    from kro_gitops.cli.output import FORMATS, Style, counted, say
    from kro_gitops.engine.plan.evaluation import Bounds
    from kro_gitops.preview.rejections import rejections

    loaded = load(args.paths, args)
    loaded.repository.findings += rejections(loaded.repository, Bounds(args.max_collection_size))
    findings, errors = loaded.findings, loaded.errors
    sys.stdout.write(FORMATS[args.output](findings, loaded.sources(), Style(sys.stdout)))
    repository = loaded.repository
    warnings = len(findings) - len(errors)
    say(
        f"{counted(len(errors), 'error')}, {counted(warnings, 'warning')}: "
        f"{counted(len(repository.definitions), 'definition')} and "
        f"{counted(len(repository.instances), 'instance')} "
        f"in {counted(len(loaded.files.contents), 'file')}"
    )
    return PROBLEMS if errors or (args.strict and warnings) else 0
