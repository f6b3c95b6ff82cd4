"""
A sandbox as a child process, so that server and client each have a core.

The child ends when its standard input does, and the kernel closes that however the parent ends.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kube_objects.errors import InvalidError

_SHUTDOWN_TIMEOUT = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class SandboxProcess:
    """A sandbox that serves; `kubeconfig` is the path of an administrator's."""

    popen: "subprocess.Popen[str]"
    kubeconfig: Path


@contextmanager
def run_process(folder: Path, *flags: str) -> Iterator[SandboxProcess]:
    """
    Run `python -m kube_sandbox FOLDER` with more flags for as long as the block lasts.

    Returns when the server answers requests. Raises `InvalidError` if it does not start, with the
    code that the process has printed (`store-in-use`, `folder-unusable`, …) or `sandbox-ended`.
    """
    # -P: the folder this process was started in holds no modules of the sandbox.
    command = [sys.executable, "-P", "-m", "kube_sandbox", str(folder), "--guarded", *flags]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True) as process,
    ):
        assert process.stdin is not None, "it was started with one"
        assert process.stdout is not None, "it was started with one"
        kubeconfig = process.stdout.readline().strip()
        if not kubeconfig:
            process.wait()
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [""])[-1]
            code, colon, message = last.partition(": ")
            # A traceback ends with `ValueError: …`, argparse's usage with exit code 2.
            is_coded = bool(colon) and code.islower() and process.returncode == 1
            text = f"the sandbox did not start: {message if is_coded else last}"
            raise InvalidError(code if is_coded else "sandbox-ended", text)
        try:
            yield SandboxProcess(process, Path(kubeconfig))
        finally:
            process.stdin.close()
            try:
                process.wait(_SHUTDOWN_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
