"""Say where an object or a field of it comes from: template, instance, line, commit, drift."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import (
    Session,
    add_cluster_options,
    add_output,
    full_target,
    run_on_cluster,
    style_of,
)

if TYPE_CHECKING:
    from kro_gitops.cli.why_pages import Pages
    from kro_gitops.inspect.provenance.answer import Provenance
    from kro_gitops.inspect.provenance.context import Case
    from kro_gitops.inspect.provenance.object_report import Whole

EXAMPLES = """\
examples:
  kro-gitops why deployment/front -n shop spec.replicas
  kro-gitops why configmap/front -n shop data.LOG_LEVEL
  kro-gitops why deployment/front -n shop 'spec.template.spec.containers[name=app].image'
  kro-gitops why service/front -n shop
  kro-gitops why webapp/front -n shop spec.replicas -o json

Lines and their commits are read from the git repository that the current folder is in, if it has
the commit; else from the one that --repo names, or with --fetch from the source's own URL.

exit codes: 0 answered, 1 not found or not to be read, 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `why`."""
    parser.add_argument("target", type=full_target, metavar="KIND/NAME", help="the object")
    parser.add_argument(
        "field",
        nargs="?",
        default="",
        metavar="FIELD",
        help="the field, spec.replicas say; without one, the object as a whole",
    )
    parser.add_argument(
        "--repo",
        metavar="PATH",
        help="a clone to read lines from (default: the one that the current folder is in)",
    )
    parser.add_argument(
        "--fetch", action="store_true", help="fetch what is missing from the source's own URL"
    )
    add_output(parser, "text", "json", "yaml")
    add_cluster_options(parser, everywhere=False)


def run(args: argparse.Namespace) -> int:
    """Print the answer."""
    from kro_gitops.cli.source_options import wrong_usage
    from kro_gitops.errors import UserError
    from kro_gitops.inspect.provenance.field_names import parse_field

    try:
        args.steps = parse_field(args.field) if args.field else ()
    except UserError as error:
        return wrong_usage(args, f"{error.message}; {error.hint}")
    if args.repo is not None and not Path(args.repo).is_dir():
        return wrong_usage(args, f"--repo: there is no folder '{args.repo}'")
    return run_on_cluster(args, lambda session: _why(session, args))


async def _why(session: Session, args: argparse.Namespace) -> int:
    from tempfile import TemporaryDirectory

    from kro_gitops.cli.clones import find_clone
    from kro_gitops.cli.why_pages import Pages

    folder = Path(args.repo) if args.repo is not None else find_clone(Path.cwd())
    with TemporaryDirectory(prefix="kro-gitops-why-") as scratch:
        pages = Pages(session, Path(scratch), folder, fetches=args.fetch)
        try:
            return await _answer(session, args, pages)
        finally:
            pages.close()


async def _answer(session: Session, args: argparse.Namespace, pages: "Pages") -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.cli.why_reading import CaseReader
    from kro_gitops.inspect.provenance.object_report import (
        tell,
        trace_field,
        whole_with_commits,
        with_commits,
    )
    from kro_gitops.telemetry.printable import printable

    reader = CaseReader(session, pages)
    case: Case = await reader.find(args.target, with_children=args.steps[:1] == ("status",))
    answer: Provenance | Whole
    if args.steps:
        found = trace_field(case, args.steps)
        commits = await pages.commits(each for part in found.walk() for each in part.places)
        answer = with_commits(found, commits.get)
        lacks_lines = any(_lacks_line(each) for part in answer.walk() for each in part.places)
    else:
        told = tell(case)
        places = (each.place for each in told.written)
        commits = await pages.commits(places, of_lines=False)
        answer = whole_with_commits(told, commits.get)
        lacks_lines = any(_lacks_line(each.place) for each in answer.written)
    sys.stdout.write(_printed(answer, args))
    for note in (*reader.notes, *pages.notes):
        say(f"note: {printable(note)}")
    if lacks_lines and args.output == "text":
        say("note: for lines, run it in a clone of the repository, or give --repo PATH or --fetch")
    return 0


def _lacks_line(place: object) -> bool:
    from kro_gitops.inspect.provenance.git_location import Place

    return isinstance(place, Place) and place.written is not None and place.line is None


def _printed(answer: "Provenance | Whole", args: argparse.Namespace) -> str:
    from datetime import UTC, datetime

    from kro_gitops.cli.why_text import Printer
    from kro_gitops.inspect.provenance.answer import Provenance
    from kro_gitops.telemetry.printable import to_json
    from kube_objects.yaml_writer import to_yaml

    if args.output != "text":
        data = answer.to_json()
        return to_json(data) if args.output == "json" else to_yaml(data)
    printer = Printer(style_of(args), datetime.now(UTC))
    return printer.field(answer) if isinstance(answer, Provenance) else printer.whole(answer)
