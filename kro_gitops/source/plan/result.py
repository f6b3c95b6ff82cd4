"""
The result of one sync: what was done, what failed, what is waited for.

Results are values. Each part of a sync returns one, and the sum is what `status` reports.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.files.revision import Item, Snapshot
from kube_objects.paths import parse_api_server_path
from kube_objects.problems import Finding, Origin, Spot
from kube_objects.refs import ObjectRef


class Phase(StrEnum):
    """How far a revision is."""

    APPLYING = "Applying"
    WAITING = "Waiting"
    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    SUSPENDED = "Suspended"
    DELETING = "Deleting"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong, and its origin in git."""

    code: str
    message: str
    subject: str = ""
    origin: Origin | None = None
    is_lasting: bool = False  # a retry changes nothing until git changes
    is_rejection: bool = False  # of what is written in git; it may be described better

    @classmethod
    def of_finding(cls, finding: Finding) -> "Fault":
        """Return the fault of a manifest file."""
        problem = finding.problem
        return cls(
            problem.code, problem.full_text, finding.subject, finding.origin, is_lasting=True
        )

    @classmethod
    def of_item(
        cls, item: Item, ref: ObjectRef, error: KroGitopsError, *, field_: str = "", lasting: bool
    ) -> "Fault":
        """Return the fault of an object; `field_` is a field as the API server names it."""
        origin = item.origin(Spot(parse_api_server_path(field_)))
        return cls(error.code, error.full_text, str(ref), origin, lasting)

    @property
    def order(self) -> tuple[str, int, int, str, str, str]:
        """Return the sort key: by file, line and column."""
        at = self.origin or Origin("", 0, 0)
        return (at.file, at.line, at.column, self.subject, self.code, self.message)

    def to_json(self) -> dict[str, object]:
        """Return the fault as it is written to a status."""
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


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What one sync, or a part of it, did and found."""

    failures: tuple[Fault, ...] = ()
    rejections: tuple[Fault, ...] = ()  # of children of instances, with the place of their template
    warnings: tuple[Fault, ...] = ()
    foreign: tuple[str, ...] = ()  # objects that belong to other owners, with the owner
    conflicts: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()  # objects that are not ready yet
    degraded: tuple[str, ...] = ()
    braked: str = ""  # the limit that prevents pruning
    held: str = ""  # children of instances that a limit keeps, as their condition has it
    held_children: int = 0
    created: int = 0
    changed: int = 0
    pruned: int = 0
    pending: int = 0  # deletions that are not finished
    is_cut_short: bool = False  # objects wait for an earlier stage, or for a deletion
    ready: int = 0
    objects: int = 0
    definitions: int = 0
    instances: int = 0

    def __add__(self, other: "SyncResult") -> "SyncResult":
        """Return the sum of two parts."""
        return SyncResult.total((self, other))

    @classmethod
    def total(cls, parts: Iterable["SyncResult"]) -> "SyncResult":
        """Return the sum: faults and texts in the order of the parts, counts added, flags or-ed."""
        given = [part for part in parts if part is not NOTHING]
        total: dict[str, Any] = {}
        for each in fields(cls) if given else ():
            values = [getattr(part, each.name) for part in given]
            match values[0]:
                case tuple():
                    total[each.name] = tuple(chain.from_iterable(values))
                case bool():
                    total[each.name] = any(values)
                case str():
                    total[each.name] = "".join(values)
                case _:
                    total[each.name] = sum(values)
        return cls(**total)

    def in_order(self) -> "SyncResult":
        """
        Return the same with faults and texts sorted.

        Parts that run concurrently finish in any order; sorted, the same trouble is recognised as
        the same at the next attempt.
        """
        return replace(
            self,
            failures=tuple(sorted(self.failures, key=lambda fault: fault.order)),
            warnings=tuple(sorted(self.warnings, key=lambda fault: fault.order)),
            foreign=tuple(sorted(self.foreign)),
            conflicts=tuple(sorted(self.conflicts)),
        )

    @property
    def is_applied(self) -> bool:
        """Return True if every object of the revision was applied."""
        return not self.failures and not self.is_cut_short

    @property
    def is_retryable(self) -> bool:
        """Return True if some failure may disappear without a change in git."""
        return any(not fault.is_lasting for fault in self.failures)

    @property
    def is_unfinished(self) -> bool:
        """Return True if the same revision must be synced again."""
        return self.is_cut_short or bool(self.pending) or self.is_retryable


NOTHING = SyncResult()


def manifest_faults(snapshot: Snapshot) -> SyncResult:
    """Return the findings in the files of a revision."""
    errors = set(map(id, snapshot.errors))
    failures = (each for each in snapshot.findings if id(each) in errors)
    warnings = (each for each in snapshot.findings if id(each) not in errors)
    text = "not deleted, though it is no longer in git: a pin holds it"
    held = ((item.ref, snapshot.pinned[item][:12]) for item in snapshot.kept)
    kept = [Fault("kept", f"{text} at {commit}", str(ref)) for ref, commit in held]
    return SyncResult(
        failures=tuple(map(Fault.of_finding, failures)),
        warnings=(*map(Fault.of_finding, warnings), *sorted(kept, key=lambda each: each.order)),
    )
