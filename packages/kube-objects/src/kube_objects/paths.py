"""
Field paths: positions in a nested object.

A path is a tuple of keys and indices. Its text is `spec.ports[0].name`; keys that are empty or
contain a dot are in brackets: `metadata.labels["app.io/x"]`.
"""

import re
from collections.abc import Iterator
from typing import Any

from kube_objects.problems import Path

MISSING: Any = object()

_API_SERVER_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def format_path(path: Path) -> str:
    """Return a path as text: `spec.ports[0].name`, `metadata.labels["app.io/x"]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step == "" or "." in step:
            parts.append(f'["{step}"]')
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)


def find(value: Any, path: Path) -> Any:
    """Return what is at `path`, or `MISSING`."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or not 0 <= step < len(value):
                return MISSING
        elif not isinstance(value, dict) or step not in value:
            return MISSING
        value = value[step]
    return value


def parse_api_server_path(text: str) -> Path:
    """
    Read a field as the API server names it: `spec.ports[0].name`, `.spec.replicas`.

    What follows a step that only the server understands (a key of a list) is left out.
    """
    steps: list[str | int] = []
    position = 0
    while match := _API_SERVER_STEP.match(text, position):
        name, index = match.groups()
        steps.append(name if index is None else int(index))
        position = match.end()
    return tuple(steps)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Walk scalars (and empty containers) in the order they are written."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from leaves(child, (*path, index))
    else:
        yield path, value
