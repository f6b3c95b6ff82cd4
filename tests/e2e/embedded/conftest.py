"""The program as a newcomer starts it: no cluster is named, and nothing of this machine is read."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.child_processes import descendants, look
from tests.command import EXAMPLES, PROGRAM, Outcome
from tests.git_repositories import Content, GitRepository

DEMO = EXAMPLES.parent / "demo"
PATHS = "repo,demo"


@dataclass(slots=True)
class User:
    """Somebody with a home of their own."""

    home: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Return what their programs see."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            **self.more,
        }

    @property
    def data(self) -> Path:
        """Return where their data are."""
        return self.home / ".local" / "share" / "kro-gitops"

    def does(self, *words: str | Path, **more: str) -> Outcome:
        """Start the program and wait for its end."""
        done = subprocess.run(
            [PROGRAM, *words],
            env={**self.environment, **more},
            cwd=self.home,
            capture_output=True,
            check=False,
            timeout=100,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass(slots=True)
class Run:
    """A `kro-gitops run` that goes on."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self, text: str, within: float = 60.0) -> str:
        """Return the line that has a text, as soon as it is there."""
        deadline = time.monotonic() + within
        while True:
            lines = self.log.read_text(encoding="utf-8").splitlines()
            if found := [line for line in lines if text in line]:
                return found[0]
            assert self.process.poll() is None, "\n".join(lines)
            assert time.monotonic() < deadline, "\n".join(lines)
            time.sleep(0.1)

    def api(self) -> int:
        """Return the process of the embedded API."""
        (found,) = [
            pid
            for pid in descendants(self.process.pid)
            if (seen := look(pid)) and "kube_sandbox" in seen.argv
        ]
        return found

    def ends(self, number: signal.Signals) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(30)


Start = Callable[..., Run]


@pytest.fixture
def user(tmp_path: Path) -> User:
    home = tmp_path / "home"
    home.mkdir()
    return User(home)


@pytest.fixture
def start_run(user: User, tmp_path: Path) -> Iterator[Start]:
    """Give a function that starts `run` and leaves it running."""
    started: list[Run] = []

    def start(*words: str | Path, environment: Mapping[str, str] | None = None) -> Run:
        log = tmp_path / f"run-{len(started)}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [PROGRAM, "run", *words],
                env={**user.environment, **(environment or {})},
                cwd=user.home,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        started.append(Run(process, log))
        return started[-1]

    yield start
    for run in started:
        run.process.kill()
        run.process.wait()


@pytest.fixture
def examples(tmp_path: Path) -> GitRepository:
    """Give the examples as a repository, and what the demo adds to them."""
    made = GitRepository.create(tmp_path / "examples.git")
    files: dict[str, Content] = {
        f"{folder.name}/{file.relative_to(folder)}": file.read_text(encoding="utf-8")
        for folder in (EXAMPLES, DEMO)
        for file in folder.rglob("*.yaml")
    }
    made.commit(files, "Begin")
    return made


def is_there(pid: int) -> bool:
    """Say whether a process runs."""
    return look(pid) is not None


def goes(pid: int, within: float = 10.0) -> bool:
    """Say whether a process ends in time."""
    deadline = time.monotonic() + within
    while is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_there(pid)
