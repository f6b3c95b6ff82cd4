"""
The text in which an API server reports fields that do not fit the schema of their kind.

It answers with a plain text and code 500, as if it had failed:

    failed to create typed patch object (default/x; /v1, Kind=Service): errors:
      .spec.ports[port=80,protocol="TCP"].prt: field not declared in schema
      .spec.type: expected string, got &value.valueUnstructured{Value:1}

(structured-merge-diff v6 `typed/validate.go`, wrapped by apimachinery
`managedfields/internal/structuredmerge.go`.) List items are named by their keys. Values are left
out: the object may be a Secret.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kube_objects.problems import Path, Spot
from kube_objects.refs import KubeObject

_PREFIX = re.compile(r"failed to create typed patch object \([^)]*\): (?:errors:\n)?")
_LINE = re.compile(r"^\s*((?:\.[^\s.\[\]:]+|\[(?:[^\]\"]|\"(?:[^\"\\]|\\.)*\")*\])+): (.*)$", re.M)
_STEP = re.compile(r"\.([^.\[\]]+)|\[((?:[^\]\"]|\"(?:[^\"\\]|\\.)*\")*)\]")
_KEY = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|[^,]+)")
_VALUE = re.compile(r", got &.*$")
_UNDECLARED = "field not declared in schema"


@dataclass(frozen=True, slots=True)
class Violation:
    """A field that violates the schema of its kind."""

    path: Path
    text: str
    is_unknown: bool = False  # the schema has no such field

    @property
    def code(self) -> str:
        """Return the code of the problem."""
        return "unknown-field" if self.is_unknown else "schema-mismatch"

    @property
    def spot(self) -> Spot:
        """Return the place inside the object."""
        return Spot(self.path, on_key=self.is_unknown)


def violations(message: str, obj: KubeObject) -> tuple[Violation, ...]:
    """Parse the fields that a server names; empty if the message has another form."""
    found = _PREFIX.match(message)
    if found is None:
        return ()
    violations = []
    for line in _LINE.finditer(message[found.end() :]):
        field, said = line[1], line[2]
        path, name = tuple(_path(field, obj)), field.removeprefix(".")
        if said == _UNDECLARED:
            text = f"there is no field '{name}'"
            violations.append(Violation(path, text, is_unknown=True))
        else:
            violations.append(Violation(path, f"'{name}': {_VALUE.sub('', said)}"))
    return tuple(violations)


def _path(field: str, obj: KubeObject) -> Iterator[str | int]:
    """Yield the path of a field, as far as the object has it."""
    here: Any = obj
    for name, item in _STEP.findall(field):
        step = name if name else _index(item, here)
        if step is None:
            return
        yield step
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
        else:
            here = None


def _index(item: str, items: Any) -> int | None:
    """Return the index of a list item, given as a number or by its keys."""
    if item.isdecimal():
        return int(item)
    keys: dict[str, Any] = {}
    for key, value in _KEY.findall(item):
        try:
            keys[key] = json.loads(value)
        except ValueError:
            keys[key] = value
    if not keys or not isinstance(items, list):
        return None
    for number, each in enumerate(items):
        # A key that is not written has its default value.
        if isinstance(each, dict) and all(each.get(k, want) == want for k, want in keys.items()):
            return number
    return None
