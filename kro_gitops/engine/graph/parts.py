"""
Which parts of each node its dependants read.

Whoever prepares what expressions see of a node need not look at the rest of it.
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from kro_gitops.engine.graph.nodes import Dependency

Parts = Mapping[str, Any]
"""Field by field what is read: more `Parts`, or None for everything below."""


def parts_read(dependencies: Iterable[Dependency]) -> Parts:
    """Gather what is read, node by node."""
    found: dict[str, Any] = {}
    for dependency in dependencies:
        for use in dependency.uses:
            for path in use.reads:
                _note(found, path)
    return found


def _note(parts: dict[str, Any], path: str) -> None:
    # An escaped name may stand for two keys of the data: with one, the whole owner is read.
    *owners, last = takewhile(lambda step: "__" not in step, path.split("."))
    for owner in owners:
        below = parts.setdefault(owner, {})
        if below is None:
            return
        parts = below
    parts[last] = None
