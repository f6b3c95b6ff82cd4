"""`python -m kro_gitops`, and the console script."""

import sys

from kro_gitops.cli.main import main as run


def main() -> None:
    """Hand the exit code to the shell."""
    sys.exit(run())


if __name__ == "__main__":
    main()
