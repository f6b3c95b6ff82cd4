"""
How a run is shown while it lasts: as a tree that changes, as lines, or not at all.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

from kro_gitops.cli.output import Style, say
from kro_gitops.cli.progress import Picture, State, changes, folded, forest, summary, troubled
from kro_gitops.cli.screen import Screen
from kro_gitops.cli.source_waiting import ASCII_FRAMES, FRAMES, TICK
from kro_gitops.cli.tables import ASCII, TREE_HEADER, UNICODE, format_table, strokes_for
from kro_gitops.inspect.views.instances import age
from kro_gitops.telemetry.printable import printable

_GREEN, _RED = "32", "31"
_ROWS = 3  # of the picture that are not the tree


class View(Protocol):
    """Whoever shows a run."""

    def show(self, picture: Picture) -> None:
        """Show how far it is."""

    def tell(self, text: str) -> None:
        """Say something that stays."""

    async def run(self) -> None:
        """Be at work until cancelled."""


class Nothing:
    """For logs that nobody sits in front of."""

    def show(self, picture: Picture) -> None:
        """Show nothing."""

    def tell(self, text: str) -> None:
        """Say it."""
        say(text)

    async def run(self) -> None:
        """Wait."""
        await asyncio.Event().wait()


class Lines(Nothing):
    """A line for each change."""

    def __init__(self) -> None:
        self._before = Picture()

    def show(self, picture: Picture) -> None:
        """Say what changed."""
        for line in changes(self._before, picture):
            say(printable(line))
        self._before = picture


class Live:
    """A tree at the lower end of a terminal, with a spinner, counts and a clock."""

    def __init__(self, screen: Screen, terminal: TextIO, rows: Callable[[], int]) -> None:
        self._screen = screen
        self._style = Style(terminal)
        self._rows = rows
        self._picture: Picture | None = None
        self._tree: tuple[str, ...] = ()
        self._begun = datetime.now(UTC)

    def show(self, picture: Picture) -> None:
        """Draw another tree."""
        if picture != self._picture or not self._tree:
            self._tree = self._drawn(picture)
        self._picture = picture

    def tell(self, text: str) -> None:
        """Write above the tree."""
        self._screen.write(f"{text}\n")

    async def run(self) -> None:
        """Turn the spinner; whatever ends it, nothing of the picture is left."""
        number = 0
        try:
            while True:
                self._screen.draw(self._lines(number))
                number += 1
                await asyncio.sleep(TICK)
        finally:
            self._screen.draw(())

    def _lines(self, number: int) -> list[str]:
        now = datetime.now(UTC)
        if self._picture is None:
            return [f"{self._mark(number)} starting"]
        head = f"{self._mark(number)} {summary(self._picture)} · {age(self._begun, now)}"
        return [head, *self._tree]

    def _mark(self, number: int) -> str:
        states = {each.state for each in self._picture.items} if self._picture else set()
        if self._picture is None or not states or State.WAITING in states:
            frames = FRAMES if self._screen.is_unicode else ASCII_FRAMES
            return frames[number % len(frames)]
        if State.FAILED in states:
            return self._style.paint("✗" if self._screen.is_unicode else "x", _RED)
        return self._style.paint("✓" if self._screen.is_unicode else "*", _GREEN)

    def _drawn(self, picture: Picture) -> tuple[str, ...]:
        strokes, now = UNICODE if self._screen.is_unicode else ASCII, datetime.now(UTC)
        lines, room = forest(picture, strokes, now), self._rows() - _ROWS
        if len(lines) > room:
            lines = forest(folded(picture), strokes, now)
        if len(lines) > room:
            lines = forest(troubled(picture), strokes, now)
        return tuple(format_table(TREE_HEADER, lines, self._style).splitlines()) if lines else ()


def printed(picture: Picture) -> str:
    """Print the whole tree, for good."""
    lines = forest(picture, strokes_for(sys.stdout.encoding), datetime.now(UTC))
    return format_table(TREE_HEADER, lines, Style(sys.stdout)) if lines else ""


async def shown_by(view: View, work: Coroutine[Any, Any, int]) -> int:
    """Wait for work while a view is at it."""
    viewing = asyncio.create_task(view.run())
    try:
        return await work
    finally:
        viewing.cancel()
        with suppress(asyncio.CancelledError):
            await viewing
