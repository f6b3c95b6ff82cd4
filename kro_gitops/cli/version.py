"""`version`: the version of the program, and of kro it is compatible with."""

import argparse
import sys

from kro_gitops import __version__
from kro_gitops.settings.flags import OPTIONS
from kro_gitops.telemetry.printable import to_json


def run(args: argparse.Namespace) -> int:
    """Print the versions."""
    kro = next(option.default for option in OPTIONS if option.flag == "kro-version")
    if args.output == "json":
        sys.stdout.write(to_json({"version": __version__, "kroVersion": kro}))
    else:
        sys.stdout.write(f"kro-gitops {__version__}, compatible with kro {kro}\n")
    return 0
