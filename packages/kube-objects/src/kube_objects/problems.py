"""
What is wrong with an object, and where.

Three values make up every message. A `Spot` is a place inside an object: a field path and an offset
in its text; code that only computes with objects needs no more. An `Origin` is a place in a file at
a revision. A `Problem` is what is wrong at a spot; with an origin it becomes a `Finding`, which is
what people and tools see.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A place in a file: lines and columns count from 1, columns in code points."""

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
    A place inside an object.

    `start` and `end` are offsets (code points) in the string value at `path`; `end` may be
    left out when only a point is known. `on_key` means the key, not its value.
    """

    path: Path = ()
    start: int = 0
    end: int | None = None
    on_key: bool = False

    def below(self, prefix: Path) -> "Spot":
        """Return the same spot, seen from an object that holds this one at `prefix`."""
        return replace(self, path=prefix + self.path)


WHOLE = Spot()


class Severity(StrEnum):
    """How bad: an error fails a run, a warning is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """
    One thing that is wrong with an object.

    `summary` states it in our words, without prefixes. `message` is the whole text as kro
    would report it, for tools that match kro's phrases; it equals the summary where kro has none.
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
    def told(self) -> str:
        """Say it in a line, with what to do."""
        return f"{self.summary} ({self.hint})" if self.hint else self.summary

    def below(self, prefix: Path) -> "Problem":
        """Return the same problem, seen from an object that holds this one at `prefix`."""
        return replace(self, spot=self.spot.below(prefix))

    def within(self, prefix: str) -> "Problem":
        """Return the same problem, its message wrapped as kro wraps errors on their way up."""
        return replace(self, message=prefix + self.message)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with its place in a file; `width` is how much to underline there."""

    problem: Problem
    origin: Origin
    width: int = 1
    subject: str = ""  # the object it is about, as people name it: `WebApp shop/front`

    @property
    def order(self) -> tuple[Origin, str, str]:
        """Sort findings as people read files: top to bottom."""
        return (self.origin, self.problem.code, self.problem.summary)
