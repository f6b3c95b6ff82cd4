"""
The lower part of a terminal that is drawn anew again and again, and the lines that scroll by above.

Log records are written through it: the picture is taken away, the record written, and the picture
put below. Records come from several threads, so there is a lock.
"""

import io
import re
import shutil
import threading
from collections.abc import Sequence
from typing import TextIO

from kro_gitops.telemetry.printable import columns

_PAINT = re.compile(r"(\x1b\[[0-9;]*m)")
_PLAIN = "\x1b[0m"
_LEAST_ROWS = 5


class Screen(io.TextIOBase):
    """A terminal with a picture at its lower end; writing to it writes above the picture."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._picture: Sequence[str] = ()
        self._drawn = 0  # rows that the picture takes
        self._lock = threading.RLock()

    def isatty(self) -> bool:
        """Say that it is a terminal."""
        return True

    @property
    def is_unicode(self) -> bool:
        """Say whether it can show more than ASCII."""
        return (self._terminal.encoding or "").lower().replace("-", "") == "utf8"

    def write(self, text: str) -> int:
        """Write lines above the picture."""
        with self._lock:
            self._terminal.write(self._erasure() + text)
            self._paint()
        return len(text)

    def flush(self) -> None:
        """Show what was written."""
        self._terminal.flush()

    def draw(self, lines: Sequence[str]) -> None:
        """Put another picture in place of the one that is there."""
        with self._lock:
            erasure = self._erasure()
            self._picture = lines
            self._terminal.write(erasure)
            self._paint()

    def _erasure(self) -> str:
        rows, self._drawn = self._drawn, 0
        return f"\r\x1b[{rows}A\x1b[J" if rows else ""

    def _paint(self) -> None:
        size = shutil.get_terminal_size()
        lines = fitted(self._picture, size.columns - 1, max(size.lines - 1, _LEAST_ROWS))
        self._terminal.write("".join(f"{line}\n" for line in lines))
        self._terminal.flush()
        self._drawn = len(lines)


def fitted(lines: Sequence[str], width: int, height: int) -> list[str]:
    """Cut lines to what a terminal can show at once, and say how much is left out."""
    kept = list(lines)
    if len(kept) > height:
        kept = [*kept[: height - 1], f"… and {len(kept) - height + 1} more lines"]
    return [cut(line, width) for line in kept]


def cut(line: str, width: int) -> str:
    """Cut a line, which may have colours, to a number of columns."""
    if columns(_PAINT.sub("", line)) <= width:
        return line
    made, left = "", width - 1
    for part in _PAINT.split(line):
        if _PAINT.fullmatch(part):
            made += part
            continue
        for character in part:
            left -= columns(character)
            if left < 0:
                return f"{made}…" + (_PLAIN if "\x1b" in made else "")
            made += character
    return made
