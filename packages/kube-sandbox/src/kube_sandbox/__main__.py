"""Run the sandbox: `python -m kube_sandbox FOLDER`."""

import sys

from kube_sandbox.command import main

if __name__ == "__main__":
    sys.exit(main())
