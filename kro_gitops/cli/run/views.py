"""
Views of a run while it lasts: a tree that is updated in place, a line for each change, or nothing.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Protocol, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from kro_gitops.cli.messages import say
from kro_gitops.cli.run.progress import ClusterState, State, changes, compact_rows, summary
from kro_gitops.cli.tables import TREE_HEADER, Row, flatten, guides_for
from kro_gitops.cli.terminal_tables import console_for, live_table
from kro_gitops.inspect.views.instances import age
from kro_gitops.telemetry.printable import printable, printable_lines

_REFRESHES = 4  # per second
_OTHER_LINES = 3  # of the view that are not rows: counts, header, and the cursor's


class View(Protocol):
    """Shows a run."""

    def show(self, state: ClusterState) -> None:
        """Show the state of the cluster."""

    def tell(self, text: str) -> None:
        """Print a message that stays."""

    def running(self) -> AbstractContextManager[object]:
        """Return a context manager for the time that the view is shown."""


class NoView:
    """Shows nothing, where there is only a log."""

    def show(self, state: ClusterState) -> None:
        """Show nothing."""

    def tell(self, text: str) -> None:
        """Print a message."""
        say(text)

    def running(self) -> AbstractContextManager[object]:
        """Return a context manager that does nothing."""
        return nullcontext()


class Lines(NoView):
    """A line for each change."""

    def __init__(self) -> None:
        self._before = ClusterState()

    def show(self, state: ClusterState) -> None:
        """Print what changed."""
        for line in changes(self._before, state, is_short=sys.stderr.isatty()):
            say(printable(line))
        self._before = state


class LiveView:
    """
    Counts and a tree at the lower end of a terminal, updated in place.

    rich rewrites the lines one by one and never erases the whole screen, which tmux would copy to
    its history each time. Log records are printed above the view and scroll by.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._console = console_for(terminal)
        self.log = cast("TextIO", _LogStream(self._console))
        self._state: ClusterState | None = None
        self._drawn: tuple[int, RenderableType] = (-1, Text())  # the second it was drawn, the view
        self._begun = datetime.now(UTC)
        self._is_unicode = guides_for(self._console.encoding).fork.startswith("├")
        self._spinner = Spinner("dots" if self._is_unicode else "line")

    def show(self, state: ClusterState) -> None:
        """Show the state of the cluster from now on."""
        self._state = state
        self._drawn = (-1, Text())

    def tell(self, text: str) -> None:
        """Print a message above the view."""
        self._console.print(Text(printable_lines(text)), soft_wrap=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Show the view for a while; nothing of it is left afterwards."""
        live = Live(
            get_renderable=self._view,
            console=self._console,
            transient=True,
            refresh_per_second=_REFRESHES,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        with live:
            yield

    def _view(self) -> RenderableType:
        """Return head and tree; the tree is drawn once a second, when ages change."""
        # LINES and COLUMNS of the environment, which rich believes, may be out of date.
        with suppress(OSError):
            self._console.size = os.get_terminal_size(self._terminal.fileno())
        now, state = datetime.now(UTC), self._state
        if state is None:
            self._spinner.update(text="starting")
            return self._spinner
        second = int(now.timestamp())
        if self._drawn[0] != second:
            # As many rows as fit: all, or only those with trouble, or the first of these.
            guides, room = guides_for(self._console.encoding), self._console.height - _OTHER_LINES
            lines = flatten(compact_rows(state, now), guides)
            if len(lines) > room:
                lines = flatten(compact_rows(state, now, only_trouble=True), guides)
            if len(lines) > room:
                left = len(lines) - room + 1
                lines = [*lines[: room - 1], Row((f"… and {left} more", "", "", ""), is_dim=True)]
            width = self._console.width - 1
            self._drawn = (second, live_table(TREE_HEADER, lines, width) if lines else Text())
        head = Text(
            f"{summary(state)} · {age(self._begun, now)}", no_wrap=True, overflow="ellipsis"
        )
        states = {item.state for item in state.items}
        if not states or State.WAITING in states:
            self._spinner.update(text=head)
            return Group(self._spinner, self._drawn[1])
        good, bad = ("✓", "✗") if self._is_unicode else ("*", "x")
        mark = Text(bad, "red") if State.FAILED in states else Text(good, "green")
        return Group(
            Text.assemble(mark, " ", head, no_wrap=True, overflow="ellipsis"), self._drawn[1]
        )


class _LogStream(io.TextIOBase):
    """A stream for log records that prints them above the live view."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def isatty(self) -> bool:
        """Return True: records may have colours."""
        return True

    def write(self, text: str) -> int:
        """Print records, which may have colours."""
        if text.rstrip("\n"):
            self._console.print(Text.from_ansi(text.rstrip("\n")), soft_wrap=True)
        return len(text)
