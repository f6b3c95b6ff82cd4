"""
Run the controllers: on an API of their own, or against the cluster that is named.

Without --kubeconfig, --context or --in-cluster an embedded Kubernetes API is started, and what is
reconciled is there: no cluster is touched, and KUBECONFIG is not read. Every option is also read
from the environment: --log-level from KRO_GITOPS_LOG_LEVEL. A flag beats its variable. kro's flags
work as they are, with one dash, too.
"""

import argparse
import os

from kro_gitops.cli.flag_arguments import add_flag, given_flags
from kro_gitops.settings.flags import OPTIONS, Group

EXAMPLES = """\
examples:
  kro-gitops run --repo .
  kro-gitops run --repo . --path examples/repo --once --ephemeral
  kro-gitops run --kubeconfig ~/.kube/config --context kind-dev
  kro-gitops run --in-cluster --leader-elect --log-format json

exit codes: 0 all is ready (--once), or stopped by SIGTERM; 1 not ready, or could not start or go
on; 64 wrong command line; 130 stopped by Ctrl-C
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.usage = "%(prog)s [--repo PATH|URL] [--context NAME | --in-cluster] [OPTION …]"
    for group in Group:
        section = parser.add_argument_group(group.value)
        for option in OPTIONS:
            if option.group is group:
                add_flag(section, option)
    _accept_single_dashes(parser)


def run(args: argparse.Namespace) -> int:
    """Run until a signal says to stop."""
    from kro_gitops.cli.exits import PROBLEMS, WRONG_USAGE
    from kro_gitops.cli.output import say
    from kro_gitops.errors import KroGitopsError
    from kro_gitops.settings.settings import SettingsError, parse_settings

    try:
        settings = parse_settings(given_flags(args), os.environ)
    except SettingsError as error:
        for problem in error.problems:
            say(f"kro-gitops run: {problem}")
        say("Try 'kro-gitops run --help'.")
        return WRONG_USAGE

    from kro_gitops.cli.run_session import run_session

    try:
        return run_session(settings)
    except KroGitopsError as error:
        say(f"kro-gitops run: {error.message}")
        if error.hint:
            say(f"  hint: {error.hint}")
        return PROBLEMS


def _accept_single_dashes(parser: argparse.ArgumentParser) -> None:
    """Accept `-leader-elect`, as kro does, without a second line for each option in the help."""
    known = parser._option_string_actions
    known |= {name[1:]: action for name, action in known.items() if name.startswith("--")}
