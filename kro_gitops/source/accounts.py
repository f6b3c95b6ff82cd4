"""
One reconcile's account of itself: what was done, what went wrong, what it waits for.

Filled by the shell while it works, read by `status` when it reports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.snapshot import Item
from kube_objects.paths import parse_api_server_path
from kube_objects.problems import Finding, Origin, Spot
from kube_objects.refs import ObjectRef


class Phase(StrEnum):
    """How far a revision is."""

    FETCHING = "Fetching"
    VERIFYING = "Verifying"
    READING = "Reading"
    APPLYING = "Applying"
    WAITING = "Waiting"
    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    SUSPENDED = "Suspended"
    DELETING = "Deleting"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong, and where in git that is written."""

    code: str
    message: str
    subject: str = ""
    origin: Origin | None = None
    is_lasting: bool = False  # trying again changes nothing until git changes

    @classmethod
    def of_finding(cls, finding: Finding) -> "Fault":
        """Say what is wrong with a file."""
        problem = finding.problem
        return cls(
            problem.code, problem.full_text, finding.subject, finding.origin, is_lasting=True
        )

    @classmethod
    def of_item(
        cls, item: Item, ref: ObjectRef, error: KroGitopsError, *, field_: str = "", lasting: bool
    ) -> "Fault":
        """Say what is wrong with an object; `field_` is the API server's name of a field."""
        return cls(error.code, error.full_text, str(ref), origin_of(item, field_), lasting)

    @property
    def order(self) -> tuple[str, int, int, str, str, str]:
        """Sort faults as people read files: top to bottom."""
        at = self.origin or Origin("", 0, 0)
        return (at.file, at.line, at.column, self.subject, self.code, self.message)

    def to_json(self) -> dict[str, object]:
        """Write it as it stands in a status."""
        written: dict[str, object] = {"code": self.code, "message": self.message}
        if self.subject:
            written["object"] = self.subject
        if self.origin is not None:
            written |= {
                "file": self.origin.file,
                "line": self.origin.line,
                "column": self.origin.column,
            }
        return written


def origin_of(item: Item, field_: str = "") -> Origin:
    """Return where an object, or a field of it, is written."""
    return item.manifest.origin(Spot(parse_api_server_path(field_)))


@dataclass(slots=True)
class Account:
    """What one reconcile did and found."""

    failures: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # objects that belong to others, and to whom
    conflicts: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # what is not ready yet
    degraded: list[str] = field(default_factory=list)
    braked: str = ""
    created: int = 0
    changed: int = 0
    pruned: int = 0
    pending: int = 0  # deletions that are under way
    is_cut_short: bool = False  # something waits for its turn
    ready: int = 0
    objects: int = 0
    definitions: int = 0
    instances: int = 0

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """
        Sort what is noted inside: several work at once, and who is done first is chance.

        Without it the same trouble would look like another one at each attempt.
        """
        faults, texts = (self.failures, self.warnings), (self.foreign, self.conflicts)
        begun = [len(noted) for noted in (*faults, *texts)]
        try:
            yield
        finally:
            for noted, start in zip(faults, begun[:2], strict=True):
                noted[start:] = sorted(noted[start:], key=lambda each: each.order)
            for said, start in zip(texts, begun[2:], strict=True):
                said[start:] = sorted(said[start:])

    @property
    def is_applied(self) -> bool:
        """Say whether everything that git wants was applied."""
        return not self.failures and not self.is_cut_short

    @property
    def may_be_tried_again(self) -> bool:
        """Say whether some failure may go away by itself."""
        return any(not each.is_lasting for each in self.failures)
