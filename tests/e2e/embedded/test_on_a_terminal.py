"""What is seen on a terminal while a run lasts."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from tests.command import PROGRAM
from tests.e2e.embedded.conftest import PATHS, User
from tests.git_repositories import GitRepository

pytestmark = pytest.mark.timeout(240)

# rich goes back line by line, and erases each.
FRAME = re.compile(r"\r(?:\x1b\[2K)?(?:\x1b\[1A\x1b\[2K)+|\r\x1b\[2K")
PAINT = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
ROWS, COLUMNS = 24, 80


class Terminal:
    """A terminal with the program in it."""

    def __init__(self, user: User, *words: str, **environment: str) -> None:
        self._reader, writer = pty.openpty()
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [PROGRAM, "run", *words],
            stdin=writer,
            stdout=writer,
            stderr=writer,
            env={**user.environment, "TERM": "xterm", **environment},
            cwd=user.home,
        )
        os.close(writer)
        self.seen = ""

    def until(self, text: str, within: float = 90.0) -> None:
        """Read until a text was shown."""
        deadline = time.monotonic() + within
        while text not in self.seen and self._read():
            assert time.monotonic() < deadline, self.seen[-4000:]
        assert text in self.seen

    def end(self) -> str:
        """Read to the end."""
        while self._read():
            pass
        os.close(self._reader)
        self.process.wait(30)
        return self.seen

    def _read(self) -> bool:
        try:
            part = os.read(self._reader, 65536)
        except OSError:  # the terminal is gone with its last writer
            return False
        self.seen += part.decode(errors="replace")
        return bool(part)


def test_the_view_is_updated_in_place_and_fits_the_terminal(
    user: User, examples: GitRepository
) -> None:
    terminal = Terminal(user, "--ephemeral", "--repo", str(examples.path), "--path", PATHS)
    terminal.until("ready: 1 source · 5 definitions · 8 instances · 22 children")
    terminal.until("kubectl get databases -A")
    terminal.until("2 × WebApp in shop")
    terminal.process.send_signal(signal.SIGINT)
    seen = terminal.end()
    assert terminal.process.returncode == 130
    assert "Traceback" not in seen
    assert "\x1b[J" not in seen  # tmux would copy the screen to its history
    frames = [PAINT.sub("", each).replace("\r", "") for each in FRAME.split(seen)]
    views = [each for each in frames if "\nOBJECT " in each]
    assert any("instances · " in each and "GitSource/repo in default" in each for each in views)
    for view in views:
        lines = view[view.index("\nOBJECT ") + 1 :].splitlines()
        assert len(lines) < ROWS
        assert max(map(len, lines)) < COLUMNS
    # Nothing of the view is left.
    assert "OBJECT" not in frames[-1]


def test_once_leaves_the_whole_tree_and_how_it_ended(user: User, examples: GitRepository) -> None:
    words = ("--once", "--ephemeral", "--repo", str(examples.path), "--path", PATHS)
    terminal = Terminal(user, *words)
    seen = terminal.end()
    assert terminal.process.returncode == 0
    last = PAINT.sub("", FRAME.split(seen)[-1])
    assert "└── Workers/imports in data" in last
    assert "ready after " in last


def test_without_colours_there_are_lines_and_no_pictures(
    user: User, examples: GitRepository
) -> None:
    words = ("--once", "--ephemeral", "--repo", str(examples.path), "--path", PATHS)
    terminal = Terminal(user, *words, NO_COLOR="1")
    seen = terminal.end()
    assert terminal.process.returncode == 0
    assert "\x1b" not in seen
    assert "WebApp shop/front: ready" in seen.replace("\r", "").splitlines()
