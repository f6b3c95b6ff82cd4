"""
Problems of objects and their positions.

A `Spot` is a position inside an object: a field path and an offset in its text; code that only
computes with objects needs no more. An `Origin` is a position in a file at a revision. A `Problem`
is something wrong at a spot; together with an origin it is a `Finding`, which people and tools see.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A position in a file: lines and columns count from 1, columns in code points."""

    file: str
    line: int
    column: int
    revision: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place}@{self.revision[:12]}" if self.revision else place


@dataclass(frozen=True, slots=True)
class Spot:
    """
    A position inside an object.

    `start` and `end` are offsets (code points) in the string value at `path`; `end` is `None` when
    only a point is known. `on_key` means the key, not its value.
    """

    path: Path = ()
    start: int = 0
    end: int | None = None
    on_key: bool = False

    def below(self, prefix: Path) -> "Spot":
        """Return the same spot relative to an object that contains this one at `prefix`."""
        return replace(self, path=prefix + self.path)


WHOLE = Spot()


class Severity(StrEnum):
    """How severe a problem is: an error fails a run, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """
    One thing that is wrong with an object.

    `code` is stable and documented, `summary` is one sentence without prefixes, `hint` the remedy.
    `message` is the text for tools that match upstream phrases; it defaults to the summary.
    """

    code: str
    summary: str
    spot: Spot = WHOLE
    message: str = ""
    hint: str = ""
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        if not self.message:
            object.__setattr__(self, "message", self.summary)

    @property
    def full_text(self) -> str:
        """Return summary and hint in one line."""
        return f"{self.summary} ({self.hint})" if self.hint else self.summary

    def below(self, prefix: Path) -> "Problem":
        """Return the same problem relative to an object that contains this one at `prefix`."""
        return replace(self, spot=self.spot.below(prefix))

    def within(self, prefix: str) -> "Problem":
        """Return the same problem with a prefix before its `message`, as Go wraps errors."""
        return replace(self, message=prefix + self.message)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with its position in a file; `width` is how many characters to underline."""

    problem: Problem
    origin: Origin
    width: int = 1
    subject: str = ""  # the object it is about, as people name it: `WebApp shop/front`

    @property
    def order(self) -> tuple[Origin, str, str]:
        """Return a sort key: by file, then from top to bottom."""
        return (self.origin, self.problem.code, self.problem.summary)
