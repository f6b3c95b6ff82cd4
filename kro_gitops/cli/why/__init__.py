"""`why`: trace an object or a field to its template, instance, line in git, commit, and drift."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.messages import say, style_of, wrong_usage
from kro_gitops.cli.tables import format_data
from kro_gitops.cli.why.fetch import CaseReader
from kro_gitops.cli.why.output import Printer
from kro_gitops.cli.why.texts import Texts, find_clone
from kro_gitops.errors import UserError
from kro_gitops.inspect.provenance.answer import Provenance
from kro_gitops.inspect.provenance.field_names import parse_field
from kro_gitops.inspect.provenance.object_report import (
    ObjectReport,
    report_object,
    report_with_commits,
    trace_field,
    with_commits,
)
from kro_gitops.telemetry.printable import printable


def run(args: argparse.Namespace) -> int:
    """Print the answer."""
    try:
        args.steps = parse_field(args.field) if args.field else ()
    except UserError as error:
        return wrong_usage(args.verb, f"{error.message}; {error.hint}")
    if args.repo is not None and not Path(args.repo).is_dir():
        return wrong_usage(args.verb, f"--repo: there is no folder '{args.repo}'")

    async def work(session: Session) -> int:
        folder = Path(args.repo) if args.repo is not None else find_clone(Path.cwd())
        with TemporaryDirectory(prefix="kro-gitops-why-") as scratch:
            texts = Texts(session, Path(scratch), folder, fetches=args.fetch)
            try:
                return await print_answer(session, args, texts)
            finally:
                texts.close()

    return run_on_cluster(args, work)


async def print_answer(session: Session, args: argparse.Namespace, texts: Texts) -> int:
    """Read what explains the object or field, and print the answer with its notes."""
    reader = CaseReader(session, texts)
    case = await reader.find(args.target, with_children=args.steps[:1] == ("status",))
    answer: Provenance | ObjectReport
    if args.steps:
        found = trace_field(case, args.steps)
        commits = await texts.commits(place for part in found.walk() for place in part.places)
        answer = with_commits(found, commits.get)
        places = [place for part in answer.walk() for place in part.places]
    else:
        report = report_object(case)
        commits = await texts.commits((each.place for each in report.written), of_lines=False)
        answer = report_with_commits(report, commits.get)
        places = [each.place for each in answer.written]
    if args.output != "text":
        sys.stdout.write(format_data(answer.to_json(), args.output))
    elif isinstance(answer, Provenance):
        sys.stdout.write(Printer(style_of(args), datetime.now(UTC)).field(answer))
    else:
        sys.stdout.write(Printer(style_of(args), datetime.now(UTC)).whole(answer))
    for note in (*reader.notes, *texts.notes):
        say(f"note: {printable(note)}")
    lacks_lines = any(each.written is not None and each.line is None for each in places)
    if lacks_lines and args.output == "text":
        say("note: for lines, run it in a clone of the repository, or give --repo PATH or --fetch")
    return 0
