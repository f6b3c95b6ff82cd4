"""
Arguments that several verbs share. Imports nothing heavy: `--help` reads this file.
"""

import argparse
import time
from collections.abc import Callable

from kro_gitops.engine.options import DEFAULTS, Options
from kro_gitops.settings.gates import OMIT_GATE


def add_definition_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how one definition is named."""
    parser.add_argument(
        "definition", metavar="RGD", help="the file with the definition; '-' is standard input"
    )
    parser.add_argument("--name", help="which definition, if there are several")


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add the switches that change how definitions are compiled."""
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        choices=[OMIT_GATE],
        help="switch on a feature gate of kro, as in the cluster",
    )
    parser.add_argument(
        "--max-collection-size",
        type=_count,
        default=DEFAULTS.max_collection_size,
        metavar="N",
        help="the most objects one forEach may make (default: %(default)s)",
    )
    parser.add_argument(
        "--max-dimensions",
        type=_count,
        default=DEFAULTS.max_dimensions,
        metavar="N",
        help="the most dimensions one forEach may have (default: %(default)s)",
    )


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")


def build_options(args: argparse.Namespace) -> Options:
    """Read those switches back."""
    return Options(
        omit=OMIT_GATE in args.feature,
        max_dimensions=args.max_dimensions,
        max_collection_size=args.max_collection_size,
    )


def add_timeout(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the switch that bounds how long expressions may take."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help=f"how long {what} may take (default: %(default)s)",
    )


def deadline_in(seconds: float) -> Callable[[], bool]:
    """Return a question that is answered with yes once the time is up."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end
