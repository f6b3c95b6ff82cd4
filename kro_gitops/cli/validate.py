"""`validate`: check definitions and instances in files, without a cluster."""

import argparse
import sys

from kro_gitops.cli.child_options import rules_of
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.inputs import load
from kro_gitops.cli.messages import Style, counted, say, wrong_usage
from kro_gitops.cli.output import FORMATS
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.rejections import rejections
from kro_gitops.settings.settings import SettingsError


def run(args: argparse.Namespace) -> int:
    """Print every finding; the exit code is 1 if one of them is an error."""
    try:
        rules = rules_of(args)
    except SettingsError as error:
        return wrong_usage(args.verb, *error.problems)
    loaded = load(args.paths, args)
    bounds = Bounds(args.max_collection_size)
    loaded.repository.findings += rejections(loaded.repository, bounds, rules)
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
