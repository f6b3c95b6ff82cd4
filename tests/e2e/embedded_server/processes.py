"""The embedded API server as a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

Served = tuple["subprocess.Popen[str]", Path]


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[Served]:
    """Run a server for as long as the block lasts; give it with its kubeconfig."""
    command = [sys.executable, "-m", "kube_sandbox", str(folder), "--guarded", *flags]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            yield process, Path(line.strip())
        finally:
            process.kill()
