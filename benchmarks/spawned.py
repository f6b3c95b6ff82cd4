"""
What a command costs: its CPU time and its peak memory.

The command is run by a small process of its own (this file as a program): a process inherits the
peak memory of the one that started it, and the benchmarks' own is large.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

# ru_maxrss counts kilobytes, but on macOS bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command used, and how it ended."""

    seconds: float
    peak_bytes: int
    exit_code: int


def usage_of(command: Sequence[str]) -> Usage:
    """Run a command, its output thrown away."""
    spawner = [sys.executable, "-m", "benchmarks.spawned", *command]
    done = subprocess.run(spawner, capture_output=True, text=True, check=True)
    return Usage(**json.loads(done.stdout))


def _spawn(command: Sequence[str]) -> Usage:
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * _UNIT, process.returncode)


if __name__ == "__main__":
    found = _spawn(sys.argv[1:])
    print(json.dumps({name: getattr(found, name) for name in Usage.__slots__}))
