"""
What can go wrong, and where.

The exception tree. The branch decides what follows, the leaf names the subject:

    KroGitopsError
    ├── UserError        the author must change something
    │   ├── ManifestError        a file that cannot be read as manifests
    │   ├── SchemaError          a schema or SimpleSchema text
    │   ├── ExpressionError      a CEL expression: syntax, types, evaluation
    │   ├── DefinitionError      a ResourceGraphDefinition; carries every problem found
    │   └── RefusedError         allowed by no rule of ours
    ├── NotYet           nothing is wrong, wait
    │   ├── DataPending          an expression reads what does not exist yet
    │   └── NotServed            a kind the API server does not know (yet)
    └── Unavailable      the world failed, try again
        └── ClusterUnavailable   no answer from the API server, or one that says: later

Beside it stand the three values every message is made of. A `Spot` is a place inside
an object (field path, offset in its text), known to the pure core, which has never heard
of files. An `Origin` is a place in a file at a revision. A `Problem` is what is wrong at a
spot; with an origin it becomes a `Finding`, which is what people and tools get to see.
"""

from collections.abc import Iterable
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


class KroGitopsError(Exception):
    """The root; every error has a stable code and says what to do where that is known."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def told(self) -> str:
        """Say it in a line, with what to do."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UserError(KroGitopsError):
    """The author must change something; trying again changes nothing."""


class ManifestError(UserError):
    """A file that cannot be read as manifests."""


class SchemaError(UserError):
    """A schema, or a SimpleSchema text, that means nothing. `spot` is relative to its root."""

    def __init__(self, code: str, message: str, *, spot: Spot = WHOLE, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
        self.spot = spot


class RefusedError(UserError):
    """Understood, but allowed by no rule."""


class ExpressionError(UserError):
    """A CEL expression that does not parse, check, build or evaluate."""


class DefinitionError(UserError):
    """A ResourceGraphDefinition that cannot be compiled, with every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.code, first.message, hint=first.hint)


class NotYet(KroGitopsError):  # noqa: N818 - a state to wait in, not an error of anybody
    """Nothing is wrong; wait."""


class DataPending(NotYet):
    """An expression reads what does not exist yet."""


class NotServed(NotYet):
    """A kind that the API server does not know, or not yet."""


class Unavailable(KroGitopsError):  # noqa: N818 - a state of the world, not an error of anybody
    """The world failed; try again."""


class ClusterUnavailable(Unavailable):
    """The API server gave no answer, or asked to come back later."""
