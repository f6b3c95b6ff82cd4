"""What a real terminal keeps of a run: tmux is one, and can be asked."""

import re
import secrets
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.command import PROGRAM
from tests.e2e.embedded.conftest import PATHS, User
from tests.git_repositories import GitRepository

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

ROWS, COLUMNS = 12, 80  # fewer rows than the view has, so that it must leave some out
AGE = re.compile(r"^GitSource/repo .* (\d+m?\d*s)", re.MULTILINE)


class Tmux:
    """A tmux server of its own with one window."""

    def __init__(self) -> None:
        self._socket = f"kro-gitops-{secrets.token_hex(4)}"

    def start(self, command: str) -> None:
        """Run a command; the window stays when it has ended."""
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        self._do("-f", "/dev/null", "new-session", "-d", *size, f"{command}; echo ended; cat")

    def end(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False)

    def press(self, key: str) -> None:
        self._do("send-keys", key)

    @property
    def screen(self) -> str:
        """Return what is seen."""
        return self._do("capture-pane", "-p")

    @property
    def everything(self) -> str:
        """Return what is seen, and what has scrolled out of sight."""
        return self._do("capture-pane", "-p", "-S", "-")

    @property
    def history(self) -> int:
        """Return the number of lines that have scrolled out of sight."""
        return int(self._do("display-message", "-p", "#{history_size}"))

    def until(self, condition: Callable[[], bool], within: float = 90.0) -> None:
        deadline = time.monotonic() + within
        while not condition():
            assert time.monotonic() < deadline, self.everything
            time.sleep(0.2)

    def _do(self, *words: str) -> str:
        command = ["tmux", "-L", self._socket, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    made = Tmux()
    yield made
    made.end()


def test_the_live_view_stays_out_of_the_history(
    tmux: Tmux, user: User, examples: GitRepository
) -> None:
    environment = [f"{name}={value}" for name, value in user.environment.items()]
    words = ["run", "--ephemeral", "--repo", str(examples.path), "--path", PATHS]
    tmux.start(shlex.join(["env", "-u", "NO_COLOR", *environment, str(PROGRAM), *words]))
    tmux.until(lambda: "kro-gitops tree -A" in tmux.everything)
    tmux.until(lambda: "✓ 1 source · 5 definitions · 8 instances" in tmux.screen)
    before, age = tmux.history, AGE.search(tmux.screen)
    assert age
    # The view is drawn again and again, and ages tick.
    tmux.until(lambda: (found := AGE.search(tmux.screen)) is not None and found[1] != age[1])
    time.sleep(3)
    assert tmux.history == before
    assert tmux.everything.count("OBJECT ") == 1
    assert tmux.everything.count("ready: 1 source") == 1
    tmux.press("C-c")
    tmux.until(lambda: "ended" in tmux.screen)
    assert "OBJECT " not in tmux.everything
    assert "✓" not in tmux.everything


def test_the_result_of_once_is_whole(tmux: Tmux, user: User, examples: GitRepository) -> None:
    environment = [f"{name}={value}" for name, value in user.environment.items()]
    words = ["run", "--ephemeral", "--once", "--repo", str(examples.path), "--path", PATHS]
    tmux.start(shlex.join(["env", "-u", "NO_COLOR", *environment, str(PROGRAM), *words]))
    tmux.until(lambda: "ended" in tmux.screen)
    whole = tmux.everything
    assert whole.count("OBJECT ") == 1
    assert "WebApp/front in shop" in whole
    assert "ready after " in whole
