"""
What the API server says of an object that does not fit its schema, field by field.

To a server-side apply it answers with a plain text and code 500, as if it were in trouble itself:

    failed to create typed patch object (default/x; /v1, Kind=Service): errors:
      .spec.ports[port=80,protocol="TCP"].prt: field not declared in schema
      .spec.type: expected string, got &value.valueUnstructured{Value:1}

Items of a list are named by their keys there. Values are left out: an object may be a Secret.
"""

import json
import re
from collections.abc import Iterator, Mapping
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
class Misfit:
    """A field that does not fit, and why."""

    path: Path
    text: str
    is_unknown: bool = False  # the kind has no such field

    @property
    def spot(self) -> Spot:
        """Return what to point at."""
        return Spot(self.path, on_key=self.is_unknown)


def misfits(message: str, obj: KubeObject) -> tuple[Misfit, ...]:
    """Find the fields that a server's answer names; none, if it is about something else."""
    found = _PREFIX.match(message)
    if found is None:
        return ()
    lines = _LINE.finditer(message[found.end() :])
    return tuple(_misfit(line[1], line[2], obj) for line in lines)


def _misfit(field: str, said: str, obj: KubeObject) -> Misfit:
    path, name = tuple(_path(field, obj)), field.removeprefix(".")
    if said == _UNDECLARED:
        return Misfit(path, f"there is no field '{name}'", is_unknown=True)
    return Misfit(path, f"'{name}': {_VALUE.sub('', said)}")


def _path(field: str, obj: KubeObject) -> Iterator[str | int]:
    """Follow a field from the top of an object as far as it leads."""
    here: Any = obj
    for name, item in _STEP.findall(field):
        step = name if name else _index(item, here)
        if step is None:
            return
        yield step
        here = _child(here, step)


def _index(item: str, items: Any) -> int | None:
    """Find the item of a list: by its number, or by the keys it has."""
    if item.isdecimal():
        return int(item)
    keys = {key: _read(value) for key, value in _KEY.findall(item)}
    if not keys or not isinstance(items, list):
        return None
    return next((n for n, each in enumerate(items) if _has(each, keys)), None)


def _has(item: Any, keys: Mapping[str, Any]) -> bool:
    # A key that is not written has its default.
    return isinstance(item, dict) and all(item.get(key, want) == want for key, want in keys.items())


def _read(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _child(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None
