"""
A value that only the cluster will know.

Rendering without a cluster never guesses: where an expression reads what a controller, a webhook or
the API server fills in, the result is a placeholder that says what it waits for and which
type it will have. `render` shows it, a comparison of two renderings treats two equal ones
as equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from kube_objects.problems import Path
from kube_objects.refs import KubeObject

OPTIONAL = "optional_type({})"  # the type of what may not be there at all


@dataclass(frozen=True, slots=True)
class Placeholder:
    """What will stand here: `reads` are the paths it waits for, `type` its CEL type."""

    reads: tuple[str, ...]
    type: str

    def __str__(self) -> str:
        return f"⟨known after apply: {', '.join(self.reads)}⟩"


@dataclass(frozen=True, slots=True)
class PartText:
    """A string of which some pieces are known and some are placeholders."""

    pieces: tuple["str | Placeholder", ...]

    @property
    def type(self) -> str:
        """Return the CEL type: text it is in any case."""
        return "string"

    @property
    def reads(self) -> tuple[str, ...]:
        """Return everything its unknown pieces wait for."""
        found = (r for p in self.pieces if isinstance(p, Placeholder) for r in p.reads)
        return tuple(dict.fromkeys(found))

    def __str__(self) -> str:
        return "".join(str(piece) for piece in self.pieces)


Unknown = Placeholder | PartText


def is_unknown(value: object) -> TypeGuard[Unknown]:
    """Return whether a value is a placeholder, or a text with one."""
    return isinstance(value, _UNKNOWN)


_UNKNOWN = (Placeholder, PartText)


def has_unknown_identity(obj: KubeObject) -> bool:
    """Return whether the name or the namespace of an object is not known."""
    metadata = obj["metadata"]
    return is_unknown(metadata.get("name")) or is_unknown(metadata.get("namespace"))


def unknowns(value: Any, path: Path = ()) -> Iterator[tuple[Path, Unknown]]:
    """Walk the placeholders inside an object."""
    if isinstance(value, _UNKNOWN):
        yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from unknowns(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from unknowns(child, (*path, index))


def shown(value: Any) -> Any:
    """Return plain JSON: every placeholder as its text."""
    if isinstance(value, _UNKNOWN):
        return str(value)
    if isinstance(value, dict):
        return {key: shown(child) for key, child in value.items()}
    if isinstance(value, list):
        return [shown(child) for child in value]
    return value
