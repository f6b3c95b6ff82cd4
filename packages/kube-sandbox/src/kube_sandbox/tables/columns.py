"""
The columns of built-in kinds, as data: `columns.json.zlib` beside this file.

It was recorded from an API server (tools/recording/tables.py). Kinds are named `group/Kind`; texts
that many columns share are stored once. A kind without recorded columns
has its name and its creation time.

Follows kubernetes 1.35 pkg/printers/internalversion/printers.go AddHandlers;
k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go New.
"""

import json
import zlib
from functools import cache
from importlib.resources import files
from typing import Any

from kube_sandbox.registry.kinds import Column

Definition = dict[str, Any]


@cache
def _recorded() -> dict[str, Any]:
    folder = files("kube_sandbox.tables")
    found: dict[str, Any] = json.loads(zlib.decompress((folder / "columns.json.zlib").read_bytes()))
    return found


def _definition(name: str, sort: str, shape: str, text: int, priority: int) -> Definition:
    return {
        "name": name,
        "type": sort,
        "format": shape,
        "description": _recorded()["texts"][text],
        "priority": priority,
    }


@cache
def built_in(group: str, kind: str) -> list[Definition] | None:
    """Return the columns of a kind that has its own; they are shared: do not change them."""
    found = _recorded()["kinds"].get(f"{group}/{kind}")
    return None if found is None else [_definition(*each) for each in found]


@cache
def default_columns() -> list[Definition]:
    """Return the columns of a kind that has none of its own."""
    return [_definition(*each) for each in _recorded()["plain"]]


@cache
def custom(columns: tuple[Column, ...]) -> list[Definition]:
    """Return the columns of a custom kind."""
    definitions = [default_columns()[0]]
    for column in columns:
        text = f"Custom resource definition column (in JSONPath format): {column.path}"
        definitions.append(
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description or text,
                "priority": column.priority,
            }
        )
    return definitions


@cache
def age() -> tuple[Column, ...]:
    """Return the columns of a custom kind that asks for none: its age."""
    text = default_columns()[1]["description"]
    return (Column("Age", "date", ".metadata.creationTimestamp", description=text),)
