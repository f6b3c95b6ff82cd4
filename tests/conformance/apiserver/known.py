"""Differences that are known and accepted: read from the table beside this file."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.apiserver.likeness import ABSENT, Difference
from tests.conformance.apiserver.steps import Step

TABLE = Path(__file__).with_name("known.toml")


@dataclass(frozen=True, slots=True)
class Known:
    """One of them."""

    name: str
    reason: str
    request: str = ""
    earlier: str = ""
    place: str = ""
    real: str = ""
    ours: str = ""
    ends: bool = False  # what follows in the sequence cannot be compared
    code: int = 0  # of the real answer; 0: any
    chance: bool = False  # it happens only sometimes, so that it may be met or not

    def explains(self, steps: Sequence[Step], found: Difference, code: int) -> bool:
        """Say whether a difference is this one; the last step is the one that was answered."""
        if self.code and self.code != code:
            return False
        if self.earlier and not any(re.search(self.earlier, _request(each)) for each in steps):
            return False
        pairs = (
            (self.request, _request(steps[-1])),
            (self.place, found.place),
            (self.real, _text(found.real)),
            (self.ours, _text(found.ours)),
        )
        return all(re.search(pattern, text) for pattern, text in pairs if pattern)


@dataclass(slots=True)
class Knowledge:
    """All of them, and how often each was met."""

    all: tuple[Known, ...]
    met: Counter[str] = field(default_factory=Counter)

    def explain(self, steps: Sequence[Step], found: Difference, code: int) -> Known | None:
        """Return what explains a difference in the answer to the last of some steps."""
        known = next((each for each in self.all if each.explains(steps, found, code)), None)
        if known is not None:
            self.met[known.name] += 1
        return known


def read_known() -> Knowledge:
    """Read the table."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return Knowledge(tuple(Known(**each) for each in table["known"]))


def _request(step: Step) -> str:
    return f"{step.method} {step.path} {json.dumps(step.query)} {json.dumps(step.body)}"


def _text(value: object) -> str:
    if value is ABSENT:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
