"""
The embedded API as a process of its own, so that controllers and API each have a core.

It ends with this process: it exits when its standard input is closed, and the kernel closes that
however this process ends. It is in a session of its own, so that a Ctrl-C reaches only this
process, and running reconciles can finish while there is still an API.
"""

import json
import logging
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.source.git.locks import own_folder

log = logging.getLogger(__name__)

_START_TIMEOUT = 30.0  # seconds until it must serve
_SHUTDOWN_TIMEOUT = 5.0  # seconds in which it must end
_STDERR_LINES = 20  # lines
# Of a Pod: what the sandbox simulates for it (docs/embedded.md).
OUTCOME_ANNOTATION = "embedded.gitops.kro.run/outcome"
# The codes of its errors, and what to do about each.
_REASONS: tuple[tuple[str, str], ...] = (
    (
        "store-in-use",
        "end the other `kro-gitops run`, or give this one a folder of its own with --data-dir "
        "FOLDER, or --ephemeral",
    ),
    (
        "store-unusable",
        "give another folder with --data-dir FOLDER, or put a snapshot in its place",
    ),
    (
        "store-not-empty",
        "leave out --snapshot to go on from it, try the snapshot with --ephemeral, or replace the "
        "store with `kro-gitops snapshot restore FILE --force`",
    ),
    (
        "snapshot-unusable",
        "give --snapshot a file that `kro-gitops snapshot save` of this version has made",
    ),
    (
        "folder-unusable",
        "give a folder that you may write with --data-dir FOLDER, or --ephemeral",
    ),
    (
        "address-unavailable",
        "give another --embedded-port (0: any that is free) or --embedded-host",
    ),
)


@dataclass(frozen=True, slots=True)
class Workloads:
    """How the sandbox simulates workload controllers; `outcomes` are by image."""

    step: float = 1.0  # seconds between two steps of a Pod
    outcomes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmbeddedApiOptions:
    """Options of the embedded API."""

    folder: Path | None  # None: the data is discarded
    host: str = "127.0.0.1"
    port: int = 0  # 0: any free port
    workloads: Workloads | None = field(default_factory=Workloads)  # None: not simulated
    snapshot: Path | None = None  # the initial objects


def default_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the data directory of a user, by the XDG specification."""
    named = Path(environment.get("XDG_DATA_HOME", ""))
    # The specification requires to ignore a relative path.
    base = named if named.is_absolute() else home / ".local" / "share"
    return base / "kro-gitops"


@contextmanager
def run_embedded_api(
    options: EmbeddedApiOptions, meanwhile: Callable[[], object]
) -> Iterator["EmbeddedApi"]:
    """
    Run an embedded API for as long as the block lasts; `meanwhile` is called while it starts.

    Raises `UserError` if the sandbox is not installed, as in the container image.
    """
    if find_spec("kube_sandbox") is None:
        raise UserError(
            "sandbox-not-installed",
            "the embedded API is not installed",
            hint="install 'kro-gitops[sandbox]', or name a cluster with --kubeconfig, --context or "
            "--in-cluster",
        )
    kept = options.folder
    with own_folder("kro-gitops-embedded-") if kept is None else nullcontext(kept) as folder:
        # `-P`: files in the current folder are not modules of ours.
        words = [sys.executable, "-P", "-m", "kube_sandbox", str(folder.absolute())]
        # In one word each, because a value may begin with a dash.
        words += ["--guarded", f"--host={options.host}", f"--port={options.port}"]
        words += ["--context=kro-gitops", f"--outcome-annotation={OUTCOME_ANNOTATION}"]
        words += [] if kept is not None else ["--ephemeral"]
        workloads = options.workloads
        if workloads is None:
            words.append("--no-workloads")
        else:
            outcomes = (f"{image}={outcome}" for image, outcome in workloads.outcomes.items())
            words += ["--step", str(workloads.step), *(f"--outcome={each}" for each in outcomes)]
        words += (
            ["--snapshot", str(options.snapshot.absolute())] if options.snapshot is not None else []
        )
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
            errors="replace",
        )
        api = EmbeddedApi(process)
        try:
            meanwhile()
            api.wait()
            yield api
        finally:
            api.stop()


class EmbeddedApi:
    """A running embedded API."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: deque[str] = deque(maxlen=_STDERR_LINES)
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=each, daemon=True)
            for each in (self._listen, self._collect_stderr)
        ]
        for reader in self._readers:
            reader.start()
        self.kubeconfig = Path()
        self.is_serving = False

    @property
    def url(self) -> str:
        """Return its URL."""
        content = json.loads(self.kubeconfig.read_text(encoding="utf-8"))
        return str(content["clusters"][0]["cluster"]["server"])

    def wait(self) -> None:
        """Wait until it serves, or raise why it does not."""
        try:
            answer = self._answers.get(timeout=_START_TIMEOUT).strip()
        except queue.Empty:
            answer = ""
        if not answer:
            raise self._failure("did not start")
        self.kubeconfig = Path(answer)
        self.is_serving = True

    def check(self) -> None:
        """Raise if it has ended."""
        if self._process.poll() is not None:
            raise self._failure("has ended")

    def stop(self) -> None:
        """End it."""
        process = self._process
        assert process.stdin is not None, "it was started with one"
        process.stdin.close()
        try:
            process.wait(_SHUTDOWN_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def _failure(self, what: str) -> KroGitopsError:
        """Return the error for an API that does not serve, with its last messages."""
        if self._process.poll() is not None:
            for reader in self._readers:
                reader.join(_SHUTDOWN_TIMEOUT)  # its last messages may still be in the pipe
        lines = [line for each in self._said if (line := each.rstrip())]
        for code, hint in _REASONS:
            if lines and lines[-1].startswith(f"{code}: "):
                why = lines[-1].removeprefix(f"{code}: ")
                return UserError(code, f"the embedded API {what}: {why}", hint=hint)
        ended = self._process.poll()
        how = f" (exit code {ended})" if ended is not None else f" within {_START_TIMEOUT:g} s"
        words = "".join(f"\n    {line}" for line in lines)
        hint = f"its last words:{words}" if lines else "it said nothing"
        return UserError("embedded-api-ended", f"the embedded API {what}{how}", hint=hint)

    def _listen(self) -> None:
        assert self._process.stdout is not None, "it was started with one"
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _collect_stderr(self) -> None:
        """Keep what the process writes for error messages, and log it once it serves."""
        assert self._process.stderr is not None, "it was started with one"
        for line in self._process.stderr:
            self._said.append(line)
            if self.is_serving and line.strip():
                log.warning("the embedded API says", extra={"line": line.rstrip()})
