"""The flags of the controller that decide how children are applied, for verbs without a cluster."""

import argparse
import os

from kro_gitops.cli.arguments import STAMP_OPTIONS, given_options
from kro_gitops.engine.child_rules import child_rules
from kro_gitops.engine.plan.children import Rules
from kro_gitops.settings.settings import parse_settings


def rules_of(args: argparse.Namespace) -> Rules:
    """Return the rules for children by flags and environment; raise `SettingsError`."""
    variables = {name for option in STAMP_OPTIONS for name in option.variables}
    environment = {name: text for name, text in os.environ.items() if name in variables}
    given = given_options(args)
    flags = {each.flag: given[each.flag] for each in STAMP_OPTIONS if each.flag in given}
    return child_rules(parse_settings(flags, environment))
