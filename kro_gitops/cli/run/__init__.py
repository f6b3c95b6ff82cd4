"""
`run`: the controllers, on an embedded API or against a cluster.

The controllers take longest to import. This is done while the embedded API starts, which is a
process of its own, so it stands in no import at the top.
"""

import argparse
import os
from importlib import import_module

from kro_gitops.cli.arguments import given_options
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import say, wrong_usage
from kro_gitops.cli.run.embedded_api import embedded_api
from kro_gitops.errors import KroGitopsError
from kro_gitops.local.api_process import EmbeddedApi
from kro_gitops.local.repositories import check_repository
from kro_gitops.settings.settings import Settings, SettingsError, parse_settings

_SESSION = "kro_gitops.cli.run.session"


def run(args: argparse.Namespace) -> int:
    """Run until a signal stops it."""
    try:
        settings = parse_settings(given_options(args), os.environ)
    except SettingsError as error:
        return wrong_usage("run", *error.problems)
    try:
        if settings.repo:
            check_repository(settings.repo)
        if not settings.is_embedded:
            return _run_session(settings, None)
        with embedded_api(settings, lambda: import_module(_SESSION)) as api:
            return _run_session(settings, api)
    except KroGitopsError as error:
        say(f"kro-gitops run: {error.message}")
        if error.hint:
            say(f"  hint: {error.hint}")
        return PROBLEMS


def _run_session(settings: Settings, api: EmbeddedApi | None) -> int:
    code: int = import_module(_SESSION).run_session(settings, api)
    return code
