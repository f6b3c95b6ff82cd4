"""
A question about a field, and the answer to it.
"""

from dataclasses import dataclass
from typing import Any

from kro_gitops.inspect.provenance.answer import Drift, OriginKind, Provenance, shown
from kro_gitops.inspect.provenance.context import Case
from kro_gitops.inspect.provenance.drift import Applied, drift_of
from kro_gitops.inspect.provenance.field_managers import Writer, holders, writers
from kro_gitops.inspect.provenance.reads import scanned
from kube_objects.paths import MISSING, find
from kube_objects.problems import Path, Spot


@dataclass(frozen=True, slots=True)
class Question:
    """
    A field of an object; `hidden` if its value must not be shown.

    A field that the live object does not have has its path in the desired object: `elsewhere`.
    """

    case: Case
    path: Path
    depth: int = 0
    hidden: bool = False
    elsewhere: Any = None

    @property
    def value(self) -> Any:
        """Return the live value, or `MISSING`."""
        return MISSING if self.elsewhere is not None else find(self.case.object, self.path)

    @property
    def base(self) -> Any:
        """Return the object in which the path leads to the field."""
        return self.case.object if self.elsewhere is None else self.elsewhere

    @property
    def holders(self) -> tuple[Writer, ...]:
        """Return the managers that hold the field."""
        return holders(writers(self.case.object), self.path, self.base)


def answer(asked: Question, kind: OriginKind, text: str, **more: Any) -> Provenance:
    """Answer a question."""
    more.setdefault("writers", asked.holders)
    value = shown(asked.value, hidden=asked.hidden, salt=asked.case.salt)
    return Provenance(asked.case.ref, asked.path, kind, text, value, **more)


def drifts(asked: Question, applied: Applied) -> tuple[Drift, ...]:
    """Return the drift at or below a field that we applied."""
    return drift_of(asked.case, applied, hidden=asked.hidden)


def spot_of(where: Path, value: Any) -> Spot:
    """Point at the expressions inside a value, or at the whole value if there is none."""
    template = scanned(value)
    if template is None:
        return Spot(where)
    first, last = template.expressions[0], template.expressions[-1]
    return Spot(where, first.start - len("${"), last.start + len(last.text) + 1)
