"""
Outlives whoever started it: kills the processes it was told of and removes a directory.

    python -m tools.cluster.guard DIRECTORY    reads "+PID" and "-PID" lines until the pipe closes
"""

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path


def main() -> None:
    """Wait for the end of standard input, then clear up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running: set[int] = set()
    for line in sys.stdin:
        change = running.add if line.startswith("+") else running.discard
        change(int(line[1:]))
    for pid in running:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    remove(Path(sys.argv[1]))


def remove(directory: Path) -> None:
    """Remove a directory, though the killed may need a moment to stop writing to it."""
    for _ in range(50):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(0.1)


if __name__ == "__main__":
    main()
