"""What sequences are about: kinds with objects and edits, from the tables beside this file."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind that is written and read."""

    api_version: str
    kind: str
    path: str  # of its collection
    bodies: tuple[Any, ...]
    edits: tuple[tuple[str, tuple[Any, ...]], ...]
    prefix: str = ""  # of names, where there are no namespaces to keep sequences apart
    is_custom: bool = False
    has_status: bool = False
    has_scale: bool = False

    @property
    def namespaced(self) -> bool:
        """Say whether its objects live in the namespace of the sequence."""
        return not self.prefix


@cache
def subjects() -> tuple[Subject, ...]:
    """Read all of them."""
    return tuple(_subject(each) for each in yaml.safe_load((_HERE / "bodies.yaml").read_text()))


@cache
def definition_subjects() -> tuple[Subject, ...]:
    """Read the kinds of sequences that are about definitions; the first are these themselves."""
    table = yaml.safe_load((_HERE / "definition_bodies.yaml").read_text())
    return tuple(_subject(each) for each in table)


@cache
def definitions() -> tuple[Any, ...]:
    """Return the definitions of the custom kinds among them."""
    return tuple(yaml.safe_load((_HERE / "definitions.yaml").read_text()))


def _subject(said: dict[str, Any]) -> Subject:
    api_version, kind = said["kind"].split()
    return Subject(
        said.get("apiVersion", api_version),
        kind,
        said["path"],
        tuple(said["bodies"]),
        tuple((path, tuple(values)) for path, values in said["edits"].items()),
        said.get("prefix", ""),
        said.get("custom", False),
        said.get("status", False),
        said.get("scale", False),
    )
