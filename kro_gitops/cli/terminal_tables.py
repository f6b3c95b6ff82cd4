"""
Tables on a terminal, drawn by rich.

Cells become `Text` objects, never markup: what an object of the cluster contains is printed as it
is, and has been made printable before.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kro_gitops.cli.messages import Style
from kro_gitops.cli.tables import GAP, Row, without_empty_columns

_STYLES = {
    **dict.fromkeys(("Healthy", "True", "Active", "ACTIVE"), "green"),
    **dict.fromkeys(("Progressing", "Unknown", "IN_PROGRESS", "DELETING"), "yellow"),
    **dict.fromkeys(("Degraded", "Failed", "False", "Inactive", "ERROR"), "red"),
    "Suspended": "blue",
}
_MESSAGE = "MESSAGE"  # the column that is wrapped or cut
_LEAST_MESSAGE = 20  # columns


def console_for(stream: TextIO) -> Console:
    """Return a console that writes to a terminal; with NO_COLOR it writes no escape codes."""
    return Console(
        file=stream,
        force_terminal=True,
        color_system="standard" if Style(stream).is_on else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def print_table(header: Sequence[str], lines: Sequence[Row]) -> None:
    """Print rows to standard output; messages are wrapped, everything else stays on one line."""
    console = console_for(sys.stdout)
    names, shown = without_empty_columns(header, lines)
    table = _table()
    for name in names:
        table.add_column(Text(name), no_wrap=name != _MESSAGE, overflow="fold")
    for row in shown:
        table.add_row(*_texts(row))
    # A name must not be cut: a table that does not fit is wider than the terminal.
    widths = _widths(names, shown)
    least = sum(
        min(width, _LEAST_MESSAGE) if name == _MESSAGE else width
        for name, width in zip(names, widths, strict=True)
    )
    console.width = max(console.width, least + GAP * len(names))
    console.print(table)


@contextmanager
def in_place(header: Sequence[str], lines: Callable[[], Sequence[Row]]) -> Iterator[None]:
    """Show rows on standard output for a while, drawn again every second; the last ones stay."""
    console = console_for(sys.stdout)

    def view() -> RenderableType:
        rows = lines()
        return live_table(header, rows, console.width - 1) if rows else Text()

    with Live(
        get_renderable=view,
        console=console,
        refresh_per_second=1,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


def live_table(header: Sequence[str], lines: Sequence[Row], width: int) -> Table:
    """Return a table that fits a width, each row on one line: long labels and messages are cut."""
    names, shown = without_empty_columns(header, lines)
    widths = _widths(names, shown)
    table = _table()
    room = width - sum(widths[1:]) - GAP * (len(names) - 1)
    if names[-1] == _MESSAGE:
        room += widths[-1]
        label = max(min(widths[0], room * 3 // 5), room - widths[-1])
        widths = [label, *widths[1:-1], room - label]
    else:
        widths = [room, *widths[1:]]
    for name, most in zip(names, widths, strict=True):
        table.add_column(Text(name), no_wrap=True, overflow="ellipsis", max_width=max(most, 1))
    for row in shown:
        table.add_row(*_texts(row))
    return table


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")


def _texts(row: Row) -> list[Text]:
    return [Text(cell, "dim" if row.is_dim else _STYLES.get(cell, "")) for cell in row.cells]


def _widths(names: Sequence[str], rows: Sequence[Row]) -> list[int]:
    table = [names, *(row.cells for row in rows)]
    return [max(map(cell_len, column)) for column in zip(*table, strict=True)]
