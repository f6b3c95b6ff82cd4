"""
A control plane to play with: prints its kubeconfig and runs until Ctrl-C.

    python -m tools.cluster [--no-controllers]

With `KRO_GITOPS_CLUSTER=embedded` it is our own API server.
"""

import argparse
import signal
import sys

from tools.cluster.control_plane import leave_on_signals
from tools.cluster.parts import ToolError
from tools.cluster.targets import started_plane


def main() -> int:
    """Run a control plane until somebody has enough."""
    parser = argparse.ArgumentParser(prog="python -m tools.cluster", description=__doc__)
    parser.add_argument(
        "--no-controllers", action="store_true", help="leave out kube-controller-manager"
    )
    options = parser.parse_args()
    leave_on_signals()
    try:
        with started_plane(controllers=not options.no_controllers) as plane:
            print(plane.kubeconfig, flush=True)
            print(f"export KUBECONFIG={plane.kubeconfig}   (Ctrl-C ends it)", file=sys.stderr)
            signal.pause()
    except KeyboardInterrupt:
        return 0
    except ToolError as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
